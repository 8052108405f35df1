// SPDX-License-Identifier: Apache-2.0
// What a plugin answers about a pod as a whole, or about one node.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "scheduler/framework/plugin_set.h"

namespace berth::scheduler {

enum class Code : std::uint8_t {
  kSuccess,
  kError,
  kUnschedulable,
  kUnresolvable,  // UnschedulableAndUnresolvable: preemption would not help
  kWait,
  kSkip,
  kPending,
};
std::string_view name_of(Code);  // "UnschedulableAndUnresolvable", …

// A value. Default-made: success.
struct Status {
  Code code = Code::kSuccess;
  std::vector<std::string> reasons = {};
  PluginId plugin = PluginId::kNone;  // set by the framework

  static Status skip() { return {Code::kSkip}; }
  static Status error(std::string text) { return {Code::kError, {std::move(text)}}; }
  static Status unschedulable(std::string text) {
    return {Code::kUnschedulable, {std::move(text)}};
  }
  static Status unresolvable(std::string text) { return {Code::kUnresolvable, {std::move(text)}}; }

  bool ok() const { return code == Code::kSuccess; }
  bool skipped() const { return code == Code::kSkip; }
  bool rejected() const {
    return code == Code::kUnschedulable || code == Code::kUnresolvable || code == Code::kPending;
  }
  std::string message() const;  // reasons joined with ", "
};

}  // namespace berth::scheduler
