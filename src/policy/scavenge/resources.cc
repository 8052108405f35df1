// SPDX-License-Identifier: Apache-2.0
#include "policy/scavenge/resources.h"

#include <algorithm>
#include <array>
#include <cmath>

#include <fmt/format.h>

namespace berth::scavenge {

bool is_gpu(std::string_view resource) {
  const std::size_t slash = resource.find('/');
  if (slash == resource.npos) return false;
  const std::string_view name = resource.substr(slash + 1);
  if (resource.starts_with("gpu.")) return name == "i915" || name == "xe";
  return name == "gpu" || name.starts_with("gpu.") || name.starts_with("mig-");
}

bool is_extended(std::string_view resource) { return resource.find('/') != resource.npos; }

std::int64_t amount_of(std::string_view resource, const kube::Quantity& quantity) {
  return std::max<std::int64_t>(0, resource == "cpu" ? quantity.milli_value() : quantity.value());
}

kube::Quantity quantity_of(std::string_view resource, std::int64_t amount) {
  if (resource == "cpu") return kube::Quantity::of(amount, kube::Quantity::Format::kDecimalSI, -3);
  return kube::Quantity::of(amount, is_extended(resource) ? kube::Quantity::Format::kDecimalSI
                                                          : kube::Quantity::Format::kBinarySI);
}

std::string amount_text(std::string_view resource, std::int64_t amount) {
  if (is_extended(resource)) return fmt::format("{}", amount);
  const auto hundredths = [](double value) { return std::round(value * 100) / 100; };
  if (resource == "cpu") return fmt::format("{}", hundredths(static_cast<double>(amount) / 1000));
  constexpr std::array<std::string_view, 6> kUnits = {"", "Ki", "Mi", "Gi", "Ti", "Pi"};
  auto value = static_cast<double>(amount);
  std::size_t unit = 0;
  for (; value >= 1024 && unit + 1 < kUnits.size(); ++unit) value /= 1024;
  return fmt::format("{}{}", hundredths(value), kUnits[unit]);
}

}  // namespace berth::scavenge
