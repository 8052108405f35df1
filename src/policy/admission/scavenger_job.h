// SPDX-License-Identifier: Apache-2.0
// What of a ScavengerJob its schema cannot tell, with the field's path and what to do: amounts that
// can be read, requests within limits, names, places of mounts, and in spec.job nothing that
// reaches past the namespace or the queue. A job that is accepted cannot be taken back.
#pragma once

#include "base/time.h"
#include "policy/admission/review.h"

namespace berth::admission {

// Of the cluster's ScavengerPolicy; they only make warnings, for it may change.
struct JobRules {
  Duration default_duration = 30min;
  Duration window_min = 15min, window_max = 4h;
  Duration max_notice = 0s;
  Duration min_run_max = 1h, grace_max = 5min;
};

// Of a ScavengerJob of either group that is created or whose spec changes and that is not being
// deleted; anything else is let through. A dry run is judged the same.
Verdict scavenger_job(const Review&, const JobRules&);

}  // namespace berth::admission
