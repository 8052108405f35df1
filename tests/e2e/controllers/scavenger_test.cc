// SPDX-License-Identifier: Apache-2.0
// ScavengerJobs on a real kube-apiserver, with kube-controller-manager for their Jobs and garbage:
// the rows of the specification that need only verbs of the API. Each holds in virtual time too,
// with more of time; see tests/controllers/scavenger*.
#include <functional>
#include <map>
#include <optional>

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "kube/ours/ours.h"
#include "kube/ours/scavenger_job_view.h"
#include "kube/pod_view.h"
#include "kube/time.h"
#include "stage.h"

namespace berth::e2e {
namespace {

using kube::Object;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::SizeIs;

constexpr std::chrono::seconds kPatience{90};
const kube::ScavengerKinds& kinds() { return kube::scavenger_kinds(); }

std::vector<WallTime> times_at(const Object& job, const char* field) {
  std::vector<WallTime> out;
  for (const json::Slice one : job.status()[field].elements())
    out.push_back(*kube::parse_time(one.text()));
  return out;
}

// One control plane for all; a namespace, a node of ten cores and an operator for each.
class RealScavenger : public testing::Test {
 protected:
  static void SetUpTestSuite() {
    auto plane = ControlPlane::start(
        {.etcd_flags = {},
         .api_server_flags = {"--disable-admission-plugins=ServiceAccount,TaintNodesByCondition,"
                              "DefaultTolerationSeconds"}});
    if (!plane) {
      why_not_ = plane.error();
      return;
    }
    plane_ = *std::move(plane);
    const auto admin = Session::open(plane_->kubeconfig());
    ASSERT_TRUE(admin) << admin.error().message;
    for (const std::string& manifest : kube::our_first_objects()) {
      const auto object = Object::parse(manifest);
      const auto made = (*admin)->create(object->kind(), std::string(object->ns()), manifest);
      ASSERT_TRUE(made) << made.error().message;
    }
    for (const kube::KindSpec& kind : kube::our_kinds())
      ASSERT_TRUE(eventually(kPatience, [&] {
        const auto now = (*admin)->get(kube::kCustomResourceDefinition, {"", kind.crd_name()});
        return now && kube::find_condition(now->status(), "Established")["status"].equals("True");
      })) << kind.crd_name();
    // Now that all kinds are there: the garbage collector looks for new ones twice a minute only.
    stock_ = stock_controllers(*plane_, {"job-controller", "garbage-collector-controller",
                                         "pod-garbage-collector-controller"});
  }
  static void TearDownTestSuite() {
    stock_.reset();
    plane_.reset();
  }
  void SetUp() override {
    if (why_not_ && why_not_->reason == Reason::kNotFound) GTEST_SKIP() << why_not_->message;
    ASSERT_FALSE(why_not_) << why_not_->message;
    auto session = Session::open(plane_->kubeconfig());
    ASSERT_TRUE(session) << session.error().message;
    session_ = *std::move(session);
    ns_ = fmt::format("t{}", ++tests_);
    create(
        fmt::format(R"({{"apiVersion":"v1","kind":"Namespace","metadata":{{"name":"{}"}}}})", ns_));
    create(
        R"({"apiVersion":"v1","kind":"Node","metadata":{"name":"n1"},"status":{"capacity":{"cpu":"10","memory":"64Gi","pods":"110"},"allocatable":{"cpu":"10","memory":"64Gi","pods":"110"},"conditions":[{"type":"Ready","status":"True","reason":"x","message":"x"}]}})");
    policy(R"("thresholdPercent":100)");
    start_operator();
  }
  void TearDown() override {
    if (!session_) return;
    if (HasFailure())
      for (const Object& job : list(kinds().job)) fmt::print("{}\n", job.json());
    for (const Object& job : list(kinds().job)) session_->erase(kinds().job, job.key());
    for (const Object& pod : list(kube::kPod)) session_->erase(kube::kPod, pod.key());
    until("everything is gone", [&] {
      return list(kinds().job).empty() && list(kube::kJob).empty() && list(kube::kPod).empty();
    });
    operator_.reset();
    session_->erase(kube::kNode, {"", "n1"});
    session_->erase(kinds().policy, {"", "default"});
  }

  void start_operator() {
    operator_ = our_controllers(*plane_, {"scavenger-controller", "scavenger-queue-controller"});
  }
  void stop_operator() { operator_.reset(); }

  void create(const std::string& json) {
    const auto object = Object::parse(json);
    ASSERT_TRUE(object) << json;
    const bool inside = kube::kind_of(object->kind()).namespaced;
    const auto made = session_->create(object->kind(), inside ? ns_ : "", json);
    ASSERT_TRUE(made) << json << ": " << made.error().message;
  }
  void policy(std::string_view spec) {
    const std::string json = fmt::format(
        R"({{"apiVersion":"berth.dev/v1alpha1","kind":"ScavengerPolicy","metadata":{{"name":"default"}},"spec":{{{}}}}})",
        spec);
    if (session_->patch(kinds().policy, {"", "default"}, json)) return;
    create(json);
  }
  void job(const std::string& name, std::string_view more = "", std::string_view cpu = "1") {
    create(fmt::format(
        R"({{"apiVersion":"berth.dev/v1alpha1","kind":"ScavengerJob","metadata":{{"name":"{}"}},"spec":{{"image":"work","resources":{{"requests":{{"cpu":"{}","memory":"1Gi"}}}}{}{}}}}})",
        name, cpu, more.empty() ? "" : ",", more));
  }
  void ordinary(const std::string& name, std::string_view cpu) {
    create(fmt::format(
        R"({{"apiVersion":"v1","kind":"Pod","metadata":{{"name":"{}"}},"spec":{{"nodeName":"n1","terminationGracePeriodSeconds":0,"containers":[{{"name":"main","image":"i","resources":{{"requests":{{"cpu":"{}"}}}}}}]}}}})",
        name, cpu));
  }
  void patch(kube::KindId kind, const std::string& name, const std::string& json,
             std::string subresource = "") {
    const auto done =
        session_->patch(kind, {ns_, name}, json, kube::PatchType::kMerge, std::move(subresource));
    ASSERT_TRUE(done) << done.error().message;
  }
  void interrupted(const std::string& name, int times) {  // as if it had been so often before
    patch(kinds().job, name, fmt::format(R"({{"status":{{"interruptedCount":{}}}}})", times),
          "status");
  }

  Object get(kube::KindId kind, const std::string& name) {
    const auto found = session_->get(kind, {ns_, name});
    return found ? *found : Object();
  }
  Object get(const std::string& name) { return get(kinds().job, name); }
  std::vector<Object> list(kube::KindId kind) {
    auto all = session_->list_all(kind, kube::kind_of(kind).namespaced ? ns_ : "");
    return all ? std::move(all->items) : std::vector<Object>();
  }
  std::vector<Object> pods() {  // of jobs, that live
    std::vector<Object> all = list(kube::kPod);
    std::erase_if(all, [](const Object& pod) {
      return pod.label(kube::kScavengerLabel).empty() || kube::PodView(pod).finished();
    });
    return all;
  }
  std::string phase(const std::string& name) { return kube::ScavengerJobView(get(name)).phase(); }
  std::int64_t count(const std::string& name) {
    return kube::ScavengerJobView(get(name)).interrupted_count();
  }
  std::string message(const std::string& name) { return get(name).status()["message"].text(); }

  void erase_pod(const Object& pod) {
    const auto done = session_->erase(kube::kPod, pod.key());
    ASSERT_TRUE(done) << done.error().message;
  }
  void evict(const Object& pod) {
    kube::ApiRequest request;
    request.verb = kube::Verb::kCreate;
    request.kind = kube::kPod;
    request.ns = pod.ns();
    request.name = pod.name();
    request.subresource = "eviction";
    request.body.bytes = std::make_shared<const std::string>(
        fmt::format(R"({{"apiVersion":"policy/v1","kind":"Eviction","metadata":{{"name":"{}"}}}})",
                    pod.name()));
    const auto done = session_->once(std::move(request), 10s);
    ASSERT_TRUE(done) << done.error().message;
  }
  void ends(const Object& pod, int code) { exits_[std::string(pod.name())] = code; }

  WallTime now() { return session_->loop().executor().clock().wall(); }
  // Kubelets work on while it is waited.
  void until(const std::string& what, const std::function<bool()>& holds) {
    EXPECT_TRUE(eventually(kPatience, [&] {
      for (const Object& pod : list(kube::kPod)) {
        PodFate fate{.node = places_ ? "n1" : "",
                     .now = kube::time_text(now()),
                     .patch = kube::PatchType::kStrategic};
        if (const auto code = exits_.find(std::string(pod.name())); code != exits_.end())
          fate.exit_code = code->second;
        live(*session_, pod, fate);
      }
      return holds();
    })) << what;
  }
  void until_phase(const std::string& name, const std::string& wanted) {
    until(name + " is " + wanted, [&] { return phase(name) == wanted; });
  }

  static inline std::unique_ptr<ControlPlane> plane_;
  static inline std::unique_ptr<Keeper> stock_;
  static inline std::optional<Error> why_not_;
  static inline int tests_ = 0;
  std::unique_ptr<Session> session_;
  std::unique_ptr<Keeper> operator_;
  std::string ns_;
  std::map<std::string, int> exits_;
  bool places_ = true;
};

TEST_F(RealScavenger, R9_R10_R11_R13_R14_R15_APlainJobIsMadeAndGoesWithItsOwner) {
  job("a", R"("command":["work","--hard"],"args":["x"],"replicas":3,"runAsUser":1000)");
  until_phase("a", "Running");
  const std::vector<Object> jobs = list(kube::kJob);
  ASSERT_THAT(jobs, SizeIs(1));
  EXPECT_EQ(jobs[0].name(), "a-1");
  const auto owner = jobs[0].controller();
  ASSERT_TRUE(owner);
  EXPECT_EQ(owner->kind, "ScavengerJob");
  EXPECT_EQ(owner->uid, get("a").uid());
  EXPECT_TRUE(owner->block_owner_deletion);
  const json::Slice spec = jobs[0].member("spec");
  EXPECT_EQ(spec["completionMode"].text(), "Indexed");
  EXPECT_EQ(spec["completions"].integer(), 3);
  EXPECT_EQ(spec["parallelism"].integer(), 3);
  const std::vector<Object> members = pods();
  ASSERT_THAT(members, SizeIs(3));
  for (const Object& pod : members) {
    const json::Slice main = pod.member("spec")["containers"][std::size_t{0}];
    EXPECT_EQ(main["image"].text(), "work");
    EXPECT_EQ(main["command"].raw(), R"(["work","--hard"])");
    EXPECT_EQ(main["args"].raw(), R"(["x"])");
    EXPECT_EQ(pod.status()["qosClass"].text(), "Guaranteed");
    EXPECT_EQ(pod.member("spec")["priority"].integer(), -1000);
    EXPECT_EQ(pod.member("spec")["preemptionPolicy"].text(), "Never");
    const json::Slice context = pod.member("spec")["securityContext"];
    EXPECT_EQ(context["runAsUser"].integer(), 1000);
    EXPECT_TRUE(context["runAsNonRoot"].boolean());
  }
  ASSERT_TRUE(session_->erase(kinds().job, {ns_, "a"}));
  until("the Job and its pods are collected",
        [&] { return list(kube::kJob).empty() && list(kube::kPod).empty(); });
}

TEST_F(RealScavenger, R1_TheKindIsServedWithAStatusOfItsOwn) {
  EXPECT_TRUE(session_->list_all(kinds().job, ""));
  const auto definition =
      session_->get(kube::kCustomResourceDefinition, {"", "scavengerjobs.berth.dev"});
  ASSERT_TRUE(definition) << definition.error().message;
  const json::Slice spec = definition->member("spec");
  EXPECT_EQ(spec["scope"].text(), "Namespaced");
  EXPECT_TRUE(spec["versions"][std::size_t{0}]["subresources"]["status"].present());
}

TEST_F(RealScavenger, R12_EverythingNamedIsMounted) {
  for (const char* name : {"in", "out"})
    create(fmt::format(
        R"({{"apiVersion":"v1","kind":"PersistentVolumeClaim","metadata":{{"name":"{}"}},"spec":{{"accessModes":["ReadWriteMany"],"resources":{{"requests":{{"storage":"1Gi"}}}}}}}})",
        name));
  create(R"({"apiVersion":"v1","kind":"ConfigMap","metadata":{"name":"c"}})");
  create(R"({"apiVersion":"v1","kind":"Secret","metadata":{"name":"k"}})");
  job("a",
      R"("persistentVolumeClaims":[{"name":"in","mountPath":"/in","readOnly":true},{"name":"out","mountPath":"/out","subPath":"x"}],"configMaps":[{"name":"c","mountPath":"/c"}],"secrets":[{"name":"k","mountPath":"/k"}])");
  until_phase("a", "Running");
  const Object pod = pods().at(0);
  std::vector<std::string> mounts;
  for (const json::Slice one :
       pod.member("spec")["containers"][std::size_t{0}]["volumeMounts"].elements())
    mounts.push_back(fmt::format("{}{}{}", one["mountPath"].text(), one["subPath"].text(),
                                 one["readOnly"].boolean() ? " ro" : ""));
  EXPECT_THAT(mounts, ElementsAre("/in ro", "/outx", "/c", "/k", "/etc/berth"));
}

TEST_F(RealScavenger, R16_AWholeJobRunsUnderTheSameRules) {
  create(
      R"({"apiVersion":"berth.dev/v1alpha1","kind":"ScavengerJob","metadata":{"name":"a"},"spec":{"job":{"parallelism":2,"completions":2,"backoffLimit":5,"template":{"metadata":{"labels":{"app":"x"}},"spec":{"restartPolicy":"OnFailure","containers":[{"name":"main","image":"i","resources":{"requests":{"cpu":"1"}}}]}}}}})");
  until_phase("a", "Running");
  ASSERT_THAT(pods(), SizeIs(2));
  EXPECT_EQ(pods()[0].label("app"), "x");
  EXPECT_EQ(pods()[0].member("spec")["restartPolicy"].text(), "Never");
  EXPECT_EQ(list(kube::kJob).at(0).member("spec")["backoffLimit"].integer(), 0);
}

TEST_F(RealScavenger, R6_R19_R33_OneMemberIsEvictedAndAllGo) {
  job("a", R"("replicas":4)");
  until_phase("a", "Running");
  ASSERT_THAT(pods(), SizeIs(4));
  evict(pods()[2]);
  until_phase("a", "Interrupted");
  until("its Job is gone, and all members",
        [&] { return list(kube::kJob).empty() && pods().empty(); });
  EXPECT_EQ(count("a"), 1) << "an episode, not a pod";
}

TEST_F(RealScavenger, R18_R20_R21_R22_R23_R35_PhasesAndTimesFollowOneAnother) {
  job("a");
  until_phase("a", "Running");
  EXPECT_TRUE(get("a").created());
  erase_pod(pods().at(0));
  until_phase("a", "Interrupted");
  until_phase("a", "Running");
  EXPECT_EQ(list(kube::kJob).at(0).name(), "a-2");
  ends(pods().at(0), 0);
  until_phase("a", "Completed");
  until("its pod is let go", [&] { return list(kube::kPod).at(0).finalizers().empty(); });
  const Object over = get("a");
  const auto ran = times_at(over, "runningTimestamps"),
             gone = times_at(over, "interruptedTimestamps");
  ASSERT_THAT(ran, SizeIs(2));
  ASSERT_THAT(gone, SizeIs(1));
  EXPECT_LE(ran[0], gone[0]);
  EXPECT_LT(gone[0], ran[1]);
  const auto finished = kube::parse_time(over.status()["finishedTimestamp"].text());
  ASSERT_TRUE(finished);
  EXPECT_GE(*finished, ran[1]);
  EXPECT_EQ(over.status()["interruptedCount"].integer(), 1);
  // Another job's whole life later nothing was written to it.
  job("b");
  until_phase("b", "Running");
  ends(pods().at(0), 0);
  until_phase("b", "Completed");
  EXPECT_EQ(get("a").revision(), over.revision());
}

TEST_F(RealScavenger, R24_R29_R30_ThePriorityRisesInStepsAndStartsOver) {
  policy(R"("thresholdPercent":100,"windowMin":"12s","steps":3)");
  job("a", R"("duration":"12s")");
  until_phase("a", "Running");
  const WallTime start = times_at(get("a"), "runningTimestamps").at(0);
  until("it rises", [&] { return get("a").status()["runningPriority"].integer().value_or(0) > 0; });
  EXPECT_FALSE(get("a").status()["priorityStartOverTimestamp"].present());
  stop_operator();
  start_operator();
  until("it starts over",
        [&] { return get("a").status()["priorityStartOverTimestamp"].present(); });
  const auto over = kube::parse_time(get("a").status()["priorityStartOverTimestamp"].text());
  EXPECT_EQ((*over - start) % 12s, 0s) << "a restart does not begin anew";
  EXPECT_GE(*over, start + 12s);
}

TEST_F(RealScavenger, R32_ItsOwnFaultIsNeverTriedAgain) {
  job("a");
  until_phase("a", "Running");
  ends(pods().at(0), 3);
  until_phase("a", "Failed");
  EXPECT_THAT(message("a"), HasSubstr("exit code 3"));
  EXPECT_EQ(count("a"), 0);
  const auto revision = get("a").revision();
  kube::Options background;
  background.propagation = kube::Propagation::kBackground;
  ASSERT_TRUE(session_->erase(kube::kJob, {ns_, "a-1"}, background));
  until("its Job is gone", [&] { return list(kube::kJob).empty(); });
  job("b");  // whoever is started next is not the one that failed
  until_phase("b", "Running");
  EXPECT_THAT(list(kube::kJob), SizeIs(1));
  EXPECT_EQ(get("a").revision(), revision);
}

TEST_F(RealScavenger, R34_InterruptedFirstThenWhateverFits) {
  stop_operator();  // it is to find all of it at once
  ordinary("all", "10");
  job("a", "", "8");
  job("b", "", "2");
  job("c", "", "2");
  interrupted("a", 2);
  interrupted("b", 1);
  ordinary("most", "7");
  start_operator();
  until("all wait",
        [&] { return !message("a").empty() && !message("b").empty() && !message("c").empty(); });
  erase_pod(get(kube::kPod, "all"));  // 3 are free
  until_phase("b", "Running");
  EXPECT_EQ(phase("a"), "Pending");
  EXPECT_EQ(phase("c"), "Pending");
  ends(pods().at(0), 0);
  until_phase("b", "Completed");
  until_phase("c", "Running");
  EXPECT_EQ(phase("a"), "Pending") << "8 do not fit into 3";
  erase_pod(get(kube::kPod, "most"));
  until_phase("a", "Running");
}

TEST_F(RealScavenger, R36_AJobThatHangsIsTakenBackAndTriedAgain) {
  policy(R"("thresholdPercent":100,"startGrace":"2s")");
  places_ = false;  // a scheduler that finds no place for what should fit
  job("a", "", "4");
  until("there is a pod", [&] { return !pods().empty(); });
  patch(
      kube::kPod, std::string(pods()[0].name()),
      fmt::format(
          R"({{"status":{{"conditions":[{{"type":"PodScheduled","status":"False","reason":"Unschedulable","message":"0/3 nodes are available","lastTransitionTime":"{}"}}]}}}})",
          kube::time_text(now())),
      "status");
  until("it is taken back", [&] { return list(kube::kJob).empty() && pods().empty(); });
  EXPECT_EQ(phase("a"), "Pending");
  EXPECT_EQ(count("a"), 0) << "not an interruption";
  EXPECT_THAT(message("a"), HasSubstr("0/3 nodes are available"));
  places_ = true;
  until_phase("a", "Running");
}

TEST_F(RealScavenger, R15_WhereOnlyRestrictedPodsMayRunOneDoesAndAnotherIsToldWhyNot) {
  policy(R"("thresholdPercent":100,"startGrace":"2s")");
  ASSERT_TRUE(session_->patch(
      kube::kNamespace, {"", ns_},
      R"({"metadata":{"labels":{"pod-security.kubernetes.io/enforce":"restricted"}}})"));
  job("says-nothing");
  job("no-root", R"("runAsUser":1000,"fsGroup":1000)");
  until_phase("no-root", "Running");
  until("it is told why it cannot start",
        [&] { return message("says-nothing").find("violates PodSecurity") != std::string::npos; });
  EXPECT_EQ(phase("says-nothing"), "Pending");
  EXPECT_EQ(count("says-nothing"), 0);
}

TEST_F(RealScavenger, R60_WhoIsCutFromItsJobDoesNotRunOn) {
  job("a");
  until_phase("a", "Running");
  kube::Options orphan, background;
  orphan.propagation = kube::Propagation::kOrphan;
  background.propagation = kube::Propagation::kBackground;
  ASSERT_TRUE(session_->erase(kinds().job, {ns_, "a"}, orphan));
  until("its pod has ended", [&] { return !get("a").valid() && pods().empty(); });
  EXPECT_TRUE(session_->erase(kube::kJob, {ns_, "a-1"}, background));
}

TEST_F(RealScavenger, R38_R39_TheWholeListIsLookedAtWhenRoomComes) {
  stop_operator();  // it is to find all of it at once
  ordinary("all", "10");
  job("old", "", "6");
  interrupted("old", 1);
  job("new", "", "6");
  start_operator();
  until("both are told why they wait",
        [&] { return !message("old").empty() && !message("new").empty(); });
  erase_pod(get(kube::kPod, "all"));
  until_phase("old", "Running");
  EXPECT_EQ(phase("new"), "Pending");
  ends(pods().at(0), 1);
  until_phase("old", "Failed");
  until_phase("new", "Running");
}

TEST_F(RealScavenger, R40_AMissingReferenceFailsTheJobByName) {
  create(
      R"({"apiVersion":"v1","kind":"PersistentVolumeClaim","metadata":{"name":"going","finalizers":["x.dev/y"]},"spec":{"accessModes":["ReadWriteMany"],"resources":{"requests":{"storage":"1Gi"}}}})");
  ASSERT_TRUE(session_->erase(kube::kPersistentVolumeClaim, {ns_, "going"}));
  job("a", R"("persistentVolumeClaims":[{"name":"data","mountPath":"/d"}])");
  job("b", R"("secrets":[{"name":"key","mountPath":"/k"}])");
  job("c", R"("configMaps":[{"name":"conf","mountPath":"/c"}])");
  job("d", R"("persistentVolumeClaims":[{"name":"going","mountPath":"/d"}])");
  for (const auto& [name, what] :
       {std::pair{"a", "data"}, {"b", "key"}, {"c", "conf"}, {"d", "going"}}) {
    until_phase(name, "Failed");
    EXPECT_THAT(message(name), HasSubstr(what));
  }
  EXPECT_THAT(list(kube::kJob), IsEmpty()) << "no Job was ever made";
}

// The rows of the table, with the operator there and away while it happens.
struct EndRow {
  const char* name;
  const char *phase, *reason;
  std::int64_t count;
};
std::ostream& operator<<(std::ostream& out, const EndRow& row) { return out << row.name; }

class RealScavengerEnds : public RealScavenger,
                          public testing::WithParamInterface<std::tuple<EndRow, bool>> {
 protected:
  void happens(const std::string& row, const Object& pod) {
    if (row == "Evicted") return evict(pod);
    if (row == "Deleted") return erase_pod(pod);
    if (row == "FailedByItself") return ends(pod, 1);
    if (row == "EndedWell") return ends(pod, 0);
    if (row == "CheckpointedAndLeft") return ends(pod, 85);
    if (row == "ExitZeroWhenDeleted") {
      ends(pod, 0);
      return erase_pod(pod);
    }
    // It vanishes, without having ended.
    patch(kube::kPod, std::string(pod.name()), R"({"metadata":{"finalizers":null}})");
    kube::Options now;
    now.grace_period_seconds = 0;
    ASSERT_TRUE(session_->erase(kube::kPod, pod.key(), now));
  }
};

TEST_P(RealScavengerEnds, F8_F9_R26_R33_TheVerdictIsTheSameAndCountsOnce) {
  const auto& [row, away] = GetParam();
  job("a", R"("replicas":2)");
  until_phase("a", "Running");
  const Object pod = pods().at(1);
  if (away) stop_operator();
  happens(row.name, pod);
  if (std::string_view(row.name) == "EndedWell") ends(pods().at(0), 0);
  if (away) {
    until("it has ended, and its kubelet has done with it", [&] {
      const Object now = get(kube::kPod, std::string(pod.name()));
      if (!now.valid()) return true;
      const bool let_go =
          !now.deleting() || now.metadata()["deletionGracePeriodSeconds"].integer() == 0;
      return kube::PodView(now).finished() && let_go;
    });
    EXPECT_EQ(phase("a"), "Running") << "nobody is there to say otherwise";
    start_operator();
  }
  until_phase("a", row.phase);
  EXPECT_EQ(count("a"), row.count);
  EXPECT_EQ(get("a").status()["verdict"]["reason"].text(), row.reason);
  EXPECT_EQ(get("a").status()["closedAttempt"].integer(), 1);
}

INSTANTIATE_TEST_SUITE_P(
    Rows, RealScavengerEnds,
    testing::Combine(testing::Values(EndRow{"Evicted", "Interrupted", "Evicted", 1},
                                     EndRow{"Deleted", "Interrupted", "Deleted", 1},
                                     EndRow{"FailedByItself", "Failed", "AppFailed", 0},
                                     EndRow{"EndedWell", "Completed", "Completed", 0},
                                     EndRow{"ExitZeroWhenDeleted", "Interrupted", "Deleted", 1},
                                     EndRow{"CheckpointedAndLeft", "Interrupted", "CheckpointExit",
                                            1},
                                     EndRow{"Vanished", "Interrupted", "Vanished", 1}),
                     testing::Bool()),
    [](const auto& one) {
      return fmt::format("{}{}", std::get<0>(one.param).name,
                         std::get<1>(one.param) ? "WhileItWasAway" : "");
    });

}  // namespace
}  // namespace berth::e2e
