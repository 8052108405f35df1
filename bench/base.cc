// SPDX-License-Identifier: Apache-2.0
// What every call, log line, span and interned string costs.
#include <string>
#include <vector>

#include <benchmark/benchmark.h>

#include "base/intern.h"
#include "base/log.h"
#include "base/scope.h"
#include "base/trace.h"
#include "base/world.h"

namespace berth {
namespace {

void answer_a_call(benchmark::State& state) {
  World world(1);
  Scope scope(world.loop("bench"), "bench");
  int sum = 0;
  for (auto _ : state) {
    scope.done<int>(30s, [&sum](Result<int> r) { sum += *r; })(1);
    world.step();
  }
  benchmark::DoNotOptimize(sum);
}
BENCHMARK(answer_a_call);

void intern_a_known_string(benchmark::State& state) {
  InternTable table;
  std::vector<Interned> known;
  for (int i = 0; i < 10000; ++i)
    known.emplace_back(table, "app.kubernetes.io/name-" + std::to_string(i));
  std::size_t i = 0;
  for (auto _ : state) {
    i = (i + 7919) % known.size();
    table.release(table.acquire(known[i].text()));
  }
}
BENCHMARK(intern_a_known_string);

class Nowhere final : public LogSink {
 public:
  void write(std::string_view line) override { benchmark::DoNotOptimize(line.data()); }
};

void log_a_line(benchmark::State& state, LogLevel level) {
  World world(1);
  Nowhere nowhere;
  const Logger log(nowhere, world.clock(), level);
  for (auto _ : state) log.info("watch ended", {{"kind", "Pod"}, {"revision", 12}});
}
BENCHMARK_CAPTURE(log_a_line, written, LogLevel::kInfo);
BENCHMARK_CAPTURE(log_a_line, below_the_level, LogLevel::kWarn);

void enter_a_span(benchmark::State& state, bool on) {
  World world(1);
  Tracer tracer(world.clock(), 16384);
  Track* track = on ? tracer.track("bench") : nullptr;
  benchmark::DoNotOptimize(track);
  for (auto _ : state) {
    const Span span(track, "filter", "default/web-1");
    benchmark::ClobberMemory();
  }
}
BENCHMARK_CAPTURE(enter_a_span, on, true);
BENCHMARK_CAPTURE(enter_a_span, off, false);

}  // namespace
}  // namespace berth
