// SPDX-License-Identifier: Apache-2.0
// Jobs, StatefulSets, volumes and budgets on a real kube-apiserver: what our controllers leave
// behind is what kube-controller-manager leaves behind, statuses, names of revisions and events
// included.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include "end_state.h"
#include "scale.h"
#include "stage.h"

namespace berth::e2e {
namespace {

using kube::kJob;
using kube::kPersistentVolume;
using kube::kPersistentVolumeClaim;
using kube::kPod;
using kube::kStatefulSet;
using kube::Object;

const std::vector<std::string> kControllers = {"job-controller",
                                               "statefulset-controller",
                                               "daemonset-controller",
                                               "cronjob-controller",
                                               "persistentvolume-binder-controller",
                                               "persistentvolumeclaim-protection-controller",
                                               "persistentvolume-protection-controller",
                                               "disruption-controller"};

int index_of(const Object& pod) {
  const std::string text = pod.annotation("batch.kubernetes.io/job-completion-index");
  return text.empty() ? -1 : std::stoi(text);
}

auto create_job(const std::string& spec, const std::string& restart = "Never") {
  return [=](Stage& stage) {
    stage.create(fmt::format(
        R"({{"apiVersion":"batch/v1","kind":"Job","metadata":{{"name":"sum"}},"spec":{{{},"template":{{"spec":{{"restartPolicy":"{}","containers":[{{"name":"main","image":"x"}}]}}}}}}}})",
        spec, restart));
  };
}
auto job_is(const char* condition) {
  return [=](Stage& stage) { return stage.holds("sum", condition); };
}
auto job_runs(int pods) {
  return [=](Stage& stage) { return stage.is(kJob, "sum", "ready", std::to_string(pods)); };
}
auto patch_job(const char* patch) {
  return [=](Stage& stage) { stage.patch(kJob, "sum", patch); };
}
std::optional<int> succeed(const Stage&, const Object&) { return 0; }

std::vector<Story> job_stories() {
  return {
      {"completes",
       {{create_job(R"("parallelism":2,"completions":3)"), job_is("Complete")}},
       succeed},
      {"queue", {{create_job(R"("parallelism":2)"), job_is("Complete")}}, succeed},
      {"nothing", {{create_job(R"("parallelism":1,"completions":0)"), job_is("Complete")}}},
      {"gives-up",
       {{create_job(R"("parallelism":1,"completions":1,"backoffLimit":1)"), job_is("Failed")}},
       [](const Stage&, const Object&) { return std::optional(3); }},
      {"indexed",
       {{create_job(R"("parallelism":3,"completions":4,"completionMode":"Indexed")"),
         job_is("Complete")}},
       succeed},
      {"per-index",
       {{create_job(
             R"("parallelism":4,"completions":4,"completionMode":"Indexed","backoffLimitPerIndex":1,"maxFailedIndexes":2)"),
         job_is("Failed")}},
       [](const Stage&, const Object& pod) { return std::optional(index_of(pod) % 2); }},
      {"max-failed",
       {{create_job(
             R"("parallelism":2,"completions":4,"completionMode":"Indexed","backoffLimitPerIndex":0,"maxFailedIndexes":1)"),
         job_is("Failed")}},
       [](const Stage&, const Object&) { return std::optional(1); }},
      {"fail-job",
       {{create_job(
             R"("parallelism":3,"completions":3,"completionMode":"Indexed","podFailurePolicy":{"rules":[{"action":"FailJob","onExitCodes":{"operator":"In","values":[42]}}]})"),
         job_runs(3)},
        {patch_job(R"({"metadata":{"labels":{"go":"on"}}})"), job_is("Failed")}},
       [](const Stage& stage, const Object& pod) {
         return stage.at() > 0 && index_of(pod) == 0 ? std::optional(42) : std::nullopt;
       }},
      {"fail-index",
       {{create_job(
             R"("parallelism":3,"completions":3,"completionMode":"Indexed","backoffLimitPerIndex":5,"podFailurePolicy":{"rules":[{"action":"FailIndex","onExitCodes":{"operator":"In","values":[42]}}]})"),
         job_is("Failed")}},
       [](const Stage&, const Object& pod) { return std::optional(index_of(pod) == 0 ? 42 : 0); }},
      {"enough",
       {{create_job(
             R"("parallelism":3,"completions":3,"completionMode":"Indexed","successPolicy":{"rules":[{"succeededIndexes":"1"}]})"),
         job_is("Complete")}},
       [](const Stage&, const Object& pod) {
         return index_of(pod) == 1 ? std::optional(0) : std::nullopt;
       }},
      {"deadline",
       {{create_job(R"("parallelism":2,"completions":2,"activeDeadlineSeconds":4)"),
         job_is("Failed")}}},
      {"suspends",
       {{create_job(R"("parallelism":2,"completions":2)"), job_runs(2)},
        {patch_job(R"({"spec":{"suspend":true}})"),
         [](Stage& stage) { return stage.holds("sum", "Suspended") && stage.list(kPod).empty(); }},
        {patch_job(R"({"spec":{"suspend":false}})"), job_runs(2)}}},
      {"shrinks",
       {{create_job(R"("parallelism":3,"completions":9)"), job_runs(3)},
        {patch_job(R"({"spec":{"parallelism":1}})"),
         [](Stage& stage) { return stage.list(kPod).size() == 1 && job_runs(1)(stage); }}}},
      {"taken-away",
       {{create_job(R"("parallelism":1,"completions":1,"podReplacementPolicy":"Failed")"),
         job_runs(1)},
        {[](Stage& stage) { stage.erase(kPod, std::string(stage.list(kPod).at(0).name())); },
         [](Stage& stage) { return stage.is(kJob, "sum", "failed", "1") && job_runs(1)(stage); }}}},
      {"elsewhere",
       {{create_job(R"("parallelism":1,"completions":1,"managedBy":"example.com/other")"),
         nullptr}}},
      {"deleted",
       {{create_job(R"("parallelism":2,"completions":2)"), job_runs(2)},
        {[](Stage& stage) { stage.erase(kJob, "sum"); },
         [](Stage& stage) {
           for (const Object& pod : stage.list(kPod))
             if (!pod.finalizers().empty()) return false;
           return true;
         }}}},
  };
}

auto create_set(int replicas, const std::string& more) {
  return [=](Stage& stage) {
    stage.create(fmt::format(
        R"({{"apiVersion":"apps/v1","kind":"StatefulSet","metadata":{{"name":"web"}},"spec":{{"replicas":{},"serviceName":"web","selector":{{"matchLabels":{{"app":"web"}}}},"template":{{"metadata":{{"labels":{{"app":"web"}}}},"spec":{{"containers":[{{"name":"main","image":"v1","args":["a<b"]}}]}}}}{}}}}})",
        replicas, more));
  };
}
auto patch_set(const std::string& spec) {
  return [=](Stage& stage) { stage.patch(kStatefulSet, "web", R"({"spec":{)" + spec + "}}"); };
}
auto set_image(const char* image) {
  return patch_set(fmt::format(
      R"("template":{{"spec":{{"containers":[{{"name":"main","image":"{}","args":["a<b"]}}]}}}})",
      image));
}
// So many ready, and so many of the newest template.
auto set_has(int ready, int updated) {
  return [=](Stage& stage) {
    const Object set = stage.get(kStatefulSet, "web");
    return set.valid() && set.status()["observedGeneration"].integer() == set.generation() &&
           set.status()["readyReplicas"].integer().value_or(0) == ready &&
           set.status()["replicas"].integer().value_or(0) == ready &&
           set.status()["updatedReplicas"].integer().value_or(0) == updated;
  };
}
constexpr const char* kClaims =
    R"(,"volumeClaimTemplates":[{"metadata":{"name":"www"},"spec":{"storageClassName":"none-such","accessModes":["ReadWriteOnce"],"resources":{"requests":{"storage":"1Gi"}}}}])";

std::vector<Story> set_stories() {
  return {
      {"in-order",
       {{create_set(3, ""), set_has(3, 3)},
        {set_image("v2"), set_has(3, 3)},
        {patch_set(R"("replicas":1)"), set_has(1, 1)},
        {set_image("v1"), set_has(1, 1)}}},
      {"at-once",
       {{create_set(3, R"(,"podManagementPolicy":"Parallel","ordinals":{"start":5})"),
         set_has(3, 3)},
        {patch_set(R"("updateStrategy":{"type":"RollingUpdate","rollingUpdate":{"partition":2}})"),
         set_has(3, 3)},
        {set_image("v2"), set_has(3, 1)}}},
      {"on-delete",
       {{create_set(2, R"(,"updateStrategy":{"type":"OnDelete"})"), set_has(2, 2)},
        {set_image("v2"), set_has(2, 0)},
        {[](Stage& stage) { stage.erase(kPod, "web-0"); }, set_has(2, 1)}}},
      {"claims",
       {{create_set(
             2,
             std::string(kClaims) +
                 R"(,"persistentVolumeClaimRetentionPolicy":{"whenScaled":"Delete","whenDeleted":"Delete"})"),
         set_has(2, 2)},
        {patch_set(R"("replicas":1)"), set_has(1, 1)}}},
      {"kept-claims",
       {{create_set(
             2,
             std::string(kClaims) +
                 R"(,"persistentVolumeClaimRetentionPolicy":{"whenScaled":"Retain","whenDeleted":"Delete"})"),
         set_has(2, 2)},
        {patch_set(
             R"("replicas":1,"persistentVolumeClaimRetentionPolicy":{"whenDeleted":"Retain"})"),
         set_has(1, 1)}}},
  };
}

auto create_daemons(const std::string& more) {
  return [=](Stage& stage) {
    stage.create(fmt::format(
        R"({{"apiVersion":"apps/v1","kind":"DaemonSet","metadata":{{"name":"agent"}},"spec":{{"selector":{{"matchLabels":{{"app":"agent"}}}},"template":{{"metadata":{{"labels":{{"app":"agent"}}}},"spec":{{"containers":[{{"name":"main","image":"v1"}}]{}}}}}}}}})",
        more));
  };
}
auto patch_daemons(const std::string& spec) {
  return
      [=](Stage& stage) { stage.patch(kube::kDaemonSet, "agent", R"({"spec":{)" + spec + "}}"); };
}
// So many nodes have a daemon that is ready, and so many of the newest template.
auto daemons_are(int ready, int updated) {
  return [=](Stage& stage) {
    const Object set = stage.get(kube::kDaemonSet, "agent");
    return set.valid() && set.status()["observedGeneration"].integer() == set.generation() &&
           set.status()["numberAvailable"].integer().value_or(0) == ready &&
           set.status()["updatedNumberScheduled"].integer().value_or(0) == updated &&
           stage.list(kPod).size() == static_cast<std::size_t>(ready);
  };
}
constexpr const char* kNewDaemons =
    R"("template":{"spec":{"containers":[{"name":"main","image":"v2"}]}})";

std::vector<Story> daemon_stories() {
  return {
      {"daemons",
       {{create_daemons(""), daemons_are(3, 3)},
        {patch_daemons(kNewDaemons), daemons_are(3, 3)},
        {patch_daemons(R"("template":{"spec":{"nodeSelector":{"disk":"fast"}}})"),
         daemons_are(1, 1)}}},
      {"daemons-surge",
       {{create_daemons(
             R"(,"hostNetwork":true,"tolerations":[{"key":"node.kubernetes.io/not-ready","operator":"Exists","effect":"NoExecute","tolerationSeconds":5}])"),
         daemons_are(3, 3)},
        {patch_daemons(
             R"("updateStrategy":{"type":"RollingUpdate","rollingUpdate":{"maxUnavailable":0,"maxSurge":2}})"),
         daemons_are(3, 3)},
        {patch_daemons(kNewDaemons), daemons_are(3, 3)}}},
      {"daemons-on-delete",
       {{create_daemons(""), daemons_are(3, 3)},
        {patch_daemons(R"("updateStrategy":{"type":"OnDelete","rollingUpdate":null})"),
         daemons_are(3, 3)},
        {patch_daemons(kNewDaemons), daemons_are(3, 0)},
        {[](Stage& stage) {
           for (const Object& pod : stage.list(kPod))
             if (pod.member("spec")["nodeName"].equals("n1"))
               stage.erase(kPod, std::string(pod.name()));
         },
         daemons_are(3, 1)}}},
  };
}

// It takes a minute, which is why it is played at night.
std::vector<Story> cron_stories() {
  return {
      {"ticks",
       {{[](Stage& stage) {
           stage.create(
               R"({"apiVersion":"batch/v1","kind":"CronJob","metadata":{"name":"tick"},"spec":{"schedule":"* * * * *","jobTemplate":{"metadata":{"labels":{"a":"b"}},"spec":{"template":{"spec":{"restartPolicy":"Never","containers":[{"name":"main","image":"x"}]}}}}}})");
         },
         [](Stage& stage) {
           const Object tick = stage.get(kube::kCronJob, "tick");
           return tick.valid() && tick.status()["lastSuccessfulTime"].present() &&
                  tick.status()["active"].size() == 0;
         }},
        {[](Stage& stage) { stage.patch(kube::kCronJob, "tick", R"({"spec":{"suspend":true}})"); },
         nullptr}},
       succeed}};
}

// Without the taint that new nodes have until somebody says that they are ready.
void create_nodes(Session& session) {
  for (const char* name : {"n1", "n2", "n3"}) {
    const auto made = session.create(
        kube::kNode, "",
        fmt::format(
            R"({{"apiVersion":"v1","kind":"Node","metadata":{{"name":"{0}","labels":{{"kubernetes.io/hostname":"{0}","disk":"{1}"}}}}}})",
            name, std::string(name) == "n2" ? "fast" : "slow"));
    ASSERT_TRUE(made) << made.error().message;
    const auto ready = session.patch(kube::kNode, {"", name}, R"({"spec":{"taints":null}})");
    ASSERT_TRUE(ready) << ready.error().message;
  }
}

auto create_volume(const char* name, const char* size, const std::string& more) {
  return fmt::format(
      R"({{"apiVersion":"v1","kind":"PersistentVolume","metadata":{{"name":"{}-@"}},"spec":{{"accessModes":["ReadWriteOnce"],"capacity":{{"storage":"{}"}},"local":{{"path":"/x"}},"nodeAffinity":{{"required":{{"nodeSelectorTerms":[{{"matchExpressions":[{{"key":"kubernetes.io/hostname","operator":"In","values":["n1"]}}]}}]}}}}{}}}}})",
      name, size, more);
}
std::string create_claim(const char* name, const char* size, const std::string& more) {
  return fmt::format(
      R"({{"apiVersion":"v1","kind":"PersistentVolumeClaim","metadata":{{"name":"{}"}},"spec":{{"accessModes":["ReadWriteOnce"],"resources":{{"requests":{{"storage":"{}"}}}}{}}}}})",
      name, size, more);
}
auto claim_is(const char* name, const char* phase) {
  return [=](Stage& stage) {
    return stage.is(kPersistentVolumeClaim, name, "phase", fmt::format("\"{}\"", phase));
  };
}
auto volume_is(const char* name, const char* phase) {
  return [=](Stage& stage) {
    return stage.is(kPersistentVolume, fmt::format("{}-@", name), "phase",
                    fmt::format("\"{}\"", phase));
  };
}

std::vector<Story> volume_stories() {
  const std::string static_class = R"(,"storageClassName":"static-@")";
  return {
      {"volumes",
       {{[=](Stage& stage) {
           stage.create(create_volume("small", "1Gi", static_class));
           stage.create(create_volume("right", "10Gi", static_class));
           stage.create(create_volume("big", "100Gi", static_class));
           stage.create(
               create_volume("reserved", "5Gi",
                             static_class + R"(,"claimRef":{"namespace":"@","name":"reserver"})"));
           stage.create(create_volume(
               "doomed", "50Gi", static_class + R"(,"persistentVolumeReclaimPolicy":"Delete")"));
         },
         [](Stage& stage) {
           return volume_is("small", "Available")(stage) &&
                  volume_is("right", "Available")(stage) && volume_is("big", "Available")(stage) &&
                  volume_is("reserved", "Available")(stage) &&
                  volume_is("doomed", "Available")(stage);
         }},
        {[=](Stage& stage) { stage.create(create_claim("fit", "5Gi", static_class)); },
         claim_is("fit", "Bound")},
        {[=](Stage& stage) { stage.create(create_claim("reserver", "1Gi", static_class)); },
         claim_is("reserver", "Bound")},
        {[=](Stage& stage) {
           stage.create(create_claim("named", "1Gi", static_class + R"(,"volumeName":"doomed-@")"));
         },
         claim_is("named", "Bound")},
        {[=](Stage& stage) {
           stage.create(
               create_claim("unfit", "1Gi", R"(,"storageClassName":"","volumeName":"big-@")"));
           stage.create(create_claim("nothing", "1Gi", R"(,"storageClassName":"")"));
           stage.create(create_claim("no-class", "1Gi", R"(,"storageClassName":"missing")"));
         },
         nullptr},
        {[](Stage& stage) { stage.erase(kPersistentVolumeClaim, "named"); },
         volume_is("doomed", "Failed")},
        {[](Stage& stage) { stage.erase(kPersistentVolumeClaim, "fit"); },
         volume_is("right", "Released")},
        {[](Stage& stage) {
           stage.patch(kPersistentVolume, "right-@", R"({"spec":{"claimRef":null}})");
         },
         volume_is("right", "Available")},
        {[](Stage& stage) { stage.erase(kPersistentVolume, "small-@"); },
         [](Stage& stage) { return !stage.get(kPersistentVolume, "small-@").valid(); }},
        {[](Stage& stage) { stage.erase(kPersistentVolume, "reserved-@"); },
         [](Stage& stage) { return stage.get(kPersistentVolume, "reserved-@").deleting(); }}}},
      {"waiting",
       {{[](Stage& stage) {
           stage.create(
               R"({"apiVersion":"storage.k8s.io/v1","kind":"StorageClass","metadata":{"name":"later-@"},"provisioner":"kubernetes.io/no-provisioner","volumeBindingMode":"WaitForFirstConsumer"})");
           stage.create(
               R"({"apiVersion":"storage.k8s.io/v1","kind":"StorageClass","metadata":{"name":"never-@"},"provisioner":"kubernetes.io/no-provisioner","volumeBindingMode":"Immediate"})");
           stage.create(
               R"({"apiVersion":"storage.k8s.io/v1","kind":"StorageClass","metadata":{"name":"other-@"},"provisioner":"example.com/other","volumeBindingMode":"Immediate"})");
           stage.create(create_claim("later", "1Gi", R"(,"storageClassName":"later-@")"));
           stage.create(create_claim("never", "1Gi", R"(,"storageClassName":"never-@")"));
           stage.create(create_claim("other", "1Gi", R"(,"storageClassName":"other-@")"));
         },
         nullptr}}},
  };
}

// A kind of somebody's own that can be scaled. It is there before controllers look for kinds, which
// kube-controller-manager does twice a minute.
kube::KindId crew() { return kube::learn_kind({"example.com", "v1", "Crew", "crews"}); }
void create_crews(Session& session) {
  const auto made = session.create(
      kube::kCustomResourceDefinition, "",
      R"({"apiVersion":"apiextensions.k8s.io/v1","kind":"CustomResourceDefinition","metadata":{"name":"crews.example.com"},"spec":{"group":"example.com","scope":"Namespaced","names":{"kind":"Crew","listKind":"CrewList","plural":"crews","singular":"crew"},"versions":[{"name":"v1","served":true,"storage":true,"subresources":{"scale":{"specReplicasPath":".spec.size","statusReplicasPath":".status.size"}},"schema":{"openAPIV3Schema":{"type":"object","x-kubernetes-preserve-unknown-fields":true}}}]}})");
  ASSERT_TRUE(made) << made.error().message;
  ASSERT_TRUE(eventually(60s, [&] { return session.list_all(crew(), "").has_value(); }));
}

void create_crew_of_four(Stage& stage) {
  stage.create(
      R"({"apiVersion":"example.com/v1","kind":"Crew","metadata":{"name":"c"},"spec":{"size":4}})");
  for (const char* pod : {"p0", "p1", "p2", "p3"})
    stage.create(fmt::format(
        R"({{"apiVersion":"v1","kind":"Pod","metadata":{{"name":"{}","labels":{{"app":"x"}},"ownerReferences":[{{"apiVersion":"example.com/v1","kind":"Crew","name":"c","uid":"{}","controller":true}}]}},"spec":{{"containers":[{{"name":"main","image":"x"}}]}}}})",
        pod, stage.get(crew(), "c").uid()));
}
bool all_run(Stage& stage) {
  for (const Object& pod : stage.list(kPod))
    if (!pod.status()["phase"].equals("Running")) return false;
  return true;
}
auto budget_is(const char* field, const char* count) {
  return [=](Stage& stage) { return stage.is(kube::kPodDisruptionBudget, "b", field, count); };
}

std::vector<Story> budget_stories() {
  return {
      {"budget",
       {{create_crew_of_four, all_run},
        {[](Stage& stage) {
           stage.create(
               R"({"apiVersion":"policy/v1","kind":"PodDisruptionBudget","metadata":{"name":"b"},"spec":{"maxUnavailable":"25%","selector":{"matchLabels":{"app":"x"}}}})");
         },
         budget_is("disruptionsAllowed", "1")},
        {[](Stage& stage) {
           stage.patch(crew(), "c", R"({"spec":{"size":8}})");
           stage.erase(kPod, "p0");
         },
         budget_is("expectedPods", "8")}}}};
}

TEST(Workloads, EndAsWithKubeControllerManager) {
  auto plane = ControlPlane::start();
  if (!plane && plane.error().reason == Reason::kNotFound) GTEST_SKIP() << plane.error().message;
  ASSERT_TRUE(plane) << plane.error().message;
  if (const auto program = real_program("kube-controller-manager"); !program)
    GTEST_SKIP() << program.error().message;
  std::vector<Story> stories = job_stories();
  for (auto more : {set_stories(), daemon_stories(), volume_stories(), budget_stories()})
    stories.insert(stories.end(), more.begin(), more.end());
  if (nightly())
    for (const Story& story : cron_stories()) stories.push_back(story);
  {
    const auto session = Session::open((*plane)->kubeconfig());
    create_nodes(**session);
    create_crews(**session);
  }
  std::vector<std::string> stock, ours;
  {
    const auto keeper = stock_controllers(**plane, kControllers);
    stock = play(**plane, stories, "stock");
  }
  {
    const auto keeper = our_controllers(**plane, kControllers);
    ours = play(**plane, stories, "ours");
  }
  for (std::size_t i = 0; i < stories.size(); ++i)
    EXPECT_EQ(controllers::stories::difference("stock", stock[i], "ours", ours[i]), "")
        << stories[i].name;
}

}  // namespace
}  // namespace berth::e2e
