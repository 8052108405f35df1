// SPDX-License-Identifier: Apache-2.0
// What only Berth gives to objects: its priority classes, and annotations in which it says
// something of them. Whoever could take these would run scavengers past the queue, past quotas that
// leave scavengers out, or above everybody's pods.
#pragma once

#include <functional>
#include <span>
#include <string_view>

#include "policy/admission/accounts.h"
#include "policy/admission/review.h"

namespace berth::admission {

// An annotation that only Berth writes, and what a user should know who tried.
struct ReservedAnnotation {
  std::string_view key;
  std::string_view why;
};
std::span<const ReservedAnnotation> reserved_annotations();

struct Reserved {
  Accounts accounts = {};
  // Is that the grant of a run in that namespace? Null: not known, and executors are believed.
  std::function<bool(std::string_view ns, std::string_view grant)> granted = nullptr;
  bool slot_resource = false;  // executors are to request berth.dev/slot
};

// Of pods, Jobs, MPIJobs and ScavengerJobs that are created or updated; anything else is let
// through. What an object had before may stay, whoever updates it.
Verdict reserved_to_us(const Review&, const Reserved&);

}  // namespace berth::admission
