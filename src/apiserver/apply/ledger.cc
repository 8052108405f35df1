// SPDX-License-Identifier: Apache-2.0
#include "apiserver/apply/ledger.h"

#include "apiserver/apply/created_fields.h"
#include "apiserver/apply/reset_fields.h"
#include "kube/time.h"

namespace berth::apiserver {
namespace {

using json::Value;

const std::string kUnknown = "unknown";  // k8s 1.36: who does not say who it is

// Whatever a client says about them, these have no manager.
const FieldSet& never_managed() {
  static const FieldSet set = [] {
    FieldSet out;
    for (const std::string_view name : {"apiVersion", "kind", "metadata"})
      out.insert(std::array{PathElement::field(name)});
    for (const std::string_view name : kNeverManagedMetadata)
      out.insert(std::array{PathElement::field("metadata"), PathElement::field(name)});
    return out;
  }();
  return set;
}

// Whether fieldsV1 have a field of the set.
bool overlap(Peek fields, const FieldSet& set) {
  for (const auto& [step, node] : set.nodes()) {
    const Peek found = fields[step.text()];
    if (!found) continue;
    if (node.member && (found.size() == 0 || found["."])) return true;
    if (!node.below.empty() && overlap(found, node.below)) return true;
  }
  return false;
}

void tell(const FieldSet& fields, const std::string& id, const std::string& name,
          std::vector<Ledger::Conflict>& out) {
  fields.each([&](FieldPath path) { out.push_back({id, name, {path.begin(), path.end()}}); });
}

}  // namespace

Ledger::Ledger(const KindRow& row, const ManagerNote& note)
    : type_(Type::of(row)),
      reset_(reset_fields(row, note.subresource)),
      version_(row.kind.api_version()),
      now_(kube::time_text(note.now)),
      subresource_(note.subresource) {}

void Ledger::update(const Value& live, const Value& next, const std::string& name) {
  fit();
  hand_over(noticed(compared(live, next, type_)), name);
  merge_oldest(managers);
}

std::optional<Value> Ledger::create(const KindRow& row, Edit& edit, const Value& empty,
                                    const std::string& name) const {
  const std::optional<std::string> fields = created_fields(row, edit, empty, reset_);
  if (!fields) return std::nullopt;
  if (fields->empty()) return Value(nullptr);
  Manager manager = updater(name);
  manager.time = now_;
  return write_manager(manager, *fields, edit.arena());
}

std::optional<Value> Ledger::update_some(json::List entries, const Value& live, const Value& next,
                                         const std::string& name, json::Arena& arena) {
  const Change change = noticed(compared(live, next, type_));
  if (change.touched.empty() && change.gone.empty()) return Value(std::move(entries));
  const std::string& own = name.empty() ? kUnknown : name;
  json::List out(arena.storage());
  std::size_t updaters = 1;
  for (std::size_t i = 0; i < entries.size(); ++i) {
    const Peek entry(entries[i]);
    const Peek fields = entry["fieldsV1"];
    updaters += entry["operation"].is("Update") ? 1 : 0;
    const bool concerned =
        overlap(fields, change.touched) || overlap(fields, change.gone) || entry["manager"].is(own);
    if (!concerned) {
      out.push_back(std::move(entries[i]));
      continue;
    }
    Result<Manager> manager = read_manager(entry, i);
    if (!manager) return std::nullopt;
    managers.insert_or_assign(manager->id(), std::move(*manager));
  }
  if (updaters > kMostUpdaters) return std::nullopt;
  hand_over(change, name);
  for (const auto& [id, manager] : managers)
    out.push_back(write_manager(manager, manager.fields.json(), arena));
  sort_entries(out);
  return Value(std::move(out));
}

std::optional<Value> Ledger::apply(const Value& live, const Value& config, const std::string& name,
                                   bool force, std::vector<Conflict>& conflicts,
                                   const boost::json::storage_ptr& storage) {
  fit();
  Value next = merged(live, config, type_, storage);
  Manager manager{.name = name.empty() ? kUnknown : name,
                  .applies = true,
                  .api_version = version_,
                  .subresource = subresource_};
  const std::string id = manager.id();
  manager.fields = fields_of(config, type_).without_trees(reset_);
  std::optional<Manager> last;
  if (const auto found = managers.find(id); found != managers.end()) last = found->second;
  if (last) manager.time = last->time;
  Managers before = managers;
  managers.insert_or_assign(id, manager);
  if (last && !last->fields.empty()) next = pruned(next, last->fields, storage);

  const Change change = noticed(compared(live, next, type_));
  if (!force) {
    for (const auto& [each, other] : before)
      if (each != id) tell(other.fields & change.touched, each, other.shown(), conflicts);
    if (!conflicts.empty()) {
      managers = std::move(before);
      return std::nullopt;
    }
  }
  take_from_others(change, id);
  const bool same = equal_values(live, next);
  if (const auto found = managers.find(id); found != managers.end()) {
    found->second.fields = found->second.fields - never_managed();
    if (!same) found->second.time = now_;
    if (found->second.fields.empty()) managers.erase(found);
  }
  if (same) return std::nullopt;
  return next;
}

void Ledger::fit() {
  for (auto& [id, manager] : managers) manager.fields = fitted(manager.fields, type_);
}

Manager Ledger::updater(const std::string& name) const {
  return {
      .name = name.empty() ? kUnknown : name, .api_version = version_, .subresource = subresource_};
}

void Ledger::hand_over(const Change& change, const std::string& name) {
  take_from_others(change, "");
  const FieldSet gained = change.touched - never_managed();
  if (gained.empty()) return;
  const Manager manager = updater(name);
  const auto [at, fresh] = managers.try_emplace(manager.id(), manager);
  at->second.fields = fresh ? gained : std::move(at->second.fields) | gained;
  at->second.api_version = version_;
  at->second.time = now_;
}

Ledger::Change Ledger::noticed(Comparison full) const {
  return {(std::move(full.modified) | full.added).without_trees(reset_),
          full.removed.without_trees(reset_)};
}

void Ledger::take_from_others(const Change& change, const std::string& own) {
  for (auto at = managers.begin(); at != managers.end();) {
    Manager& manager = at->second;
    if (at->first != own) (manager.fields -= change.touched) -= change.gone;
    at = manager.fields.empty() ? managers.erase(at) : std::next(at);
  }
}

// Without what the manager applied last time, does not apply now, and nobody else manages.
Value Ledger::pruned(const Value& merged_now, const FieldSet& last_fields,
                     const boost::json::storage_ptr& storage) const {
  const FieldSet last = with_structs(last_fields, type_);
  const Value bare = without(merged_now, last, type_, storage);
  FieldSet managed;
  for (const auto& [id, manager] : managers) managed = managed | manager.fields;
  const FieldSet all = with_structs(fields_of(merged_now, type_), type_);
  const FieldSet kept = with_structs(fields_of(bare, type_), type_);
  const Value owned =
      without(merged_now, all - (kept | with_structs(managed, type_)), type_, storage);
  const FieldSet rest = with_structs(fields_of(owned, type_), type_);
  return without(merged_now, (all - rest) & last, type_, storage);
}

}  // namespace berth::apiserver
