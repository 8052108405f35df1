// SPDX-License-Identifier: Apache-2.0
// A hash table of chained slots. Slots never move and are never freed, so a reader may follow a
// chain without a lock: at worst it strays into another one and sees that `version_` has changed.
// What a slot holds is looked at only after its count was raised from above zero, which pins it.
#include "base/intern.h"

#include <bit>
#include <functional>

#include "base/check.h"

namespace berth {

struct InternTable::Slot {
  std::atomic<std::uint32_t> count{0};
  std::atomic<std::uint32_t> next{0};
  std::atomic<std::uint64_t> hash{0};  // a hint until the slot is pinned
  bool linked = false;                 // under the mutex
  std::string text;                    // written while the count is zero, under the mutex
};

struct InternTable::Buckets {
  explicit Buckets(std::size_t size) : heads(size) {}
  std::atomic<std::uint32_t>& of(std::uint64_t hash) { return heads[hash & (heads.size() - 1)]; }
  std::vector<std::atomic<std::uint32_t>> heads;  // a power of two of them
};

namespace {

std::uint64_t hash_of(std::string_view text) { return std::hash<std::string_view>{}(text); }

// False: nobody holds it, and it may be on its way out.
bool raise_if_held(std::atomic<std::uint32_t>& count) {
  std::uint32_t seen = count.load(std::memory_order_relaxed);
  while (seen != 0)
    if (count.compare_exchange_weak(seen, seen + 1, std::memory_order_acquire,
                                    std::memory_order_relaxed))
      return true;
  return false;
}

}  // namespace

InternTable::InternTable() {
  all_buckets_.push_back(std::make_unique<Buckets>(kFirstChunk));
  buckets_.store(all_buckets_.back().get(), std::memory_order_release);
}

InternTable::~InternTable() {
  for (std::atomic<Slot*>& chunk : chunks_) delete[] chunk.load(std::memory_order_relaxed);
}

InternTable::Slot& InternTable::slot(std::uint32_t index) const {
  // Chunk k begins at (2^k - 1) * kFirstChunk. What is shifted by is never negative: a width of at
  // least one is made smaller by one.
  const std::uint32_t chunk =
      static_cast<std::uint32_t>(std::bit_width(index / kFirstChunk + 1)) - 1;
  const std::uint32_t begin = ((1u << chunk) - 1) * kFirstChunk;  // NOLINT(clang-analyzer-core.*)
  return chunks_[chunk].load(std::memory_order_acquire)[index - begin];
}

InternTable::Search InternTable::find(std::string_view text, std::uint64_t hash,
                                      std::uint32_t& found) const {
  constexpr int kPatience = 1000;  // a reader that strayed could go round in circles
  const std::uint64_t before = version_.load(std::memory_order_acquire);
  std::uint32_t at =
      buckets_.load(std::memory_order_acquire)->of(hash).load(std::memory_order_acquire);
  for (int steps = 0; at != 0 && steps < kPatience; ++steps) {
    Slot& candidate = slot(at);
    if (candidate.hash.load(std::memory_order_relaxed) == hash && raise_if_held(candidate.count)) {
      found = at;
      if (candidate.text == text) return Search::kFound;
      const_cast<InternTable*>(this)->release(static_cast<StringId>(at));
    }
    at = candidate.next.load(std::memory_order_acquire);
  }
  const bool undisturbed =
      at == 0 && before % 2 == 0 && version_.load(std::memory_order_acquire) == before;
  return undisturbed ? Search::kAbsent : Search::kDisturbed;
}

std::uint32_t InternTable::find_locked(std::string_view text, std::uint64_t hash) const {
  std::uint32_t at =
      buckets_.load(std::memory_order_relaxed)->of(hash).load(std::memory_order_relaxed);
  while (at != 0) {
    const Slot& candidate = slot(at);
    if (candidate.hash.load(std::memory_order_relaxed) == hash && candidate.text == text) break;
    at = candidate.next.load(std::memory_order_relaxed);
  }
  return at;
}

StringId InternTable::acquire(std::string_view text) {
  const std::uint64_t hash = hash_of(text);
  std::uint32_t found = 0;
  if (find(text, hash, found) == Search::kFound) return static_cast<StringId>(found);
  const std::lock_guard lock(mutex_);
  found = find_locked(text, hash);
  if (found == 0) found = add_locked(text, hash);
  // A slot whose last holder waits for the mutex to unlink it comes back to life here.
  slot(found).count.fetch_add(1, std::memory_order_acq_rel);
  return static_cast<StringId>(found);
}

StringId InternTable::acquire_known(std::string_view text) {
  const std::uint64_t hash = hash_of(text);
  std::uint32_t found = 0;
  switch (find(text, hash, found)) {
    case Search::kFound:
      return static_cast<StringId>(found);
    case Search::kAbsent:
      return StringId::kNone;
    case Search::kDisturbed:
      break;
  }
  const std::lock_guard lock(mutex_);
  found = find_locked(text, hash);
  if (found == 0 || !raise_if_held(slot(found).count)) return StringId::kNone;
  return static_cast<StringId>(found);
}

std::uint32_t InternTable::add_locked(std::string_view text, std::uint64_t hash) {
  if (size_.load(std::memory_order_relaxed) >=
      buckets_.load(std::memory_order_relaxed)->heads.size())
    grow_locked();
  std::uint32_t index = 0;
  if (!free_.empty()) {
    index = free_.back();
    free_.pop_back();
  } else {
    index = slots_++;
    const std::uint32_t chunk =
        static_cast<std::uint32_t>(std::bit_width(index / kFirstChunk + 1)) - 1;
    BERTH_CHECK(chunk < kChunks, "too many strings are interned");
    if (chunks_[chunk].load(std::memory_order_relaxed) == nullptr)
      chunks_[chunk].store(new Slot[std::size_t{kFirstChunk} << chunk], std::memory_order_release);
  }
  Slot& added = slot(index);
  added.text = text;
  added.linked = true;
  added.hash.store(hash, std::memory_order_relaxed);
  std::atomic<std::uint32_t>& head = buckets_.load(std::memory_order_relaxed)->of(hash);
  added.next.store(head.load(std::memory_order_relaxed), std::memory_order_release);
  head.store(index, std::memory_order_release);
  size_.fetch_add(1, std::memory_order_relaxed);
  return index;
}

void InternTable::grow_locked() {
  version_.fetch_add(1, std::memory_order_acq_rel);
  Buckets* const old = buckets_.load(std::memory_order_relaxed);
  all_buckets_.push_back(std::make_unique<Buckets>(old->heads.size() * 2));
  Buckets* const larger = all_buckets_.back().get();
  for (std::atomic<std::uint32_t>& head : old->heads) {
    std::uint32_t at = head.load(std::memory_order_relaxed);
    while (at != 0) {
      Slot& moving = slot(at);
      const std::uint32_t rest = moving.next.load(std::memory_order_relaxed);
      std::atomic<std::uint32_t>& to = larger->of(moving.hash.load(std::memory_order_relaxed));
      moving.next.store(to.load(std::memory_order_relaxed), std::memory_order_release);
      to.store(at, std::memory_order_release);
      at = rest;
    }
  }
  buckets_.store(larger, std::memory_order_release);
  version_.fetch_add(1, std::memory_order_acq_rel);
}

void InternTable::retain(StringId id) {
  if (id == StringId::kNone) return;
  const bool held = raise_if_held(slot(static_cast<std::uint32_t>(id)).count);
  BERTH_CHECK(held, "an id that nobody holds was retained");
}

void InternTable::release(StringId id) {
  if (id == StringId::kNone) return;
  const auto index = static_cast<std::uint32_t>(id);
  Slot& leaving = slot(index);
  const std::uint32_t before = leaving.count.fetch_sub(1, std::memory_order_acq_rel);
  BERTH_CHECK(before != 0, "an id was released once too often");
  if (before != 1) return;
  const std::lock_guard lock(mutex_);
  // Meanwhile it may have been taken up again, or unlinked by another last holder.
  if (!leaving.linked || leaving.count.load(std::memory_order_acquire) != 0) return;
  version_.fetch_add(1, std::memory_order_acq_rel);
  std::atomic<std::uint32_t>* link =
      &buckets_.load(std::memory_order_relaxed)->of(leaving.hash.load(std::memory_order_relaxed));
  while (link->load(std::memory_order_relaxed) != index)
    link = &slot(link->load(std::memory_order_relaxed)).next;
  link->store(leaving.next.load(std::memory_order_relaxed), std::memory_order_release);
  version_.fetch_add(1, std::memory_order_acq_rel);
  leaving.linked = false;
  std::string().swap(leaving.text);
  free_.push_back(index);
  size_.fetch_sub(1, std::memory_order_relaxed);
}

std::string_view InternTable::text(StringId id) const {
  if (id == StringId::kNone) return {};
  return slot(static_cast<std::uint32_t>(id)).text;
}

std::size_t InternTable::size() const { return size_.load(std::memory_order_relaxed); }

}  // namespace berth
