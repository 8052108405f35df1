// SPDX-License-Identifier: Apache-2.0
#include "base/trace.h"

#include <thread>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "base/world.h"

namespace berth {
namespace {

using testing::HasSubstr;
using testing::Not;

Duration half_a_microsecond_a_look() {
  static Duration spent{};
  return spent += 500ns;
}

class TraceTest : public testing::Test {
 protected:
  World world{1};
  Tracer tracer{world.clock(), 4, half_a_microsecond_a_look};
};

TEST(Span, WithoutATrackDoesNothing) {
  const Span span(nullptr, "off", "detail");
  SUCCEED();
}

TEST_F(TraceTest, NestedSpansAreExportedOuterFirstWithWallAndCpuTime) {
  Track* track = tracer.track("scheduler");
  EXPECT_EQ(tracer.track("scheduler"), track);
  world.run_for(1500ns);
  {
    const Span cycle(track, "cycle", "default/web \"1\"");
    {
      const Span filter(track, "filter");
      world.run_for(2us);
    }
    world.run_for(1us);
  }
  const std::string json = tracer.chrome_json();
  EXPECT_THAT(
      json,
      HasSubstr(R"({"ph":"M","name":"thread_name","pid":1,"tid":1,"args":{"name":"scheduler"}})"));
  EXPECT_THAT(json, HasSubstr(R"("name":"cycle","pid":1,"tid":1,"ts":1.500,"dur":3.000,)"));
  EXPECT_THAT(json, HasSubstr(R"("tdur":1.500,"args":{"detail":"default/web \"1\""}},)"));
  EXPECT_THAT(json, HasSubstr(R"("name":"filter","pid":1,"tid":1,"ts":1.500,"dur":2.000,)"));
  EXPECT_LT(json.find("\"cycle\""), json.find("\"filter\""));
}

TEST_F(TraceTest, TheBufferKeepsTheNewestSpans) {
  Track* track = tracer.track("t");
  for (const char* name : {"one", "two", "three", "four", "five"}) const Span span(track, name);
  EXPECT_EQ(tracer.dropped(), 1u);
  EXPECT_THAT(tracer.chrome_json(), Not(HasSubstr("\"one\"")));
  for (const char* name : {"two", "three", "four", "five"})
    EXPECT_THAT(tracer.chrome_json(), HasSubstr(name));
}

TEST_F(TraceTest, ALongDetailIsCutAtACharacter) {
  std::string detail(47, 'x');
  { const Span span(tracer.track("t"), "s", detail + "€uro"); }
  EXPECT_THAT(tracer.chrome_json(), HasSubstr("\"detail\":\"" + detail + "\""));
}

TEST_F(TraceTest, AnEmptyTraceIsStillJson) {
  EXPECT_EQ(tracer.chrome_json(), "{\"displayTimeUnit\":\"ns\",\"traceEvents\":[\n]}\n");
}

TEST(TracerThreads, EachThreadHasItsTrack) {
  World world(1);
  Tracer tracer(world.clock(), 1000);
  std::vector<std::thread> threads;
  for (int t = 0; t < 4; ++t)
    threads.emplace_back([&tracer, t] {
      Track* track = tracer.track("loop" + std::to_string(t));
      for (int i = 0; i < 100; ++i) {
        const Span outer(track, "outer");
        const Span inner(track, "inner");
      }
    });
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(tracer.dropped(), 0u);
  const std::string json = tracer.chrome_json();
  std::size_t spans = 0;
  for (std::size_t at = json.find("\"ph\":\"X\""); at != json.npos;
       at = json.find("\"ph\":\"X\"", at + 1))
    ++spans;
  EXPECT_EQ(spans, 800u);
}

TEST(CpuTime, OfAThreadNeverFalls) {
  const Duration before = thread_cpu_time();
  EXPECT_GE(thread_cpu_time(), before);
}

}  // namespace
}  // namespace berth
