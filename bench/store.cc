// SPDX-License-Identifier: Apache-2.0
// The store with as many pods as a large cluster has, and its journal.
#include "apiserver/store/store.h"

#include <filesystem>
#include <memory>
#include <string>
#include <vector>

#include <benchmark/benchmark.h>
#include <fmt/format.h>
#include <stdlib.h>

#include "apiserver/store/list_run.h"
#include "apiserver/store/sqlite_journal.h"
#include "base/world.h"
#include "pod_maker.h"

namespace berth::apiserver {
namespace {

constexpr std::size_t kPods = 50'000;

std::string read_field(const kube::Object& pod, std::string_view field) {
  return field == "spec.nodeName" ? pod.member("spec")["nodeName"].text() : "";
}

std::vector<IndexSpec> indexes() {
  std::vector<IndexSpec> out;
  out.push_back(
      {kube::kPod, "spec.nodeName", IndexSpec::Of::kBody,
       [](const auto& o, auto& values) { values.push_back(o.member("spec")["nodeName"].text()); }});
  out.push_back({std::nullopt, "metadata.ownerReferences.uid", IndexSpec::Of::kAnything,
                 [](const auto& o, auto& values) {
                   for (kube::OwnerRef& owner : o.owners()) values.push_back(std::move(owner.uid));
                 }});
  return out;
}

struct Cluster {
  Cluster() : store(scope, {.indexes = indexes()}) {
    for (std::size_t i = 0; i < kPods; ++i) {
      kube::Object pod = *kube::Object::parse(kube::kPod, bench::pod_json(i));
      keys.push_back(pod.key());
      store.write({.kind = kube::kPod, .key = pod.key(), .next = stamped(std::move(pod))}, {});
    }
  }
  const kube::Key& some_key() { return keys[random.below(kPods)]; }
  void touch(const kube::Key& key) {
    const kube::Object pod = *store.get(kube::kPod, key);
    store.write({.kind = kube::kPod,
                 .key = key,
                 .revision = pod.revision(),
                 .next =
                     [&pod](kube::Revision r) {
                       return pod.next(r, {.status = R"({"phase":"Running","podIP":"10.0.0.1"})"});
                     }},
                {});
  }
  World world{1};
  Scope scope{world.loop("api"), "bench"};
  Store store;
  std::vector<kube::Key> keys;
  Random random{1};
};
Cluster& cluster() {  // filled once, and never torn down
  static Cluster* const only = new Cluster;
  return *only;
}

void store_get(benchmark::State& state) {
  Cluster& c = cluster();
  for (auto _ : state) benchmark::DoNotOptimize(c.store.get(kube::kPod, c.some_key()));
}
BENCHMARK(store_get);

void store_write_a_status(benchmark::State& state) {
  Cluster& c = cluster();
  for (auto _ : state) c.touch(c.some_key());
}
BENCHMARK(store_write_a_status);

void store_renew_a_lease(benchmark::State& state) {
  Cluster& c = cluster();
  const kube::Object lease = *kube::Object::parse(
      kube::kLease,
      R"({"metadata":{"name":"n1","namespace":"kube-node-lease","uid":"u"},"spec":{"holderIdentity":"n1","leaseDurationSeconds":40,"renewTime":"2026-01-01T00:00:00.000000Z"}})");
  for (auto _ : state)
    c.store.write({.kind = kube::kLease,
                   .key = lease.key(),
                   .next = stamped(lease),
                   .durability = Durability::kVolatile},
                  {});
}
BENCHMARK(store_renew_a_lease);

void store_list(benchmark::State& state, const char* labels, const char* fields,
                std::size_t limit) {
  Cluster& c = cluster();
  const std::string node = read_field(*c.store.get(kube::kPod, c.keys[0]), "spec.nodeName");
  const Selector selector{*kube::LabelSelector::parse(labels),
                          *kube::FieldSelector::parse(fmt::format(fmt::runtime(fields), node)),
                          read_field};
  std::size_t found = 0;
  for (auto _ : state)
    found = c.store.list({.kind = kube::kPod, .selector = selector, .plan = {.limit = limit}})
                ->items.size();
  state.counters["found"] = static_cast<double>(found);
}
BENCHMARK_CAPTURE(store_list, first_500, "", "", 500);
BENCHMARK_CAPTURE(store_list, all, "", "", 0);
BENCHMARK_CAPTURE(store_list, by_node, "", "spec.nodeName={}", 0);
BENCHMARK_CAPTURE(store_list, by_label, "team=payments", "", 0);

// The next page, and how many remain after it.
void store_list_page_after_page(benchmark::State& state) {
  Cluster& c = cluster();
  std::string token;
  for (auto _ : state) {
    const auto page = c.store.list(
        {.kind = kube::kPod, .plan = *plan_list({.limit = 500, .continue_token = token})});
    token = page->continue_token;
    benchmark::DoNotOptimize(page);
  }
}
BENCHMARK(store_list_page_after_page);

struct Sink final : WatchSink {
  void ready(WatchId) override { ++readies; }
  std::size_t readies = 0;
};

// A write that so many watchers hear of, and each reads it.
void store_watchers_hear(benchmark::State& state) {
  Cluster& c = cluster();
  Sink sink;
  std::vector<WatchId> ids;
  for (std::int64_t i = 0; i < state.range(0); ++i) {
    ids.push_back(c.store.watch({.kind = kube::kPod, .after = c.store.published()}, sink));
    c.store.read(ids.back(), 1);
  }
  for (auto _ : state) {
    c.touch(c.keys[7]);
    for (const WatchId id : ids) benchmark::DoNotOptimize(c.store.read(id, 10));
  }
  for (const WatchId id : ids) c.store.unwatch(id);
  state.SetItemsProcessed(state.iterations() * state.range(0));
}
BENCHMARK(store_watchers_hear)->Arg(1)->Arg(1'000);

// The same write, and so many watchers who do not read; the first write wakes them, the others
// find them awake.
void store_watchers_sleep(benchmark::State& state) {
  Cluster& c = cluster();
  Sink sink;
  std::vector<WatchId> ids;
  for (std::int64_t i = 0; i < state.range(0); ++i) {
    const kube::Key& key = c.keys[static_cast<std::size_t>(i) + 100];
    ids.push_back(c.store.watch(
        {.kind = kube::kPod, .range = {key.ns, key.name}, .after = c.store.published()}, sink));
    c.store.read(ids.back(), 1);
  }
  for (auto _ : state) c.touch(c.keys[7]);
  for (const WatchId id : ids) c.store.unwatch(id);
}
BENCHMARK(store_watchers_sleep)->Arg(0)->Arg(10'000);

// Durable writes, so many at a time; all of it on one thread.
void journal_writes(benchmark::State& state, bool fsync) {
  std::string name = (std::filesystem::temp_directory_path() / "berth-bench-XXXXXX").string();
  const std::filesystem::path folder = ::mkdtemp(name.data());
  {
    World world(1);
    SqliteJournal journal(world.loop("disk"), world.loop("checkpoints"),
                          {.folder = folder, .fsync = fsync});
    Scope scope(world.loop("api"), "bench");
    Store store(scope, {.indexes = indexes()}, &journal);
    if (!store.recover()) return state.SkipWithError("no database");
    constexpr std::size_t kKept = 5'000;
    std::vector<kube::Object> pods;
    for (std::size_t i = 0; i < kKept; ++i)
      pods.push_back(*kube::Object::parse(kube::kPod, bench::pod_json(i)));
    Random random(1);
    for (auto _ : state) {
      // The first of them goes alone: what follows it is the batch.
      for (std::int64_t i = 0; i < state.range(0); ++i) {
        const kube::Object& pod = pods[random.below(kKept)];
        store.write({.kind = kube::kPod, .key = pod.key(), .next = stamped(pod)}, {});
      }
      world.run_until_idle(Duration{});
    }
    scope.close({}, [] {});
    world.run_until_idle(1h);
  }
  std::filesystem::remove_all(folder);
  state.SetItemsProcessed(state.iterations() * state.range(0));
}
BENCHMARK_CAPTURE(journal_writes, normal, false)->Arg(1)->Arg(17)->Arg(65);
BENCHMARK_CAPTURE(journal_writes, fsync, true)->Arg(1)->Arg(65);

void journal_recovers_50k_pods(benchmark::State& state) {
  std::string name = (std::filesystem::temp_directory_path() / "berth-bench-XXXXXX").string();
  const std::filesystem::path folder = ::mkdtemp(name.data());
  const auto open = [&](bool fill) {
    World world(1);
    SqliteJournal journal(world.loop("disk"), world.loop("checkpoints"), {.folder = folder});
    Scope scope(world.loop("api"), "bench");
    Store store(scope, {.indexes = indexes()}, &journal);
    if (!store.recover()) return state.SkipWithError("no database");
    for (std::size_t i = 0; fill && i < kPods; ++i) {
      kube::Object pod = *kube::Object::parse(kube::kPod, bench::pod_json(i));
      store.write({.kind = kube::kPod, .key = pod.key(), .next = stamped(std::move(pod))}, {});
      if (i % 100 == 0) world.run_until_idle(Duration{});
    }
    scope.close({}, [] {});
    world.run_until_idle(1h);
  };
  open(true);
  for (auto _ : state) open(false);
  std::filesystem::remove_all(folder);
}
BENCHMARK(journal_recovers_50k_pods)->Unit(benchmark::kMillisecond)->Iterations(3);

}  // namespace
}  // namespace berth::apiserver
