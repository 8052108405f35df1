// SPDX-License-Identifier: Apache-2.0
// Nodes n0, n1, … and jobs that wait in namespace a, in the order in which they are added.
#pragma once

#include <algorithm>
#include <string>
#include <vector>

#include <fmt/format.h>

#include "policy/scavenge/admit.h"

namespace berth::scavenge {

inline kube::ResourceList cpu(std::string_view amount) {
  return {{"cpu", *kube::Quantity::parse(amount)}};
}

class AdmitScene {
 public:
  AdmitScene(int nodes, std::string_view cores) {
    question_.now = {1'700'000'000'000'000'000};
    for (int i = 0; i < nodes; ++i)
      question_.nodes.push_back({.name = fmt::format("n{}", i), .allocatable = cpu(cores)});
  }
  AdmitScene& used(int node, std::string_view cores) {
    question_.nodes[static_cast<std::size_t>(node)].used = cpu(cores);
    return *this;
  }
  AdmitScene& wait(std::string uid, std::string_view cores, int interrupted = 0, int members = 1) {
    Waiting job{.uid = uid, .ns = "a", .name = uid};
    job.interrupted = interrupted;
    job.waiting_since = now() - 1min;
    job.member = cpu(cores);
    job.members = members;
    question_.waiting.push_back(std::move(job));
    return *this;
  }
  Waiting& job(std::string_view uid) {
    return *std::find_if(question_.waiting.begin(), question_.waiting.end(),
                         [&](const Waiting& each) { return each.uid == uid; });
  }
  AdmitQuestion& question() { return question_; }
  AdmitRules& rules() { return question_.rules; }
  WallTime now() const { return question_.now; }

  AdmitAnswer admit() const { return scavenge::admit(question_); }
  std::vector<std::string> starts() const {
    std::vector<std::string> uids;
    for (const Start& start : admit().starts) uids.push_back(start.uid);
    return uids;
  }
  std::string waits() const {
    static constexpr std::string_view kReasons[] = {"turn",  "threshold", "fit",
                                                    "quota", "backoff",   "reserved"};
    std::string all;
    for (const Wait& wait : admit().waits)
      all += fmt::format("{}{} {}: {}", all.empty() ? "" : "; ", wait.uid,
                         kReasons[static_cast<std::size_t>(wait.reason)], wait.message);
    return all;
  }

 private:
  AdmitQuestion question_;
};

}  // namespace berth::scavenge
