// SPDX-License-Identifier: Apache-2.0
// Which plugin plays which part when decisions about a shape are cached, and whether they can be.
#pragma once

#include <cstdint>
#include <optional>
#include <string_view>
#include <vector>

#include "scheduler/framework/profile.h"

namespace berth::scheduler {

// A value; valid while the profile and the shape are.
struct CachePlan {
  struct Scorer {
    Score* plugin;
    std::int64_t weight;
    ByDomain* by_domain = nullptr;  // for scores of domains
    std::size_t own = 0;            // its place among own parts
  };
  struct Judge {
    ByDomain* by_domain;
    std::size_t own;
  };
  std::vector<Filter*> object_filters;  // answers that depend on the node object alone
  std::vector<Filter*> row_filters;     // and on what runs on the node
  std::vector<Judge> judges;            // and on its domains
  std::vector<Scorer> local;            // no normalisation: added up once a row
  std::vector<Scorer> normalised;       // by row; the raw value is part of the group's key
  std::vector<Scorer> by_domain;
  std::vector<ByDomain*> owners;  // of own parts, each once
  std::vector<TopologyKeyId> keys;
  // Changes after which a row may belong to another group, or the node object be refused. Others
  // leave row filters and local scores to look at.
  RowChanges regrouping = row_change::kObject;
  PluginSet skipped, skipped_score;  // as they were when the plan was made
};

// The cycle has been prepared (PreFilter); PreScore of what looks at rows is run here. Cannot be
// cached: nullopt and `why`.
std::optional<CachePlan> plan_cache(const Profile&, Cycle&, std::string_view& why);

// PreScore of the plugins whose answers depend on the row alone, as every decision needs it.
Status prepare_row_scores(const Profile&, Cycle&, const Rows&);

}  // namespace berth::scheduler
