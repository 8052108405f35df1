// SPDX-License-Identifier: Apache-2.0
#include "kube/resource_list.h"

#include <fmt/format.h>

namespace berth::kube {

Result<ResourceList> parse_resource_list(json::Slice list, std::string_view path) {
  ResourceList out;
  if (list && !list.is_null() && !list.is_object())
    return invalid(fmt::format("{}: must be a map of resource names to quantities", path));
  for (const auto& [name, value] : list.members()) {
    Result<Quantity> quantity = Quantity::from_json(value);
    if (!quantity) {
      const bool dotted = name.find('.') != std::string_view::npos;
      const std::string field =
          dotted ? fmt::format("{}[{}]", path, name) : fmt::format("{}.{}", path, name);
      return tl::unexpected(
          Error{.reason = Reason::kInvalid,
                .message = fmt::format("{}: {}", field, quantity.error().message),
                .causes = {{"FieldValueInvalid", quantity.error().message, field}}});
    }
    out.insert_or_assign(std::string(name), *std::move(quantity));
  }
  return out;
}

void add(ResourceList& to, const ResourceList& more) {
  for (const auto& [name, amount] : more) {
    const auto [at, fresh] = to.try_emplace(name, amount);
    if (!fresh) at->second += amount;
  }
}

void subtract(ResourceList& from, const ResourceList& less) {
  for (const auto& [name, amount] : less) from[name] -= amount;
}

void raise_to(ResourceList& list, const ResourceList& other) {
  for (const auto& [name, amount] : other) {
    const auto [at, fresh] = list.try_emplace(name, amount);
    if (!fresh && amount > at->second) at->second = amount;
  }
}

}  // namespace berth::kube
