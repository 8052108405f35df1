// SPDX-License-Identifier: Apache-2.0
// How two runs of a story are told apart, in virtual time and against the real controllers alike.
#pragma once

#include <map>
#include <string>
#include <string_view>

#include <fmt/format.h>

#include "kube/object.h"

namespace berth::controllers::stories {

// The lines that only one of the two has, each under its name.
inline std::string difference(std::string_view one, const std::string& of_one,
                              std::string_view other, const std::string& of_other) {
  std::map<std::string, int> count;
  const auto tally = [&](const std::string& text, int by) {
    for (std::size_t at = 0; at < text.size();) {
      const std::size_t end = text.find('\n', at);
      count[text.substr(at, end - at)] += by;
      at = end + 1;
    }
  };
  tally(of_one, -1);
  tally(of_other, 1);
  std::string out;
  for (const auto& [line, by] : count)
    if (by != 0) out += fmt::format("{}: {}\n", by < 0 ? one : other, line);
  return out;
}

// The node that a pod insists on by name, as daemons do; else all run on one.
inline std::string wanted_node(const kube::Object& pod) {
  const std::string name =
      pod.member(
             "spec")["affinity"]["nodeAffinity"]["requiredDuringSchedulingIgnoredDuringExecution"]
                    ["nodeSelectorTerms"][0]["matchFields"][0]["values"][0]
                        .text();
  return name.empty() ? "n1" : name;
}

}  // namespace berth::controllers::stories
