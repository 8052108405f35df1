// SPDX-License-Identifier: Apache-2.0
#include "policy/slots/ledger.h"

#include <algorithm>
#include <charconv>

#include <fmt/format.h>

#include "base/check.h"
#include "json/writer.h"

namespace berth::slots {
namespace {

void write_block(json::Writer& w, const Block& block) {
  w.object().member("class").string(block.slot_class).member("base").integer(block.base);
  w.member("perNode").integer(block.per_node).member("nodes").array();
  for (const std::string& node : block.nodes) w.string(node);
  w.end().end();
}
void write_grant(json::Writer& w, const Grant& grant) {
  w.object().member("id").string(grant.id).member("job").string(grant.job.text());
  if (!grant.scheduling.name.empty()) w.member("scheduling").string(grant.scheduling.text());
  if (!grant.since.empty()) w.member("since").string(grant.since);
  w.end();
}
void write_slot(json::Writer& w, SlotNumber slot, const GrantId& grant) {
  w.object().member("slot").integer(slot).member("grant").string(grant).end();
}
void write_owner(json::Writer& w, const LedgerOwner& owner) {
  w.object().member("uid").string(owner.uid).member("name").string(owner.scheduling.name);
  w.member("namespace").string(owner.scheduling.ns).end();
}

bool has_slot(const std::vector<Block>& blocks, SlotNumber slot) {
  return std::any_of(blocks.begin(), blocks.end(), [&](const Block& block) {
    return slot >= block.base && slot < block.base + block.size();
  });
}

std::vector<Block> parse_blocks(json::Slice list) {
  std::vector<Block> blocks;
  for (const json::Slice each : list.elements()) {
    Block block{each["class"].text(),
                static_cast<int>(each["base"].integer().value_or(0)),
                static_cast<int>(each["perNode"].integer().value_or(0)),
                {}};
    for (const json::Slice node : each["nodes"].elements()) block.nodes.push_back(node.text());
    blocks.push_back(std::move(block));
  }
  return blocks;
}

// A patch of one list, by index, so that it stays small: what goes from the end on, then what
// comes.
class ListPatch {
 public:
  ListPatch(json::Writer& w, json::Slice list, std::string path)
      : w_(w), list_(list), path_(std::move(path)) {}

  template <class Keep, class Write>
  void write(const Keep& keep, std::size_t added, const Write& write_added) {
    std::vector<std::size_t> gone;
    std::size_t index = 0;
    for (const json::Slice each : list_.elements()) {
      if (!keep(each)) gone.push_back(index);
      ++index;
    }
    if (!list_ && added > 0) op("add", "").member("value").array().end().end();
    for (auto at = gone.rbegin(); at != gone.rend(); ++at)
      op("remove", fmt::format("/{}", *at)).end();
    for (std::size_t i = 0; i < added; ++i) {
      op("add", "/-").member("value");
      write_added(i);
      w_.end();
    }
  }

 private:
  json::Writer& op(std::string_view what, const std::string& at) {
    return w_.object().member("op").string(what).member("path").string(path_ + at);
  }
  json::Writer& w_;
  json::Slice list_;
  std::string path_;
};

}  // namespace

GrantId grant_id(std::string_view job_uid, std::int64_t run) {
  constexpr std::size_t kDigits = 12;
  std::string digits;
  for (const char c : job_uid)
    if (c != '-' && digits.size() < kDigits) digits += c;
  return fmt::format("{}-{}", digits, run);
}

std::int64_t run_of(std::string_view grant) {
  const std::size_t dash = grant.rfind('-');
  std::int64_t run = 0;
  if (dash == grant.npos) return 0;
  const char* const end = grant.data() + grant.size();
  const auto [at, error] = std::from_chars(grant.data() + dash + 1, end, run);
  return error == std::errc() && at == end ? run : 0;
}

std::optional<Key> key_of(std::string_view text) {
  const std::size_t slash = text.find('/');
  if (slash == text.npos || slash + 1 == text.size()) return std::nullopt;
  return Key{std::string(text.substr(0, slash)), std::string(text.substr(slash + 1))};
}

Result<Ledger> Ledger::parse(const kube::Object& object) {
  const json::Slice spec = object.member("spec");
  Ledger ledger;
  ledger.blocks = parse_blocks(spec["blocks"]);
  if (const json::Slice owner = spec["owner"]; owner.is_object())
    ledger.owner = {owner["uid"].text(), {owner["namespace"].text(), owner["name"].text()}};
  for (const json::Slice each : spec["grants"].elements()) {
    const std::optional<Key> job = key_of(each["job"].text());
    if (!job) return invalid(fmt::format("grant {}: no job", each["id"].text()));
    const GrantId id = each["id"].text();
    ledger.grants_[id] = {
        id, *job, key_of(each["scheduling"].text()).value_or(Key{}), each["since"].text(), {}};
  }
  for (const json::Slice each : spec["slots"].elements()) {
    const auto slot = static_cast<SlotNumber>(each["slot"].integer().value_or(-1));
    const auto grant = ledger.grants_.find(each["grant"].text());
    if (grant == ledger.grants_.end())
      return invalid(fmt::format("slot {}: there is no grant {}", slot, each["grant"].text()));
    if (!ledger.by_slot_.emplace(slot, grant->first).second)
      return invalid(fmt::format("slot {} is granted twice", slot));
    grant->second.slots.insert(slot);
  }
  return ledger;
}

const Grant* Ledger::find(std::string_view id) const {
  const auto found = grants_.find(id);
  return found == grants_.end() ? nullptr : &found->second;
}
const Grant* Ledger::holder(SlotNumber slot) const {
  const auto found = by_slot_.find(slot);
  return found == by_slot_.end() ? nullptr : find(found->second);
}
std::vector<const Grant*> Ledger::of_job(const Key& job) const {
  std::vector<const Grant*> all;
  for (const auto& [id, grant] : grants_)
    if (grant.job == job) all.push_back(&grant);
  return all;
}

Result<Ok> Ledger::grant(Grant grant) {
  if (grant.slots.empty()) return invalid(fmt::format("grant {} has no slots", grant.id));
  if (grants_.count(grant.id) > 0)
    return fail(Reason::kAlreadyExists, fmt::format("there is a grant {}", grant.id));
  const GrantId id = grant.id;
  const std::set<SlotNumber> slots = std::exchange(grant.slots, {});
  grants_[id] = std::move(grant);
  Result<Ok> extended = extend(id, slots);
  if (!extended) grants_.erase(id);
  return extended;
}
Result<Ok> Ledger::extend(std::string_view id, const std::set<SlotNumber>& more) {
  const auto grant = grants_.find(id);
  BERTH_CHECK(grant != grants_.end(), "only a grant that is there can grow");
  for (const SlotNumber slot : more) {
    if (!has_slot(blocks, slot)) return invalid(fmt::format("there is no slot {}", slot));
    if (const Grant* other = holder(slot); other != nullptr)
      return fail(Reason::kConflict, fmt::format("slot {} is held by {}", slot, other->job.text()));
  }
  for (const SlotNumber slot : more) by_slot_[slot] = grant->first;
  grant->second.slots.insert(more.begin(), more.end());
  return Ok{};
}
void Ledger::give_back(std::string_view id, const std::set<SlotNumber>& less) {
  const auto grant = grants_.find(id);
  if (grant == grants_.end()) return;
  for (const SlotNumber slot : less)
    if (grant->second.slots.erase(slot) > 0) by_slot_.erase(slot);
  if (grant->second.slots.empty()) grants_.erase(grant);
}
bool Ledger::release(std::string_view id) {
  const auto grant = grants_.find(id);
  if (grant == grants_.end()) return false;
  for (const SlotNumber slot : grant->second.slots) by_slot_.erase(slot);
  grants_.erase(grant);
  return true;
}

std::string Ledger::spec() const {
  json::Writer w;
  w.object();
  if (owner) {
    w.member("owner");
    write_owner(w, *owner);
  }
  w.member("blocks").array();
  for (const Block& block : blocks) write_block(w, block);
  w.end().member("grants").array();
  for (const auto& [id, grant] : grants_) write_grant(w, grant);
  w.end().member("slots").array();
  for (const auto& [slot, grant] : by_slot_) write_slot(w, slot, grant);
  return w.end().end().take();
}

std::string patch_between(const kube::Object& object, const Ledger& next) {
  const json::Slice spec = object.member("spec");
  json::Writer w;
  w.array();
  const bool owned = spec["owner"].is_object();
  const std::optional<LedgerOwner> before =
      owned ? std::optional<LedgerOwner>(
                  {spec["owner"]["uid"].text(),
                   {spec["owner"]["namespace"].text(), spec["owner"]["name"].text()}})
            : std::nullopt;
  if (before != next.owner) {
    w.object().member("op").string(next.owner ? "add" : "remove");
    w.member("path").string("/spec/owner");
    if (next.owner) {
      w.member("value");
      write_owner(w, *next.owner);
    }
    w.end();
  }
  if (parse_blocks(spec["blocks"]) != next.blocks) {
    w.object().member("op").string("add").member("path").string("/spec/blocks");
    w.member("value").array();
    for (const Block& block : next.blocks) write_block(w, block);
    w.end().end();
  }
  const auto grant_stays = [&](json::Slice each) {
    const Grant* wanted = next.find(each["id"].text());
    return wanted != nullptr && each["job"].equals(wanted->job.text());
  };
  const auto slot_stays = [&](json::Slice each) {
    const Grant* wanted = next.holder(static_cast<SlotNumber>(each["slot"].integer().value_or(-1)));
    return wanted != nullptr && each["grant"].equals(wanted->id);
  };
  std::set<GrantId, std::less<>> grants_there;
  for (const json::Slice each : spec["grants"].elements())
    if (grant_stays(each)) grants_there.insert(each["id"].text());
  std::set<SlotNumber> slots_there;
  for (const json::Slice each : spec["slots"].elements())
    if (slot_stays(each)) slots_there.insert(static_cast<SlotNumber>(*each["slot"].integer()));
  std::vector<const Grant*> new_grants;
  std::map<SlotNumber, const Grant*> by_number;
  for (const auto& [id, grant] : next.grants()) {
    if (grants_there.count(id) == 0) new_grants.push_back(&grant);
    for (const SlotNumber slot : grant.slots)
      if (slots_there.count(slot) == 0) by_number[slot] = &grant;
  }
  const std::vector<std::pair<SlotNumber, const Grant*>> new_slots(by_number.begin(),
                                                                   by_number.end());
  ListPatch(w, spec["grants"], "/spec/grants")
      .write(grant_stays, new_grants.size(),
             [&](std::size_t i) { write_grant(w, *new_grants[i]); });
  ListPatch(w, spec["slots"], "/spec/slots")
      .write(slot_stays, new_slots.size(),
             [&](std::size_t i) { write_slot(w, new_slots[i].first, new_slots[i].second->id); });
  std::string patch = w.end().take();
  return patch == "[]" ? std::string() : patch;
}

std::string illegal_step(const Ledger& before, const Ledger& after) {
  for (const auto& [id, grant] : after.grants()) {
    if (grant.slots.empty()) return fmt::format("grant {} has no slots", id);
    for (const SlotNumber slot : grant.slots) {
      if (!has_slot(after.blocks, slot)) return fmt::format("slot {} is in no block", slot);
      const Grant* held = before.holder(slot);
      if (held != nullptr && held->id != id)
        return fmt::format("slot {} went from {} to {} in one step", slot, held->id, id);
    }
  }
  return {};
}

}  // namespace berth::slots
