// SPDX-License-Identifier: Apache-2.0
#include "controllers/scavenger/job_builder.h"

#include <algorithm>
#include <array>
#include <charconv>
#include <set>

#include <fmt/format.h>

#include "controllers/pods.h"
#include "controllers/scavenger/mpi_builder.h"
#include "json/writer.h"
#include "kube/ours/ours.h"
#include "kube/pod_requests.h"
#include "kube/time.h"
#include "policy/scavenge/resources.h"

namespace berth::controllers {
namespace {

using json::Slice;
using json::Writer;
using kube::ScavengerJobView;
using kube::ScavengerPolicy;

constexpr std::size_t kLongestName = 40;
constexpr std::int64_t kDefaultGrace = 30;  // k8s 1.36: of a pod that names none
// Where a program finds out that it is asked for a checkpoint.
constexpr std::string_view kVolume = "berth", kFolder = "/etc/berth", kFile = "annotations";
// Of a Job, what its template does not say and we do not either.
constexpr std::string_view kTaken[] = {"parallelism", "completions", "completionMode",
                                       "activeDeadlineSeconds", "successPolicy"};

std::string short_name(std::string_view name) {
  if (name.size() <= kLongestName) return std::string(name);
  const std::string hash = fmt::format("{:08x}", fnv32a(name));
  std::string cut(name.substr(0, kLongestName - hash.size() - 1));
  while (cut.ends_with('.') || cut.ends_with('-')) cut.pop_back();
  return cut + "-" + hash;
}

// Slices are views of their text, so whoever uses one keeps that.
bool given(Slice value) { return value.present() && !value.is_null(); }

void copy(Writer& w, std::string_view name, Slice value) {
  if (given(value)) w.member(name).raw(value.raw());
}

struct Mount {
  std::string_view list, volume, source, field;
};
constexpr Mount kMounts[] = {
    {"persistentVolumeClaims", "claim", "persistentVolumeClaim", "claimName"},
    {"configMaps", "config", "configMap", "name"},
    {"secrets", "secret", "secret", "secretName"}};

void write_volumes(Writer& w, const ScavengerJobView& job) {
  for (const Mount& kind : kMounts) {
    std::set<std::string> seen;
    for (const kube::MountedReference& one : job.mounted(kind.list)) {
      if (!seen.insert(one.name).second) continue;
      w.object().member("name").string(fmt::format("{}-{:08x}", kind.volume, fnv32a(one.name)));
      w.member(kind.source).object().member(kind.field).string(one.name).end().end();
    }
  }
}
void write_mounts(Writer& w, const ScavengerJobView& job) {
  for (const Mount& kind : kMounts)
    for (const kube::MountedReference& one : job.mounted(kind.list)) {
      w.object().member("name").string(fmt::format("{}-{:08x}", kind.volume, fnv32a(one.name)));
      w.member("mountPath").string(one.mount_path);
      if (!one.sub_path.empty()) w.member("subPath").string(one.sub_path);
      if (one.read_only) w.member("readOnly").boolean(true);
      w.end();
    }
}

void write_resources(Writer& w, Slice resources, bool default_limits) {
  const Slice requests = resources["requests"], limits = resources["limits"];
  if (!given(requests) && !given(limits)) return;
  w.member("resources").object();
  copy(w, "requests", requests);
  if (given(limits))
    copy(w, "limits", limits);
  else if (default_limits)
    w.member("limits").raw(requests.raw());
  w.end();
}

std::vector<std::pair<std::string, std::string>> told(const ScavengerJobView& job,
                                                      const AttemptOrder& order) {
  std::vector<std::pair<std::string, std::string>> env = {
      {"SJ_NAME", std::string(job.object().name())},
      {"SJ_NAMESPACE", std::string(job.object().ns())},
      {"SJ_ATTEMPT", std::to_string(order.attempt)},
      {"SJ_ANNOTATIONS", fmt::format("{}/{}", kFolder, kFile)}};
  if (order.checkpoint_interval)
    env.emplace_back("SJ_CHECKPOINT_INTERVAL", kube::duration_text(*order.checkpoint_interval));
  if (!order.gateway.empty())
    env.emplace_back("SJ_CHECKPOINT_URL",
                     fmt::format("{}/api/v1/scavengerjobs/{}/{}/checkpoints", order.gateway,
                                 job.object().ns(), job.object().name()));
  return env;
}

// A container with what every program is told; what it says itself stays.
void write_container(Writer& w, Slice container,
                     const std::vector<std::pair<std::string, std::string>>& env) {
  w.object();
  std::set<std::string> named;
  for (const Slice one : container["env"].elements()) named.insert(one["name"].text());
  for (auto at = container.members().begin(); at != nullptr; ++at)
    if ((*at).key != "env" && (*at).key != "volumeMounts")
      w.member((*at).key).raw((*at).value.raw());
  w.member("env").array();
  for (const Slice one : container["env"].elements()) w.raw(one.raw());
  for (const auto& [name, value] : env)
    if (named.count(name) == 0)
      w.object().member("name").string(name).member("value").string(value).end();
  w.end();
  w.member("volumeMounts").array();
  bool mounted = false;
  for (const Slice one : container["volumeMounts"].elements()) {
    w.raw(one.raw());
    mounted |= one["mountPath"].equals(kFolder) || one["name"].equals(kVolume);
  }
  if (!mounted) w.object().member("name").string(kVolume).member("mountPath").string(kFolder).end();
  w.end().end();
}

// What is required of nodes: what the template says, and of those the ones that are named (or none
// of those to be avoided). Terms are alternatives, so each of the template's is paired with each
// name.
void write_required(Writer& w, Slice required, const AttemptOrder& order) {
  const auto name = [&w](std::string_view op, const std::string& node) {
    // A requirement takes one name.
    w.object().member("key").string("metadata.name").member("operator").string(op);
    w.member("values").array().string(node).end().end();
  };
  const auto term = [&](Slice theirs, const std::string* node) {
    w.object();
    copy(w, "matchExpressions", theirs["matchExpressions"]);
    w.member("matchFields").array();
    for (const Slice one : theirs["matchFields"].elements()) w.raw(one.raw());
    if (node != nullptr)
      name("In", *node);
    else
      for (const std::string& avoided : order.avoid) name("NotIn", avoided);
    w.end().end();
  };
  const auto terms = [&](Slice theirs) {
    if (order.node_names.empty()) return term(theirs, nullptr);
    for (const std::string& node : order.node_names) term(theirs, &node);
  };
  w.object().member("nodeSelectorTerms").array();
  if (required["nodeSelectorTerms"].size() == 0) terms({});
  for (const Slice theirs : required["nodeSelectorTerms"].elements()) {
    // k8s 1.36: an empty term matches no node.
    if (theirs["matchExpressions"].size() + theirs["matchFields"].size() == 0)
      w.raw(theirs.raw());
    else
      terms(theirs);
  }
  w.end().end();
}

void write_affinity(Writer& w, Slice given_affinity, const AttemptOrder& order) {
  constexpr std::string_view kRequired = "requiredDuringSchedulingIgnoredDuringExecution";
  if (order.node_names.empty() && order.avoid.empty()) return copy(w, "affinity", given_affinity);
  const auto others = [&w](Slice from, std::string_view but) {
    for (auto at = from.members().begin(); at != nullptr; ++at)
      if ((*at).key != but) w.member((*at).key).raw((*at).value.raw());
  };
  const Slice nodes = given_affinity["nodeAffinity"];
  w.member("affinity").object();
  others(given_affinity, "nodeAffinity");
  w.member("nodeAffinity").object();
  others(nodes, kRequired);
  w.member(kRequired);
  write_required(w, nodes[kRequired], order);
  w.end().end();
}

std::string completed_spec(Slice given_spec, const AttemptOrder& order,
                           const std::vector<std::pair<std::string, std::string>>& env) {
  constexpr std::array kOurs = {std::string_view("priorityClassName"),
                                std::string_view("priority"),
                                std::string_view("preemptionPolicy"),
                                std::string_view("volumes"),
                                std::string_view("containers"),
                                std::string_view("restartPolicy"),
                                std::string_view("nodeName"),
                                std::string_view("affinity"),
                                std::string_view("terminationGracePeriodSeconds")};
  Writer w;
  w.object();
  for (auto at = given_spec.members().begin(); at != nullptr; ++at)
    if (std::find(kOurs.begin(), kOurs.end(), (*at).key) == kOurs.end())
      w.member((*at).key).raw((*at).value.raw());
  const Slice grace = given_spec["terminationGracePeriodSeconds"];
  const std::int64_t seconds = grace.integer().value_or(kDefaultGrace), most = order.grace_max / 1s;
  if (given(grace) || seconds > most)
    w.member("terminationGracePeriodSeconds").integer(std::min(seconds, most));
  if (!order.scheduler_name.empty()) w.member("schedulerName").string(order.scheduler_name);
  w.member("restartPolicy").string("Never");
  w.member("priorityClassName").string(order.starved ? kube::kStarvedClass : kube::kScavengerClass);
  w.member("containers").array();
  for (const Slice one : given_spec["containers"].elements()) write_container(w, one, env);
  w.end();
  w.member("volumes").array();
  bool there = false;
  for (const Slice one : given_spec["volumes"].elements()) {
    w.raw(one.raw());
    there |= one["name"].equals(kVolume);
  }
  if (!there) {
    w.object().member("name").string(kVolume).member("downwardAPI").object();
    w.member("items").array().object().member("path").string(kFile);
    w.member("fieldRef").object().member("fieldPath").string("metadata.annotations").end();
    w.end().end().end().end();
  }
  w.end();
  write_affinity(w, given_spec["affinity"], order);
  w.end();
  return w.take();
}

std::string completed_metadata(const ScavengerJobView& job, const AttemptOrder& order,
                               Slice metadata) {
  const kube::Object& object = job.object();
  const std::string reference = scavenger_job_reference(object.kind(), object.name());
  Writer w;
  w.object();
  const auto merged = [&](std::string_view name,
                          const std::vector<std::pair<std::string_view, std::string_view>>& ours) {
    w.member(name).object();
    for (auto at = metadata[name].members().begin(); at != nullptr; ++at)
      if (std::none_of(ours.begin(), ours.end(),
                       [&](const auto& one) { return one.first == (*at).key; }))
        w.member((*at).key).raw((*at).value.raw());
    for (const auto& [key, value] : ours) w.member(key).string(value);
    w.end();
  };
  merged("labels", {{kube::kScavengerLabel, object.uid()}});
  merged("annotations",
         {{kScavengerJobAnnotation, reference}, {kube::kDecidedAtAnnotation, order.decided_at}});
  w.member("finalizers").array().string(kube::kAccountingFinalizer);
  for (const Slice one : metadata["finalizers"].elements())
    if (!one.equals(kube::kAccountingFinalizer)) w.raw(one.raw());
  w.end().end();
  return w.take();
}

// In this order: what an interruption leaves behind wins over the exit code it causes.
void write_failure_policy(Writer& w) {
  w.member("podFailurePolicy").object().member("rules").array();
  w.object().member("action").string("FailJob").member("onPodConditions").array();
  w.object().member("type").string("DisruptionTarget").member("status").string("True").end();
  w.end().end();
  for (const auto& [op, code] : {std::pair{"In", 85}, {"NotIn", 0}}) {
    w.object().member("action").string("FailJob").member("onExitCodes").object();
    w.member("operator").string(op).member("values").array().integer(code).end().end().end();
  }
  w.end().end();
}

}  // namespace

std::string scavenger_job_reference(kube::KindId id, std::string_view name) {
  const kube::Kind& kind = kube::kind_of(id);
  return fmt::format("{}.{}/{}", kind.plural, kind.group, name);
}

std::string attempt_name(std::string_view job, std::int64_t attempt) {
  return fmt::format("{}-{}", short_name(job), attempt);
}
std::optional<std::int64_t> attempt_of(std::string_view job, std::string_view object) {
  const std::string prefix = short_name(job) + "-";
  if (!object.starts_with(prefix)) return std::nullopt;
  object.remove_prefix(prefix.size());
  std::int64_t attempt = 0;
  const auto [end, error] = std::from_chars(object.data(), object.data() + object.size(), attempt);
  if (error != std::errc() || end != object.data() + object.size()) return std::nullopt;
  return attempt;
}

json::Slice placement_of(const ScavengerJobView& job) {
  return job.has_job() ? job.spec()["job"]["template"]["spec"] : job.spec();
}

kube::ResourceList Members::all() const {
  kube::ResourceList out;
  for (const auto& [name, amount] : each)
    out.emplace(name, scavenge::quantity_of(
                          name, scavenge::saturating_multiply(scavenge::amount_of(name, amount),
                                                              std::max(0, count))));
  if (launcher) kube::add(out, *launcher);
  return out;
}

Result<Members> held_members(const ScavengerJobView& job) {
  const Slice held = job.status()["holds"];
  if (!job.open() || !held.is_object()) return members_of(job);
  Members out;
  auto each = kube::parse_resource_list(held["requests"], "status.holds.requests");
  auto launcher = kube::parse_resource_list(held["launcher"], "status.holds.launcher");
  if (!each) return tl::unexpected(each.error());
  if (!launcher) return tl::unexpected(launcher.error());
  out.each = *std::move(each);
  if (given(held["launcher"])) out.launcher = *std::move(launcher);
  out.count = static_cast<int>(held["members"].integer().value_or(1));
  out.together = held["together"].boolean();
  return out;
}

std::string held_json(const Members& members) {
  Writer w;
  const auto write = [&w](std::string_view name, const kube::ResourceList& list) {
    w.member(name).object();
    for (const auto& [resource, amount] : list) w.member(resource).string(amount.text());
    w.end();
  };
  w.object().member("members").integer(members.count);
  w.member("together").boolean(members.together);
  write("requests", members.each);
  if (members.launcher) write("launcher", *members.launcher);
  w.end();
  return w.take();
}

namespace {

Result<kube::ResourceList> requests_of(std::string_view pod_spec) {
  const auto pod = kube::Object::parse(
      kube::kPod,
      fmt::format(R"({{"apiVersion":"v1","kind":"Pod","metadata":{{}},"spec":{}}})", pod_spec));
  if (!pod) return tl::unexpected(pod.error());
  return kube::pod_requests(*pod, {.use_status = false, .limits_imply_requests = true});
}
std::string one_container(Slice resources) {
  Writer w;
  w.object().member("containers").array().object().member("name").string("main");
  write_resources(w, resources, true);
  w.end().end().end();
  return w.take();
}

}  // namespace

Result<Members> members_of(const ScavengerJobView& job) {
  Members out;
  std::string spec;
  if (job.has_job()) {
    const Slice from = job.spec()["job"];
    spec = from["template"]["spec"].raw();
    out.count = static_cast<int>(from["parallelism"].integer().value_or(1));
    const auto all = from["completions"].integer();
    out.together = all && *all <= out.count;
    if (all) out.count = static_cast<int>(std::min<std::int64_t>(out.count, *all));
    if (spec.empty()) spec = "{}";
  } else {
    spec = one_container(job.spec()["resources"]);
    out.count = job.replicas();
  }
  auto requests = requests_of(spec);
  if (!requests) return tl::unexpected(requests.error());
  if (job.has_mpi()) {
    auto launcher = requests_of(one_container(job.spec()["mpi"]["launcher"]["resources"]));
    if (!launcher) return tl::unexpected(launcher.error());
    out.launcher = *std::move(launcher);
  }
  out.each = std::move(*requests);
  return out;
}

std::string plain_pod_spec(const ScavengerJobView& job, const ScavengerPolicy& policy,
                           const ContainerParts& parts) {
  const Slice spec = job.spec();
  Writer w;
  w.object();
  for (const char* same :
       {"serviceAccountName", "terminationGracePeriodSeconds", "imagePullSecrets", "nodeSelector"})
    copy(w, same, spec[same]);
  const auto user = spec["runAsUser"].integer(), group = spec["fsGroup"].integer();
  // sshd, of which MPI makes use, changes users.
  const bool restricted = user && *user != 0 && !job.has_mpi();
  if (user || group) w.member("securityContext").object();
  if (user) w.member("runAsUser").integer(*user).member("runAsNonRoot").boolean(*user != 0);
  if (group)
    w.member("fsGroup").integer(*group).member("fsGroupChangePolicy").string("OnRootMismatch");
  if (restricted) w.member("seccompProfile").object().member("type").string("RuntimeDefault").end();
  if (user || group) w.end();
  w.member("containers").array().object();
  w.member("name").string("main").member("image").string(parts.image);
  copy(w, "command", parts.command);
  copy(w, "args", parts.args);
  for (const char* same : {"workingDir", "imagePullPolicy", "env"}) copy(w, same, spec[same]);
  write_resources(w, parts.resources, policy.default_limits);
  if (restricted) {
    w.member("securityContext").object().member("allowPrivilegeEscalation").boolean(false);
    w.member("capabilities").object().member("drop").array().string("ALL").end().end().end();
  }
  w.member("volumeMounts").array();
  write_mounts(w, job);
  w.end().end().end();
  w.member("volumes").array();
  write_volumes(w, job);
  w.end().end();
  return w.take();
}

MemberTemplate complete_template(const ScavengerJobView& job, const AttemptOrder& order,
                                 Slice given_metadata, Slice given_spec) {
  return {completed_metadata(job, order, given_metadata),
          completed_spec(given_spec, order, told(job, order))};
}

std::string job_json(const ScavengerJobView& job, const ScavengerPolicy& policy,
                     const AttemptOrder& order) {
  if (job.has_mpi()) return mpi_job_json(job, policy, order);
  const kube::Object& object = job.object();
  const Slice whole = job.spec()["job"];
  const std::string image = job.spec()["image"].text();
  const std::string plain = job.has_job()
                                ? std::string()
                                : plain_pod_spec(job, policy,
                                                 {image, job.spec()["command"], job.spec()["args"],
                                                  job.spec()["resources"]});
  const MemberTemplate made =
      complete_template(job, order, whole["template"]["metadata"],
                        job.has_job() ? whole["template"]["spec"] : Slice(plain));
  Writer w;
  w.object().member("apiVersion").string("batch/v1").member("kind").string("Job");
  w.member("metadata").object();
  w.member("name").string(attempt_name(object.name(), order.attempt));
  w.member("namespace").string(object.ns());
  w.member("labels").object().member(kube::kScavengerLabel).string(object.uid()).end();
  w.member("annotations").object();
  w.member(kube::kDecidedAtAnnotation).string(order.decided_at).end();
  w.member("ownerReferences").array().raw(controller_ref(object)).end();
  w.end();
  w.member("spec").object();
  if (job.has_job()) {
    for (const std::string_view name : kTaken) copy(w, name, whole[name]);
  } else {
    w.member("completionMode").string("Indexed");
    w.member("completions").integer(job.replicas()).member("parallelism").integer(job.replicas());
  }
  w.member("backoffLimit").integer(0).member("podReplacementPolicy").string("Failed");
  write_failure_policy(w);
  w.member("template").object();
  w.member("metadata").raw(made.metadata).member("spec").raw(made.spec).end();
  w.end().end();
  return w.take();
}

}  // namespace berth::controllers
