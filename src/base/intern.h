// SPDX-License-Identifier: Apache-2.0
// Strings as small numbers, for hot paths that compare and index. Ids are counted: when nobody
// holds a string any more its memory is given back and its id used again. Ids carry no order and no
// meaning; nothing observable may depend on them.
#pragma once

#include <atomic>
#include <cstdint>
#include <memory>
#include <mutex>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace berth {

enum class StringId : std::uint32_t { kNone = 0 };

// Thread-safe. Looking up a string that is known, its text and its count take no lock; adding and
// removing strings does. Room for the most strings ever held at once is kept.
class InternTable {
 public:
  InternTable();
  ~InternTable();
  InternTable(const InternTable&) = delete;
  InternTable& operator=(const InternTable&) = delete;

  // The id of `text`, new or not, with a count that the caller owns.
  StringId acquire(std::string_view text);
  // The same if somebody holds it, else kNone.
  StringId acquire_known(std::string_view text);
  // For callers that hold a count already. kNone is ignored, and its text is empty.
  void retain(StringId);
  void release(StringId);
  std::string_view text(StringId) const;  // valid while the count is held

  std::size_t size() const;  // strings held

 private:
  struct Slot;
  struct Buckets;
  enum class Search { kFound, kAbsent, kDisturbed };

  Slot& slot(std::uint32_t index) const;
  Search find(std::string_view text, std::uint64_t hash, std::uint32_t& found) const;
  std::uint32_t find_locked(std::string_view text, std::uint64_t hash) const;
  std::uint32_t add_locked(std::string_view text, std::uint64_t hash);
  void grow_locked();

  // Chunks of slots, each twice as long as the one before; slots never move.
  static constexpr std::uint32_t kFirstChunk = 256;
  static constexpr std::size_t kChunks = 24;

  mutable std::mutex mutex_;  // for every change of the chains
  std::atomic<Slot*> chunks_[kChunks] = {};
  std::atomic<Buckets*> buckets_;
  std::atomic<std::uint64_t> version_{0};  // odd while chains lose members or move
  std::atomic<std::size_t> size_{0};
  std::uint32_t slots_ = 1;  // made so far; 0 is kNone
  std::vector<std::uint32_t> free_;
  std::vector<std::unique_ptr<Buckets>> all_buckets_;  // readers may still walk the old ones
};

// One counted string. Thread-compatible; two words.
class Interned {
 public:
  Interned() = default;
  Interned(InternTable& table, std::string_view text) : table_(&table), id_(table.acquire(text)) {}
  Interned(const Interned& other) : table_(other.table_), id_(other.id_) {
    if (table_ != nullptr) table_->retain(id_);
  }
  Interned(Interned&& other) noexcept
      : table_(other.table_), id_(std::exchange(other.id_, StringId::kNone)) {}
  Interned& operator=(Interned other) noexcept {
    std::swap(table_, other.table_);
    std::swap(id_, other.id_);
    return *this;
  }
  ~Interned() {
    if (table_ != nullptr) table_->release(id_);
  }

  StringId id() const { return id_; }
  std::string_view text() const {
    return table_ != nullptr ? table_->text(id_) : std::string_view();
  }
  friend bool operator==(const Interned& a, const Interned& b) { return a.id_ == b.id_; }

 private:
  InternTable* table_ = nullptr;
  StringId id_ = StringId::kNone;
};

}  // namespace berth
