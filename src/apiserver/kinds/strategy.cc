// SPDX-License-Identifier: Apache-2.0
#include "apiserver/kinds/strategy.h"

#include <fmt/format.h>

#include "apiserver/edit/conform.h"
#include "apiserver/kinds/object_meta.h"
#include "kube/time.h"

namespace berth::apiserver {
namespace {

const Path kMetadata("metadata");

// The status that nobody has written yet.
json::Value no_status(const KindRow& row, json::Arena& arena) {
  const json::Field* field = row.schema == nullptr ? nullptr : row.schema->find("status");
  if (field == nullptr || field->message == nullptr || field->omit_empty)
    return json::Value(nullptr, arena.storage());
  return zero_of(*field->message, arena);
}

void keep(json::Dict& metadata, Peek before, std::string_view field) {
  const json::Value* was = before[field].value();
  if (was != nullptr && !was->is_null()) metadata[bj(field)] = *was;
}

}  // namespace

Result<std::vector<std::string>> decode(const KindRow& row, json::Value& document) {
  const auto refuse = [&](std::string_view why) {
    return fail(Reason::kBadRequest,
                fmt::format("{} in version \"{}\" cannot be handled as a {}: {}", row.kind.kind,
                            row.kind.version, row.kind.kind, why));
  };
  if (!document.is_object())
    return refuse("couldn't get version/kind; json parse error: not an object");
  if (row.decode) {
    auto unknown = row.decode(document);
    if (!unknown) return refuse(unknown.error().message);
    return unknown;
  }
  if (row.schema == nullptr) return std::vector<std::string>();
  // An empty list of managers is not nothing: it asks to forget them (note_update).
  const Peek managers = Peek(document)["metadata"]["managedFields"];
  const bool forget = managers.present() && managers.size() == 0;
  Result<Conformed> done = conform(document, *row.schema);
  if (!done) return refuse(done.error().message);
  if (forget)
    if (json::Dict* metadata = dict_in(document.as_object(), "metadata"))
      (*metadata)["managedFields"].emplace_array();
  return std::move(done->unknown);
}

void fill(const KindRow& row, Edit& edit) {
  for (const auto& step : row.fill) step(edit);
}

bool body_changed(Edit& edit) { return !same(Peek(edit.body()), edit.was_body()); }

Result<Ok> begin_create(const KindRow& row, Edit& edit, const Birth& birth) {
  json::Dict& metadata = edit.metadata();
  const std::string_view ns = Peek(metadata)["namespace"].text();
  if (row.kind.namespaced) {
    if (!ns.empty() && ns != birth.ns)
      return fail(Reason::kBadRequest,
                  "the namespace of the provided object does not match the namespace sent on the "
                  "request");
    metadata["namespace"] = birth.ns;
  } else {
    json::erase(metadata, "namespace");
  }
  // k8s 1.36: told as an error of the server, with 500 and no reason.
  if (!Peek(metadata)["resourceVersion"].text().empty())
    return fail(Reason::kUnknown, "resourceVersion should not be set on objects to be created");
  // k8s 1.36: a generation stays where the kind does not count any.
  for (const std::string_view field :
       {"deletionTimestamp", "deletionGracePeriodSeconds", "selfLink"})
    json::erase(metadata, field);
  if (Peek(metadata)["generation"].integer_or(0) == 0) json::erase(metadata, "generation");
  const std::string_view prefix = Peek(metadata)["generateName"].text();
  if (Peek(metadata)["name"].text().empty() && !prefix.empty())
    metadata["name"] = std::string(prefix.substr(0, 58)) + birth.name_suffix;
  metadata["uid"] = birth.uid;
  metadata["creationTimestamp"] = kube::time_text(birth.now);
  if (row.counts_generation) metadata["generation"] = 1;
  if (row.has_status && !row.status_on_create) edit.status() = no_status(row, edit.arena());
  for (const auto& step : row.on_create) step(edit);
  return Ok{};
}

Findings check_create(const KindRow& row, Edit& edit) {
  Findings findings;
  const Peek metadata(edit.metadata());
  check_metadata(metadata, row.kind.namespaced, row.name_rule, kMetadata, findings);
  check_finalizers(metadata["finalizers"], kMetadata / "finalizers", findings);
  for (const auto& step : row.check) step(edit, findings);
  return findings;
}

namespace {

// What no update changes, unless it says so and is refused.
void begin_any_update(Edit& edit) {
  json::Dict& metadata = edit.metadata();
  const Peek before = edit.was_metadata();
  json::erase(metadata, "generation");
  keep(metadata, before, "generation");
  if (Peek(metadata)["uid"].text().empty()) keep(metadata, before, "uid");
  if (Peek(metadata)["namespace"].text().empty()) keep(metadata, before, "namespace");
  keep(metadata, before, "creationTimestamp");
  keep(metadata, before, "deletionTimestamp");
  if (!Peek(metadata)["deletionGracePeriodSeconds"])
    keep(metadata, before, "deletionGracePeriodSeconds");
  json::erase(metadata, "selfLink");
}

void check_any_update(const KindRow& row, Edit& edit, Findings& findings) {
  const Peek now(edit.metadata());
  check_metadata(now, row.kind.namespaced, &check_path_segment, kMetadata, findings);
  // k8s 1.36: looked at once for all kinds and once more by the kind, and told twice.
  check_metadata_update(now, edit.was_metadata(), kMetadata, findings);
  check_metadata_update(now, edit.was_metadata(), kMetadata, findings);
  check_finalizers(now["finalizers"], kMetadata / "finalizers", findings);
}

}  // namespace

void begin_update(const KindRow& row, Edit& edit) {
  begin_any_update(edit);
  if (row.has_status) edit.restore_status();
  for (const auto& step : row.on_update) step(edit);
  if (row.counts_generation && body_changed(edit))
    edit.metadata()["generation"] = edit.from().generation() + 1;
}

Findings check_update(const KindRow& row, Edit& edit) {
  Findings findings;
  check_any_update(row, edit, findings);
  for (const auto& step : row.check_update) step(edit, findings);
  return findings;
}

void begin_status_update(const KindRow& row, Edit& edit) {
  begin_any_update(edit);
  edit.restore_body();
  for (const auto& step : row.on_status_update) step(edit);
}

Findings check_status_update(const KindRow& row, Edit& edit) {
  Findings findings;
  check_any_update(row, edit, findings);
  for (const auto& step : row.check_status) step(edit, findings);
  return findings;
}

}  // namespace berth::apiserver
