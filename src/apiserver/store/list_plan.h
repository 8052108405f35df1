// SPDX-License-Identifier: Apache-2.0
// What resourceVersion, resourceVersionMatch, limit and continue of a list request mean together.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "kube/api.h"

namespace berth::apiserver {

struct ListPlan {
  kube::Revision exactly = 0;   // 0: the newest
  kube::Revision at_least = 0;  // wait until this is published
  std::size_t limit = 0;        // 0: all
  std::string start = {};       // the continue key; "": from the beginning
  bool continued = false;
};

// BadRequest and Invalid with the real server's words.
Result<ListPlan> plan_list(const kube::Options&);
// "" is nothing, "0" is 0. BadRequest otherwise.
Result<kube::Revision> parse_revision(std::string_view);
// 422 for options of a list or watch that do not go together.
Error invalid_list_options(std::vector<Cause>);

// For a revision that was asked for and did not come: 504, to be asked again in a second.
Error too_large_revision(kube::Revision asked, kube::Revision current);

}  // namespace berth::apiserver
