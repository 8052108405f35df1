// SPDX-License-Identifier: Apache-2.0
#include "policy/admission/amounts.h"

#include "kube/names.h"

namespace berth::admission {
namespace {

// k8s 1.36: what is neither native nor in the domain kubernetes.io cannot be shared out.
bool is_extended(std::string_view name) {
  return name.find('/') != std::string_view::npos &&
         name.find("kubernetes.io/") == std::string_view::npos;
}

// k8s 1.36: what containers may ask for.
std::string wrong_name(std::string_view name) {
  if (const auto bad = kube::check_qualified_name(name); !bad.empty()) return bad.front();
  const bool known = name == "cpu" || name == "memory" || name == "ephemeral-storage" ||
                     name.starts_with("hugepages-") || name.find('/') != std::string_view::npos;
  return known ? std::string()
               : "write cpu, memory, ephemeral-storage, hugepages-SIZE, or a name with its domain, "
                 "like nvidia.com/gpu";
}

}  // namespace

const kube::Quantity* Amounts::request_of(std::string_view resource) const {
  if (const auto found = requests.find(resource); found != requests.end()) return &found->second;
  const auto found = limits.find(resource);
  return found == limits.end() ? nullptr : &found->second;
}

AmountList read_amounts(json::Slice list, const At& at, Findings& findings) {
  AmountList out;
  for (auto member = list.members().begin(); member != nullptr; ++member) {
    const std::string name((*member).key);
    const json::Slice given = (*member).value;
    const std::string text = given.is_string() ? given.text() : std::string(given.raw());
    if (const std::string bad = wrong_name(name); !bad.empty()) {
      findings.wrong(at[name], name, "not the name of a resource: " + bad);
      continue;
    }
    const auto amount = kube::Quantity::from_json(given);
    if (!amount) {
      findings.wrong(at[name], text, "not an amount; write one like 500m, 2 or 4Gi");
      continue;
    }
    if (amount->sign() < 0) {
      findings.wrong(at[name], text, "must not be negative");
      continue;
    }
    if (is_extended(name) && *amount != kube::Quantity::of(amount->value(), amount->format())) {
      findings.wrong(at[name], text,
                     fmt::format("must be a whole number: {} cannot be divided", name));
      continue;
    }
    out.emplace(name, *amount);
  }
  return out;
}

Amounts check_resources(json::Slice resources, const At& at, Findings& findings) {
  Amounts out{read_amounts(resources["requests"], at / "requests", findings),
              read_amounts(resources["limits"], at / "limits", findings)};
  for (const auto& [name, request] : out.requests) {
    const auto limit = out.limits.find(name);
    if (limit == out.limits.end()) continue;
    const At place = (at / "requests")[name];
    if (request > limit->second)
      findings.wrong(place, request.text(),
                     fmt::format("must not be more than the limit {}; raise the limit or lower the "
                                 "request",
                                 limit->second.text()));
    else if (is_extended(name) && request != limit->second)
      findings.wrong(place, request.text(),
                     fmt::format("must be the limit, {}: {} cannot be shared out",
                                 limit->second.text(), name));
  }
  return out;
}

}  // namespace berth::admission
