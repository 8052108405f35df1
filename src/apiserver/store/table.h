// SPDX-License-Identifier: Apache-2.0
// All objects of one kind: their versions in key order, the history of what happened to them, and
// the declared indexes. The store decides when something happens; a table only keeps what did.
//
// For every revision R from floor() to the published one and for every key, the versions that are
// kept answer "this key at R". History is dropped from its old end, and with each event the
// versions that nobody can ask for any more.
#pragma once

#include <algorithm>
#include <cstdint>
#include <deque>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "apiserver/store/versions.h"
#include "base/time.h"
#include "kube/kind.h"

namespace berth::apiserver {

// A field by which objects are found without looking at all of them.
struct IndexSpec {
  std::optional<kube::KindId> kind = {};  // nothing: every kind
  std::string field;                      // "spec.nodeName"; as field selectors name it
  enum class Of : std::uint8_t { kBody, kAnything };
  Of of = Of::kAnything;  // kBody: no change of metadata and status changes the values
  // Appends the object's values, none where the field is empty.
  std::function<void(const kube::Object&, std::vector<std::string>& values)> values;
};

struct Entry {
  std::string_view key;  // the table's
  VersionChain versions = {};
  std::int64_t row = 0;  // in the journal; 0: none
  // Where in the batch that is being collected its row stands.
  std::uint64_t batch = 0;
  std::size_t slot = 0;

  std::string_view ns() const {
    const std::size_t slash = key.find('/');
    return slash == std::string_view::npos ? std::string_view() : key.substr(0, slash);
  }
};

struct HistoryEvent {
  kube::Revision revision = 0;
  Entry* entry = nullptr;
  kube::Object before = {};  // not valid: it was created
  kube::Object after = {};   // of a deletion: the last state, with the deletion's revision
  bool deleted = false;
  Instant at = {};
  std::size_t bytes = 0;  // memory that only this event keeps alive
};

struct ViewHash {
  using is_transparent = void;
  std::size_t operator()(std::string_view text) const {
    return std::hash<std::string_view>()(text);
  }
};
template <class T>
using ByText = std::unordered_map<std::string, T, ViewHash, std::equal_to<>>;

// Loop-confined.
class Table {
 public:
  struct ByKey {
    bool operator()(const Entry* a, const Entry* b) const { return a->key < b->key; }
  };
  // Entries, and how many of their versions have the value.
  using Members = std::map<Entry*, std::uint32_t, ByKey>;
  using Entries = std::map<std::string, Entry, std::less<>>;

  Table(kube::KindId, kube::Revision floor, std::vector<const IndexSpec*> indexes);

  kube::KindId kind() const { return kind_; }
  kube::Revision floor() const { return floor_; }
  // Where watches may begin: not before the kind was served, whatever the history has.
  kube::Revision watch_floor() const { return std::max(floor_, opened_); }
  void open(kube::Revision revision) { opened_ = revision; }
  const Entries& entries() const { return entries_; }
  std::size_t live() const { return live_; }  // objects at the published revision
  std::size_t live_in(std::string_view ns) const;

  Entry* find(std::string_view key);
  const Entry* find(std::string_view key) const;
  Entry& find_or_make(std::string_view key);

  // A version nobody sees yet, and its way back.
  void push(Entry&, kube::Revision, kube::Object);
  void pop(Entry&);
  // Takes the version of this revision into the history; returns its place there.
  std::uint64_t publish(Entry&, kube::Revision, Instant now);
  // What the journal had; before everything else.
  void restore(std::string_view key, kube::Object, std::int64_t row);

  // History, by places that stay while events come and go: [first, end).
  std::uint64_t first() const { return first_; }
  std::uint64_t end() const { return first_ + history_.size(); }
  const HistoryEvent& event(std::uint64_t place) const { return history_[place - first_]; }
  std::uint64_t place_after(kube::Revision) const;
  std::size_t history_size() const { return history_.size(); }
  std::size_t history_bytes() const { return history_bytes_; }
  void drop_oldest();
  void raise_floor(kube::Revision);  // drops what is at or below it

  // Indexes, by their number here.
  std::optional<std::size_t> index_of(std::string_view field) const;
  std::size_t index_count() const { return indexes_.size(); }
  const Members* members(std::size_t index, std::string_view value) const;  // null: none
  bool has_value(const kube::Object&, std::size_t index, std::string_view value) const;

 private:
  struct Index {
    const IndexSpec* spec;
    ByText<Members> members = {};
  };
  std::shared_ptr<const IndexValues> values_of(const kube::Object&, const Entry&) const;
  void join(Entry&, const Version&);
  void leave(Entry&, const Version&);
  void erase(Entry&);

  kube::KindId kind_;
  kube::Revision floor_, opened_ = 0;
  Entries entries_;
  std::unordered_map<std::string_view, Entry*> by_key_;  // the same, found faster
  std::deque<HistoryEvent> history_;
  std::uint64_t first_ = 0;
  std::size_t history_bytes_ = 0;
  std::vector<Index> indexes_;
  std::size_t live_ = 0;
  ByText<std::size_t> live_by_ns_;
};

}  // namespace berth::apiserver
