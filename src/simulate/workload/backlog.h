// SPDX-License-Identifier: Apache-2.0
// Work that waits for spare capacity: programs that checkpoint, and how they are submitted.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "base/random.h"
#include "base/time.h"

namespace berth::simulate {

struct Program {
  std::string name;
  int members = 1;                             // they run together or not at all
  std::int64_t cpu_milli = 0, memory_mib = 0;  // of a member
  Duration work{};                             // that it takes without an interruption
  Duration checkpoint_every{}, checkpoint_takes{}, restore{};
  double irregular = 0;  // by how much of an interval each of them is longer or shorter, at most
  Duration window{};     // spec.duration
  bool reports = false;

  double cores() const { return static_cast<double>(members * cpu_milli) / 1000; }
  friend bool operator==(const Program&, const Program&) = default;
};

// Programs of one to 32 cores and hours of work that write a checkpoint every few minutes. So many
// of a hundred never say so.
std::vector<Program> backlog(Random, int count, int silent_percent);

enum class Form : std::uint8_t {
  kScavengerJob,
  kPlainJob,  // of a low priority, with nobody who looks after it
};
std::string manifest_of(const Program&, Form, int grace_seconds);
// A priority class that is below all others, for plain Jobs.
std::string plain_job_class();

// "scav-0007" of "scav-0007-2-0-x7k2p"; "" of pods that are not of a program.
std::string_view program_of_pod(std::string_view pod_name);

}  // namespace berth::simulate
