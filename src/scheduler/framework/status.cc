// SPDX-License-Identifier: Apache-2.0
#include "scheduler/framework/status.h"

#include <fmt/format.h>

namespace berth::scheduler {

std::string_view name_of(Code code) {
  switch (code) {
    case Code::kSuccess:
      return "Success";
    case Code::kError:
      return "Error";
    case Code::kUnschedulable:
      return "Unschedulable";
    case Code::kUnresolvable:
      return "UnschedulableAndUnresolvable";
    case Code::kWait:
      return "Wait";
    case Code::kSkip:
      return "Skip";
    case Code::kPending:
      return "Pending";
  }
  return "";
}

std::string Status::message() const { return fmt::format("{}", fmt::join(reasons, ", ")); }

}  // namespace berth::scheduler
