// SPDX-License-Identifier: Apache-2.0
// Holds pods to the Pod Security Standard that their namespace's labels ask for; what would violate
// one that is only warned of is told.
#include <algorithm>
#include <map>
#include <set>

#include <fmt/format.h>

#include "apiserver/admission/pod_security_checks.h"
#include "apiserver/admission/refusal.h"
#include "apiserver/admission/steps.h"
#include "apiserver/kinds/findings.h"
#include "apiserver/kinds/rules.h"

namespace berth::apiserver {

namespace {

constexpr std::size_t kMostPodsChecked = 3'000;
using Level = SecurityLevel::Level;

struct Policy {
  SecurityLevel enforce, warn;
  std::vector<Cause> problems;  // labels that mean nothing
};

// `label` gives a label's value, "" and false where there is none.
template <class F>
Policy read_policy(F&& label) {
  Policy policy;
  Findings findings;
  const auto read = [&](const char* mode, SecurityLevel& into, bool fail_open) {
    const std::string key = fmt::format("pod-security.kubernetes.io/{}", mode);
    bool given = false;
    if (const std::optional<std::string> level = label(key)) {
      const auto parsed = security_level_named(*level);
      given = parsed.has_value();
      into.level = parsed.value_or(fail_open ? Level::kPrivileged : Level::kRestricted);
      if (!parsed)
        findings.invalid((Path("metadata") / "labels").key(key), *level,
                         "must be one of privileged, baseline, restricted");
    }
    const std::string versioned = key + "-version";
    if (const std::optional<std::string> version = label(versioned)) {
      const auto parsed = security_version_named(*version);
      into.minor = parsed.value_or(SecurityLevel::kLatest);
      if (!parsed)
        findings.invalid((Path("metadata") / "labels").key(versioned), *version,
                         "must be \"latest\" or \"v1.x\"");
    }
    return given;
  };
  const bool enforced = read("enforce", policy.enforce, false);
  SecurityLevel audit;  // nobody reads audit annotations here, but its labels are checked
  read("audit", audit, true);
  read("warn", policy.warn, true);
  // Whoever is held to something is warned of it for what only makes pods.
  if (enforced && !label("pod-security.kubernetes.io/warn") &&
      policy.enforce.level > policy.warn.level) {
    policy.warn.level = policy.enforce.level;
    if (!label("pod-security.kubernetes.io/warn-version")) policy.warn.minor = policy.enforce.minor;
  }
  policy.problems = findings.causes();
  return policy;
}
Policy policy_of(const kube::Object& ns) {
  return read_policy([&](const std::string& key) -> std::optional<std::string> {
    const json::Slice found = ns.labels()[key];
    return found ? std::optional(found.text()) : std::nullopt;
  });
}
Policy policy_of(Peek labels) {
  return read_policy([&](const std::string& key) -> std::optional<std::string> {
    const Peek found = labels[key];
    return found ? std::optional(std::string(found.text())) : std::nullopt;
  });
}

// Where a kind keeps the pods that it makes.
Peek template_of(kube::KindId kind, Peek body) {
  if (kind == kube::kPodTemplate) return body["template"];
  if (kind == kube::kCronJob) return body["spec"]["jobTemplate"]["spec"]["template"];
  for (const kube::KindId each :
       {kube::kReplicationController, kube::kReplicaSet, kube::kDeployment, kube::kStatefulSet,
        kube::kDaemonSet, kube::kJob})
    if (kind == each) return body["spec"]["template"];
  return {};
}

// Only another image, or another container, makes an update worth looking at.
bool significant(Peek now, Peek was) {
  for (const std::string_view list : {"containers", "initContainers"}) {
    if (now[list].size() != was[list].size()) return true;
    for (std::size_t i = 0; i < now[list].size(); ++i)
      if (now[list][i]["image"].text() != was[list][i]["image"].text()) return true;
  }
  for (const json::Value& each : now["ephemeralContainers"].elements()) {
    bool found = false;
    for (const json::Value& old : was["ephemeralContainers"].elements())
      found = found || (Peek(old)["name"].text() == Peek(each)["name"].text() &&
                        Peek(old)["image"].text() == Peek(each)["image"].text());
    if (!found) return true;
  }
  return false;
}

class PodSecurity final : public AdmissionStep {
 public:
  explicit PodSecurity(const Store& store) : store_(store) {}
  std::string_view name() const override { return "PodSecurity"; }

  Result<Ok> validate(AdmissionCall& call) override {
    if (call.edit == nullptr ||
        (call.operation != Operation::kCreate && call.operation != Operation::kUpdate))
      return Ok{};
    if (call.row.id == kube::kNamespace)
      return call.request.subresource.empty() ? check_namespace(call) : Ok{};
    if (call.row.id == kube::kPod) return check_pod(call);
    if (!call.request.subresource.empty()) return Ok{};
    if (const Peek pods = template_of(call.row.id, Peek(call.edit->body())))
      if (const kube::Object* ns = find(call))
        warn(call, policy_of(*ns), pods["metadata"], pods["spec"]);
    return Ok{};
  }

 private:
  const kube::Object* find(const AdmissionCall& call) const {
    return store_.get(kube::kNamespace, {"", call.request.ns}, View::kTip);
  }

  Result<Ok> check_pod(AdmissionCall& call) const {
    if (!one_of(call.request.subresource, {"", "ephemeralcontainers", "resize"})) return Ok{};
    const kube::Object* ns = find(call);
    if (ns == nullptr) return Ok{};
    const Policy policy = policy_of(*ns);
    if (policy.enforce.level == Level::kPrivileged && policy.warn.level == Level::kPrivileged)
      return Ok{};
    const Peek metadata(call.edit->metadata()), spec = spec_of(call);
    if (call.operation == Operation::kUpdate && !significant(spec, call.edit->was_body()["spec"]))
      return Ok{};
    const auto found = security_findings(policy.enforce, metadata, spec);
    if (!found.empty())
      return tl::unexpected(refusal(call, fmt::format("violates PodSecurity \"{}\": {}",
                                                      policy.enforce.text(), details_text(found))));
    warn(call, policy, metadata, spec);
    return Ok{};
  }

  static void warn(AdmissionCall& call, const Policy& policy, Peek metadata, Peek spec) {
    const auto found = security_findings(policy.warn, metadata, spec);
    if (!found.empty())
      call.warnings.push_back(fmt::format("would violate PodSecurity \"{}\": {}",
                                          policy.warn.text(), details_text(found)));
  }

  // Labels must mean something, and who raises the level is told which pods fall short of it.
  Result<Ok> check_namespace(AdmissionCall& call) const {
    const Policy now = policy_of(Peek(call.edit->metadata())["labels"]);
    const Policy was = call.old.valid() ? policy_of(call.old) : Policy();
    if (!now.problems.empty() && now.problems != was.problems) {
      Error error{.reason = Reason::kInvalid, .message = {}, .causes = now.problems};
      std::vector<std::string> texts;
      for (const Cause& cause : now.problems)
        texts.push_back(fmt::format("{}: {}", cause.field, cause.message));
      error.message = fmt::format("Namespace {} is invalid: {}", json::quoted(call.name),
                                  aggregate_text(texts));
      error.about = std::make_shared<const About>(About{.name = call.name, .kind = "Namespace"});
      return tl::unexpected(std::move(error));
    }
    if (call.operation != Operation::kUpdate || now.enforce == was.enforce ||
        now.enforce.level == Level::kPrivileged ||
        (now.enforce.minor == was.enforce.minor && now.enforce.level <= was.enforce.level))
      return Ok{};
    warn_of_pods(call, now.enforce);
    return Ok{};
  }

  void warn_of_pods(AdmissionCall& call, const SecurityLevel& level) const {
    std::vector<kube::Object> pods = prioritized(all_at_tip(store_, kube::kPod, call.name));
    const std::size_t total = pods.size();
    if (pods.size() > kMostPodsChecked) pods.resize(kMostPodsChecked);
    struct Count {
      std::string name;
      std::size_t pods = 0;
    };
    std::map<std::string, Count> by_warning;
    for (const kube::Object& pod : pods) {
      json::Arena arena;
      const json::Value document = json::parse_good(pod.json(), arena);
      const auto found =
          security_findings(level, Peek(document)["metadata"], Peek(document)["spec"]);
      if (found.empty()) continue;
      Count& count = by_warning[reasons_text(found)];
      if (count.pods++ == 0 || pod.name() < count.name) count.name = pod.name();
    }
    if (pods.size() < total)
      call.warnings.push_back(
          fmt::format("new PodSecurity enforce level only checked against the first {} of {} "
                      "existing pods",
                      pods.size(), total));
    if (by_warning.empty()) return;
    call.warnings.push_back(fmt::format(
        "existing pods in namespace {} violate the new PodSecurity enforce level \"{}\"",
        json::quoted(call.name), level.text()));
    std::set<std::string> lines;
    for (const auto& [warning, count] : by_warning) {
      const std::string others = count.pods == 1 ? ""
                                 : count.pods == 2
                                     ? " (and 1 other pod)"
                                     : fmt::format(" (and {} other pods)", count.pods - 1);
      lines.insert(fmt::format("{}{}: {}", count.name, others, warning));
    }
    call.warnings.insert(call.warnings.end(), lines.begin(), lines.end());
  }

  // One pod of each controller first, since the others are like it.
  static std::vector<kube::Object> prioritized(std::vector<kube::Object> pods) {
    std::set<std::string> seen;
    std::stable_partition(pods.begin(), pods.end(), [&](const kube::Object& pod) {
      const auto owner = pod.controller();
      return !owner || seen.insert(owner->uid).second;
    });
    return pods;
  }

  const Store& store_;
};

}  // namespace

Step pod_security(const Store& store) { return std::make_unique<PodSecurity>(store); }

}  // namespace berth::apiserver
