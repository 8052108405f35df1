// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>

#include "base/check.h"
#include "base/escape.h"
#include "json/writer.h"
#include "json/yaml.h"
#include "scheduler/config/config.h"
#include "scheduler/config/fields.h"
#include "scheduler/config/parts.h"

namespace berth::scheduler {
namespace {

using json::Slice;

constexpr std::string_view kGroup = "kubescheduler.config.k8s.io/";
constexpr std::string_view kKind = "KubeSchedulerConfiguration";

// Is it ours at all? If not, nothing else is worth saying.
bool check_kind(Fields& root, Problems& problems) {
  const std::size_t before = problems.count();
  std::string version, kind;
  root.text("apiVersion", version);
  root.text("kind", kind);
  if (problems.count() != before) return false;
  if (version.empty())
    root.complain("apiVersion", fmt::format("is missing; write \"{}\"", kConfigVersion));
  else if (version != kConfigVersion && version.starts_with(kGroup))
    root.complain(
        "apiVersion",
        fmt::format("is {}, which kube-scheduler 1.36 no longer reads; this version reads "
                    "\"{}\": convert the file",
                    json::quoted(version), kConfigVersion));
  else if (version != kConfigVersion)
    root.complain("apiVersion", fmt::format("is {}; a scheduler's configuration has \"{}\"",
                                            json::quoted(version), kConfigVersion));
  if (kind.empty())
    root.complain("kind", fmt::format("is missing; write \"{}\"", kKind));
  else if (kind != kKind)
    root.complain("kind", fmt::format("is {}; a scheduler's configuration has \"{}\"",
                                      json::quoted(kind), kKind));
  return problems.count() == before;
}

// k8s 1.36: zero and "" are not stated.
template <class T>
void keep_default(T& value, const T& standard) {
  if (value == T{}) value = standard;
}

void read_leader_election(Fields& in, Problems& problems, LeaderElectionConfig& out) {
  in.boolean("leaderElect", out.leader_elect);
  in.duration("leaseDuration", out.lease_duration);
  in.duration("renewDeadline", out.renew_deadline);
  in.duration("retryPeriod", out.retry_period);
  in.text("resourceLock", out.resource_lock);
  in.text("resourceName", out.resource_name);
  in.text("resourceNamespace", out.resource_namespace);
  const LeaderElectionConfig standard;
  keep_default(out.lease_duration, standard.lease_duration);
  keep_default(out.renew_deadline, standard.renew_deadline);
  keep_default(out.retry_period, standard.retry_period);
  keep_default(out.resource_lock, standard.resource_lock);
  keep_default(out.resource_name, standard.resource_name);
  keep_default(out.resource_namespace, standard.resource_namespace);
  for (const ElectionProblem& problem :
       check_election(out, [&](std::string_view field) { return in.path(field); }))
    problems.add(problem.field, problem.what);
}

void read_client_connection(Fields& in, ClientConnectionConfig& out) {
  in.text("kubeconfig", out.kubeconfig);
  in.text("acceptContentTypes", out.accept_content_types);
  in.text("contentType", out.content_type);
  in.number("qps", out.qps);
  in.integer("burst", out.burst);
  const ClientConnectionConfig standard;
  keep_default(out.content_type, standard.content_type);
  keep_default(out.qps, standard.qps);
  keep_default(out.burst, standard.burst);
  if (out.burst < 0)
    in.complain("burst", fmt::format("{} is negative; write 0 or more", out.burst));
}

void read_backoff(Fields& root, SchedulerConfig& out) {
  root.integer("podInitialBackoffSeconds", out.pod_initial_backoff_seconds);
  root.integer("podMaxBackoffSeconds", out.pod_max_backoff_seconds);
  // Backoffs are reckoned in nanoseconds.
  constexpr std::int64_t kMost = 9'000'000'000;
  if (out.pod_initial_backoff_seconds <= 0 || out.pod_initial_backoff_seconds > kMost)
    root.complain("podInitialBackoffSeconds",
                  fmt::format("{} is not within 1 and {}", out.pod_initial_backoff_seconds, kMost));
  else if (out.pod_max_backoff_seconds < out.pod_initial_backoff_seconds ||
           out.pod_max_backoff_seconds > kMost)
    root.complain("podMaxBackoffSeconds",
                  fmt::format("{} is not within podInitialBackoffSeconds ({}) and {}",
                              out.pod_max_backoff_seconds, out.pod_initial_backoff_seconds, kMost));
}

SchedulerConfig read(Fields& root, Problems& problems, std::span<const PluginInfo> registry) {
  SchedulerConfig out;
  root.integer("parallelism", out.parallelism);
  if (out.parallelism <= 0)
    root.complain("parallelism", fmt::format("{} must be 1 or more", out.parallelism));
  root.object("leaderElection",
              [&](Fields& fields) { read_leader_election(fields, problems, out.leader_election); });
  root.object("clientConnection",
              [&](Fields& fields) { read_client_connection(fields, out.client_connection); });
  root.boolean("enableProfiling", out.enable_profiling);
  out.enable_contention_profiling = out.enable_profiling;
  root.boolean("enableContentionProfiling", out.enable_contention_profiling);
  root.integer("percentageOfNodesToScore", out.percentage_of_nodes_to_score);
  if (const auto& share = out.percentage_of_nodes_to_score; share && (*share < 0 || *share > 100))
    root.complain("percentageOfNodesToScore", fmt::format("{} is not within 0 and 100", *share));
  read_backoff(root, out);
  out.profiles = read_profiles(root, problems, registry);
  out.extenders = read_extenders(root, problems);
  pass_ignored_resources(out.extenders, out.profiles, registry, problems);
  root.boolean("delayCacheUntilActive", out.delay_cache_until_active);
  root.finish();
  return out;
}

}  // namespace

Result<SchedulerConfig> read_config(std::string_view text, std::span<const PluginInfo> registry,
                                    std::string_view file_name) {
  std::string file;
  append_escaped(file, file_name, Quotes::kKeep);
  Result<std::vector<json::YamlDocument>> documents = json::yaml_to_json(text);
  if (!documents)
    return invalid(fmt::format("{}: {}; correct the YAML there", file, documents.error().message));
  if (documents->empty())
    return invalid(
        fmt::format("{}: the file is empty; write at least \"apiVersion: {}\" and "
                    "\"kind: {}\"",
                    file, kConfigVersion, kKind));
  if (documents->size() > 1)
    return invalid(
        fmt::format("{}:{}: a second document begins here, and it would be ignored; "
                    "keep one",
                    file, (*documents)[1].line));
  const std::string& json = documents->front().json;
  if (Result<Ok> good = json::check(json); !good)
    return invalid(fmt::format("{}: {}; correct the JSON there", file, good.error().message));
  Problems problems(file_name, text);
  const Slice whole(json);
  if (!whole.is_object()) {
    problems.add(
        "", fmt::format("expected a mapping of kind \"{}\", found {}", kKind, type_name(whole)));
    return tl::unexpected(problems.error());
  }
  Fields root(problems, whole, "");
  if (!check_kind(root, problems)) return tl::unexpected(problems.error());
  SchedulerConfig out = read(root, problems, registry);
  if (problems.any()) return tl::unexpected(problems.error());
  out.warnings = problems.take_warnings();
  return out;
}

SchedulerConfig default_config(std::span<const PluginInfo> registry) {
  Problems problems("", "");
  Fields nothing(problems, {}, "");
  SchedulerConfig out = read(nothing, problems, registry);
  BERTH_CHECK(!problems.any(), "the registry has no default profile that works");
  return out;
}

}  // namespace berth::scheduler
