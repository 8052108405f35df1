// SPDX-License-Identifier: Apache-2.0
// A user's own Job or pod template inside a ScavengerJob: what in it would reach past the
// namespace, or past the queue and the choice of victims.
#pragma once

#include <string>
#include <string_view>

#include "json/slice.h"
#include "policy/admission/findings.h"

namespace berth::admission {

void check_job(json::Slice job_spec, const At&, Findings&);
void check_pod_template(json::Slice pod_template, const At&, Findings&);

// Where something is mounted, and what part of it.
void check_mount(json::Slice mount, const At&, Findings&);
// The same place, however it is written: "/a/" and "/a//b/.." are "/a".
std::string plain_path(std::string_view path);

}  // namespace berth::admission
