// SPDX-License-Identifier: Apache-2.0
// kube-scheduler 1.36's default plugins and where they take part, and three more. For tests.
#pragma once

#include <array>

#include "scheduler/framework/extension_point.h"

namespace berth::scheduler {

inline constexpr auto kTestRegistry = [] {
  using P = Point;
  constexpr PointSet kFiltering = points(P::kPreFilter, P::kFilter);
  constexpr PointSet kScoring = points(P::kPreScore, P::kScore);
  return std::array<PluginInfo, 23>{{
      {"SchedulingGates", points(P::kPreEnqueue), true, 0},
      {"PrioritySort", points(P::kQueueSort), true, 0},
      {"NodeUnschedulable", points(P::kFilter), true, 0},
      {"NodeName", points(P::kFilter), true, 0},
      {"TaintToleration", points(P::kFilter) | kScoring, true, 3},
      {"NodeAffinity", kFiltering | kScoring, true, 2},
      {"NodePorts", kFiltering, true, 0},
      {"NodeResourcesFit", kFiltering | kScoring, true, 1},
      {"VolumeRestrictions", kFiltering, true, 0},
      {"NodeVolumeLimits", kFiltering, true, 0},
      {"VolumeBinding", kFiltering | kScoring | points(P::kReserve, P::kPreBind), true, 0},
      {"VolumeZone", kFiltering, true, 0},
      {"PodTopologySpread", kFiltering | kScoring, true, 2},
      {"InterPodAffinity", kFiltering | kScoring, true, 2},
      {"DynamicResources",
       kFiltering | points(P::kPreEnqueue, P::kPostFilter, P::kScore, P::kReserve, P::kPreBind),
       true, 2},
      {"DefaultPreemption", points(P::kPreEnqueue, P::kPostFilter), true, 0},
      {"NodeResourcesBalancedAllocation", kScoring, true, 1},
      {"ImageLocality", points(P::kScore), true, 1},
      {"DefaultBinder", points(P::kBind), true, 0},
      {"NodeDeclaredFeatures", kFiltering, true, 0},
      {"Random", points(P::kScore), false, 0},
      {"OtherSort", points(P::kQueueSort), false, 0},
      {"FirstComeFirstServed", points(P::kQueueSort), false, 0},
  }};
}();

}  // namespace berth::scheduler
