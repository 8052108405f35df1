// SPDX-License-Identifier: Apache-2.0
// What a SlotLedger says: numbering, owner, and who has which slot. The invariants of grants are
// kept here, so that no caller can write a ledger that breaks them.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "kube/object.h"
#include "policy/slots/geometry.h"

namespace berth::slots {

using kube::Key;
using GrantId = std::string;  // "3f9c12ab77e0-17": a BatchJob's uid, shortened, and its run

GrantId grant_id(std::string_view job_uid, std::int64_t run);
std::int64_t run_of(std::string_view grant);       // 0 where it is no grant's id
std::optional<Key> key_of(std::string_view text);  // "ns/name"

struct Grant {
  GrantId id;
  Key job;
  Key scheduling = {};     // empty: ordered by hand
  std::string since = {};  // when it was granted
  std::set<SlotNumber> slots = {};
  friend bool operator==(const Grant&, const Grant&) = default;
};

struct LedgerOwner {
  std::string uid;
  Key scheduling;
  friend bool operator==(const LedgerOwner&, const LedgerOwner&) = default;
};

// A ledger larger than this is not written: etcd takes 1.5 MiB, and there must be room to release.
inline constexpr std::size_t kMostLedgerBytes = 1'280 * 1'024;

// A value. I1 holds of every Ledger: a slot is in at most one grant, and a grant has slots.
class Ledger {
 public:
  Ledger() = default;
  static Result<Ledger> parse(const kube::Object&);

  const std::map<GrantId, Grant, std::less<>>& grants() const { return grants_; }
  const Grant* find(std::string_view id) const;
  const Grant* holder(SlotNumber) const;  // null: free
  // The grants of a job, whatever runs they are for.
  std::vector<const Grant*> of_job(const Key&) const;

  // All of its slots or none; refused where one is taken or is no slot of the blocks.
  Result<Ok> grant(Grant);
  Result<Ok> extend(std::string_view id, const std::set<SlotNumber>& more);
  void give_back(std::string_view id, const std::set<SlotNumber>& less);  // the last one releases
  bool release(std::string_view id);

  std::vector<Block> blocks = {};
  std::optional<LedgerOwner> owner = {};

  std::string spec() const;  // JSON
  friend bool operator==(const Ledger&, const Ledger&) = default;

 private:
  std::map<GrantId, Grant, std::less<>> grants_;
  std::map<SlotNumber, GrantId> by_slot_;
};

// The JSON Patch that makes what the object says what `next` says; "" where it does.
std::string patch_between(const kube::Object& ledger, const Ledger& next);

// Is `after` a legal step from `before`? Whole grants appear on free slots; grants shrink, grow and
// go. Answers with what is wrong, or "". For checkers of recorded histories.
std::string illegal_step(const Ledger& before, const Ledger& after);

}  // namespace berth::slots
