// SPDX-License-Identifier: Apache-2.0
#include "apiserver/kinds/core/qos.h"

#include <map>

#include "apiserver/kinds/rules.h"

namespace berth::apiserver {
namespace {

using Amounts = std::map<std::string_view, kube::Quantity>;

// Adds what is asked for of cpu and memory; true when both are.
bool add(Amounts& to, Peek list) {
  int found = 0;
  for (const std::string_view name : {"cpu", "memory"}) {
    const Peek amount = list[name];
    if (!amount || quantity(amount).sign() <= 0) continue;
    to[name] += quantity(amount);
    ++found;
  }
  return found == 2;
}

}  // namespace

std::string_view qos_class(Peek spec) {
  Amounts requests, limits;
  bool guaranteed = true;
  if (const Peek whole = spec["resources"]) {
    add(requests, whole["requests"]);
    if (whole["limits"].size() > 0) guaranteed = add(limits, whole["limits"]);
  } else {
    for (const std::string_view list : {"containers", "initContainers"})
      for (const json::Value& container : spec[list].elements()) {
        const Peek resources = Peek(container)["resources"];
        add(requests, resources["requests"]);
        guaranteed &= add(limits, resources["limits"]);
      }
  }
  if (requests.empty() && limits.empty()) return "BestEffort";
  if (!guaranteed || requests.size() != limits.size()) return "Burstable";
  for (const auto& [name, amount] : requests)
    if (const auto limit = limits.find(name); limit == limits.end() || limit->second != amount)
      return "Burstable";
  return "Guaranteed";
}

}  // namespace berth::apiserver
