// SPDX-License-Identifier: Apache-2.0
#include "kube/kind.h"

#include <array>
#include <atomic>
#include <map>
#include <memory>
#include <mutex>
#include <shared_mutex>
#include <tuple>
#include <vector>

#include <fmt/format.h>

#include "base/check.h"

namespace berth::kube {
namespace {

// id, group, version, kind, plural, namespaced. An id is a row's place.
#define BERTH_KINDS(X)                                                                             \
  X(kPod, "", "v1", "Pod", "pods", true)                                                           \
  X(kNode, "", "v1", "Node", "nodes", false)                                                       \
  X(kNamespace, "", "v1", "Namespace", "namespaces", false)                                        \
  X(kService, "", "v1", "Service", "services", true)                                               \
  X(kReplicationController, "", "v1", "ReplicationController", "replicationcontrollers", true)     \
  X(kPersistentVolume, "", "v1", "PersistentVolume", "persistentvolumes", false)                   \
  X(kPersistentVolumeClaim, "", "v1", "PersistentVolumeClaim", "persistentvolumeclaims", true)     \
  X(kConfigMap, "", "v1", "ConfigMap", "configmaps", true)                                         \
  X(kSecret, "", "v1", "Secret", "secrets", true)                                                  \
  X(kServiceAccount, "", "v1", "ServiceAccount", "serviceaccounts", true)                          \
  X(kEndpoints, "", "v1", "Endpoints", "endpoints", true)                                          \
  X(kCoreEvent, "", "v1", "Event", "events", true)                                                 \
  X(kLimitRange, "", "v1", "LimitRange", "limitranges", true)                                      \
  X(kResourceQuota, "", "v1", "ResourceQuota", "resourcequotas", true)                             \
  X(kPodTemplate, "", "v1", "PodTemplate", "podtemplates", true)                                   \
  X(kComponentStatus, "", "v1", "ComponentStatus", "componentstatuses", false)                     \
  X(kDeployment, "apps", "v1", "Deployment", "deployments", true)                                  \
  X(kReplicaSet, "apps", "v1", "ReplicaSet", "replicasets", true)                                  \
  X(kStatefulSet, "apps", "v1", "StatefulSet", "statefulsets", true)                               \
  X(kDaemonSet, "apps", "v1", "DaemonSet", "daemonsets", true)                                     \
  X(kControllerRevision, "apps", "v1", "ControllerRevision", "controllerrevisions", true)          \
  X(kJob, "batch", "v1", "Job", "jobs", true)                                                      \
  X(kCronJob, "batch", "v1", "CronJob", "cronjobs", true)                                          \
  X(kHorizontalPodAutoscaler, "autoscaling", "v2", "HorizontalPodAutoscaler",                      \
    "horizontalpodautoscalers", true)                                                              \
  X(kPodDisruptionBudget, "policy", "v1", "PodDisruptionBudget", "poddisruptionbudgets", true)     \
  X(kPriorityClass, "scheduling.k8s.io", "v1", "PriorityClass", "priorityclasses", false)          \
  X(kStorageClass, "storage.k8s.io", "v1", "StorageClass", "storageclasses", false)                \
  X(kCsiNode, "storage.k8s.io", "v1", "CSINode", "csinodes", false)                                \
  X(kCsiDriver, "storage.k8s.io", "v1", "CSIDriver", "csidrivers", false)                          \
  X(kCsiStorageCapacity, "storage.k8s.io", "v1", "CSIStorageCapacity", "csistoragecapacities",     \
    true)                                                                                          \
  X(kVolumeAttachment, "storage.k8s.io", "v1", "VolumeAttachment", "volumeattachments", false)     \
  X(kVolumeAttributesClass, "storage.k8s.io", "v1", "VolumeAttributesClass",                       \
    "volumeattributesclasses", false)                                                              \
  X(kLease, "coordination.k8s.io", "v1", "Lease", "leases", true)                                  \
  X(kEvent, "events.k8s.io", "v1", "Event", "events", true)                                        \
  X(kResourceClaim, "resource.k8s.io", "v1", "ResourceClaim", "resourceclaims", true)              \
  X(kResourceClaimTemplate, "resource.k8s.io", "v1", "ResourceClaimTemplate",                      \
    "resourceclaimtemplates", true)                                                                \
  X(kResourceSlice, "resource.k8s.io", "v1", "ResourceSlice", "resourceslices", false)             \
  X(kDeviceClass, "resource.k8s.io", "v1", "DeviceClass", "deviceclasses", false)                  \
  X(kCustomResourceDefinition, "apiextensions.k8s.io", "v1", "CustomResourceDefinition",           \
    "customresourcedefinitions", false)                                                            \
  X(kApiService, "apiregistration.k8s.io", "v1", "APIService", "apiservices", false)               \
  X(kRole, "rbac.authorization.k8s.io", "v1", "Role", "roles", true)                               \
  X(kRoleBinding, "rbac.authorization.k8s.io", "v1", "RoleBinding", "rolebindings", true)          \
  X(kClusterRole, "rbac.authorization.k8s.io", "v1", "ClusterRole", "clusterroles", false)         \
  X(kClusterRoleBinding, "rbac.authorization.k8s.io", "v1", "ClusterRoleBinding",                  \
    "clusterrolebindings", false)                                                                  \
  X(kMutatingWebhookConfiguration, "admissionregistration.k8s.io", "v1",                           \
    "MutatingWebhookConfiguration", "mutatingwebhookconfigurations", false)                        \
  X(kValidatingWebhookConfiguration, "admissionregistration.k8s.io", "v1",                         \
    "ValidatingWebhookConfiguration", "validatingwebhookconfigurations", false)                    \
  X(kValidatingAdmissionPolicy, "admissionregistration.k8s.io", "v1", "ValidatingAdmissionPolicy", \
    "validatingadmissionpolicies", false)                                                          \
  X(kValidatingAdmissionPolicyBinding, "admissionregistration.k8s.io", "v1",                       \
    "ValidatingAdmissionPolicyBinding", "validatingadmissionpolicybindings", false)                \
  X(kEndpointSlice, "discovery.k8s.io", "v1", "EndpointSlice", "endpointslices", true)             \
  X(kIngress, "networking.k8s.io", "v1", "Ingress", "ingresses", true)                             \
  X(kIngressClass, "networking.k8s.io", "v1", "IngressClass", "ingressclasses", false)             \
  X(kNetworkPolicy, "networking.k8s.io", "v1", "NetworkPolicy", "networkpolicies", true)           \
  X(kRuntimeClass, "node.k8s.io", "v1", "RuntimeClass", "runtimeclasses", false)                   \
  X(kCertificateSigningRequest, "certificates.k8s.io", "v1", "CertificateSigningRequest",          \
    "certificatesigningrequests", false)                                                           \
  X(kTokenReview, "authentication.k8s.io", "v1", "TokenReview", "tokenreviews", false)             \
  X(kSelfSubjectReview, "authentication.k8s.io", "v1", "SelfSubjectReview", "selfsubjectreviews",  \
    false)                                                                                         \
  X(kSubjectAccessReview, "authorization.k8s.io", "v1", "SubjectAccessReview",                     \
    "subjectaccessreviews", false)                                                                 \
  X(kSelfSubjectAccessReview, "authorization.k8s.io", "v1", "SelfSubjectAccessReview",             \
    "selfsubjectaccessreviews", false)                                                             \
  X(kLocalSubjectAccessReview, "authorization.k8s.io", "v1", "LocalSubjectAccessReview",           \
    "localsubjectaccessreviews", true)                                                             \
  X(kSelfSubjectRulesReview, "authorization.k8s.io", "v1", "SelfSubjectRulesReview",               \
    "selfsubjectrulesreviews", false)

enum Place : std::uint16_t {
#define BERTH_PLACE(id, ...) place_##id,
  BERTH_KINDS(BERTH_PLACE)
#undef BERTH_PLACE
};

// Tuples of strings, also against tuples of views; clang's std::less<> does not compare the two.
struct Before {
  using is_transparent = void;
  template <class... S>
  static auto views(const std::tuple<S...>& key) {
    return std::apply([](const auto&... s) { return std::tuple(std::string_view(s)...); }, key);
  }
  template <class A, class B>
  bool operator()(const A& a, const B& b) const {
    return views(a) < views(b);
  }
};

struct Entry {
  Kind kind;
  std::string head;
  bool guessed;
};

// Readers of known ids take no lock. Entries are replaced (a guess by the truth, a custom kind by
// its successor) and never freed, so references stay good.
class Registry {
 public:
  Registry() {
#define BERTH_LEARN(id, group, version, kind, plural, namespaced) \
  add(Kind{group, version, kind, plural, namespaced}, false);
    BERTH_KINDS(BERTH_LEARN)
#undef BERTH_LEARN
    built_in_ = count_;
  }

  const Entry& at(KindId id) const {
    const Entry* entry = entries_[static_cast<std::uint16_t>(id)].load(std::memory_order_acquire);
    BERTH_CHECK(entry != nullptr, "a KindId that nobody learnt");
    return *entry;
  }

  KindId learn(Kind kind, bool guessed) {
    const std::unique_lock lock(mutex_);
    const auto known = resources_.find({kind.group, kind.version, kind.plural});
    const auto named = kinds_.find({kind.api_version(), kind.kind});
    std::optional<KindId> id;
    if (known != resources_.end()) id = known->second;
    if (!id && named != kinds_.end() && (guessed || at(named->second).guessed)) id = named->second;
    if (!id) return add(std::move(kind), guessed);
    const Entry& entry = at(*id);
    // A custom kind may come back by another name or scope; the built-in ones stay what they are.
    const bool changed = static_cast<std::size_t>(*id) >= built_in_ &&
                         (entry.kind.kind != kind.kind || entry.kind.namespaced != kind.namespaced);
    if (!guessed && (entry.guessed || changed)) put(*id, std::move(kind), false);
    return *id;
  }

  std::optional<KindId> find_kind(std::string_view api_version, std::string_view kind) const {
    const std::shared_lock lock(mutex_);
    const auto at = kinds_.find(std::tuple(api_version, kind));
    return at == kinds_.end() ? std::nullopt : std::optional(at->second);
  }
  std::optional<KindId> find_resource(std::string_view group, std::string_view version,
                                      std::string_view plural) const {
    const std::shared_lock lock(mutex_);
    const auto at = resources_.find(std::tuple(group, version, plural));
    return at == resources_.end() ? std::nullopt : std::optional(at->second);
  }

 private:
  KindId add(Kind kind, bool guessed) {
    BERTH_CHECK(count_ < entries_.size(), "more than 65,536 kinds");
    const auto id = static_cast<KindId>(count_++);
    put(id, std::move(kind), guessed);
    return id;
  }
  void put(KindId id, Kind kind, bool guessed) {
    std::string head =
        fmt::format(R"({{"kind":"{}","apiVersion":"{}")", kind.kind, kind.api_version());
    kinds_[{kind.api_version(), kind.kind}] = id;
    resources_[{kind.group, kind.version, kind.plural}] = id;
    kept_.push_back(std::make_unique<Entry>(Entry{std::move(kind), std::move(head), guessed}));
    entries_[static_cast<std::uint16_t>(id)].store(kept_.back().get(), std::memory_order_release);
  }

  mutable std::shared_mutex mutex_;
  std::size_t count_ = 0, built_in_ = 0;
  std::array<std::atomic<const Entry*>, 65'536> entries_{};
  std::vector<std::unique_ptr<Entry>> kept_;
  std::map<std::tuple<std::string, std::string>, KindId, Before> kinds_;
  std::map<std::tuple<std::string, std::string, std::string>, KindId, Before> resources_;
};

Registry& registry() {
  static Registry& instance = *new Registry;  // outlives every static that still asks at exit
  return instance;
}

// What client-go guesses when discovery is not asked.
std::string guess_plural(std::string_view kind) {
  std::string plural(kind);
  for (char& c : plural)
    if (c >= 'A' && c <= 'Z') c = static_cast<char>(c - 'A' + 'a');
  if (plural.ends_with("endpoints")) return plural;
  if (plural.ends_with('s')) return plural + "es";
  if (plural.ends_with('y')) return plural.replace(plural.size() - 1, 1, "ies");
  return plural + "s";
}

}  // namespace

#define BERTH_ID(id, ...) const KindId id{place_##id};
BERTH_KINDS(BERTH_ID)
#undef BERTH_ID

KindId learn_kind(Kind kind) { return registry().learn(std::move(kind), false); }

KindId guess_kind(std::string_view api_version, std::string_view kind) {
  if (const auto known = find_kind(api_version, kind)) return *known;
  const std::size_t slash = api_version.find('/');
  const bool core = slash == std::string_view::npos;
  return registry().learn(Kind{std::string(core ? "" : api_version.substr(0, slash)),
                               std::string(core ? api_version : api_version.substr(slash + 1)),
                               std::string(kind), guess_plural(kind), true},
                          true);
}

const Kind& kind_of(KindId id) { return registry().at(id).kind; }

std::string_view json_head(KindId id) { return registry().at(id).head; }

std::optional<KindId> find_kind(std::string_view api_version, std::string_view kind) {
  return registry().find_kind(api_version, kind);
}

std::optional<KindId> find_resource(std::string_view group, std::string_view version,
                                    std::string_view plural) {
  return registry().find_resource(group, version, plural);
}

}  // namespace berth::kube
