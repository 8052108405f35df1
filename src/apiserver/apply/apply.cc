// SPDX-License-Identifier: Apache-2.0
#include "apiserver/apply/apply.h"

#include <fmt/format.h>

#include "apiserver/apply/last_applied.h"
#include "apiserver/apply/ledger.h"
#include "apiserver/apply/walk.h"
#include "apiserver/edit/conform.h"
#include "apiserver/kinds/strategy.h"

namespace berth::apiserver {
namespace {

using json::Dict;
using json::Value;

constexpr std::string_view kFields = "managedFields";
// The document as a whole, without kind, apiVersion and managedFields.
Value whole(Peek metadata, Peek body, Peek status, const boost::json::storage_ptr& storage) {
  Dict out(storage);
  Dict own(storage);
  for (const auto& member : metadata.members())
    if (sv(member.key()) != kFields) own.emplace(member.key(), member.value());
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

// The metadata before, without who manages what, which is most of it and takes time to read.
Value old_metadata(Edit& edit) {
  Dict out(edit.arena().storage());
  for (const auto [key, value] : edit.from().metadata().members())
    if (key != kFields) out.emplace(bj(key), json::parse_good(value.raw(), edit.arena()));
  return out;
}

// What an object looks like of which nothing has been said yet.
Value nothing(const KindRow& row, json::Arena& arena) {
  if (row.schema == nullptr || row.custom) return Dict(arena.storage());
  return zero_of(*row.schema, arena);
}

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
  edit.metadata()[bj(kFields)] = write_managers(managers, edit.arena());
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

namespace {

// [{}] and [] say that everything shall be forgotten.
bool forgets(const Value& given) {
  if (!given.is_array()) return false;
  const Peek list(given);
  return list.size() == 0 || (list.size() == 1 && list[0].present() && !read_managers(list) &&
                              list[0]["manager"].text().empty() &&
                              list[0]["operation"].text().empty() && !list[0]["fieldsV1"]);
}

void note_creation(const KindRow& row, Edit& edit, const ManagerNote& note, Ledger& ledger) {
  const Value empty = nothing(row, edit.arena());
  json::erase(edit.metadata(), kFields);
  if (ledger.managers.empty()) {
    if (std::optional<Value> entry = ledger.create(row, edit, empty, note.manager)) {
      if (entry->is_null()) return;
      edit.metadata()[bj(kFields)] = json::List({std::move(*entry)}, edit.arena().storage());
      return;
    }
  }
  ledger.update(empty, as_it_is(edit), note.manager);
  write(edit, ledger.managers);
}

}  // namespace

void note_update(const KindRow& row, Edit& edit, const ManagerNote& note) {
  const bool exists = edit.from().valid();
  const json::Slice before = exists ? edit.from().metadata()[kFields] : json::Slice();
  const bool had = before.present();
  const bool touched = edit.touches_metadata() || !exists;
  if (!had && (exists || !note.follows) && (!touched || !edit.metadata().contains(bj(kFields))))
    return;

  Ledger ledger(row, note);
  Value* given = edit.metadata().if_contains(bj(kFields));
  const bool same = had && given != nullptr && (!touched || json::print(*given) == before.raw());
  if (note.subresource.empty() && given != nullptr && !same) {
    if (exists && forgets(*given)) return json::erase(edit.metadata(), kFields);
    if (Result<Managers> read = read_managers(Peek(*given))) ledger.managers = std::move(*read);
  }
  if (!exists) {
    if (note.follows || !ledger.managers.empty()) return note_creation(row, edit, note, ledger);
    return json::erase(edit.metadata(), kFields);
  }
  if (!had && ledger.managers.empty()) return json::erase(edit.metadata(), kFields);

  if (ledger.managers.empty() && !row.custom) {
    Value entries = same ? std::move(*given) : json::parse_good(before.raw(), edit.arena());
    json::erase(edit.metadata(), kFields);
    const bool body = edit.touches_body(), status = edit.touches_status();
    const Value was = touched ? old_metadata(edit) : Value(Dict(edit.arena().storage()));
    const Value live = whole(Peek(was), body ? edit.was_body() : Peek(),
                             status ? edit.was_status() : Peek(), edit.arena().storage());
    const Value next =
        whole(touched ? Peek(edit.metadata()) : Peek(), body ? Peek(edit.body()) : Peek(),
              status ? Peek(edit.status()) : Peek(), edit.arena().storage());
    if (entries.is_array()) {
      std::optional<Value> now = ledger.update_some(std::move(entries.get_array()), live, next,
                                                    note.manager, edit.arena());
      if (now) {
        if (Peek(*now).size() > 0) edit.metadata()[bj(kFields)] = std::move(*now);
        return;
      }
      ledger.managers.clear();
    }
  }
  if (ledger.managers.empty())
    if (Result<Managers> read = read_managers(edit.was_metadata()[kFields]))
      ledger.managers = std::move(*read);
  json::erase(edit.metadata(), kFields);
  if (ledger.managers.empty()) return;  // nobody has applied to it
  ledger.update(as_it_was(edit), as_it_is(edit), note.manager);
  write(edit, ledger.managers);
  keep_times(edit);
}

}  // namespace berth::apiserver
