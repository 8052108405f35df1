// SPDX-License-Identifier: Apache-2.0
// Who owns what: adopting objects that an owner's selector chooses and nobody controls, and letting
// go of those it no longer chooses.
#pragma once

#include <functional>
#include <string_view>
#include <vector>

#include "kube/label_selector.h"
#include "runtime/controller.h"

namespace berth::controllers {

// The index "orphans": objects that nobody controls, by namespace.
inline constexpr std::string_view kOrphans = "orphans";
std::vector<std::string> orphan_namespace(const kube::Object&);

// For a Spec: the index by controller and the one of orphans.
runtime::Spec& index_owned(runtime::Spec&, kube::KindId);
// What an owner chooses by its spec, whichever form its kind has for that.
Result<kube::LabelSelector> selector_of(const kube::Object& owner);
// Wakes the controlling owner; an orphan wakes every object of the kind whose selector chooses it.
runtime::Mapping owner_or_selector(kube::KindId owners);

// Goes on with the selector of an object's spec; one that cannot be read ends the run.
runtime::Plan with_selector(const kube::Object&,
                            const std::function<runtime::Plan(kube::LabelSelector)>& go_on);

struct Claimed {
  std::vector<const kube::Object*> objects;  // controlled and chosen, in key order
  // The plan has adoptions or releases in it, or a question that must be answered first: whatever
  // else is to be done waits for the next run.
  bool unsettled = false;
};
// `wanted` leaves candidates out of adoption and release; those controlled already are judged by it
// too. k8s 1.36: before the first adoption the owner is read past the caches, so that one which is
// being deleted does not take back what the garbage collector has just set free.
// Where a finalizer is named, what is adopted gets it and what is let go loses it.
Claimed claim(const runtime::View&, runtime::Plan&, const kube::Object& owner,
              const kube::LabelSelector&, kube::KindId of,
              bool (*wanted)(const kube::Object&) = nullptr, std::string_view finalizer = {});
// The same where more than labels decides what an owner chooses.
using Chooses = std::function<bool(const kube::Object&)>;
Claimed claim(const runtime::View&, runtime::Plan&, const kube::Object& owner, const Chooses&,
              kube::KindId of, bool (*wanted)(const kube::Object&) = nullptr,
              std::string_view finalizer = {});

}  // namespace berth::controllers
