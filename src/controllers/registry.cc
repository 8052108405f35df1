// SPDX-License-Identifier: Apache-2.0
#include "controllers/registry.h"

#include <algorithm>
#include <string>

#include <fmt/format.h>

#include "base/nearest.h"

namespace berth::controllers {

#define BERTH_CONTROLLER(name, factory) std::unique_ptr<runtime::Controller> factory();
#define BERTH_CONTROLLER_WITH_OPTIONS(name, factory) \
  std::unique_ptr<runtime::Controller> factory(const ControllerOptions&);
#include "controllers/controllers.def"
#undef BERTH_CONTROLLER
#undef BERTH_CONTROLLER_WITH_OPTIONS

namespace {
#define BERTH_CONTROLLER(name, factory) {name, [](const ControllerOptions&) { return factory(); }},
#define BERTH_CONTROLLER_WITH_OPTIONS(name, factory) {name, &factory},
constexpr Registration kAll[] = {
#include "controllers/controllers.def"
};
#undef BERTH_CONTROLLER
#undef BERTH_CONTROLLER_WITH_OPTIONS
}  // namespace

std::span<const Registration> all_controllers() { return kAll; }

Result<std::vector<std::unique_ptr<runtime::Controller>>> make_controllers(
    const std::vector<std::string>& wanted, const ControllerOptions& options) {
  const auto asks = [&](std::string_view name) {
    return std::find(wanted.begin(), wanted.end(), name) != wanted.end();
  };
  for (const std::string& name : wanted) {
    const std::string_view bare = std::string_view(name).substr(name.starts_with('-') ? 1 : 0);
    const bool known =
        bare == "*" || std::any_of(std::begin(kAll), std::end(kAll),
                                   [&](const auto& one) { return one.name == bare; });
    if (known) continue;
    std::vector<std::string_view> names;
    for (const Registration& one : kAll) names.push_back(one.name);
    const std::string_view near = nearest(bare, names);
    return invalid(near.empty()
                       ? fmt::format("there is no controller \"{}\"", bare)
                       : fmt::format("there is no controller \"{}\": maybe \"{}\"?", bare, near));
  }
  std::vector<std::unique_ptr<runtime::Controller>> made;
  for (const Registration& one : kAll)
    if (!asks(fmt::format("-{}", one.name)) && (asks("*") || asks(one.name)))
      made.push_back(one.make(options));
  return made;
}

}  // namespace berth::controllers
