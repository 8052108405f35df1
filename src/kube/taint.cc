// SPDX-License-Identifier: Apache-2.0
#include "kube/taint.h"

#include <algorithm>

#include "kube/label_selector.h"

namespace berth::kube {
namespace {

// A whole number without plus sign, leading zeros or "-0".
std::optional<std::int64_t> plain_integer(const std::string& text) {
  const std::string_view digits = std::string_view(text).substr(text.starts_with('-') ? 1 : 0);
  if (digits.empty() || digits[0] < '0' || digits[0] > '9') return std::nullopt;
  if (digits[0] == '0' && text != "0") return std::nullopt;
  return parse_decimal(text);
}

}  // namespace

std::vector<Taint> taints_of(json::Slice list) {
  std::vector<Taint> out;
  for (const json::Slice taint : list.elements())
    out.push_back({taint["key"].text(), taint["value"].text(), taint["effect"].text()});
  return out;
}

std::vector<Toleration> tolerations_of(json::Slice list) {
  std::vector<Toleration> out;
  for (const json::Slice t : list.elements())
    out.push_back({t["key"].text(), t["operator"].text(), t["value"].text(), t["effect"].text(),
                   t["tolerationSeconds"].integer()});
  return out;
}

bool tolerates(const Toleration& toleration, const Taint& taint, bool comparisons) {
  if (!toleration.effect.empty() && toleration.effect != taint.effect) return false;
  if (!toleration.key.empty() && toleration.key != taint.key) return false;
  if (toleration.op.empty() || toleration.op == "Equal") return toleration.value == taint.value;
  if (toleration.op == "Exists") return true;
  if (!comparisons || (toleration.op != "Lt" && toleration.op != "Gt")) return false;
  const auto than = plain_integer(toleration.value), have = plain_integer(taint.value);
  if (!than || !have) return false;
  return toleration.op == "Lt" ? *have < *than : *have > *than;
}

bool tolerates(std::span<const Toleration> tolerations, const Taint& taint, bool comparisons) {
  return std::any_of(tolerations.begin(), tolerations.end(),
                     [&](const Toleration& t) { return tolerates(t, taint, comparisons); });
}

}  // namespace berth::kube
