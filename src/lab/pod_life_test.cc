// SPDX-License-Identifier: Apache-2.0
#include "lab/pod_life.h"

#include "bench_for_test.h"
#include "lab/command_line.h"

namespace berth::lab {
namespace {

using ::testing::ElementsAre;

// "main:running r1 ready" a container, in the order of their names; init containers first.
std::string told(const kube::Object& pod) {
  std::string out = pod.status()["phase"].text();
  for (const std::string_view list : {"initContainerStatuses", "containerStatuses"})
    for (const json::Slice c : pod.status()[list].elements()) {
      const json::Slice state = c["state"];
      out += fmt::format(" {}:", c["name"].text());
      if (state["running"])
        out += "running";
      else if (const json::Slice end = state["terminated"])
        out += fmt::format("{}({})", end["reason"].text(), end["exitCode"].integer().value_or(-1));
      else
        out += state["waiting"]["reason"].text();
      if (const auto restarts = c["restartCount"].integer().value_or(0))
        out += fmt::format("/{}", restarts);
      if (c["ready"].boolean()) out += "+";
    }
  return out;
}

// What a pod says over time: each change once, with the second it came.
std::vector<std::string> story(Bench& bench, const PodText& pod, Duration how_long) {
  bench.create(pod);
  const Instant from = bench.world.clock().now();
  std::vector<std::string> lines;
  std::string last;
  for (Duration t{}; t <= how_long; t += 500ms) {
    const kube::Object* now = bench.pod("p");
    const std::string line = now == nullptr ? "gone" : told(*now);
    if (line != last)
      lines.push_back(fmt::format(
          "{}s {}",
          std::chrono::duration_cast<std::chrono::seconds>(bench.world.clock().now() - from)
              .count(),
          line));
    last = line;
    bench.world.run_for(500ms);
  }
  return lines;
}

// Whoever trusts an outlook sees what whoever looks would have seen.
TEST(PodLife, WhatAStatusLeadsToIsForeseenRightly) {
  const PodText pods[] = {
      PodText("p"),
      PodText("p").note("berth.dev/start-delay", "1500ms").note("berth.dev/ready-delay", "700ms"),
      PodText("p").note("berth.dev/duration", "2300ms").policy("Never"),
      PodText("p").note("berth.dev/crash-after", "1200ms"),
      PodText("p").spec(R"("activeDeadlineSeconds":3)"),
      PodText("p")
          .init(R"({"name":"a","image":"i"})")
          .init(R"({"name":"side","image":"i","restartPolicy":"Always"})")
          .note("berth.dev/duration.a", "900ms")
          .note("berth.dev/ready-delay", "400ms")
          .container(R"({"name":"main","image":"i"})")
          .container(R"({"name":"other","image":"i"})"),
  };
  int foreseen = 0;
  for (const PodText& text : pods) {
    auto parsed = kube::Object::parse(kube::kPod, text.json());
    ASSERT_TRUE(parsed) << parsed.error().message;
    kube::Object pod = *std::move(parsed);
    const Pace pace;
    const Random chance(5);
    WallTime now{1'700'000'000'123'456'789}, last_start{};
    for (int looks = 0; looks < 40; ++looks) {
      const auto look = [&] {
        return next_step({.pod = pod,
                          .script = Script(pod, pace, chance),
                          .now = now,
                          .last_start = last_start,
                          .host_ip = "10.0.0.1",
                          .pod_ip = "10.1.0.1",
                          .form = StatusForm::kWhole});
      };
      const Step step = look();
      if (step.started) last_start = now;
      if (step.status.empty()) {
        if (!step.again) break;
        now = *step.again;
        continue;
      }
      pod = *pod.next(1, {.status = step.status});
      if (!step.after.known) continue;
      ++foreseen;
      const Step seen = look();
      EXPECT_EQ(seen.status, "") << text.json();
      EXPECT_FALSE(seen.remove);
      EXPECT_EQ(seen.again.value_or(WallTime{}).unix_nanos,
                step.after.again.value_or(WallTime{}).unix_nanos)
          << text.json();
    }
  }
  EXPECT_GE(foreseen, 8);
}

TEST(PodLife, InitContainersRunOneAfterAnotherAndSidecarsStay) {
  Bench bench(some_nodes(1));
  EXPECT_THAT(
      story(bench,
            PodText("p")
                .policy("Never")
                .init(R"({"name":"a","image":"i"})")
                .init(R"({"name":"side","image":"i","restartPolicy":"Always"})")
                .init(R"({"name":"b","image":"i"})")
                .note("berth.dev/duration.a", "2s")
                .note("berth.dev/duration.b", "3s")
                .note("berth.dev/duration", "5s"),
            20s),
      ElementsAre(
          "0s Pending a:running side:PodInitializing b:PodInitializing main:PodInitializing",
          "2s Pending a:Completed(0)+ side:running+ b:running main:PodInitializing",
          "5s Running a:Completed(0)+ side:running+ b:Completed(0)+ main:running+",
          "10s Succeeded a:Completed(0)+ side:Completed(0) b:Completed(0)+ main:Completed(0)"));
}

TEST(PodLife, AFailedInitContainerFailsAPodThatNeverRestarts) {
  Bench bench(some_nodes(1));
  EXPECT_THAT(story(bench,
                    PodText("p")
                        .policy("Never")
                        .init(R"({"name":"a","image":"i"})")
                        .note("berth.dev/duration.a", "2s")
                        .note("berth.dev/exit-code.a", "7"),
                    10s),
              ElementsAre("0s Pending a:running main:PodInitializing",
                          "2s Failed a:Error(7) main:PodInitializing"));
}

TEST(PodLife, CrashingContainersComeBackAtOnceThenAfterTenSecondsThenTwenty) {
  Bench bench(some_nodes(1));
  EXPECT_THAT(story(bench, PodText("p").note("berth.dev/crash-after", "4s"), 50s),
              ElementsAre("0s Running main:running+", "4s Running main:running/1+",
                          "8s Running main:CrashLoopBackOff/1", "18s Running main:running/2+",
                          "22s Running main:CrashLoopBackOff/2", "42s Running main:running/3+",
                          "46s Running main:CrashLoopBackOff/3"));
  const json::Slice status = bench.pod("p")->status()["containerStatuses"][std::size_t{0}];
  EXPECT_EQ(status["state"]["waiting"]["message"].text(),
            "back-off 40s restarting failed container=main pod=p_default(" +
                std::string(bench.pod("p")->uid()) + ")");
  EXPECT_EQ(status["lastState"]["terminated"]["exitCode"].integer(), 1);
}

TEST(PodLife, BackOffEndsAtFiveMinutesAndBeginsAnewAfterTen) {
  EXPECT_EQ(crash_backoff(0, 1s), 0s);
  EXPECT_EQ(crash_backoff(1, 1s), 10s);
  EXPECT_EQ(crash_backoff(5, 1s), 160s);
  EXPECT_EQ(crash_backoff(6, 1s), 5min);
  EXPECT_EQ(crash_backoff(600, 1s), 5min);
  EXPECT_EQ(crash_backoff(6, 10min), 0s);
}

TEST(PodLife, StatedCrashesEndAfterTheirNumberAndHaveTheirReason) {
  Bench bench(some_nodes(1));
  EXPECT_THAT(story(bench,
                    PodText("p")
                        .note("berth.dev/crash-after", "4s")
                        .note("berth.dev/crash-times", "1")
                        .note("berth.dev/crash-reason", "OOMKilled"),
                    30s),
              ElementsAre("0s Running main:running+", "4s Running main:running/1+"));
  const json::Slice last =
      bench.pod("p")->status()["containerStatuses"][std::size_t{0}]["lastState"]["terminated"];
  EXPECT_EQ(last["reason"].text(), "OOMKilled");
  EXPECT_EQ(last["exitCode"].integer(), 137);
}

TEST(PodLife, RestartPoliciesDecideWhoRunsAgain) {
  struct Row {
    const char* policy;
    const char* code;
    const char* end;
  };
  const Row rows[] = {{"Always", "0", "Running main:CrashLoopBackOff/1"},
                      {"Always", "1", "Running main:CrashLoopBackOff/1"},
                      {"OnFailure", "1", "Running main:CrashLoopBackOff/1"},
                      {"OnFailure", "0", "Succeeded main:Completed(0)"},
                      {"Never", "1", "Failed main:Error(1)"}};
  for (const Row& row : rows) {
    Bench bench(some_nodes(1));
    bench.create(PodText("p")
                     .policy(row.policy)
                     .note("berth.dev/duration", "2s")
                     .note("berth.dev/exit-code", row.code));
    bench.world.run_for(6s);
    EXPECT_EQ(told(*bench.pod("p")), row.end) << row.policy << row.code;
  }
}

TEST(PodLife, RulesOfAContainerComeBeforeThePodsPolicy) {
  Bench bench(some_nodes(1));
  EXPECT_THAT(story(bench,
                    PodText("p")
                        .policy("Never")
                        .container(R"({"name":"main","image":"i","restartPolicy":"Never",)"
                                   R"("restartPolicyRules":[{"action":"Restart",)"
                                   R"("exitCodes":{"operator":"In","values":[42]}}]})")
                        .note("berth.dev/crash-after", "2s")
                        .note("berth.dev/crash-times", "1")
                        .note("berth.dev/exit-code", "42"),
                    10s),
              ElementsAre("0s Running main:running+", "2s Running main:running/1+"));
}

TEST(PodLife, ActiveDeadlinesEndPods) {
  Bench bench(some_nodes(1));
  EXPECT_THAT(story(bench, PodText("p").policy("Never").spec(R"("activeDeadlineSeconds":7)"), 20s),
              ElementsAre("0s Running main:running+", "7s Failed main:Error(143)"));
  EXPECT_EQ(bench.pod("p")->status()["reason"].text(), "DeadlineExceeded");
}

TEST(PodLife, ReadinessComesAfterItsDelayOrItsProbes) {
  Bench bench(some_nodes(1));
  EXPECT_THAT(
      story(bench,
            PodText("p")
                .container(R"({"name":"a","image":"i"})")
                .container(R"({"name":"b","image":"i","readinessProbe":{"initialDelaySeconds":9}})")
                .note("berth.dev/ready-delay.a", "3s"),
            20s),
      ElementsAre("0s Running a:running b:running", "3s Running a:running+ b:running",
                  "9s Running a:running+ b:running+"));
}

TEST(PodLife, ReadinessGatesAreWaitedFor) {
  Bench bench(some_nodes(1));
  bench.create(PodText("p").spec(R"("readinessGates":[{"conditionType":"x/y"}])"));
  bench.world.run_for(1s);
  const auto ready = [&] {
    for (const json::Slice c : bench.pod("p")->status()["conditions"].elements())
      if (c["type"].equals("Ready")) return c["status"].text() + " " + c["message"].text();
    return std::string();
  };
  EXPECT_EQ(ready(), "False corresponding condition of pod readiness gate \"x/y\" does not exist.");
  kube::ApiRequest request;
  bench.patch(kube::kPod, "p", R"({"status":{"conditions":[{"type":"x/y","status":"True"}]}})");
  bench.world.run_for(1s);
  EXPECT_EQ(ready(), "True ");
}

TEST(PodLife, CommandsThatSleepAndExitAreCarriedOut) {
  struct Row {
    const char* container;
    const char* says;  // "lasts exit output"; "?": not understood
  };
  const Row rows[] = {
      {R"({"command":["sleep","30"]})", "30s 0 "},
      {R"({"command":["sleep"],"args":["1m","30"]})", "1m30s 0 "},
      {R"({"args":["sleep","infinity"]})", "forever 0 "},
      {R"({"command":["/bin/sh","-c","echo hello 'big world'; sleep 2 && exit 3"]})",
       "2s 3 hello big world\n"},
      {R"({"command":["sh","-c","false"]})", "0s 1 "},
      {R"({"command":["sh","-c","false && sleep 1000"]})", "0s 1 "},
      {R"({"command":["sh","-c","false && sleep 1 && nginx; echo on"]})", "0s 0 on\n"},
      {R"({"command":["sh","-c","true &&\n sleep 2"]})", "2s 0 "},
      {R"({"command":["sh","-c","sleep 2 &&"]})", "?"},
      {R"({"command":["sh","-c","sleep 2 && ; echo"]})", "?"},
      {R"({"command":["sh","-c","&& sleep 2"]})", "?"},
      {R"({"command":["sleep","999999999d","999999999d"]})", "876000h0m0s 0 "},
      {R"({"command":["sh","-c","sleep 5; exit"]})", "5s 0 "},
      {R"({"command":["sh","-ec","sleep 1.5"]})", "1.5s 0 "},
      {R"({"command":["sh","-c","while true; do sleep 1; done"]})", "?"},
      {R"({"command":["sh","-c","sleep $X"]})", "?"},
      {R"({"command":["sh","-c","sleep 'x"]})", "?"},
      {R"({"command":["nginx"]})", "?"},
      {R"({"command":["sleep"]})", "?"},
      {R"({"command":["sleep","-5"]})", "?"},
      {R"({})", "?"},
  };
  for (const Row& row : rows) {
    const std::optional<Performance> seen = perform(json::Slice(row.container));
    const std::string says =
        !seen ? "?"
              : fmt::format("{} {} {}", seen->lasts ? kube::duration_text(*seen->lasts) : "forever",
                            seen->exit_code, seen->output);
    EXPECT_EQ(says, row.says) << row.container;
  }
}

TEST(PodLife, TimesLongerThanAnyClockAreLong) {
  Bench bench(some_nodes(1));
  const char* sleeps = R"({"name":"main","image":"i","command":["sleep","99999d"]})";
  bench.create(PodText("sleeps").policy("Never").container(sleeps));
  bench.create(PodText("lasts").policy("Never").note("berth.dev/duration", "2562047h"));
  bench.create(
      PodText("drawn").policy("Never").note("berth.dev/duration", "2562047h..2562047h47m"));
  bench.world.run_for(1h);
  for (const char* name : {"sleeps", "lasts", "drawn"})
    EXPECT_EQ(bench.phase(name), "Running") << name;
}

TEST(PodLife, PodsOfJobsWorkAWhileAndOthersRunOn) {
  LabOptions options = some_nodes(1);
  options.pace.job = {5s, 5s};
  Bench bench(options);
  bench.create(PodText("job").policy("Never").job());
  bench.create(PodText("bare").policy("Never"));
  bench.create(PodText("stated").policy("Never").job().note("berth.dev/duration", "1h"));
  bench.world.run_for(7s);
  EXPECT_EQ(bench.phase("job"), "Succeeded");
  EXPECT_EQ(bench.phase("bare"), "Running");
  EXPECT_EQ(bench.phase("stated"), "Running");
}

TEST(PodLife, WhoIsStoppedInTheMiddleOfItsWorkHasFailed) {
  Bench bench(some_nodes(1));
  bench.create(PodText("work").policy("Never").finalizer("x/y"));
  bench.create(PodText("serve").policy("Always").finalizer("x/y"));
  bench.create(PodText("stuck").note("berth.dev/stuck-terminating", "true"));
  bench.world.run_for(1s);
  for (const char* name : {"work", "serve", "stuck"}) bench.erase(kube::kPod, name, 30);
  bench.world.run_for(1h);
  EXPECT_EQ(told(*bench.pod("work")), "Failed main:Error(143)");
  EXPECT_EQ(told(*bench.pod("serve")), "Succeeded main:Completed(0)");
  EXPECT_EQ(told(*bench.pod("stuck")), "Running main:running+");
  bench.patch(kube::kPod, "stuck", R"({"metadata":{"annotations":null}})");
  bench.world.run_for(1s);
  EXPECT_EQ(bench.pod("stuck"), nullptr);
}

TEST(PodLife, AResizeIsAcknowledgedAndShown) {
  Bench bench(some_nodes(1));
  bench.create(PodText("p").container(
      R"({"name":"main","image":"i","resources":{"requests":{"cpu":"1"}}})"));
  bench.world.run_for(1s);
  bench.patch(kube::kPod, "p",
              R"({"metadata":{"generation":2},"spec":{"containers":[)"
              R"({"name":"main","image":"i","resources":{"requests":{"cpu":"2"}}}]}})");
  bench.world.run_for(1s);
  const json::Slice status = bench.pod("p")->status();
  EXPECT_EQ(status["observedGeneration"].integer(), 2);
  EXPECT_EQ(status["containerStatuses"][std::size_t{0}]["resources"].raw(),
            R"({"requests":{"cpu":"2"}})");
}

TEST(PodLife, KubeletsRefuseWhatDoesNotFitWhereTheyCheck) {
  LabOptions options = some_nodes(1);
  options.check_fit = true;
  options.node.capacity["cpu"] = "1";
  Bench bench(options);
  const char* half = R"({"name":"main","image":"i","resources":{"requests":{"cpu":"600m"}}})";
  bench.create(PodText("first").container(half));
  bench.world.run_for(1s);
  bench.create(PodText("second").container(half));
  bench.world.run_for(1s);
  EXPECT_EQ(bench.phase("first"), "Running");
  EXPECT_EQ(bench.phase("second"), "Failed");
  EXPECT_EQ(bench.pod("second")->status()["reason"].text(), "OutOfcpu");
  bench.create(PodText("slot").container(
      R"({"name":"main","image":"i","resources":{"requests":{"berth.dev/slot":"1"}}})"));
  bench.world.run_for(1s);
  EXPECT_EQ(bench.phase("slot"), "Running") << "what the node knows nothing of is not its business";
  EXPECT_EQ(bench.pod("second")->status()["message"].text(),
            "Pod was rejected: Node didn't have enough resource: cpu, requested: 600, used: 600, "
            "capacity: 1000");
}

TEST(PodLife, AnnotationsThatSayNothingAreTold) {
  Bench bench(some_nodes(1));
  bench.create(PodText("p")
                   .note("berth.dev/duration", "soon")
                   .note("berth.dev/exit-code", "x")
                   .note("berth.dev/log-every", "often")
                   .note("berth.dev/usage-cpu", "much")
                   .note("berth.dev/usage-memory.main", "phases repeat 1")
                   .note("kwok.x-k8s.io/usage-cpu", "more"));
  EXPECT_THAT(bench.sink.text(), testing::HasSubstr("is no duration; write 90s or 1m..2m"));
  EXPECT_THAT(bench.sink.text(), testing::HasSubstr("is no whole number"));
  EXPECT_THAT(bench.sink.text(), testing::HasSubstr("is no duration; write 500ms or 1m"));
  EXPECT_THAT(bench.sink.text(), testing::HasSubstr("is no amount"));
  EXPECT_THAT(bench.sink.text(), testing::HasSubstr("kwok.x-k8s.io/usage-cpu: "));
  EXPECT_THAT(bench.sink.text(), testing::HasSubstr("usage-memory.main: only the last phase"));
  EXPECT_EQ(bench.phase("p"), "Running");
}

TEST(PodLife, SpansAreDrawnBetweenTheirEndsAndTheSameForTheSameSeed) {
  EXPECT_FALSE(parse_span("5"));
  EXPECT_FALSE(parse_span("2m..1m"));
  EXPECT_FALSE(parse_span("-1s"));
  const auto lengths = [](Seed seed) {
    std::vector<std::int64_t> all;
    LabOptions options = some_nodes(1);
    Bench bench(options, seed);
    for (int i = 0; i < 8; ++i)
      bench.create(
          PodText(fmt::format("p{}", i)).policy("Never").note("berth.dev/duration", "10s..20s"));
    for (int t = 0; t < 300; ++t) {
      bench.world.run_for(100ms);
      all.push_back(static_cast<std::int64_t>(bench.lab->counts().finished));
    }
    return all;
  };
  const std::vector<std::int64_t> once = lengths(3);
  EXPECT_EQ(once, lengths(3));
  EXPECT_NE(once, lengths(4));
  EXPECT_EQ(once[90], 0);
  EXPECT_EQ(once.back(), 8);
}

}  // namespace
}  // namespace berth::lab
