// SPDX-License-Identifier: Apache-2.0
#include "apiserver/http/options.h"

#include <algorithm>
#include <vector>

#include <fmt/format.h>

#include "apiserver/kinds/findings.h"
#include "json/writer.h"

namespace berth::apiserver {
namespace {

using kube::Verb;

constexpr std::size_t kLongestManager = 128;

Error invalid_options(const Findings& findings, std::string_view kind) {
  const kube::Kind named{
      .group = "meta.k8s.io", .version = "v1", .kind = std::string(kind), .plural = ""};
  Error error = findings.error(named, "");
  error.about = std::make_shared<const About>(About{.group = named.group, .kind = named.kind});
  return error;
}

Shown shown_list(const std::vector<std::string>& texts) {
  json::Writer w;
  w.array();
  for (const std::string& text : texts) w.string(text);
  w.end();
  return Shown::raw(w.take());
}

void read_dry_run(const std::vector<std::string>& values, kube::Options& options,
                  Findings& findings) {
  const bool all =
      std::all_of(values.begin(), values.end(), [](const auto& v) { return v == "All"; });
  if (!all) findings.not_supported(Path("dryRun"), shown_list(values), {"All"});
  options.dry_run = !values.empty();
}

void read_manager(std::string manager, kube::Options& options, Findings& findings) {
  if (manager.size() > kLongestManager) findings.too_long(Path("fieldManager"), kLongestManager);
  for (std::size_t i = 0; i < manager.size(); ++i) {
    const auto c = static_cast<unsigned char>(manager[i]);
    if (c < 0x20 || c == 0x7f)
      findings.invalid(Path("fieldManager"), manager,
                       fmt::format("invalid character U+{:04X} (at position {})", c, i));
  }
  options.field_manager = std::move(manager);
}

void read_validation(const std::string& text, kube::Options& options, Findings& findings) {
  using kube::FieldValidation;
  if (text == "Ignore")
    options.field_validation = FieldValidation::kIgnore;
  else if (text == "Warn")
    options.field_validation = FieldValidation::kWarn;
  else if (text == "Strict")
    options.field_validation = FieldValidation::kStrict;
  else if (!text.empty())
    findings.not_supported(Path("fieldValidation"), text, {"", "Ignore", "Strict", "Warn"});
}

Result<Ok> read_write_options(const Query& query, Verb verb, kube::Options& options) {
  Findings findings;
  const std::string manager = query.text("fieldManager");
  if (verb == Verb::kPatch) {
    const auto force = query.flag("force");
    options.force = force.value_or(false);
    if (options.patch_type == kube::PatchType::kApply) {
      if (manager.empty()) findings.required(Path("fieldManager"), "is required for apply patch");
    } else if (force) {
      findings.forbidden(Path("force"), "may not be specified for non-apply patch");
    }
  }
  read_manager(manager, options, findings);
  read_dry_run(query.all("dryRun"), options, findings);
  read_validation(query.text("fieldValidation"), options, findings);
  if (findings.empty()) return Ok{};
  return tl::unexpected(invalid_options(findings, verb == Verb::kCreate   ? "CreateOptions"
                                                  : verb == Verb::kUpdate ? "UpdateOptions"
                                                                          : "PatchOptions"));
}

Result<Ok> read_list_options(const Query& query, Verb verb, kube::Options& options) {
  options.label_selector = query.text("labelSelector");
  options.field_selector = query.text("fieldSelector");
  if (const auto revision = query.first("resourceVersion"))
    options.resource_version = std::string(*revision);
  options.continue_token = query.text("continue");
  options.bookmarks = query.flag("allowWatchBookmarks").value_or(false);
  options.send_initial_events = query.flag("sendInitialEvents");
  const auto limit = query.integer("limit");
  if (!limit) return tl::unexpected(limit.error());
  options.limit = limit->value_or(0);
  const auto seconds = query.integer("timeoutSeconds");
  if (!seconds) return tl::unexpected(seconds.error());
  options.timeout_seconds = *seconds;
  const std::string match = query.text("resourceVersionMatch");
  if (match == "Exact") options.version_match = kube::VersionMatch::kExact;
  if (match == "NotOlderThan") options.version_match = kube::VersionMatch::kNotOlderThan;
  if (!match.empty() && options.version_match == kube::VersionMatch::kUnset) {
    // A value that is known is checked where lists are planned.
    Findings findings;
    const Path at("resourceVersionMatch");
    if (verb == Verb::kWatch) {
      findings.forbidden(at, options.send_initial_events
                                 ? "sendInitialEvents requires setting resourceVersionMatch to "
                                   "NotOlderThan"
                                 : "resourceVersionMatch is forbidden for watch unless "
                                   "sendInitialEvents is provided");
      findings.not_supported(at, match, {"NotOlderThan"});
    } else {
      if (options.resource_version.value_or("").empty())
        findings.forbidden(at,
                           "resourceVersionMatch is forbidden unless resourceVersion is provided");
      if (!options.continue_token.empty())
        findings.forbidden(at, "resourceVersionMatch is forbidden when continue is provided");
      findings.not_supported(at, match, {"Exact", "NotOlderThan", ""});
    }
    return tl::unexpected(invalid_options(findings, "ListOptions"));
  }
  return Ok{};
}

}  // namespace

Result<Ok> read_options(const Query& query, Verb verb, kube::Options& options) {
  switch (verb) {
    case Verb::kGet:
      if (const auto revision = query.first("resourceVersion"))
        options.resource_version = std::string(*revision);
      return Ok{};
    case Verb::kList:
    case Verb::kWatch:
    case Verb::kDeleteCollection:
      return read_list_options(query, verb, options);
    case Verb::kCreate:
    case Verb::kUpdate:
    case Verb::kPatch:
      return read_write_options(query, verb, options);
    case Verb::kDelete:
    case Verb::kRaw:
      break;
  }
  return Ok{};
}

Result<Ok> read_delete_options(const Query& query, kube::Options& options) {
  using kube::Propagation;
  const auto grace = query.integer("gracePeriodSeconds");
  if (!grace) return tl::unexpected(grace.error());
  options.grace_period_seconds = *grace;
  Findings findings;
  const auto orphan = query.flag("orphanDependents");
  if (query.has("propagationPolicy")) {
    const std::string policy = query.text("propagationPolicy");
    if (orphan)
      findings.invalid(Path("propagationPolicy"), policy,
                       "orphanDependents and deletionPropagation cannot be both set");
    if (policy == "Background")
      options.propagation = Propagation::kBackground;
    else if (policy == "Foreground")
      options.propagation = Propagation::kForeground;
    else if (policy == "Orphan")
      options.propagation = Propagation::kOrphan;
    else
      findings.not_supported(Path("propagationPolicy"), policy,
                             {"Foreground", "Background", "Orphan", "nil"});
  } else if (orphan) {
    options.propagation = *orphan ? Propagation::kOrphan : Propagation::kBackground;
  }
  read_dry_run(query.all("dryRun"), options, findings);
  if (!findings.empty()) return tl::unexpected(invalid_options(findings, "DeleteOptions"));
  return Ok{};
}

}  // namespace berth::apiserver
