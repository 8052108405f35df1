// SPDX-License-Identifier: Apache-2.0
// Small things that are called very often.
#include <string>
#include <string_view>
#include <vector>

#include <benchmark/benchmark.h>

#include "base/world.h"
#include "kube/label_selector.h"
#include "kube/object.h"
#include "kube/quantity.h"
#include "pod_maker.h"
#include "policy/scavenge/cheapest_cover.h"

namespace berth {
namespace {

void parse_quantity(benchmark::State& state, std::string_view text) {
  for (auto _ : state) benchmark::DoNotOptimize(kube::Quantity::parse(text));
}
BENCHMARK_CAPTURE(parse_quantity, cpu, "250m");
BENCHMARK_CAPTURE(parse_quantity, memory, "512Mi");
BENCHMARK_CAPTURE(parse_quantity, needs_a_big_decimal, "123456789012345678901234567890");

void match_selector(benchmark::State& state, std::string_view text) {
  const auto selector = kube::LabelSelector::parse(text);
  const auto pod = kube::Object::parse(kube::kPod, bench::pod_json(7));
  if (!selector || !pod) return state.SkipWithError("bad input");
  for (auto _ : state) benchmark::DoNotOptimize(selector->matches(pod->labels()));
}
BENCHMARK_CAPTURE(match_selector, one_equality, "team=payments");
BENCHMARK_CAPTURE(match_selector, a_few_terms,
                  "team in (payments,search),app.kubernetes.io/component=backend,!canary");

void parse_pod(benchmark::State& state) {
  const std::string json = bench::pod_json(7);
  for (auto _ : state) benchmark::DoNotOptimize(kube::Object::parse(kube::kPod, json));
  state.SetBytesProcessed(static_cast<std::int64_t>(state.iterations() * json.size()));
}
BENCHMARK(parse_pod);

void post_and_run_a_task(benchmark::State& state) {
  World world(1);
  Executor& loop = world.loop("bench");
  for (auto _ : state) {
    loop.post([] {});
    world.step();
  }
}
BENCHMARK(post_and_run_a_task);

// As many as 5,000 nodes with their leases and 50,000 pods keep waiting.
void fire_and_rearm_a_timer(benchmark::State& state) {
  World world(1);
  Executor& loop = world.loop("bench");
  Random random(1);
  struct Rearm {
    Executor& loop;
    Random& random;
    void operator()() const {
      loop.at(loop.clock().now() + 1s + Duration(random.below(1'000'000'000)), *this);
    }
  };
  for (std::int64_t i = 0; i < state.range(0); ++i) Rearm{loop, random}();
  for (auto _ : state) world.step();
}
BENCHMARK(fire_and_rearm_a_timer)->Arg(55000);

// Jobs on a node and three resources. Where all lose equally per core, bounds tell sets apart
// least.
void choose_victims(benchmark::State& state, bool equal_loss) {
  Random random(1);
  const auto draw = [&](std::uint64_t most) {
    return static_cast<std::int64_t>(random.below(most));
  };
  std::vector<scavenge::Unit> units;
  std::vector<std::int64_t> need(3, 0);
  for (std::int64_t i = 0; i < state.range(0); ++i) {
    const std::int64_t cores = 1 + draw(32);
    scavenge::Unit& unit = units.emplace_back();
    unit.cost = equal_loss ? cores * 600'000 : draw(20'000'000);
    unit.freed = {cores * 1000, (equal_loss ? cores : 1 + draw(32)) << 32, draw(5) == 0 ? 1 : 0};
    unit.started = {draw(1'000'000)};
    unit.uid = std::to_string(random.next());
    for (std::size_t r = 0; r < need.size(); ++r) need[r] += unit.freed[r];
  }
  for (std::int64_t& amount : need) amount /= 3;
  const auto fits = [](const scavenge::UnitSet&) { return true; };
  std::uint32_t looked_at = 0;
  for (auto _ : state) looked_at = scavenge::cheapest_cover(units, need, fits).looked_at;
  state.counters["sets"] = looked_at;
}
BENCHMARK_CAPTURE(choose_victims, any_loss, false)->Arg(6)->Arg(12)->Arg(60);
BENCHMARK_CAPTURE(choose_victims, equal_loss, true)->Arg(6)->Arg(12)->Arg(60);

}  // namespace
}  // namespace berth
