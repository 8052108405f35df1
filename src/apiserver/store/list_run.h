// SPDX-License-Identifier: Apache-2.0
// A list under way: everything it finds is as of one revision, however long it takes.
#pragma once

#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "apiserver/store/store.h"

namespace berth::apiserver {

// What a range and a selector come to once the cheapest way to walk it is chosen.
struct Walk {
  std::string prefix = {};  // keys that begin with it; "": all
  std::string key = {};     // this one alone; "": all
  std::optional<std::size_t> index = {};
  std::string value = {};
  bool by_range = false;  // the index comes from the range, so no selector checks it again
};
Walk walk_of(const Table&, const Range&, const Selector&);
bool in_walk(const Table&, const Walk&, std::string_view key, const kube::Object&);

// Loop-confined to its store's loop, and gone before it.
class ListRun {
 public:
  // Looks at no more than `visits` entries; true once the page is complete. A list of the newest
  // state that history has overtaken begins anew; one of an older state expires.
  tl::expected<bool, ListFailure> step(std::size_t visits);
  Page take() { return std::move(page_); }
  std::vector<kube::Object> take_items() { return std::exchange(page_.items, {}); }  // so far
  kube::Revision revision() const { return page_.revision; }

 private:
  friend class Store;
  ListRun(const Store& store, const Table* table, ListSpec spec);
  void rewind();
  bool visit(const Entry&);  // false: the page is full
  template <class Iterator, class EntryOf>
  bool walk(Iterator from, Iterator end, std::size_t visits, EntryOf&&);
  void finish(bool more);
  std::int64_t count_rest() const;
  std::uint64_t memo_key(std::string_view start) const;
  ListFailure expired() const;

  const Store* store_;
  const Table* table_;  // null: there was never one of this kind
  ListSpec spec_;
  Walk walk_;
  Page page_;
  std::string at_;       // where to go on
  std::string last_;     // the last key looked at
  bool newest_ = false;  // asked for no particular revision
};

}  // namespace berth::apiserver
