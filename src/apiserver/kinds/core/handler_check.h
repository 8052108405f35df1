// SPDX-License-Identifier: Apache-2.0
// Probes and lifecycle hooks.
#pragma once

#include "apiserver/edit/peek.h"
#include "apiserver/kinds/findings.h"

namespace berth::apiserver {

enum class ProbeKind { kLiveness, kReadiness, kStartup };
void check_probe(Peek probe, ProbeKind, Peek grace_seconds, const Path&, Findings&);
void check_lifecycle(Peek lifecycle, Peek grace_seconds, const Path&, Findings&);

}  // namespace berth::apiserver
