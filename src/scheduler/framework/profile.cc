// SPDX-License-Identifier: Apache-2.0
#include "scheduler/framework/profile.h"

#include <algorithm>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "base/check.h"
#include "scheduler/framework/plugin_probe.h"

namespace berth::scheduler {
namespace {

template <class Role>
Role& role_of(Plugin& plugin) {
  Role* const role = dynamic_cast<Role*>(&plugin);
  BERTH_CHECK(role != nullptr, plugin.name());
  return *role;
}

// Names as Go prints a sorted list of them: "[A B]".
std::string sorted_names(const Profile& profile, PluginSet plugins) {
  std::vector<std::string_view> names;
  plugins.for_each([&](PluginId id) { names.push_back(profile.plugin_name(id)); });
  std::sort(names.begin(), names.end());
  return fmt::format("[{}]", fmt::join(names, " "));
}

}  // namespace

Profile::Profile(ProfileSpec spec, Registry registry, ReasonTable& reasons, Services* services)
    : spec_(std::move(spec)), registry_(registry), reasons_(reasons) {
  std::map<PluginId, Plugin*> made;
  const auto instance = [&](PluginId id) -> Plugin& {
    Plugin*& plugin = made[id];
    if (plugin == nullptr) {
      const std::size_t row = static_cast<std::size_t>(id);
      BERTH_CHECK(row < registry_.size(), "a profile names a plugin that is not in the registry");
      const auto args = spec_.args.find(id);
      PluginContext context{.id = id,
                            .name = registry_[row].info.name,
                            .slot = plugins_.size(),
                            .args = args == spec_.args.end() ? PluginArgs{} : args->second,
                            .reasons = reasons_,
                            .services = services,
                            .profile = this};
      plugins_.push_back(registry_[row].make(context));
      plugin = plugins_.back().get();
    }
    return *plugin;
  };
  const auto fill = [&]<class Role>(Point point, std::vector<Role*>& list) {
    for (const ProfileSpec::Entry& entry : spec_.at(point))
      list.push_back(&role_of<Role>(instance(entry.plugin)));
  };
  fill(Point::kPreEnqueue, pre_enqueue_);
  std::vector<QueueSort*> sorts;
  fill(Point::kQueueSort, sorts);
  BERTH_CHECK(sorts.size() <= 1, "two ways to sort one queue");
  if (!sorts.empty()) queue_sort_ = sorts.front();
  fill(Point::kPreFilter, pre_filters_);
  fill(Point::kFilter, filters_);
  fill(Point::kPostFilter, post_filters_);
  fill(Point::kPreScore, pre_scorers_);
  for (const ProfileSpec::Entry& entry : spec_.at(Point::kScore)) {
    Score& plugin = role_of<Score>(instance(entry.plugin));
    const bool pre_score =
        std::find(pre_scorers_.begin(), pre_scorers_.end(), &plugin) != pre_scorers_.end();
    scorers_.push_back({&plugin, entry.weight, pre_score});
  }
  fill(Point::kReserve, reserve_);
  fill(Point::kPermit, permit_);
  fill(Point::kPreBind, pre_bind_);
  fill(Point::kBind, bind_);
  fill(Point::kPostBind, post_bind_);
  for (Filter* plugin : pre_filters_)
    if (plugin->sees_moves()) movers_.push_back(plugin);
}

std::string_view Profile::plugin_name(PluginId id) const {
  const std::size_t row = static_cast<std::size_t>(id);
  return row < registry_.size() ? registry_[row].info.name : std::string_view();
}

Profile::Prepared Profile::prepare(Cycle& cycle) const {
  Prepared prepared;
  PluginSet naming;  // plugins that named nodes
  for (const Filter* plugin : pre_filters_) {
    const Instant since = cycle.probe != nullptr ? cycle.probe->now() : Instant{};
    PreFilterResult result = plugin->prepare(cycle);
    Status& status = result.status;
    if (cycle.probe != nullptr)
      cycle.probe->ran(plugin->id(), Point::kPreFilter, status.code, since);
    if (status.skipped()) {
      cycle.skipped.insert(plugin->id());
      continue;
    }
    if (!status.ok()) {
      status.plugin = plugin->id();
      if (status.code == Code::kUnschedulable) {
        // k8s 1.36: preemption may help, and it needs what the others prepare; the last one stands.
        prepared.status = std::move(status);
        continue;
      }
      if (status.code != Code::kUnresolvable)
        status = {
            Code::kError,
            {fmt::format("running PreFilter plugin \"{}\": {}", plugin->name(), status.message())},
            plugin->id()};
      Prepared refused{.status = std::move(status)};
      if (refused.status.rejected()) refused.rejectors.insert(plugin->id());
      return refused;
    }
    if (!result.nodes) continue;
    naming.insert(plugin->id());
    std::sort(result.nodes->begin(), result.nodes->end());
    result.nodes->erase(std::unique(result.nodes->begin(), result.nodes->end()),
                        result.nodes->end());
    if (prepared.named) {
      std::vector<std::string> both;
      std::set_intersection(prepared.named->begin(), prepared.named->end(), result.nodes->begin(),
                            result.nodes->end(), std::back_inserter(both));
      prepared.named = std::move(both);
    } else {
      prepared.named = std::move(result.nodes);
    }
    if (prepared.named->empty()) {
      prepared.status = Status::unresolvable(
          naming.size() == 1 ? fmt::format("node(s) didn't satisfy plugin {}", plugin->name())
                             : fmt::format("node(s) didn't satisfy plugin(s) {} simultaneously",
                                           sorted_names(*this, naming)));
      prepared.rejectors = naming;
      return prepared;
    }
  }
  prepared.rejectors = naming;
  prepared.rejectors.insert(prepared.status.plugin);
  if (prepared.named)
    prepared.absent = Status::unresolvable(
        fmt::format("node(s) didn't satisfy plugin(s) {}", sorted_names(*this, naming)));
  return prepared;
}

Status Profile::filter(const Cycle& cycle, const Rows& rows, RowSet& keep, Rejections* why) const {
  for (const Filter* plugin : filters_) {
    if (cycle.skipped.has(plugin->id())) continue;
    if (keep.empty()) break;
    const Instant since = cycle.probe != nullptr ? cycle.probe->now() : Instant{};
    Status status = plugin->filter(cycle, rows, keep, why);
    if (cycle.probe != nullptr)
      cycle.probe->ran(plugin->id(), Point::kFilter,
                       status.ok() && keep.empty() ? Code::kUnschedulable : status.code, since);
    if (!status.ok())
      return {Code::kError,
              {fmt::format("running \"{}\" filter plugin: {}", plugin->name(), status.message())},
              plugin->id()};
  }
  return {};
}

std::unique_ptr<WhatIf> Profile::what_if(const Cycle& cycle) const {
  WhatIf::Moved moved = [this, &cycle](WhatIf& what_if, std::uint32_t row, const Pod& pod,
                                       int sign) {
    // k8s 1.36: a plugin that PreFilter skipped does not see the move, and so does not see pods
    // that are only nominated.
    for (const Filter* plugin : movers_)
      if (!cycle.skipped.has(plugin->id()))
        plugin->moved(cycle, what_if.rows(), row, pod, sign, what_if.deltas(row, plugin->slot()));
  };
  return std::make_unique<WhatIf>(cycle.cluster, std::move(moved));
}

Status Profile::filter_with_nominated(const Cycle& cycle, WhatIf& what_if, std::uint32_t row,
                                      const NominatedPods& nominated) const {
  const auto verdict = [&] {
    RowSet keep(1, true);
    Rejections why(reasons_, 1);
    const Status status = filter(cycle, what_if.row(row), keep, &why);
    return !status.ok() || keep.has(0) ? status : why.status(0);
  };
  if (!nominated.empty()) {
    const NodeId node = *what_if.row(row).node;
    const std::vector<PodPtr> pods =
        nominated_before(cycle.pod, cycle.cluster.node(node).name, nominated);
    if (!pods.empty()) {
      for (const PodPtr& pod : pods) what_if.add(row, pod);
      Status status = verdict();
      for (auto pod = pods.rbegin(); pod != pods.rend(); ++pod) what_if.remove(row, *pod);
      if (!status.ok()) return status;
    }
  }
  return verdict();
}

}  // namespace berth::scheduler
