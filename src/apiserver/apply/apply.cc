// SPDX-License-Identifier: Apache-2.0
#include "apiserver/apply/apply.h"

#include <fmt/format.h>

#include "apiserver/apply/last_applied.h"
#include "apiserver/apply/managers.h"
#include "apiserver/apply/reset_fields.h"
#include "apiserver/apply/walk.h"
#include "apiserver/edit/conform.h"
#include "apiserver/kinds/strategy.h"
#include "kube/time.h"

namespace berth::apiserver {
namespace {

using json::Dict;
using json::Value;

constexpr std::string_view kFields = "managedFields";

// Whatever a client says about them, these have no manager.
const FieldSet& never_managed() {
  static const FieldSet set = [] {
    FieldSet out;
    for (const std::string_view name : {"apiVersion", "kind", "metadata"})
      out.insert(std::array{PathElement::field(name)});
    for (const std::string_view name :
         {"name", "namespace", "creationTimestamp", "selfLink", "uid", "clusterName", "generation",
          "managedFields", "resourceVersion"})
      out.insert(std::array{PathElement::field("metadata"), PathElement::field(name)});
    return out;
  }();
  return set;
}

// The document as a whole, without kind, apiVersion and managedFields.
Value whole(Peek metadata, Peek body, Peek status, const boost::json::storage_ptr& storage) {
  Dict out(storage);
  Dict own(metadata.members(), storage);
  json::erase(own, kFields);
  out["metadata"] = std::move(own);
  for (const auto& member : body.members()) out.emplace(member.key(), member.value());
  if (status.value() != nullptr && !status.value()->is_null()) out["status"] = *status.value();
  return out;
}

Value as_it_was(Edit& edit) {
  return whole(edit.was_metadata(), edit.was_body(), edit.was_status(), edit.arena().storage());
}

Value as_it_is(Edit& edit) {
  const Value status = edit.status();
  return whole(Peek(edit.metadata()), Peek(edit.body()), Peek(status), edit.arena().storage());
}

// What an object looks like of which nothing has been said yet.
Value nothing(const KindRow& row, json::Arena& arena) {
  if (row.schema == nullptr || row.custom) return Dict(arena.storage());
  return zero_of(*row.schema, arena);
}

// One write to an object whose fields are followed.
class Ledger {
 public:
  Ledger(const KindRow& row, const ManagerNote& note)
      : type_(Type::of(row)),
        reset_(reset_fields(row, note.subresource)),
        version_(row.kind.api_version()),
        now_(kube::time_text(note.now)),
        subresource_(note.subresource) {}

  Managers managers = {};

  // What differs belongs to the manager, and to nobody else.
  void update(const Value& live, const Value& next, const std::string& name) {
    fit();
    const Comparison full = compared(live, next, type_);
    take_from_others(full, "");
    const FieldSet gained = ((full.modified | full.added).without_trees(reset_)) - never_managed();
    if (!gained.empty()) {
      Manager manager{.name = name.empty() ? "unknown" : name,
                      .api_version = version_,
                      .subresource = subresource_};
      const auto [at, fresh] = managers.try_emplace(manager.id(), manager);
      at->second.fields = fresh ? gained : gained | at->second.fields;
      at->second.api_version = version_;
      at->second.time = now_;
    }
    merge_oldest(managers);
  }

  struct Conflict {
    std::string manager, shown;  // its id, and as messages name it
    std::vector<PathElement> path;
  };

  // The merged document; nothing where it is the live one. Conflicts, unless forced, leave the
  // managers as they are.
  std::optional<Value> apply(const Value& live, const Value& config, const std::string& name,
                             bool force, std::vector<Conflict>& conflicts,
                             const boost::json::storage_ptr& storage) {
    fit();
    Value next = merged(live, config, type_, storage);
    Manager manager{.name = name.empty() ? "unknown" : name,
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

    const Comparison full = compared(live, next, type_);
    if (!force) {
      find_conflicts(full, id, before, conflicts);
      if (!conflicts.empty()) {
        managers = std::move(before);
        return std::nullopt;
      }
    }
    take_from_others(full, id);
    const bool same = equal_values(live, next);
    if (const auto found = managers.find(id); found != managers.end()) {
      found->second.fields = found->second.fields - never_managed();
      if (!same) found->second.time = now_;
      if (found->second.fields.empty()) managers.erase(found);
    }
    if (same) return std::nullopt;
    return next;
  }

 private:
  void fit() {
    for (auto& [id, manager] : managers) manager.fields = fitted(manager.fields, type_);
  }

  FieldSet changed(const Comparison& full) const {
    return (full.modified | full.added).without_trees(reset_);
  }

  void find_conflicts(const Comparison& full, const std::string& own, const Managers& before,
                      std::vector<Conflict>& out) const {
    const FieldSet touched = changed(full);
    for (const auto& [id, manager] : before) {
      if (id == own) continue;
      tell(manager.fields & touched, id, manager.shown(), out);
    }
  }

  static void tell(const FieldSet& fields, const std::string& id, const std::string& name,
                   std::vector<Conflict>& out) {
    fields.each([&](FieldPath path) { out.push_back({id, name, {path.begin(), path.end()}}); });
  }

  void take_from_others(const Comparison& full, const std::string& own) {
    const FieldSet touched = changed(full);
    const FieldSet gone = full.removed.without_trees(reset_);
    for (auto at = managers.begin(); at != managers.end();) {
      Manager& manager = at->second;
      if (at->first != own) {
        manager.fields = (manager.fields - touched) - gone;
      }
      at = manager.fields.empty() ? managers.erase(at) : std::next(at);
    }
  }

  // Without what the manager applied last time, does not apply now, and nobody else manages.
  Value pruned(const Value& merged_now, const FieldSet& last_fields,
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

  Type type_;
  FieldSet reset_;
  std::string version_, now_, subresource_;
};

Error conflict_error(const std::vector<Ledger::Conflict>& conflicts) {
  Error error{.reason = Reason::kConflict, .message = {}};
  for (const Ledger::Conflict& each : conflicts)
    error.causes.push_back({.reason = "FieldManagerConflict",
                            .message = "conflict with " + each.shown,
                            .field = shown(each.path)});
  if (conflicts.size() == 1) {
    error.message = fmt::format("Apply failed with 1 conflict: conflict with {}: {}",
                                conflicts[0].shown, shown(conflicts[0].path));
    return error;
  }
  error.message = fmt::format("Apply failed with {} conflicts: ", conflicts.size());
  std::string_view current;
  for (const Ledger::Conflict& each : conflicts) {
    if (each.manager != current) {
      if (!current.empty()) error.message += '\n';
      error.message += fmt::format("conflicts with {}:", each.shown);
      current = each.manager;
    }
    error.message += "\n- " + shown(each.path);
  }
  return error;
}

void write(Edit& edit, const Managers& managers) {
  json::erase(edit.metadata(), kFields);
  if (managers.empty()) return;
  edit.metadata()[bj(kFields)] = write_managers(managers, edit.arena().storage());
}

// k8s 1.36: a write that changes nothing but times in managedFields changes nothing.
void keep_times(Edit& edit) {
  if (!edit.from().valid()) return;
  const Peek before = edit.was_metadata()[kFields], now = Peek(edit.metadata())[kFields];
  if (before.size() != now.size() || now.size() == 0) return;
  for (std::size_t i = 0; i < now.size(); ++i) {
    const Peek was = before[i], is = now[i];
    for (const std::string_view key :
         {"manager", "operation", "apiVersion", "fieldsType", "fieldsV1", "subresource"})
      if (!same(was[key], is[key])) return;
  }
  const Value was = as_it_was(edit), is = as_it_is(edit);
  if (same(Peek(was), Peek(is))) edit.metadata()[bj(kFields)] = *before.value();
}

std::string described(const KindRow& row, Peek document) {
  return fmt::format("{}/{}; {}/{}, Kind={}", document["metadata"]["namespace"].text(),
                     document["metadata"]["name"].text(), row.kind.group, row.kind.version,
                     row.kind.kind);
}

// Told without a reason, with 500, as errors are that kube-apiserver has no name for.
tl::unexpected<Error> unnamed(std::string message) {
  return fail(Reason::kUnknown, std::move(message));
}

Result<Ok> check_patch(const KindRow& row, const Value& patch) {
  const Peek document(patch);
  const std::string_view version = document["apiVersion"].text(), kind = document["kind"].text();
  if (!patch.is_object() || version != row.kind.api_version() || kind != row.kind.kind)
    return fail(Reason::kBadRequest,
                fmt::format("invalid object type: {}{}, Kind={}",
                            version.find('/') == version.npos ? "/" : "", version, kind));
  const Value* fields = document["metadata"].members().if_contains(bj(kFields));
  if (fields != nullptr && fields->is_array())
    return fail(Reason::kBadRequest, "metadata.managedFields must be nil");
  return Ok{};
}

}  // namespace

Result<Ok> apply_patch(const KindRow& row, Edit& edit, json::Value patch, const ManagerNote& note,
                       bool force) {
  if (Result<Ok> good = check_patch(row, patch); !good) return good;
  const boost::json::storage_ptr storage = edit.arena().storage();
  const Type type = Type::of(row);
  const Value applied = patch;
  for (const std::string_view head : {"apiVersion", "kind"}) json::erase(patch.as_object(), head);
  if (const std::string wrong = complaints_about(patch, type, false); !wrong.empty())
    return unnamed(fmt::format("failed to create typed patch object ({}): {}",
                               described(row, applied), wrong));

  const bool exists = edit.from().valid();
  const Value live = exists ? as_it_was(edit) : nothing(row, edit.arena());
  Ledger ledger(row, note);
  if (exists) {
    Result<Managers> managers = read_managers(edit.was_metadata()[kFields]);
    if (!managers) return unnamed("failed to decode managed fields: " + managers.error().message);
    ledger.managers = std::move(*managers);
    if (ledger.managers.empty()) {
      const Value empty = nothing(row, edit.arena());
      ledger.update(empty, live, "before-first-apply");
      give_to_kubectl(row, live, type, ledger.managers);
    }
  }

  std::vector<Ledger::Conflict> conflicts;
  const Managers before = ledger.managers;
  std::optional<Value> next = ledger.apply(live, patch, note.manager, force, conflicts, storage);
  if (!conflicts.empty() && note.manager == "kubectl") {
    // What kubectl has written on the client's side before is its own.
    if (const std::optional<FieldSet> own = last_applied_fields(row, live, type)) {
      std::erase_if(conflicts, [&](const auto& each) { return own->has(each.path); });
      if (conflicts.empty()) {
        ledger.managers = before;
        next = ledger.apply(live, patch, note.manager, true, conflicts, storage);
      }
    }
  }
  if (!conflicts.empty()) return tl::unexpected(conflict_error(conflicts));

  Value document = next ? std::move(*next) : live;
  if (note.manager == "kubectl") renew_last_applied(document, applied);
  const std::string what = described(row, applied);
  if (Result<std::vector<std::string>> done = decode(row, document); !done)
    return unnamed(fmt::format("failed to convert new object ({}) to proper version: {}", what,
                               done.error().message));
  edit.replace(std::move(document));
  fill(row, edit);
  write(edit, ledger.managers);
  keep_times(edit);
  return Ok{};
}

void note_update(const KindRow& row, Edit& edit, const ManagerNote& note) {
  const bool exists = edit.from().valid();
  const bool had = exists && edit.from().metadata()[kFields].present();
  const Value* given = edit.metadata().if_contains(bj(kFields));
  if (!had && given == nullptr) return;

  Managers managers;
  if (note.subresource.empty() && given != nullptr) {
    const Peek list(*given);
    // [{}] and [] say that everything shall be forgotten.
    const bool forget =
        given->is_array() &&
        (list.size() == 0 || (list.size() == 1 && list[0].present() && !read_managers(list) &&
                              list[0]["manager"].text().empty() &&
                              list[0]["operation"].text().empty() && !list[0]["fieldsV1"]));
    if (forget) return json::erase(edit.metadata(), kFields);
    if (Result<Managers> read = read_managers(list)) managers = std::move(*read);
  }
  if (managers.empty() && had)
    if (Result<Managers> read = read_managers(edit.was_metadata()[kFields]))
      managers = std::move(*read);
  json::erase(edit.metadata(), kFields);
  if (managers.empty()) return;  // nobody has applied to it

  Ledger ledger(row, note);
  ledger.managers = std::move(managers);
  const Value live = exists ? as_it_was(edit) : nothing(row, edit.arena());
  ledger.update(live, as_it_is(edit), note.manager);
  write(edit, ledger.managers);
  keep_times(edit);
}

}  // namespace berth::apiserver
