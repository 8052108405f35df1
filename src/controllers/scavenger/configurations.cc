// SPDX-License-Identifier: Apache-2.0
#include "controllers/scavenger/configurations.h"

#include <algorithm>

#include <fmt/format.h>

#include "json/writer.h"
#include "kube/quantity.h"

namespace berth::controllers {
namespace {

using json::Slice;
using kube::Quantity;

constexpr std::size_t kMost = 32;

std::string halved_resources(std::int64_t millicores, const Quantity& per_core, Slice tune) {
  const auto memory = static_cast<std::int64_t>(static_cast<double>(per_core.value()) *
                                                static_cast<double>(millicores) / 1'000);
  json::Writer amounts;
  amounts.object();
  amounts.member("cpu").string(Quantity::of(millicores, Quantity::Format::kDecimalSI, -3).text());
  amounts.member("memory").string(Quantity::of(memory, per_core.format()).text());
  if (const auto cards = tune["gpus"].integer().value_or(0); cards > 0) {
    const std::string name = tune["gpuResource"].text();
    amounts.member(name.empty() ? "nvidia.com/gpu" : name).string(std::to_string(cards));
  }
  amounts.end();
  return fmt::format(R"({{"requests":{0},"limits":{0}}})", amounts.take());
}

}  // namespace

std::vector<Configuration> configurations_of(Slice spec) {
  std::vector<Configuration> out;
  for (const Slice one : spec["configurations"].elements())
    out.push_back({std::string(one["resources"].raw()),
                   static_cast<int>(one["replicas"].integer().value_or(1)),
                   std::string(one["nsPerDay"].raw())});
  const Slice tune = spec["tune"];
  if (!tune.is_object()) return out;
  const auto most = Quantity::from_json(tune["maxCpu"]),
             least = Quantity::from_json(tune["minCpu"]),
             memory = Quantity::from_json(tune["memoryPerCpu"]);
  if (!most || !least || !memory) return out;
  const std::int64_t floor = std::max<std::int64_t>(1, least->milli_value());
  for (std::int64_t cores = most->milli_value(); cores >= floor && out.size() < kMost; cores /= 2)
    out.push_back({halved_resources(cores, *memory, tune)});
  return out;
}

}  // namespace berth::controllers
