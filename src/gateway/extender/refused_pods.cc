// SPDX-License-Identifier: Apache-2.0
#include "gateway/extender/refused_pods.h"

#include <fmt/format.h>

#include "kube/time.h"
#include "policy/slots/facts.h"

namespace berth::gateway {
namespace {

// k8s 1.36: a pod that extenders refused is tried again on any change of it, an annotation's too.
constexpr std::string_view kWokenAnnotation = "berth.dev/slot-free";
constexpr Duration kCallLimit = 10s, kRetry = 1s;
constexpr Duration kUnknownPatience = 1min;  // a pod that the board does not know may be new to it

}  // namespace

RefusedPods::RefusedPods(Scope& scope, client::Api& api, slots::SlotBoard& board)
    : scope_(scope),
      api_(api),
      board_(board),
      listener_(board.on_change([this](const kube::Key& testbed) {
        if (refused_.count(testbed) > 0) look_after(Duration{}, testbed);
      })) {}

void RefusedPods::add(const kube::Object& pod, slots::SlotBoard::Asked asked) {
  const kube::Key testbed = slots::testbed_of(pod);
  asked.nodes.reset();
  asked.promised.clear();
  // There is a slot, only the promise could not be written.
  const bool given = board_.ask(asked, now()).slot.kind == slots::SlotAnswer::Kind::kSlot;
  refused_[testbed][std::string(pod.uid())] = {pod.key(), std::move(asked), now()};
  if (given) look_after(kRetry, testbed);
}

void RefusedPods::remove(const kube::Object& pod) {
  const auto found = refused_.find(slots::testbed_of(pod));
  if (found == refused_.end()) return;
  found->second.erase(std::string(pod.uid()));
  if (found->second.empty()) refused_.erase(found);
}

// Never inline: the board is in the middle of its change.
void RefusedPods::look_after(Duration pause, const kube::Key& testbed) {
  if (pause > Duration{}) {
    scope_.after(pause, [this, testbed] { look(testbed); });
  } else if (due_.insert(testbed).second) {
    scope_.post([this, testbed] { look(testbed); });
  }
}

void RefusedPods::look(const kube::Key& testbed) {
  due_.erase(testbed);
  const auto found = refused_.find(testbed);
  if (found == refused_.end()) return;
  slots::Pins promised;  // one that is free is for one of them
  std::erase_if(found->second, [&](const auto& each) {
    const auto& [uid, waiting] = each;
    slots::SlotBoard::Asked asked = waiting.asked;
    asked.promised = promised;
    const slots::SlotAnswer answer = board_.ask(asked, now()).slot;
    if (answer.kind != slots::SlotAnswer::Kind::kSlot)
      return !board_.knows(uid) && now() - waiting.since > kUnknownPatience;
    promised[answer.slot] = uid;
    touch(testbed, uid, answer.slot, waiting);
    return true;
  });
  if (found->second.empty()) refused_.erase(found);
}

void RefusedPods::touch(const kube::Key& testbed, const std::string& uid, int slot,
                        Waiting waiting) {
  const kube::Key key = waiting.key;
  api_.patch(
      kube::kPod, key,
      fmt::format(R"({{"metadata":{{"uid":"{}","annotations":{{"{}":"{} at {}"}}}}}})", uid,
                  kWokenAnnotation, slot, kube::micro_time_text(now())),
      kube::PatchType::kMerge,
      scope_.done<kube::Object>(kCallLimit, [this, testbed, uid, waiting = std::move(waiting)](
                                                const Result<kube::Object>& touched) {
        const bool gone = !touched && (touched.error().reason == Reason::kNotFound ||
                                       touched.error().reason == Reason::kConflict);
        if (touched || gone || scope_.closing()) return;
        refused_[testbed].emplace(uid, waiting);
        look_after(kRetry, testbed);
      }));
}

}  // namespace berth::gateway
