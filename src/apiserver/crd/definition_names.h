// SPDX-License-Identifier: Apache-2.0
// Which of the names that a CRD asks for it gets: names are unique within a group, and who has one
// keeps it.
#pragma once

#include <map>
#include <set>
#include <string>

#include "apiserver/edit/peek.h"
#include "base/time.h"
#include "json/value.h"

namespace berth::apiserver {

// The names in use in one group.
struct NamesInUse {
  std::set<std::string, std::less<>> resources, kinds;
  void add(Peek accepted_names);
};

// Writes acceptedNames and the conditions NamesAccepted and Established as they ought to be. What
// is right already stays as it is.
void settle_names(Peek spec, json::Value& status, const NamesInUse&, WallTime now);

}  // namespace berth::apiserver
