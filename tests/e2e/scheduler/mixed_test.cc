// SPDX-License-Identifier: Apache-2.0
// A large cluster and pods of every kind. All are bound in the end, and the checker finds nothing
// wrong with where they are.
#include <chrono>
#include <thread>

#include <fmt/format.h>
#include <gtest/gtest.h>

#include "base/random.h"
#include "cluster.h"
#include "scale.h"

namespace berth::e2e {
namespace {

constexpr int kZones = 5;
constexpr const char* kHead = R"({"apiVersion":"v1","kind":)";

std::string node_json(int i) {
  // Four sizes; every tenth node is for batch pods only, every fifteenth has devices.
  const int size = 1 << (i % 4);
  const std::string room = fmt::format(
      R"({{"cpu":"{}","memory":"{}Gi","pods":"{}","ephemeral-storage":"100Gi"{}}})", 4 * size,
      16 * size, 30 + 10 * size, i % 15 == 3 ? R"(,"example.com/gpu":"4")" : "");
  std::string taints = "[]";
  if (i % 10 == 7) taints = R"([{"key":"dedicated","value":"batch","effect":"NoSchedule"}])";
  if (i % 50 == 11) taints = R"([{"key":"broken","effect":"NoExecute"}])";
  return fmt::format(
      R"({0}"Node","metadata":{{"name":"node-{1:04}","labels":{{"kubernetes.io/hostname":"node-{1:04}","topology.kubernetes.io/zone":"zone-{2}","disk":"{3}"}}}},"spec":{{"taints":{4},"unschedulable":{5}}},"status":{{"allocatable":{6},"capacity":{6},"conditions":[{{"type":"Ready","status":"True","reason":"Fake","message":""}}],"images":[{{"names":["reg/app-{7}:1"],"sizeBytes":300000000}}]}}}})",
      kHead, i, i % kZones, i % 3 == 0 ? "ssd" : "hdd", taints, i % 40 == 21, room, i % 7);
}

// Pods of one kind in a namespace, all alike, so that the checker can judge their spreading.
struct Group {
  std::string name, spec;  // members of the spec, each with a comma before it
  std::string requests = R"("cpu":"100m","memory":"128Mi")";
  std::string limits = "";
  bool gated = false;
};

std::string pod_json(const Group& group, int i, const std::string& more = "") {
  return fmt::format(
      R"({0}"Pod","metadata":{{"name":"{1}-{2}","namespace":"default","labels":{{"app":"{1}"}}}},"spec":{{"containers":[{{"name":"c","image":"reg/app-{3}:1","resources":{{"requests":{{{4}}},"limits":{{{5}}}}}}}]{6}{7}{8}}}}})",
      kHead, group.name, i, i % 7, group.requests, group.limits, group.spec,
      group.gated ? R"(,"schedulingGates":[{"name":"example.com/wait"}])" : "", more);
}

std::string spread(const std::string& app, const char* key, const char* when) {
  return fmt::format(
      R"(,"topologySpreadConstraints":[{{"maxSkew":1,"topologyKey":"{}","whenUnsatisfiable":"{}","labelSelector":{{"matchLabels":{{"app":"{}"}}}},"nodeTaintsPolicy":"Honor"}}])",
      key, when, app);
}

std::string company(const char* which, const std::string& app, const char* key) {
  return fmt::format(
      R"(,"affinity":{{"{}":{{"requiredDuringSchedulingIgnoredDuringExecution":[{{"topologyKey":"{}","labelSelector":{{"matchLabels":{{"app":"{}"}}}}}}]}}}})",
      which, key, app);
}

constexpr const char* kZone = "topology.kubernetes.io/zone";
constexpr const char* kHost = "kubernetes.io/hostname";

// What group number `n` is like: twelve kinds in turn.
Group group_of(int n) {
  Group group{.name = fmt::format("g{}", n), .spec = ""};
  switch (n % 12) {
    case 0:  // plain
      break;
    case 1:
      group.requests = R"("cpu":"750m","memory":"1Gi","ephemeral-storage":"1Gi")";
      group.spec = R"(,"priority":100)";
      break;
    case 2:
      group.spec = spread(group.name, kZone, "DoNotSchedule");
      break;
    case 3:
      group.spec = spread(group.name, kZone, "ScheduleAnyway");
      break;
    case 4:
      group.spec = company("podAntiAffinity", group.name, kHost);
      break;
    case 5:
      group.spec = company("podAffinity", group.name, kZone);
      break;
    case 6:
      group.spec =
          R"(,"tolerations":[{"key":"dedicated","operator":"Equal","value":"batch","effect":"NoSchedule"}],"nodeSelector":{"disk":"hdd"},"priority":-5)";
      break;
    case 7:
      group.spec =
          R"(,"affinity":{"nodeAffinity":{"requiredDuringSchedulingIgnoredDuringExecution":{"nodeSelectorTerms":[{"matchExpressions":[{"key":"disk","operator":"In","values":["ssd"]},{"key":"topology.kubernetes.io/zone","operator":"NotIn","values":["zone-0"]}]}]}}})";
      break;
    case 8:
      group.gated = true;
      group.spec = spread(group.name, kHost, "DoNotSchedule");
      break;
    case 9:
      group.spec = R"(,"priority":1000)";
      group.requests = R"("cpu":"50m","memory":"64Mi")";
      break;
    case 10:  // claims: see volumes()
      break;
    case 11:
      group.spec =
          R"(,"initContainers":[{"name":"i","image":"i","resources":{"requests":{"cpu":"200m"}}},{"name":"s","image":"s","restartPolicy":"Always","resources":{"requests":{"cpu":"50m"}}}])";
      break;
  }
  return group;
}

// Half of the claims find volumes that are there and tied to a node, half wait for the provisioner
// below, which makes one where the scheduler tells it to.
struct Volumes {
  std::vector<NewObject> objects;
  std::vector<std::string> to_provision;
};

void add_claim(Volumes& out, const std::string& name, int i, int nodes) {
  const bool local = i % 2 == 0;
  if (local)
    out.objects.push_back(
        {kube::kPersistentVolume, "",
         fmt::format(
             R"({0}"PersistentVolume","metadata":{{"name":"local-{1}"}},"spec":{{"capacity":{{"storage":"10Gi"}},"accessModes":["ReadWriteOnce"],"storageClassName":"local","local":{{"path":"/d"}},"nodeAffinity":{{"required":{{"nodeSelectorTerms":[{{"matchExpressions":[{{"key":"kubernetes.io/hostname","operator":"In","values":["node-{2:04}"]}}]}}]}}}}}}}})",
             kHead, name, (i * 13 / 10 * 10 + 2) % nodes)});
  out.objects.push_back(
      {kube::kPersistentVolumeClaim, "default",
       fmt::format(
           R"({}"PersistentVolumeClaim","metadata":{{"name":"{}","namespace":"default"}},"spec":{{"accessModes":["ReadWriteOnce"],"storageClassName":"{}","resources":{{"requests":{{"storage":"5Gi"}}}}}}}})",
           kHead, name, local ? "local" : "made")});
  if (!local) out.to_provision.push_back(name);
}

// What an external provisioner does: a claim that was given a node gets a volume of that node's
// zone.
bool provision(Cluster& cluster, std::vector<std::string>& waiting) {
  std::vector<std::string> still;
  const auto claims = cluster.admin().list_all(kube::kPersistentVolumeClaim, "default");
  if (!claims) return false;
  std::map<std::string, kube::Object> by_name;
  for (const kube::Object& claim : claims->items) by_name[std::string(claim.name())] = claim;
  for (const std::string& name : waiting) {
    const kube::Object& claim = by_name[name];
    const std::string node =
        claim.valid() ? claim.annotation("volume.kubernetes.io/selected-node") : "";
    if (node.empty()) {
      still.push_back(name);
      continue;
    }
    const int zone = std::atoi(node.substr(5).c_str()) % kZones;
    const auto made = cluster.admin().create(
        kube::kPersistentVolume, "",
        fmt::format(
            R"({0}"PersistentVolume","metadata":{{"name":"made-{1}","labels":{{"topology.kubernetes.io/zone":"zone-{2}"}},"annotations":{{"pv.kubernetes.io/provisioned-by":"disk.example.com"}}}},"spec":{{"capacity":{{"storage":"5Gi"}},"accessModes":["ReadWriteOnce"],"storageClassName":"made","csi":{{"driver":"disk.example.com","volumeHandle":"{1}"}},"claimRef":{{"apiVersion":"v1","kind":"PersistentVolumeClaim","namespace":"default","name":"{1}","uid":"{3}"}},"nodeAffinity":{{"required":{{"nodeSelectorTerms":[{{"matchExpressions":[{{"key":"topology.kubernetes.io/zone","operator":"In","values":["zone-{2}"]}}]}}]}}}}}}}})",
            kHead, name, zone, claim.uid()));
    if (!made && made.error().reason != Reason::kAlreadyExists) return false;
  }
  waiting = std::move(still);
  return true;
}

TEST(Mixed, EveryPodEndsWhereEveryHardConstraintHolds) {
  const int nodes = scaled(60, 500), groups = scaled(24, 96),
            each = scaled(25, 53);  // 600 and 5,088 pods
  BERTH_CLUSTER(cluster);
  Session& admin = cluster.admin();
  std::vector<NewObject> objects;
  for (int i = 0; i < nodes; ++i) objects.push_back({kube::kNode, "", node_json(i)});
  for (const auto& [name, provisioner] :
       {std::pair("local", "kubernetes.io/no-provisioner"), {"made", "disk.example.com"}})
    objects.push_back(
        {kube::kStorageClass, "",
         fmt::format(
             R"({{"apiVersion":"storage.k8s.io/v1","kind":"StorageClass","metadata":{{"name":"{}"}},"provisioner":"{}","volumeBindingMode":"WaitForFirstConsumer"}})",
             name, provisioner)});
  auto made = cluster.create_all(std::move(objects));
  ASSERT_TRUE(made) << made.error().message;
  PodHistory history(admin);
  auto scheduler = cluster.start_scheduler(
      subject(), {.config = "podInitialBackoffSeconds: 1\npodMaxBackoffSeconds: 2\n"});
  ASSERT_TRUE(scheduler) << scheduler.error().message;

  // Pods of all groups in turn, as a busy cluster gets them.
  Volumes volumes;
  std::vector<NewObject> pods;
  std::vector<kube::Key> gated;
  std::vector<Group> all;
  for (int n = 0; n < groups; ++n) all.push_back(group_of(n));
  for (int i = 0; i < each; ++i)
    for (int n = 0; n < groups; ++n) {
      const Group& group = all[static_cast<std::size_t>(n)];
      // No more pods that keep away from each other than there are nodes for them.
      if (n % 12 == 4 && i >= nodes / 2) continue;
      std::string claim;
      if (n % 12 == 10) {
        const std::string name = fmt::format("{}-{}", group.name, i);
        add_claim(volumes, name, i + n, nodes);
        claim = fmt::format(
            R"(,"volumes":[{{"name":"d","persistentVolumeClaim":{{"claimName":"{}"}}}}])", name);
      }
      pods.push_back({kube::kPod, "default", pod_json(group, i, claim)});
      if (group.gated) gated.push_back({"default", fmt::format("{}-{}", group.name, i)});
    }
  const std::size_t total = pods.size();
  const auto began = std::chrono::steady_clock::now();
  made = cluster.create_all(std::move(volumes.objects));
  ASSERT_TRUE(made) << made.error().message;
  made = cluster.create_all(std::move(pods));
  ASSERT_TRUE(made) << made.error().message;

  const auto patience = std::chrono::seconds(scaled(120, 600));
  const auto all_bound_but = [&](std::size_t left_out) {
    return eventually(patience,
                      [&] {
                        if (!(*scheduler)->running()) return true;
                        return (volumes.to_provision.empty() ||
                                provision(cluster, volumes.to_provision)) &&
                               history.bound() >= total - left_out;
                      }) &&
           (*scheduler)->running();
  };
  // Pods that should be bound and are not, or the other way round; a few of them.
  const auto strays = [&] {
    std::string out;
    int told = 0;
    for (const auto& [key, life] : history.by_key()) {
      const std::string& text = key;
      const bool waits = std::any_of(gated.begin(), gated.end(), [&](const kube::Key& each_gated) {
        return each_gated.text() == text;
      });
      if (life.node.empty() == waits || ++told > 5) continue;
      const auto pod = admin.get(kube::kPod, {"default", key.substr(key.find('/') + 1)});
      out += fmt::format("{} is {}: {}\n", key, waits ? "gated and bound" : "not bound",
                         pod ? std::string(pod->status().raw()) : pod.error().message);
    }
    return out;
  };
  ASSERT_TRUE(all_bound_but(gated.size()))
      << history.bound() << " of " << total << ", " << gated.size() << " of them gated\n"
      << strays() << (*scheduler)->log_tail(30);
  EXPECT_EQ(strays(), "");
  for (const kube::Key& key : gated)
    ASSERT_TRUE(admin.patch(kube::kPod, key, R"({"spec":{"schedulingGates":null}})"));
  gated.clear();
  EXPECT_TRUE(all_bound_but(0)) << history.bound() << " of " << total << "\n"
                                << strays() << (*scheduler)->log_tail(30);
  const double took =
      std::chrono::duration<double>(std::chrono::steady_clock::now() - began).count();

  // Claims are bound by the controller a moment after the pod.
  Verdict verdict;
  eventually(std::chrono::seconds(30), [&] {
    verdict = check_placement(cluster.state());
    return verdict.violations.empty();
  });
  fmt::print("{}: {} pods on {} nodes in {:.1f} s; {}", name_of(subject()), total, nodes, took,
             verdict.text());
  EXPECT_TRUE(verdict.violations.empty() && verdict.unchecked.empty()) << verdict.text();
  EXPECT_EQ(verdict.bound, total);
  EXPECT_EQ(bound_other_than_once(history.lives()), "");
  EXPECT_EQ(history.gaps(), 0u);
}

}  // namespace
}  // namespace berth::e2e
