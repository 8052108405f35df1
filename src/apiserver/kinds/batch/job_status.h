// SPDX-License-Identifier: Apache-2.0
// What a Job's status may say and how it may change. Others than the Job controller may write it
// (spec.managedBy), so it is looked at closely; only what changed is, so that a status that was
// wrong already does not stop the next one.
#pragma once

#include "apiserver/edit/edit.h"
#include "apiserver/kinds/findings.h"

namespace berth::apiserver {

void check_job_status(Edit&, Findings&);

}  // namespace berth::apiserver
