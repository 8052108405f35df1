// SPDX-License-Identifier: Apache-2.0
// The sizes that a GromacsToTune may have, best first: as they are listed, or halved from the
// largest to the smallest.
#pragma once

#include <string>
#include <vector>

#include "json/slice.h"

namespace berth::controllers {

struct Configuration {
  std::string resources;  // JSON: {"requests": {…}, "limits": {…}}
  int replicas = 1;
  std::string ns_per_day = {};  // JSON; "": not known
};
std::vector<Configuration> configurations_of(json::Slice spec);

}  // namespace berth::controllers
