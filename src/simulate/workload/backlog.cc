// SPDX-License-Identifier: Apache-2.0
#include "simulate/workload/backlog.h"

#include <array>

#include <fmt/format.h>

namespace berth::simulate {
namespace {

constexpr std::string_view kPrefix = "scav-";
constexpr std::size_t kNameLength = 10;  // scav-00007

std::int64_t whole_seconds(Duration span) {
  return std::chrono::duration_cast<std::chrono::seconds>(span).count();
}

}  // namespace

std::vector<Program> backlog(Random random, int count, int silent_percent) {
  constexpr std::array<std::int64_t, 5> kCores{1, 2, 4, 4, 8};
  std::vector<Program> programs;
  for (int i = 0; i < count; ++i) {
    const auto between = [&](std::int64_t least, std::int64_t most) {
      return least +
             static_cast<std::int64_t>(random.below(static_cast<std::uint64_t>(most - least + 1)));
    };
    Program program{.name = fmt::format("{}{:05}", kPrefix, i)};
    const std::int64_t cores = kCores[random.below(kCores.size())];
    program.members = random.chance(0.2) ? static_cast<int>(between(2, 4)) : 1;
    program.cpu_milli = cores * 1000;
    program.memory_mib = cores * 2048;
    program.work = std::chrono::minutes(between(60, 8 * 60));
    program.checkpoint_every = std::chrono::minutes(between(4, 20));
    program.checkpoint_takes = std::chrono::seconds(between(2, 20));
    program.restore = std::chrono::seconds(between(5, 30));
    program.irregular = 0.1;
    program.window = 30min;
    program.reports = random.chance(1 - silent_percent / 100.0);
    programs.push_back(std::move(program));
  }
  return programs;
}

std::string manifest_of(const Program& program, Form form, int grace_seconds) {
  // The command would go on for ever; the pod's annotation says when it has done its work.
  const std::string resources = fmt::format(R"({{"requests":{{"cpu":"{}m","memory":"{}Mi"}}}})",
                                            program.cpu_milli, program.memory_mib);
  if (form == Form::kPlainJob)
    return fmt::format(
        R"({{"apiVersion":"batch/v1","kind":"Job","metadata":{{"name":"{0}","namespace":"default"}},"spec":{{"completionMode":"Indexed","completions":{1},"parallelism":{1},"backoffLimit":1000000,"template":{{"spec":{{"priorityClassName":"left-over","restartPolicy":"Never","terminationGracePeriodSeconds":{2},"containers":[{{"name":"main","image":"program","command":["sleep","infinity"],"resources":{3}}}]}}}}}}}})",
        program.name, program.members, grace_seconds, resources);
  return fmt::format(
      R"({{"apiVersion":"berth.dev/v1alpha1","kind":"ScavengerJob","metadata":{{"name":"{}","namespace":"default"}},"spec":{{"image":"program","command":["sleep","infinity"],"replicas":{},"resources":{},"duration":"{}s","checkpoint":{{"interval":"{}s"}},"terminationGracePeriodSeconds":{}}}}})",
      program.name, program.members, resources, whole_seconds(program.window),
      whole_seconds(program.checkpoint_every), grace_seconds);
}

std::string plain_job_class() {
  return R"({"apiVersion":"scheduling.k8s.io/v1","kind":"PriorityClass","metadata":{"name":"left-over"},"value":-1000,"preemptionPolicy":"Never"})";
}

std::string_view program_of_pod(std::string_view pod_name) {
  if (!pod_name.starts_with(kPrefix) || pod_name.size() <= kNameLength) return {};
  return pod_name.substr(0, kNameLength);
}

}  // namespace berth::simulate
