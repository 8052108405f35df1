// SPDX-License-Identifier: Apache-2.0
// Every pod that is no scavenger's lies at 0 or above, so that scavengers lie below all of them.
#pragma once

#include <string>

#include "policy/admission/review.h"

namespace berth::admission {

// Both may change from one review to the next.
struct Ordinary {
  // Ordinary pods do not preempt by themselves, because the operator makes room for them: the
  // policy says so, and the operator is there to do it. A pod's class can never change again.
  bool polite = false;
  // The class of pods that name none; "": there is none.
  std::string default_class = {};
};

// Classes that are given to objects by Berth and cannot be chosen. Who uses them is another
// question: see reserved.h.
bool is_scavenger_class(std::string_view name);
bool is_reserved_class(std::string_view name);

// The patch by which a pod with this spec gets another class, or none (""). k8s 1.36: the server's
// own step has written `priority` and `preemptionPolicy` of the class before a webhook is asked,
// and refuses the pod if they differ from the class afterwards; so they go together with it.
std::string class_patch(json::Slice spec, std::string_view name);

// Of a pod that is created; anything else is let through.
Verdict ordinary_priority(const Review&, const Ordinary&);

}  // namespace berth::admission
