// SPDX-License-Identifier: Apache-2.0
#include "apiserver/serve/traffic.h"

#include <functional>
#include <string>

namespace berth::apiserver {
namespace {

using kube::Verb;

// k8s 1.36: of apiserver_request_duration_seconds.
std::vector<double> duration_buckets() {
  return {0.005, 0.025, 0.05, 0.1, 0.2, 0.4, 0.6, 0.8, 1.0, 1.25, 1.5, 2,
          3,     4,     5,    6,   8,   10,  15,  20,  30,  45,   60};
}

// k8s 1.36: of metrics; a method for most verbs.
std::string_view metric_verb(Verb verb, const kube::ApiRequest& request) {
  switch (verb) {
    case Verb::kGet:
      return "GET";
    case Verb::kList:
      return "LIST";
    case Verb::kWatch:
      return "WATCH";
    case Verb::kCreate:
      return "POST";
    case Verb::kUpdate:
      return "PUT";
    case Verb::kPatch:
      return request.options.patch_type == kube::PatchType::kApply ? "APPLY" : "PATCH";
    case Verb::kDelete:
      return "DELETE";
    case Verb::kDeleteCollection:
      return "DELETECOLLECTION";
    case Verb::kRaw:
      break;
  }
  return request.raw_method == "GET" || request.raw_method == "POST" ||
                 request.raw_method == "PUT" || request.raw_method == "DELETE"
             ? std::string_view(request.raw_method)
             : "other";
}

std::string_view scope_of(const KindRow* row, const kube::ApiRequest& request) {
  if (row == nullptr) return "";
  if (!request.name.empty() || request.verb == Verb::kCreate) return "resource";
  return request.ns.empty() ? "cluster" : "namespace";
}

Error too_many(std::string message) {
  return {.reason = Reason::kTooManyRequests,
          .message = std::move(message),
          .retry_after = std::chrono::seconds(1)};
}

}  // namespace

std::string_view verb_name(Verb verb) {
  constexpr std::string_view kNames[] = {"get",    "list",  "watch",  "create",
                                         "update", "patch", "delete", "deletecollection"};
  return verb == Verb::kRaw ? "" : kNames[static_cast<std::size_t>(verb)];
}

bool is_write(Verb verb) {
  return verb != Verb::kGet && verb != Verb::kList && verb != Verb::kWatch && verb != Verb::kRaw;
}

Traffic::Traffic(Metrics& metrics, const Clock& clock, const TrafficLimits& limits)
    : clock_(clock),
      limits_(limits),
      total_(metrics.counters("apiserver_request_total",
                              "Counter of apiserver requests broken out for each verb, dry run "
                              "value, group, version, resource, scope, component, and HTTP "
                              "response code.",
                              {"verb", "dry_run", "group", "version", "resource", "subresource",
                               "scope", "component", "code"})),
      duration_(metrics.histograms(
          "apiserver_request_duration_seconds",
          "Response latency distribution in seconds for each verb, dry "
          "run value, group, version, resource, subresource, scope and "
          "component.",
          {"verb", "dry_run", "group", "version", "resource", "subresource", "scope", "component"},
          duration_buckets())),
      in_flight_(metrics.gauges("apiserver_current_inflight_requests",
                                "Number of requests of this apiserver that are being answered, by "
                                "request kind.",
                                {"request_kind"})),
      long_running_(metrics.gauges("apiserver_longrunning_requests",
                                   "Gauge of all active long-running apiserver requests.",
                                   {"verb", "group", "version", "resource", "component"})),
      reading_(in_flight_.with({"readOnly"})),
      writing_(in_flight_.with({"mutating"})) {}

Result<Ok> Traffic::room_for(Verb verb) const {
  const bool full =
      is_write(verb) ? outside_writes_ >= limits_.writes : outside_reads_ >= limits_.reads;
  if (full) return tl::unexpected(too_many("Too many requests, please try again later."));
  return Ok{};
}

void Traffic::began(Verb verb, bool counted) {
  ++(is_write(verb) ? writes_ : reads_);
  if (counted) ++(is_write(verb) ? outside_writes_ : outside_reads_);
  (is_write(verb) ? writing_ : reading_).add(1);
}

void Traffic::ended(Verb verb, bool counted, const KindRow* row, const kube::ApiRequest& request,
                    int code, Instant since) {
  --(is_write(verb) ? writes_ : reads_);
  if (counted) --(is_write(verb) ? outside_writes_ : outside_reads_);
  (is_write(verb) ? writing_ : reading_).add(-1);
  const Handles& known = handles(verb, row, request, code);
  known.total.add();
  // How long a watch takes says nothing.
  if (verb != Verb::kWatch)
    known.duration.observe(std::chrono::duration<double>(clock_.now() - since).count());
}

Traffic::Handles& Traffic::handles(Verb verb, const KindRow* row, const kube::ApiRequest& request,
                                   int code) {
  const std::string_view scope = scope_of(row, request), name = metric_verb(verb, request);
  std::uint64_t key = row == nullptr ? 0xffff : static_cast<std::uint64_t>(row->id);
  key = key << 16 | static_cast<std::uint64_t>(static_cast<unsigned>(code) & 0xfff) << 4 |
        static_cast<std::uint64_t>(verb);
  key = key << 4 | (name == "APPLY" ? 8U : 0U) | (request.options.dry_run ? 4U : 0U) |
        (scope == "resource"  ? 1U
         : scope == "cluster" ? 2U
                              : 0U);
  // Few subresources there are: what else may come is not told apart.
  const std::string_view sub = row != nullptr && row->subresource(request.subresource) != nullptr
                                   ? std::string_view(request.subresource)
                                   : "";
  if (!sub.empty()) key ^= std::hash<std::string_view>()(sub) << 40;
  if (const auto found = known_.find(key); found != known_.end()) return found->second;
  const std::string_view dry = request.options.dry_run ? "All" : "";
  const std::string_view group = row == nullptr ? "" : std::string_view(row->kind.group),
                         version = row == nullptr ? "" : std::string_view(row->kind.version),
                         resource = row == nullptr ? "" : std::string_view(row->kind.plural);
  return known_
      .emplace(
          key,
          Handles{total_.with({name, dry, group, version, resource, sub, scope, "apiserver",
                               std::to_string(code)}),
                  duration_.with({name, dry, group, version, resource, sub, scope, "apiserver"})})
      .first->second;
}

Result<Ok> Traffic::room_for_watch() const {
  if (watches_ >= limits_.watches)
    return tl::unexpected(too_many("Too many watches, please try again later."));
  return Ok{};
}

void Traffic::watch_began(const KindRow& row) {
  ++watches_;
  long_running_.with({"WATCH", row.kind.group, row.kind.version, row.kind.plural, "apiserver"})
      .add(1);
}

void Traffic::watch_ended(const KindRow& row) {
  --watches_;
  long_running_.with({"WATCH", row.kind.group, row.kind.version, row.kind.plural, "apiserver"})
      .add(-1);
}

}  // namespace berth::apiserver
