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
#define BERTH_OWN_CONTROLLER BERTH_CONTROLLER
#define BERTH_OWN_CONTROLLER_WITH_OPTIONS BERTH_CONTROLLER_WITH_OPTIONS
#define BERTH_STAND_IN BERTH_CONTROLLER
#include "controllers/controllers.def"
#undef BERTH_CONTROLLER
#undef BERTH_CONTROLLER_WITH_OPTIONS
#undef BERTH_OWN_CONTROLLER
#undef BERTH_OWN_CONTROLLER_WITH_OPTIONS
#undef BERTH_STAND_IN

namespace {
using Whose = Registration::Whose;
#define BERTH_ROW(name, factory, whose) \
  {name, [](const ControllerOptions&) { return factory(); }, whose},
#define BERTH_CONTROLLER(name, factory) BERTH_ROW(name, factory, Whose::kKubernetes)
#define BERTH_CONTROLLER_WITH_OPTIONS(name, factory) {name, &factory, Whose::kKubernetes},
#define BERTH_OWN_CONTROLLER(name, factory) BERTH_ROW(name, factory, Whose::kBerth)
#define BERTH_OWN_CONTROLLER_WITH_OPTIONS(name, factory) {name, &factory, Whose::kBerth},
#define BERTH_STAND_IN(name, factory) BERTH_ROW(name, factory, Whose::kLab)
constexpr Registration kAll[] = {
#include "controllers/controllers.def"
};
#undef BERTH_CONTROLLER
#undef BERTH_CONTROLLER_WITH_OPTIONS
#undef BERTH_OWN_CONTROLLER
#undef BERTH_OWN_CONTROLLER_WITH_OPTIONS
#undef BERTH_STAND_IN
#undef BERTH_ROW
}  // namespace

std::span<const Registration> all_controllers() { return kAll; }

std::vector<std::string> names_of(Registration::Whose whose) {
  std::vector<std::string> names;
  for (const Registration& one : kAll)
    if (one.whose == whose) names.emplace_back(one.name);
  return names;
}

std::vector<std::string> names_for_some_namespaces() {
  std::vector<std::string> names = names_of(Registration::Whose::kBerth);
  std::erase_if(names, [](const std::string& name) {
    return name.starts_with("scavenger-") || name.starts_with("gromacs-");
  });
  return names;
}

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
