// SPDX-License-Identifier: Apache-2.0
#include "scheduler/framework/extension_point.h"

#include <array>

namespace berth::scheduler {
namespace {

struct Names {
  std::string_view name, config_name;
};
constexpr std::array<Names, kPoints> kNames = {{{"PreEnqueue", "preEnqueue"},
                                                {"QueueSort", "queueSort"},
                                                {"PreFilter", "preFilter"},
                                                {"Filter", "filter"},
                                                {"PostFilter", "postFilter"},
                                                {"PreScore", "preScore"},
                                                {"Score", "score"},
                                                {"Reserve", "reserve"},
                                                {"Permit", "permit"},
                                                {"PreBind", "preBind"},
                                                {"Bind", "bind"},
                                                {"PostBind", "postBind"}}};

}  // namespace

std::string_view name_of(Point point) { return kNames[static_cast<std::size_t>(point)].name; }
std::string_view config_name_of(Point point) {
  return kNames[static_cast<std::size_t>(point)].config_name;
}

}  // namespace berth::scheduler
