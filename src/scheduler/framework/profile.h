// SPDX-License-Identifier: Apache-2.0
// The plugins of one profile, made and in order, and how a block of rows goes through them.
#pragma once

#include <array>
#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "scheduler/cache/cluster_state.h"
#include "scheduler/cache/what_if.h"
#include "scheduler/framework/diagnosis.h"
#include "scheduler/framework/nominated_pods.h"
#include "scheduler/framework/plugin.h"
#include "scheduler/framework/registry.h"

namespace berth::scheduler {

// What to make; config/ writes it.
struct ProfileSpec {
  struct Entry {
    PluginId plugin;
    std::int32_t weight = 1;  // of scores
    friend bool operator==(const Entry&, const Entry&) = default;
  };
  std::string scheduler_name = "default-scheduler";
  std::optional<std::int32_t> percentage_of_nodes_to_score;  // absent: the global one
  std::array<std::vector<Entry>, kPoints> points;            // by Point, in order
  std::map<PluginId, PluginArgs> args;

  const std::vector<Entry>& at(Point point) const {
    return points[static_cast<std::size_t>(point)];
  }
};

// Loop-confined.
class Profile {
 public:
  struct Scorer {
    Score* plugin;
    std::int64_t weight;
    bool pre_score;  // takes part in PreScore
  };
  Profile(ProfileSpec spec, Registry registry, ReasonTable& reasons, Services* services);

  const ProfileSpec& spec() const { return spec_; }
  const std::string& name() const { return spec_.scheduler_name; }
  std::size_t slots() const { return plugins_.size(); }
  std::string_view plugin_name(PluginId) const;
  const std::vector<std::unique_ptr<Plugin>>& plugins() const { return plugins_; }  // by slot
  const std::vector<PreEnqueue*>& pre_enqueue() const { return pre_enqueue_; }
  QueueSort& queue_sort() const { return *queue_sort_; }
  const std::vector<Filter*>& pre_filters() const { return pre_filters_; }
  const std::vector<Filter*>& filters() const { return filters_; }
  const std::vector<PostFilter*>& post_filters() const { return post_filters_; }
  const std::vector<Scorer>& scorers() const { return scorers_; }  // in order of Score
  const std::vector<Score*>& pre_scorers() const { return pre_scorers_; }
  const std::vector<Reserve*>& reserve() const { return reserve_; }
  const std::vector<Permit*>& permit() const { return permit_; }
  const std::vector<PreBind*>& pre_bind() const { return pre_bind_; }
  const std::vector<Bind*>& bind() const { return bind_; }
  const std::vector<PostBind*>& post_bind() const { return post_bind_; }

  // PreFilter of every plugin, in order (spec 3.2). `named`: only these nodes are looked at.
  struct Prepared {
    Status status = {};  // rejected or an error: the attempt ends here
    PluginSet rejectors = {};
    std::optional<std::vector<std::string>> named = std::nullopt;
    Status absent = {};  // of nodes that are not named
  };
  Prepared prepare(Cycle&) const;
  // Every filter that was not skipped, in order; each sees only what is left.
  Status filter(const Cycle&, const Rows&, RowSet& keep, Rejections* why) const;
  // A WhatIf whose moves reach the plugins that want them.
  std::unique_ptr<WhatIf> what_if(const Cycle&) const;
  // One scratch row, two passes (spec 3.4): with the nominated pods of priority >= the pod's and
  // another uid added, then without. The row is as before afterwards. The verdict is the deciding
  // pass's.
  Status filter_with_nominated(const Cycle&, WhatIf&, std::uint32_t row,
                               const NominatedPods&) const;

 private:
  ProfileSpec spec_;
  Registry registry_;
  ReasonTable& reasons_;
  std::vector<std::unique_ptr<Plugin>> plugins_;
  std::vector<PreEnqueue*> pre_enqueue_;
  QueueSort* queue_sort_ = nullptr;
  std::vector<Filter*> pre_filters_, filters_, movers_;
  std::vector<PostFilter*> post_filters_;
  std::vector<Scorer> scorers_;
  std::vector<Score*> pre_scorers_;
  std::vector<Reserve*> reserve_;
  std::vector<Permit*> permit_;
  std::vector<PreBind*> pre_bind_;
  std::vector<Bind*> bind_;
  std::vector<PostBind*> post_bind_;
};

}  // namespace berth::scheduler
