// SPDX-License-Identifier: Apache-2.0
#include <gmock/gmock.h>

#include "controllers/registry.h"
#include "kube/pod_view.h"
#include "kube/time.h"
#include "runtime/objects_for_test.h"

namespace berth::controllers {
namespace {

using kube::kJob;
using kube::kPod;
using kube::Object;
using runtime::Objects;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::SizeIs;
using testing::StartsWith;

const WallTime kNow = *kube::parse_time("2026-01-01T01:00:00Z");
constexpr const char* kStarted = R"("startTime":"2026-01-01T00:59:00Z")";

struct PodParts {
  std::string phase = "Running";
  std::string metadata = {};  // more members
  int index = -1;
  bool tracked = true;
  std::string status = {};  // more members
};

class JobTest : public testing::Test {
 protected:
  const Object& job(const std::string& spec, const std::string& status = kStarted,
                    const std::string& metadata = "") {
    return objects.add(
        kJob,
        fmt::format(
            R"({{"metadata":{{"name":"sum","namespace":"default","uid":"job","resourceVersion":"50"{}}},)"
            R"("spec":{{"selector":{{"matchLabels":{{"j":"sum"}}}},"template":{{"metadata":{{"labels":{{"j":"sum"}}}},"spec":{{"restartPolicy":"Never","containers":[{{"name":"main"}}]}}}},{}}},)"
            R"("status":{{{}}}}})",
            metadata, spec, status));
  }
  void pod(const std::string& name, const PodParts& parts = {}) {
    objects.add(
        kPod,
        fmt::format(
            R"({{"metadata":{{"name":"{0}","namespace":"default","uid":"{0}","resourceVersion":"9","labels":{{"j":"sum"}},)"
            R"("ownerReferences":[{{"apiVersion":"batch/v1","kind":"Job","name":"sum","uid":"job","controller":true}}]{1}{2}{3}}},)"
            R"("spec":{{"nodeName":"n"}},"status":{{"phase":"{4}"{5}}}}})",
            name, parts.tracked ? R"(,"finalizers":["batch.kubernetes.io/job-tracking"])" : "",
            parts.index < 0
                ? ""
                : fmt::format(
                      R"(,"annotations":{{"batch.kubernetes.io/job-completion-index":"{}"}})",
                      parts.index),
            parts.metadata, parts.phase, parts.status));
  }
  runtime::Plan plan() { return objects.reconcile({"default", "sum"}, kNow); }
  std::vector<std::string> actions(const char* verb = "") {
    return objects.actions({"default", "sum"}, kNow, verb);
  }
  std::string status_patch() {
    const auto all = actions("patch jobs default/sum/status: ");
    return all.empty() ? "" : all[0].substr(all[0].find(": ") + 2);
  }
  std::vector<Object> created() {
    std::vector<Object> found;
    const runtime::Plan made = plan();
    for (const runtime::Action& action : made.actions())
      if (const auto* create = std::get_if<runtime::CreateAction>(&action))
        found.push_back(*Object::parse(kPod, create->json));
    return found;
  }

  std::vector<std::unique_ptr<runtime::Controller>> controllers =
      *make_controllers({"job-controller"});
  Objects objects{*controllers[0]};
};

constexpr const char* kUntrack =
    R"({"metadata":{"$deleteFromPrimitiveList/finalizers":["batch.kubernetes.io/job-tracking"]}})";

TEST_F(JobTest, MakesAsManyPodsAsAreLeftToDo) {
  struct Row {
    const char* spec;
    const char* status;
    std::size_t pods;
  };
  for (const Row& row : {
           Row{R"("parallelism":3,"completions":5)", "", 3},
           {R"("parallelism":3,"completions":5)", R"("succeeded":4)", 1},
           {R"("parallelism":3,"completions":2)", "", 2},
           {R"("parallelism":3)", "", 3},
           {R"("parallelism":0,"completions":2)", "", 0},
           {R"("parallelism":3,"completions":2,"suspend":true)", "", 0},
           {R"("parallelism":2,"completions":2,"managedBy":"example.com/other")", "", 0},
           {R"("parallelism":2,"completions":2,"managedBy":"kubernetes.io/job-controller")", "", 2},
           {R"("parallelism":1,"completions":1)",
            R"("conditions":[{"type":"Failed","status":"True"}])", 0},
       }) {
    SCOPED_TRACE(row.spec);
    job(row.spec, row.status);
    EXPECT_THAT(created(), SizeIs(row.pods));
  }
}

TEST_F(JobTest, PodsCarryTheFinalizerAndTheStatusFollowsThem) {
  job(R"("parallelism":2,"completions":2)", "");
  const auto pods = created();
  ASSERT_THAT(pods, SizeIs(2));
  EXPECT_THAT(pods[0].finalizers(), ElementsAre("batch.kubernetes.io/job-tracking"));
  EXPECT_EQ(pods[0].controller()->uid, "job");
  EXPECT_EQ(pods[0].label("j"), "sum");
  EXPECT_EQ(
      status_patch(),
      R"({"status":{"startTime":"2026-01-01T01:00:00Z","active":2,"ready":0,"terminating":0,"uncountedTerminatedPods":{}}})");
  EXPECT_THAT(actions().back(), StartsWith("patch jobs")) << "the pods first";
  const auto events = actions("event");
  EXPECT_EQ(events[0], fmt::format("event SuccessfulCreate: Created pod: {}", pods[0].name()));
}

TEST_F(JobTest, PodsOfAnIndexedJobKnowTheirIndex) {
  job(R"("parallelism":2,"completions":5,"completionMode":"Indexed")",
      std::string(kStarted) + R"(,"completedIndexes":"0,2","succeeded":2)");
  pod("sum-1-x", {.index = 1});
  const auto pods = created();
  ASSERT_THAT(pods, SizeIs(1));
  const Object& made = pods[0];
  EXPECT_THAT(std::string(made.name()), testing::MatchesRegex("sum-3-[a-z0-9]{5}"));
  EXPECT_EQ(made.label("batch.kubernetes.io/job-completion-index"), "3");
  EXPECT_EQ(made.annotation("batch.kubernetes.io/job-completion-index"), "3");
  EXPECT_EQ(made.annotation("batch.kubernetes.io/job-index-failure-count"), "");
  EXPECT_TRUE(made.member("spec")["hostname"].equals("sum-3"));
  EXPECT_EQ(
      made.member("spec")["containers"].raw(),
      R"([{"name":"main","env":[{"name":"JOB_COMPLETION_INDEX","valueFrom":{"fieldRef":{"fieldPath":"metadata.labels['batch.kubernetes.io/job-completion-index']"}}}]}])");
}

TEST_F(JobTest, APodIsCountedInThreeSteps) {
  const char* kSpec = R"("parallelism":1,"completions":3)";
  job(kSpec);
  pod("a", {.phase = "Succeeded"});
  pod("b");
  // Its uid is written before its finalizer goes.
  EXPECT_THAT(status_patch(), HasSubstr(R"("uncountedTerminatedPods":{"succeeded":["a"]})"));
  EXPECT_THAT(status_patch(), testing::Not(HasSubstr(R"("succeeded":1)")));
  EXPECT_EQ(actions().back(), fmt::format("patch pods default/a: {}", kUntrack));
  // Killed before the finalizer went: it goes now, and nothing is counted twice.
  job(kSpec,
      std::string(kStarted) +
          R"(,"active":1,"ready":0,"terminating":0,"uncountedTerminatedPods":{"succeeded":["a"]})");
  EXPECT_THAT(actions(), ElementsAre(fmt::format("patch pods default/a: {}", kUntrack)));
  // The finalizer is gone: the uid becomes a number.
  pod("a", {.phase = "Succeeded", .tracked = false});
  EXPECT_THAT(
      actions(),
      ElementsAre(HasSubstr(R"({"uncountedTerminatedPods":{"succeeded":null},"succeeded":1})")));
  // Counted; even the pod itself may go.
  job(kSpec,
      std::string(kStarted) +
          R"(,"active":1,"ready":0,"terminating":0,"succeeded":1,"uncountedTerminatedPods":{})");
  EXPECT_THAT(actions(), IsEmpty());
  objects.remove(kPod, {"default", "a"});
  EXPECT_THAT(actions(), IsEmpty());
}

TEST_F(JobTest, EndsInTwoSteps) {
  const char* kSpec = R"("parallelism":1,"completions":1)";
  const std::string counted =
      std::string(kStarted) +
      R"(,"ready":0,"terminating":0,"succeeded":1,"uncountedTerminatedPods":{})";
  job(kSpec, counted);
  EXPECT_THAT(
      actions(),
      ElementsAre(
          R"(patch jobs default/sum/status: {"status":{"conditions":[{"type":"SuccessCriteriaMet","status":"True","lastProbeTime":"2026-01-01T01:00:00Z","lastTransitionTime":"2026-01-01T01:00:00Z","reason":"CompletionsReached","message":"Reached expected number of succeeded pods"}]}})"));
  job(kSpec,
      counted +
          R"(,"conditions":[{"type":"SuccessCriteriaMet","status":"True","reason":"CompletionsReached","message":"Reached expected number of succeeded pods"}])");
  EXPECT_THAT(
      actions(),
      ElementsAre(
          testing::AllOf(
              HasSubstr(R"("completionTime":"2026-01-01T01:00:00Z")"),
              HasSubstr(
                  R"({"type":"Complete","status":"True","lastProbeTime":"2026-01-01T01:00:00Z","lastTransitionTime":"2026-01-01T01:00:00Z","reason":"CompletionsReached","message":"Reached expected number of succeeded pods"})")),
          "event Completed: Job completed"));
  pod("late", {.metadata = R"(,"deletionTimestamp":"2026-01-01T00:00:00Z")", .tracked = false});
  EXPECT_THAT(actions("event"), IsEmpty()) << "not while a pod is terminating";
}

TEST_F(JobTest, WhoRunsWhenTheJobFailsHasFailed) {
  job(R"("parallelism":3,"completions":3,"backoffLimit":0)");
  pod("bad", {.phase = "Failed"});
  pod("good");
  pod("done", {.phase = "Succeeded"});
  const auto all = actions();
  EXPECT_EQ(all[0], "erase pods default/good");
  const std::string status = status_patch();
  EXPECT_THAT(status, HasSubstr(R"("type":"FailureTarget")"));
  EXPECT_THAT(status, HasSubstr(R"("reason":"BackoffLimitExceeded")"));
  EXPECT_THAT(status, HasSubstr(R"("succeeded":["done"])"));
  EXPECT_THAT(status, HasSubstr(R"("failed":["bad","good"])"));
  EXPECT_THAT(status, HasSubstr(R"("terminating":1)"));
  EXPECT_THAT(actions("patch pods"), SizeIs(3));
}

TEST_F(JobTest, WaitsBeforeItReplacesAPodThatFailed) {
  job(R"("parallelism":1,"completions":1)");
  const char* kEnded =
      R"(,"conditions":[{"type":"Ready","status":"False","lastTransitionTime":"2026-01-01T00:59:55Z"}])";
  pod("a", {.phase = "Failed", .status = kEnded});
  EXPECT_THAT(created(), IsEmpty());
  EXPECT_EQ(kube::time_text(*plan().again()), "2026-01-01T01:00:05Z");
  pod("b", {.phase = "Failed", .tracked = false, .status = kEnded});
  EXPECT_EQ(kube::time_text(*plan().again()), "2026-01-01T01:00:15Z");
  // What is gone is remembered.
  objects.memory.remembered = plan().remembered();
  objects.remove(kPod, {"default", "a"});
  objects.remove(kPod, {"default", "b"});
  EXPECT_EQ(kube::time_text(*plan().again()), "2026-01-01T01:00:15Z");
  objects.memory.remembered = "";
  EXPECT_THAT(created(), SizeIs(1));
}

TEST_F(JobTest, FailuresAreCountedByIndexWhereThatIsAsked) {
  const char* kSpec =
      R"("parallelism":3,"completions":3,"completionMode":"Indexed","backoffLimit":2147483647,"backoffLimitPerIndex":1)";
  job(kSpec);
  const auto failed = [&](const char* name, int index, int before, const char* when) {
    objects.add(
        kPod,
        fmt::format(
            R"({{"metadata":{{"name":"{0}","namespace":"default","uid":"{0}","labels":{{"j":"sum"}},"finalizers":["batch.kubernetes.io/job-tracking"],)"
            R"("annotations":{{"batch.kubernetes.io/job-completion-index":"{1}","batch.kubernetes.io/job-index-failure-count":"{2}"}},)"
            R"("ownerReferences":[{{"apiVersion":"batch/v1","kind":"Job","name":"sum","uid":"job","controller":true}}]}},)"
            R"("status":{{"phase":"Failed","conditions":[{{"type":"Ready","status":"False","lastTransitionTime":"{3}"}}]}}}})",
            name, index, before, when));
  };
  failed("sum-0-a", 0, 0, "2026-01-01T00:59:00Z");
  failed("sum-1-a", 1, 1, "2026-01-01T00:59:00Z");
  failed("sum-2-a", 2, 0, "2026-01-01T00:59:55Z");
  const auto pods = created();
  ASSERT_THAT(pods, SizeIs(1)) << "0 is due, 1 has failed for good, 2 waits";
  EXPECT_EQ(pods[0].annotation("batch.kubernetes.io/job-index-failure-count"), "1");
  EXPECT_EQ(kube::time_text(*plan().again()), "2026-01-01T01:00:05Z");
  EXPECT_THAT(status_patch(), HasSubstr(R"("failedIndexes":"1")"));
  EXPECT_THAT(actions("patch pods"), ElementsAre(StartsWith("patch pods default/sum-1-a")))
      << "the others are needed until there is another pod of their index";
}

TEST_F(JobTest, PodsOfIndexesThatDoNotCountAreRemovedUncounted) {
  job(R"("parallelism":3,"completions":3,"completionMode":"Indexed")");
  pod("first", {.metadata = R"(,"creationTimestamp":"2026-01-01T00:00:00Z")", .index = 0});
  pod("again", {.metadata = R"(,"creationTimestamp":"2026-01-01T00:01:00Z")", .index = 0});
  pod("beyond", {.index = 3});
  pod("none");
  EXPECT_THAT(actions("erase"),
              testing::UnorderedElementsAre("erase pods default/again", "erase pods default/beyond",
                                            "erase pods default/none"));
  EXPECT_THAT(actions("patch pods"), SizeIs(3));
  EXPECT_THAT(created(), IsEmpty());
}

TEST_F(JobTest, SuspendsAndResumes) {
  job(R"("parallelism":1,"completions":1,"suspend":true)",
      std::string(kStarted) +
          R"(,"active":1,"ready":0,"terminating":0,"uncountedTerminatedPods":{})");
  pod("a");
  EXPECT_THAT(
      actions(),
      ElementsAre(
          fmt::format("patch pods default/a: {}", kUntrack), "erase pods default/a",
          "event SuccessfulDelete: Deleted pod: a",
          R"(patch jobs default/sum/status: {"status":{"startTime":null,"active":null,"terminating":1,"conditions":[{"type":"Suspended","status":"True","lastProbeTime":"2026-01-01T01:00:00Z","lastTransitionTime":"2026-01-01T01:00:00Z","reason":"JobSuspended","message":"Job suspended"}]}})",
          "event Suspended: Job suspended"));
  objects.remove(kPod, {"default", "a"});
  job(R"("parallelism":1,"completions":1,"suspend":false)",
      R"("conditions":[{"type":"Suspended","status":"True","reason":"JobSuspended","message":"Job suspended"}])");
  EXPECT_THAT(created(), SizeIs(1));
  EXPECT_THAT(status_patch(), HasSubstr(R"("startTime":"2026-01-01T01:00:00Z")"));
  EXPECT_THAT(status_patch(), HasSubstr(R"("type":"Suspended","status":"False")"));
  EXPECT_THAT(actions("event Resumed"), SizeIs(1));
}

TEST_F(JobTest, TellsOfPodsThatCouldNotBeMadeBeforeItTriesAgain) {
  job(R"("parallelism":2,"completions":2)");
  pod("a", {.phase = "Succeeded"});
  objects.memory.failed =
      runtime::FailedAction{runtime::CreateAction{{kPod, {"default", "sum-x"}}, "{}"},
                            Error{.reason = Reason::kForbidden, .message = "exceeded quota"}};
  const auto all = actions();
  EXPECT_EQ(all[0], "event FailedCreate: Error creating: exceeded quota");
  EXPECT_THAT(all[1], StartsWith("patch jobs default/sum/status"));
  EXPECT_THAT(all[1], testing::Not(HasSubstr("active")));
  EXPECT_THAT(all[2], StartsWith("patch pods default/a"));
  EXPECT_THAT(all[3], StartsWith("create pods"));
}

TEST_F(JobTest, APodThatNobodyCountsIsReleased) {
  const runtime::Key key{"default", "pod:a"};
  const auto text = [&] { return objects.reconcile(key, kNow).text(); };
  EXPECT_EQ(text(), "");
  pod("a");
  EXPECT_EQ(text(), "ask live job\n") << "its Job may only be too new to be seen";
  runtime::Answer live;
  live.error = Error{.reason = Reason::kNotFound, .message = "gone"};
  objects.memory.answers["live job"] = live;
  EXPECT_THAT(text(), StartsWith("patch pods default/a"));
  live.error = Error{.reason = Reason::kUnreachable, .message = "?"};
  objects.memory.answers["live job"] = live;
  EXPECT_THAT(text(), StartsWith("again at"));
  const Object& owner = job(R"("completions":1)");
  EXPECT_EQ(text(), "") << "it is counted";
  live.error.reset();
  live.objects = {owner};
  objects.remove(kJob, {"default", "sum"});
  objects.memory.answers["live job"] = live;
  EXPECT_EQ(text(), "");
  job(R"("completions":1)", R"("conditions":[{"type":"Complete","status":"True"}])");
  EXPECT_THAT(text(), StartsWith("patch pods default/a"));
  job(R"("completions":1,"managedBy":"example.com/x")",
      R"("conditions":[{"type":"Complete","status":"True"}])");
  EXPECT_EQ(text(), "");
}

}  // namespace
}  // namespace berth::controllers
