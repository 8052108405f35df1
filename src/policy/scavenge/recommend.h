// SPDX-License-Identifier: Apache-2.0
// What a job should have asked for, going by what its pods really used.
#pragma once

#include <optional>
#include <span>
#include <string>

#include "base/time.h"
#include "kube/resource_list.h"

namespace berth::scavenge {

// One pod at one moment, as metrics.k8s.io has it.
struct UsageSample {
  WallTime at = {};
  kube::ResourceList usage = {};
};

struct RecommendRules {
  int cpu_percentile = 95;      // a core that is missing for a moment makes slower
  int memory_percentile = 100;  // memory that is missing for a moment kills
  int margin_percent = 15;      // on top
  std::size_t least_samples = 20;
  Duration least_time = 10min;    // between the first and the last sample
  int worth_it_percent = 20;      // of a request; closer to it nothing is said
  kube::ResourceList least = {};  // never less than that; cpu 10m, memory 16Mi at any rate
  kube::ResourceList most = {};   // never more than that; absent: four times the request
};

struct Recommendation {
  kube::ResourceList requests = {};  // only what should change
  kube::ResourceList seen = {};      // the percentile, without the margin
  std::size_t samples = 0;
  std::string message = {};  // "cpu: 4 asked for, 1.2 used; memory: …"
};

// nullopt: not enough was seen, or the requests are about right. Only cpu and memory are looked at:
// devices are whole, and nothing else is measured. cpu is rounded up to 10m, memory to whole Mi.
std::optional<Recommendation> recommend(const kube::ResourceList& member,
                                        std::span<const UsageSample>, const RecommendRules& = {});

}  // namespace berth::scavenge
