// SPDX-License-Identifier: Apache-2.0
// Why these jobs and no others were interrupted, with numbers: what an Event, `explain` and the
// page show of one choice.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/time.h"

namespace berth::scavenge {

struct VictimRecord {
  struct Job {
    std::string ns = {}, name = {}, uid = {};
    std::vector<std::string> pods = {};  // names, on the node that was chosen
    int members = 1;                     // of the job, wherever they are
    std::int64_t cost = 0;               // milli core-seconds that are lost
    Duration lost = {};                  // time since its last checkpoint, or in its window
    int running_priority = 0;
    int tier = 0;
    bool reported = false;  // its checkpoints are measured

    friend bool operator==(const Job&, const Job&) = default;
  };
  struct Alternative {  // another node, or another order
    std::string node = {};
    std::int64_t cost = 0;
    std::vector<std::string> jobs = {};  // ns/name
    int top_tier = 0;

    friend bool operator==(const Alternative&, const Alternative&) = default;
  };

  WallTime at = {};
  std::string door = {};     // "scheduler", "extender", "operator"
  std::string because = {};  // "cpu: 9 of 10 in use, 7 are meant to be": where it is for no pod
  std::string pod_ns = {}, pod_name = {}, pod_uid = {}, node = {};  // for whom, and where
  std::vector<Job> victims = {};
  std::int64_t cost = 0;
  std::optional<std::int64_t> stock_cost = {};  // that kube-scheduler's order would have lost
  bool exact = true;                            // no set would have lost less
  int nodes_looked_at = 0;
  std::vector<Alternative> alternatives = {};  // the cheapest first

  friend bool operator==(const VictimRecord&, const VictimRecord&) = default;
};

// On the Event that tells a job why it has to go.
inline constexpr std::string_view kVictimsAnnotation = "berth.dev/victims";

inline constexpr std::size_t kMostVictims = 100;
inline constexpr std::size_t kMostAlternatives = 10;
inline constexpr std::size_t kMostPodsNamed = 20;  // of a job

// What is beyond the limits above is left out, so that it fits into an annotation.
std::string victim_record_json(const VictimRecord&);
// nullopt: it is no such record. What is missing stays at its default.
std::optional<VictimRecord> parse_victim_record(std::string_view json);

// "2 jobs interrupted on n3 for shop/web: a/x (120 core-seconds), …; n5 would have lost 300", or
// "1 job interrupted because of cpu: 9 of 10 in use, 7 are meant to be: a/x (120 core-seconds)"
std::string victim_text(const VictimRecord&);
std::string core_seconds_text(std::int64_t milli);  // "12.5 core-seconds", "3.2 core-hours"

}  // namespace berth::scavenge
