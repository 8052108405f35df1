// SPDX-License-Identifier: Apache-2.0
#include "apiserver/crd/custom_kinds.h"

#include <algorithm>

#include "apiserver/apply/apply.h"
#include "apiserver/crd/definition_names.h"
#include "apiserver/edit/edit.h"
#include "apiserver/kinds/extensions/definition_status.h"
#include "apiserver/kinds/kinds.h"
#include "base/check.h"
#include "kube/time.h"

namespace berth::apiserver {
namespace {

using kube::kCustomResourceDefinition;

// Kinds are never forgotten, and there is room for 65,536 with the built-in ones; past this many
// nothing new is served.
constexpr std::size_t kMostKinds = 60'000;
// Instances looked at in one turn.
constexpr std::size_t kStep = 500;

bool has_finalizer(const kube::Object& definition) {
  const std::vector<std::string> all = definition.finalizers();
  return std::find(all.begin(), all.end(), kCleanupFinalizer) != all.end();
}

json::Value tree(json::Slice slice, json::Arena& arena) {
  return slice ? json::parse_good(slice.raw(), arena) : json::Value(nullptr, arena.storage());
}

// The definition with another status, and whatever else was done to the edit.
kube::Object changed(Edit edit, WallTime now) {
  note_update(*find_built_in(kCustomResourceDefinition), edit,
              {.manager = "kube-apiserver", .subresource = "status", .now = now});
  const kube::Revision revision = edit.from().revision();
  Result<kube::Object> next = std::move(edit).commit(revision);
  BERTH_CHECK(next.has_value(), "the server's own change of a definition");
  return std::move(*next);
}

}  // namespace

CustomKinds::CustomKinds(Scope& parent, Store& store, KindRegistry& kinds, Logger log)
    : scope_(parent.child("custom kinds")), store_(store), kinds_(kinds), log_(std::move(log)) {
  scope_.on_close([this] {
    if (watch_ != WatchId::kNone) store_.unwatch(watch_);
    for (const auto& [kind, id] : instances_)
      if (id != WatchId::kNone) store_.unwatch(id);
    watch_ = WatchId::kNone;
    instances_.clear();
  });
  settle();
  watch_ = store_.watch({.kind = kCustomResourceDefinition, .after = store_.published()}, *this);
  look_soon();  // what is new has to be read once before it calls
}

void CustomKinds::ready(WatchId) { look_soon(); }

void CustomKinds::look_soon() {
  if (std::exchange(looking_, true)) return;
  scope_.post([this] {
    looking_ = false;
    look();
  });
}

// What happened does not matter, only that something did.
void CustomKinds::drain(WatchId& id) {
  while (id != WatchId::kNone) {
    const WatchBatch batch = store_.read(id, kStep);
    if (batch.end) {
      id = WatchId::kNone;
      return;
    }
    if (!batch.more) return;
  }
}

void CustomKinds::look() {
  drain(watch_);
  if (watch_ == WatchId::kNone) {  // it was too slow
    watch_ = store_.watch({.kind = kCustomResourceDefinition, .after = store_.published()}, *this);
    drain(watch_);
  }
  for (auto& [kind, id] : instances_) drain(id);
  settle();
}

std::vector<kube::Object> CustomKinds::list(kube::KindId kind, std::size_t limit) const {
  tl::expected<Page, ListFailure> page = store_.list({.kind = kind, .plan = {.limit = limit}});
  return page ? std::move(page->items) : std::vector<kube::Object>();
}

void CustomKinds::settle() {
  std::vector<kube::Object> all = list(kCustomResourceDefinition, 0);
  // Who came first has the better right to a name.
  std::stable_sort(all.begin(), all.end(), [](const kube::Object& a, const kube::Object& b) {
    return a.revision() < b.revision();
  });
  withdraw_others(all);
  for (std::size_t i = 0; i < all.size(); ++i) {
    const kube::Object definition = all[i];
    if (definition.deleting() && has_finalizer(definition)) {
      serve(definition);
      clean_up(definition);
    } else if (!definition.deleting()) {
      accept(definition, all);
    }
  }
}

void CustomKinds::withdraw_others(const std::vector<kube::Object>& all) {
  std::set<std::string, std::less<>> names;
  for (const kube::Object& each : all) names.emplace(each.name());
  for (auto at = served_.begin(); at != served_.end();) {
    if (names.contains(at->first)) {
      ++at;
      continue;
    }
    kinds_.serve(at->first, {});
    log_.info("a custom kind is no longer served", {{"definition", at->first}});
    at = served_.erase(at);
  }
}

void CustomKinds::accept(const kube::Object& definition, std::vector<kube::Object>& all) {
  json::Arena arena;
  const json::Value spec = tree(definition.member("spec"), arena);
  NamesInUse used;
  for (const kube::Object& each : all) {
    // A definition's name ends in its group; looking into its schema would take longer.
    const std::string_view name = each.name();
    if (name.substr(std::min(name.find('.') + 1, name.size())) != Peek(spec)["group"].text())
      continue;
    const json::Value status = tree(each.status(), arena);
    used.add(Peek(status)["acceptedNames"]);
  }
  Edit edit(definition, arena);
  settle_names(Peek(spec), edit.status(), used, now());
  settle_approval(Peek(spec)["group"].text(), edit, now());
  const bool established = definition_has_condition(Peek(edit.status()), "Established");
  const bool changes = edit.changed();
  const kube::Object next = changes ? changed(std::move(edit), now()) : definition;
  for (kube::Object& each : all)
    if (each.name() == definition.name()) each = next;
  // Served before it is said to be.
  if (established) serve(next);
  if (changes) write(definition, next);
}

// Before any of them is learnt.
bool CustomKinds::make_room_for(const CustomNames& names) {
  std::set<std::string_view> unknown;  // versions
  const auto note = [&](const kube::Kind& kind) {
    if (!kube::find_resource(kind.group, kind.version, kind.plural)) unknown.insert(kind.version);
  };
  note(names.stored);
  for (const kube::Kind& each : names.served) note(each);
  if (learnt_ + unknown.size() > kMostKinds) return unknown.empty();
  learnt_ += unknown.size();
  return true;
}

// Objects stay where the first of them were put: another version may be marked as stored since.
kube::KindId CustomKinds::table_of(const kube::Kind& stored) const {
  const kube::KindId marked = kube::learn_kind(stored);
  if (store_.count(marked) > 0) return marked;
  for (const kube::KindId each : store_.kinds()) {
    const kube::Kind& kind = kube::kind_of(each);
    if (kind.group == stored.group && kind.kind == stored.kind && store_.count(each) > 0 &&
        find_built_in(each) == nullptr)
      return each;
  }
  return marked;
}

void CustomKinds::serve(const kube::Object& definition) {
  const std::string name(definition.name());
  const auto at = served_.find(name);
  const kube::Object* had = at == served_.end() ? nullptr : &at->second.definition;
  const bool same =
      had != nullptr && had->deleting() == definition.deleting() &&
      had->body().raw() == definition.body().raw() &&
      had->status()["acceptedNames"].raw() == definition.status()["acceptedNames"].raw();
  if (same) return;
  if (definition.deleting() && had == nullptr && !definition.status()["acceptedNames"]["kind"])
    return;
  const CustomNames names = custom_names(definition);
  if (!make_room_for(names)) {
    log_.warn("too many kinds; a definition is not served", {{"definition", name}});
    return;
  }
  const bool another = had == nullptr || had->uid() != definition.uid();
  const kube::KindId table = another ? table_of(names.stored) : at->second.table;
  std::vector<KindRow> rows = custom_rows(definition, table);
  if (another || had->generation() != definition.generation()) store_.open(table);
  if (definition.deleting())
    for (KindRow& row : rows) std::erase(row.verbs, "create");
  log_.info("a custom kind is served", {{"definition", name}, {"versions", rows.size()}});
  kinds_.serve(name, std::move(rows));
  served_.insert_or_assign(name, Served{definition, table});
}

void CustomKinds::clean_up(const kube::Object& definition) {
  if (in_flight_.contains(definition.key().text())) return;
  json::Arena arena;
  const json::Value status = tree(definition.status(), arena);
  const Peek going = definition_condition(Peek(status), "Terminating");
  const bool established = definition_has_condition(Peek(status), "Established");
  if (established && !going["reason"].is("InstanceDeletionInProgress")) {
    Edit edit(definition, arena);
    set_condition(edit.status(),
                  {"Terminating", true, "InstanceDeletionInProgress",
                   "CustomResource deletion is in progress"},
                  now());
    return write(definition, changed(std::move(edit), now()));
  }
  if (const auto served = served_.find(std::string(definition.name()));
      established && served != served_.end()) {
    const kube::KindId table = served->second.table;
    // What a built-in kind stores is not this definition's to delete.
    if (find_built_in(table) == nullptr && remove_instances(table) > 0)
      return watch_instances(table);
    if (const auto watched = instances_.find(table); watched != instances_.end()) {
      if (watched->second != WatchId::kNone) store_.unwatch(watched->second);
      instances_.erase(watched);
    }
  }
  std::vector<std::string> others = definition.finalizers();
  std::erase(others, std::string(kCleanupFinalizer));
  if (others.empty()) return erase(definition);
  Edit edit(definition, arena);
  json::Value& list = edit.metadata()["finalizers"];
  list.emplace_array();
  for (const std::string& each : others) list.get_array().emplace_back(bj(each));
  set_condition(edit.status(),
                established ? DefinitionCondition{"Terminating", false, "InstanceDeletionCompleted",
                                                  "removed all instances"}
                            : DefinitionCondition{"Terminating", false, "NeverEstablished",
                                                  "resource was never established"},
                now());
  write(definition, changed(std::move(edit), now()));
}

// How many there still are, of those looked at.
std::size_t CustomKinds::remove_instances(kube::KindId table) {
  const std::vector<kube::Object> some = list(table, kStep);
  for (const kube::Object& each : some) {
    if (in_flight_.contains(each.key().text() + "@" + std::string(each.uid()))) continue;
    if (each.finalizers().empty()) {
      erase(each);
    } else if (!each.deleting()) {
      json::Arena arena;
      Edit edit(each, arena);
      edit.metadata()["deletionTimestamp"] = kube::time_text(now());
      edit.metadata()["deletionGracePeriodSeconds"] = 0;
      if (each.generation() > 0) edit.metadata()["generation"] = each.generation() + 1;
      Result<kube::Object> marked = std::move(edit).commit(each.revision());
      if (marked) write(each, std::move(*marked));
    }
  }
  return some.size();
}

void CustomKinds::watch_instances(kube::KindId table) {
  WatchId& id = instances_[table];
  if (id == WatchId::kNone) id = store_.watch({.kind = table, .after = store_.published()}, *this);
}

Done<Committed> CustomKinds::answer(std::string name) {
  in_flight_.insert(name);
  return scope_.done<Committed>(std::chrono::seconds(30), [this, name = std::move(name)](
                                                              Result<Committed> done) {
    in_flight_.erase(name);
    if (done) return look_soon();
    if (done.error().reason == Reason::kCancelled) return;
    // Somebody else was faster, and that is an event; anything else is tried again.
    if (done.error().reason == Reason::kConflict || done.error().reason == Reason::kNotFound)
      return look_soon();
    log_.warn("a custom kind could not be written", {{"object", name}, {"error", done.error()}});
    scope_.after(
        std::chrono::seconds(1), [this] { look_soon(); }, Timer::kBackground);
  });
}

void CustomKinds::write(const kube::Object& old, kube::Object next) {
  const bool definition = old.kind() == kCustomResourceDefinition;
  std::string name = old.key().text();
  if (!definition) name += "@" + std::string(old.uid());
  if (in_flight_.contains(name)) return;
  store_.write({.kind = old.kind(),
                .key = old.key(),
                .expect = Write::Expect::kPresent,
                .uid = std::string(old.uid()),
                .revision = old.revision(),
                .next = stamped(std::move(next))},
               answer(std::move(name)));
}

void CustomKinds::erase(const kube::Object& old) {
  const bool definition = old.kind() == kCustomResourceDefinition;
  std::string name = old.key().text();
  if (!definition) name += "@" + std::string(old.uid());
  if (in_flight_.contains(name)) return;
  store_.write({.kind = old.kind(),
                .key = old.key(),
                .expect = Write::Expect::kPresent,
                .uid = std::string(old.uid()),
                .revision = old.revision()},
               answer(std::move(name)));
}

}  // namespace berth::apiserver
