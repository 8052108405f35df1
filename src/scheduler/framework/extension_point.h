// SPDX-License-Identifier: Apache-2.0
// Where a plugin can take part, and what is known about a plugin before it is made.
#pragma once

#include <cstdint>
#include <span>
#include <string_view>

namespace berth::scheduler {

enum class Point : std::uint8_t {
  kPreEnqueue,
  kQueueSort,
  kPreFilter,
  kFilter,
  kPostFilter,
  kPreScore,
  kScore,
  kReserve,
  kPermit,
  kPreBind,
  kBind,
  kPostBind,
};
inline constexpr int kPoints = 12;

std::string_view name_of(Point);         // "PreEnqueue": metrics and events
std::string_view config_name_of(Point);  // "preEnqueue": the field of a profile's plugins

using PointSet = std::uint16_t;  // bit i: the Point with that value
constexpr PointSet points() { return 0; }
template <class... More>
constexpr PointSet points(Point first, More... more) {
  return static_cast<PointSet>((1u << static_cast<unsigned>(first)) | points(more...));
}
constexpr bool has(PointSet set, Point point) {
  return (set >> static_cast<unsigned>(point) & 1u) != 0;
}

// A row of the registry (plugins/plugins.def).
struct PluginInfo {
  std::string_view name;
  PointSet points = 0;
  bool by_default = false;          // part of kube-scheduler's default profile, in registry order
  std::int32_t default_weight = 0;  // in that profile; 0: none stated
};

}  // namespace berth::scheduler
