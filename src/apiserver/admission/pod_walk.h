// SPDX-License-Identifier: Apache-2.0
// What several steps need to know about a pod that is being written.
#pragma once

#include <string>

#include "apiserver/edit/peek.h"
#include "base/random.h"

namespace berth::apiserver {

// Does anything in this pod spec name a Secret: pull secrets, environment, volumes of any sort?
bool names_secrets(Peek spec);

// Five characters that Kubernetes appends to make a name of its own.
std::string name_suffix(Random&);

// Each container of a spec: f(container, "initContainers", 0).
template <class F>
void each_container(Peek spec, F&& f) {
  for (const std::string_view list : {"initContainers", "containers", "ephemeralContainers"})
    for (std::size_t i = 0; i < spec[list].size(); ++i) f(spec[list][i], list, i);
}

}  // namespace berth::apiserver
