// SPDX-License-Identifier: Apache-2.0
#include "controllers/diagnosis.h"

#include <fmt/format.h>
#include <gmock/gmock.h>

#include "controllers/listed.h"
#include "controllers/slot_sight.h"
#include "kube/ours/reasons.h"

namespace berth::controllers {
namespace {

using ::testing::HasSubstr;

constexpr std::string_view kOld = "2026-01-01T00:00:00Z";
const WallTime kNow = *kube::parse_time("2026-01-01T01:00:00Z");

// A cluster in a few words. Two nodes with a slot each; everything is well until a test breaks it.
class Scene {
 public:
  Scene() {
    for (int i = 0; i < 2; ++i)
      add(kube::kNode,
          fmt::format(R"({{"metadata":{{"name":"n{0}","labels":{{"tb":"{0}"}}}},"status":)"
                      R"({{"conditions":[{{"type":"Ready","status":"True"}}]}}}})",
                      i));
    testbed("True", "Held");
    ledger("", "");
    for (int i = 0; i < 2; ++i) pod(fmt::format("ghost-{}", i), i, true, fmt::format("n{}", i));
  }

  void add(kube::KindId kind, const std::string& json) {
    const auto object = kube::Object::parse(kind, json);
    ASSERT_TRUE(object) << json;
    listed.add(*object);
  }
  static std::string meta(std::string_view name, std::string_view created = kOld,
                          std::string_view more = "") {
    return fmt::format(R"("metadata":{{"name":"{0}","namespace":"default","uid":"uid-{0}",)"
                       R"("generation":1,"creationTimestamp":"{1}"{2}}})",
                       name, created, more);
  }
  static std::string condition(std::string_view type, std::string_view status,
                               std::string_view reason, std::string_view message = "") {
    return fmt::format(R"({{"type":"{}","status":"{}","reason":"{}","message":"{}"}})", type,
                       status, reason, message);
  }

  void testbed(std::string_view status, std::string_view reason, std::string_view message = "",
               bool seen = true) {
    add(kinds().testbed,
        fmt::format(R"({{{},"spec":{{"nodeLabel":"tb","slotsPerNode":1,"resourcesPerSlot":)"
                    R"({{"cpu":"1"}}}},"status":{{{}"conditions":[{}]}}}})",
                    meta("tb"), seen ? R"("observedGeneration":1,)" : "",
                    condition("Ready", status, reason, message)));
  }
  void ledger(std::string_view owner, std::string_view grant_job) {
    const std::string id = slots::grant_id(fmt::format("uid-{}", grant_job), 1);
    add(kinds().ledger,
        fmt::format(
            R"({{{},"spec":{{{}"blocks":[{{"class":"default","base":0,"perNode":1,"nodes":["n0","n1"]}}],)"
            R"("grants":[{}],"slots":[{}]}}}})",
            meta("tb"),
            owner.empty() ? ""
                          : fmt::format(R"("owner":{{"uid":"uid-{0}","name":"{0}","namespace":)"
                                        R"("default"}},)",
                                        owner),
            grant_job.empty() ? ""
                              : fmt::format(R"({{"id":"{}","job":"default/{}","since":"{}"}})", id,
                                            grant_job, kOld),
            grant_job.empty() ? "" : fmt::format(R"({{"slot":0,"grant":"{}"}})", id)));
  }
  void pod(const std::string& name, int slot, bool ghost, const std::string& node,
           std::string_view status = R"({"phase":"Running"})", std::string_view job = "",
           std::string_view created = kOld) {
    add(kube::kPod,
        fmt::format(
            R"({{{},"spec":{{"schedulerName":"external-scheduler"{}}},"status":{}}})",
            meta(name, created,
                 fmt::format(R"(,"labels":{{"{}":"tb"{}}},"annotations":{{{}}})",
                             kube::kTestbedLabel,
                             ghost ? fmt::format(R"(,"{}":"true")", kube::kGhostLabel)
                                   : fmt::format(R"(,"{}":"{}")", kube::kGrantLabel,
                                                 slots::grant_id(fmt::format("uid-{}", job), 1)),
                             ghost || !node.empty()
                                 ? fmt::format(R"("{}":"{}")", kube::kSlotAnnotation, slot)
                                 : "")),
            node.empty() ? "" : fmt::format(R"(,"nodeName":"{}")", node), status));
  }
  // `status` comes before the conditions: R"("state":"Failed",)".
  void job(const std::string& name, const std::string& claim, std::string_view status,
           const std::string& conditions) {
    add(kinds().batch_job,
        fmt::format(
            R"({{{},"spec":{{"sparkSpec":{{}}{}}},"status":{{"observedGeneration":1,{}"conditions":[{}]}}}})",
            meta(name),
            claim.empty()
                ? ""
                : fmt::format(R"(,"activeScheduling":{{"name":"{0}","uid":"uid-{0}"}})", claim),
            status, conditions));
  }
  void scheduling(const std::string& name, const std::string& jobs, std::string_view status,
                  const std::string& conditions, std::string_view created = kOld,
                  std::string_view more_meta = "") {
    std::string queue;
    for (const char job : jobs)
      queue += fmt::format(R"({}{{"name":"{}"}})", queue.empty() ? "" : ",", job);
    add(kinds().scheduling,
        fmt::format(
            R"({{{},"spec":{{"testbed":{{"name":"tb"}},"queueBased":[{}]}},"status":{{"observedGeneration":1,{}"conditions":[{}]}}}})",
            meta(name, created, more_meta), queue, status, conditions));
  }
  static const kube::SlotKinds& kinds() { return kube::thesis_kinds(); }

  Diagnosis of_scheduling(const std::string& name) {
    return diagnose_scheduling(runtime::View(listed), {"default", name}, kNow).value();
  }
  Diagnosis of_job(const std::string& name) {
    return diagnose_job(runtime::View(listed), {"default", name}, kNow).value();
  }
  Diagnosis of_slot(int slot) {
    return diagnose_slot(runtime::View(listed), {"default", "tb"}, slot, kNow).value();
  }
  Diagnosis of_testbed() {
    return diagnose_testbed(runtime::View(listed), {"default", "tb"}, kNow).value();
  }

  Listed listed;
};

const std::string kReady = Scene::condition("Ready", "True", "Ready");
const std::string kAcquired = Scene::condition("Acquired", "True", "Acquired");
std::string waits(std::string_view reason, std::string_view message) {
  return Scene::condition("Acquired", "False", reason, message);
}
std::string stuck(std::string_view reason, std::string_view message) {
  return kAcquired + "," + Scene::condition("Progressing", "False", reason, message);
}

// A fault that was planted, what is asked, and what must be named.
struct Fault {
  const char* name;
  std::function<Diagnosis(Scene&)> planted;
  const char* cause;
  const char* remedy;
};

const Fault kFaults[] = {
    {"no node has the label",
     [](Scene& s) {
       s.testbed("False", "NoNodes", "no node has the label tb");
       return s.of_testbed();
     },
     "no node has the label tb", "Give the nodes"},
    {"a quota refuses ghosts",
     [](Scene& s) {
       s.testbed("False", "QuotaExceeded", "cpu: 2 of 2 used");
       return s.of_testbed();
     },
     "cpu: 2 of 2 used", "Raise the ResourceQuota"},
    {"slots do not fit",
     [](Scene& s) {
       s.testbed("False", "NoRoom", "n0 (cpu)");
       return s.of_testbed();
     },
     "n0 (cpu)", "Make the slots smaller"},
    {"another Testbed has the room",
     [](Scene& s) {
       s.testbed("False", "NodeConflict", "n0 (tb2)");
       return s.of_testbed();
     },
     "n0 (tb2)", "An older Testbed"},
    {"priorities are inverted",
     [](Scene& s) {
       s.testbed("True", "SlotsPreemptible", "classes above ghosts: gold");
       return s.of_testbed();
     },
     "classes above ghosts: gold", "lower it"},
    {"the operator's webhook is off",
     [](Scene& s) {
       s.testbed("True", "WeakHold", "SparkApplication has no pod webhook");
       return s.of_testbed();
     },
     "no pod webhook", "Let Berth's webhooks"},
    {"the ledger is full",
     [](Scene& s) {
       s.testbed("False", "LedgerFull", "1.3 MiB");
       return s.of_testbed();
     },
     "1.3 MiB", "Split the Testbed"},
    {"no controllers run",
     [](Scene& s) {
       s.testbed("", "", "", false);
       return s.of_testbed();
     },
     "no controller has looked at Testbed default/tb", "Run the controllers"},
    {"a ghost finds no node",
     [](Scene& s) {
       s.testbed("False", "HoldPending", "1 of 2 slots are not held yet");
       s.pod("ghost-1", 1, true, "",
             R"({"conditions":[{"type":"PodScheduled","status":"False","message":"0/2 nodes"}]})");
       return s.of_slot(1);
     },
     "pod default/ghost-1 finds no node: 0/2 nodes", "berth explain pod ghost-1 -n default"},
    {"no scheduler places ghosts",
     [](Scene& s) {
       s.testbed("False", "HoldPending", "1 of 2 slots are not held yet");
       s.pod("ghost-1", 1, true, "", R"({"phase":"Pending"})");
       return s.of_slot(1);
     },
     "no scheduler has looked at pod default/ghost-1", "Run a scheduler of that name"},
    {"a node is gone",
     [](Scene& s) {
       s.add(kube::kNode, R"({"metadata":{"name":"n1","labels":{"tb":"1"}},"status":{"conditions":)"
                          R"([{"type":"Ready","status":"False"}]}})");
       return s.of_slot(1);
     },
     "node n1 is not ready", "Mend what is named"},
    {"a job is not there",
     [](Scene& s) {
       s.scheduling("s", "a", "", waits("JobNotFound", "BatchJob default/a does not exist"));
       return s.of_scheduling("s");
     },
     "BatchJob default/a does not exist", "Create the BatchJob"},
    {"the Testbed is not there",
     [](Scene& s) {
       s.scheduling("s", "a", "", waits("TestbedNotFound", "Testbed default/tb does not exist"));
       return s.of_scheduling("s");
     },
     "Testbed default/tb does not exist", "Create the Testbed"},
    {"a slot is none of the Testbed's",
     [](Scene& s) {
       s.scheduling("s", "a", "", stuck("InvalidSlot", "the Testbed has no slot 9"));
       return s.of_scheduling("s");
     },
     "the Testbed has no slot 9", "Use slot numbers"},
    {"a job is named twice",
     [](Scene& s) {
       s.scheduling("s", "a", "", stuck("DuplicateJob", "BatchJob default/a is named twice"));
       return s.of_scheduling("s");
     },
     "named twice", "Name each job once"},
    {"a quota of the Testbed is used up",
     [](Scene& s) {
       s.scheduling("s", "a", "", stuck("QuotaExceeded", "namespace default has 2 of 2 slots"));
       return s.of_scheduling("s");
     },
     "2 of 2 slots", "raise its quota"},
    {"a complete Scheduling keeps the Testbed",
     [](Scene& s) {
       s.ledger("done", "");
       s.scheduling("done", "a", R"("completionTime":"2026-01-01T00:30:00Z",)", "");
       s.scheduling("s", "b", "", waits("TestbedHeld", "Testbed default/tb is held"));
       return s.of_scheduling("s");
     },
     "Scheduling default/done is complete and keeps Testbed default/tb", "kubectl delete"},
    {"a failed job stops its Scheduling",
     [](Scene& s) {
       s.job("a", "s", R"("state":"Failed","run":1,"closedRun":1,)",
             Scene::condition("Degraded", "True", "ApplicationFailed", "the driver exited with 1"));
       s.scheduling("s", "a", "", stuck("JobFailed", "BatchJob default/a has failed"));
       return s.of_scheduling("s");
     },
     "the driver exited with 1", "Read the driver's log"},
    {"the one that holds a job is stopped by a failure",
     [](Scene& s) {
       s.job("a", "first", R"("state":"Failed","run":1,"closedRun":1,)",
             Scene::condition("Degraded", "True", "RetriesExhausted", "out of memory"));
       s.scheduling("first", "a", "", stuck("JobFailed", "BatchJob default/a has failed"));
       s.scheduling("s", "a", "", waits("JobHeld", "BatchJob default/a is held by default/first"),
                    "2026-01-01T00:10:00Z");
       return s.of_scheduling("s");
     },
     "out of memory", "Mend the application"},
    {"an executor finds no node",
     [](Scene& s) {
       s.ledger("s", "a");
       s.job("a", "s", R"("state":"Submitted","run":1,)", kReady);
       s.pod("exec", 0, false, "",
             R"({"conditions":[{"type":"PodScheduled","status":"False",)"
             R"("message":"extender is unreachable"}]})",
             "a");
       s.scheduling("s", "a", "", stuck("Stalled", "the executors of default/a are missing"));
       return s.of_scheduling("s");
     },
     "extender is unreachable", "berth explain pod exec"},
    {"no scheduler of the executors' name runs",
     [](Scene& s) {
       s.ledger("s", "a");
       s.job("a", "s", R"("state":"Submitted","run":1,)", kReady);
       s.scheduling("s", "a", "", kAcquired);
       s.pod("exec", 0, false, "", R"({"phase":"Pending"})", "a");
       return s.of_job("a");
     },
     "its schedulerName is external-scheduler", "Run a scheduler of that name"},
    {"an image cannot be pulled",
     [](Scene& s) {
       s.ledger("s", "a");
       s.scheduling("s", "a", "", kAcquired);
       s.job("a", "s", R"("state":"Scheduled","run":1,)", kReady);
       s.pod("exec", 0, false, "n0",
             R"({"phase":"Pending","containerStatuses":[{"state":{"waiting":{"reason":)"
             R"("ImagePullBackOff","message":"no such image"}}}]})",
             "a");
       return s.of_slot(0);
     },
     "pod default/exec on n0 does not start: ImagePullBackOff: no such image", "Mend the image"},
    {"the application's operator does nothing",
     [](Scene& s) {
       s.ledger("s", "a");
       s.scheduling("s", "a", "", kAcquired);
       s.job("a", "s", R"("state":"Submitted","run":1,"submittedTime":"2026-01-01T00:10:00Z",)",
             kReady);
       return s.of_job("a");
     },
     "has made no executors", "log of its operator"},
    {"the application is refused",
     [](Scene& s) {
       s.job("a", "s", R"("state":"Submitted","run":1,)",
             Scene::condition("Degraded", "True", "SubmissionFailed", "spec.image: required"));
       return s.of_job("a");
     },
     "spec.image: required", "mend the spec in the BatchJob"},
    {"the application's kind is not known",
     [](Scene& s) {
       s.job("a", "s", R"("state":"InQueue",)",
             Scene::condition("Ready", "False", "KindUnknown", "no job kind is known"));
       return s.of_job("a");
     },
     "no job kind is known", "Install the operator"},
    {"a claim by nobody",
     [](Scene& s) {
       s.job("a", "gone", R"("state":"InQueue",)", kReady);
       return s.of_job("a");
     },
     "claimed by Scheduling default/gone, which does not exist", "Remove spec.activeScheduling"},
    {"a job wants more slots than there are",
     [](Scene& s) {
       s.job("a", "s", R"("state":"InQueue",)", kReady);
       s.scheduling("s", "aaa", "", stuck("WaitingForCapacity", "a needs 3 slots"));
       return s.of_scheduling("s");
     },
     "wants 3 slots of class default at once, and Testbed default/tb has 2", "fewer entries"},
    {"a Testbed without nodes has no slots to want",
     [](Scene& s) {
       s.testbed("False", "NoNodes", "no node has the label tb");
       s.job("a", "s", R"("state":"InQueue",)", kReady);
       s.scheduling("s", "aaa", "", stuck("WaitingForCapacity", "a needs 3 slots"));
       return s.of_scheduling("s");
     },
     "no node has the label tb", "Give the nodes"},
    {"the Testbed behind a wait is broken",
     [](Scene& s) {
       s.testbed("False", "NoRoom", "n0 (cpu)");
       s.job("a", "s", R"("state":"InQueue",)", kReady);
       s.scheduling("s", "a", "", stuck("WaitingForCapacity", "a needs 1 slot"));
       return s.of_job("a");
     },
     "n0 (cpu)", "Make the slots smaller"},
};

TEST(Diagnosis, P_20_EverySeededFaultIsNamedWithItsRemedy) {
  static_assert(std::size(kFaults) >= 25);
  for (const Fault& fault : kFaults) {
    Scene scene;
    const Diagnosis said = fault.planted(scene);
    EXPECT_THAT(said.cause, HasSubstr(fault.cause)) << fault.name;
    EXPECT_THAT(said.remedy, HasSubstr(fault.remedy)) << fault.name;
    EXPECT_FALSE(said.well) << fault.name;
  }
}

TEST(Diagnosis, P_20_TheWayToTheCauseIsTold) {
  Scene scene;
  scene.job("a", "first", R"("state":"Failed","run":1,"closedRun":1,)",
            Scene::condition("Degraded", "True", "RetriesExhausted", "out of memory"));
  scene.scheduling("first", "a", "", stuck("JobFailed", "BatchJob default/a has failed"));
  scene.scheduling("s", "a", "", waits("JobHeld", "BatchJob default/a is held by default/first"),
                   "2026-01-01T00:10:00Z");
  const Diagnosis said = scene.of_scheduling("s");
  EXPECT_THAT(said.because,
              testing::ElementsAre(
                  "Scheduling default/s waits: BatchJob default/a is held by default/first",
                  "Scheduling default/first waits: BatchJob default/a has failed"));
  EXPECT_THAT(diagnosis_json(said), HasSubstr(R"("well":false,"cause":"BatchJob default/a)"));
}

TEST(Diagnosis, P_20_WhatIsWellIsSaidToBe) {
  Scene scene;
  EXPECT_TRUE(scene.of_testbed().well);
  EXPECT_EQ(scene.of_slot(0).cause, "slot 0 on n0 is free");
  scene.job("a", "s", R"("state":"Running","run":1,)", kReady);
  scene.ledger("s", "a");
  scene.pod("exec", 0, false, "n0", R"({"phase":"Running"})", "a");
  scene.scheduling("s", "a", R"("state":"AwaitingCompletion",)",
                   kAcquired + "," + Scene::condition("Progressing", "True", "Running"));
  EXPECT_TRUE(scene.of_scheduling("s").well);
  EXPECT_EQ(scene.of_job("a").cause, "BatchJob default/a is Running with 1 executor");
  scene.job("b", "", R"("state":"Ready",)", kReady);
  EXPECT_EQ(scene.of_job("b").remedy, "Create a Scheduling that names it.");
  scene.scheduling("later", "b", "", waits("TestbedHeld", "Testbed default/tb is held"),
                   "2026-01-01T00:10:00Z");
  const Diagnosis later = scene.of_job("b");
  EXPECT_TRUE(later.well);
  EXPECT_THAT(later.cause, HasSubstr("Scheduling default/s goes first"));
}

TEST(Diagnosis, WhatIsNotThereIsNotFound) {
  Scene scene;
  const runtime::View view(scene.listed);
  EXPECT_EQ(diagnose_job(view, {"default", "x"}, kNow).error().message,
            "BatchJob default/x does not exist");
  EXPECT_FALSE(diagnose_scheduling(view, {"default", "x"}, kNow));
  EXPECT_FALSE(diagnose_testbed(view, {"default", "x"}, kNow));
  EXPECT_EQ(diagnose_slot(view, {"default", "tb"}, 7, kNow).error().message,
            "Testbed default/tb has no slot 7; it has 0 to 1");
}

}  // namespace
}  // namespace berth::controllers
