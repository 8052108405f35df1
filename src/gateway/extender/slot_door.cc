// SPDX-License-Identifier: Apache-2.0
#include "gateway/extender/slot_door.h"

#include <algorithm>

#include <fmt/format.h>

#include "json/writer.h"
#include "kube/node_view.h"
#include "kube/pod_requests.h"
#include "kube/pod_view.h"
#include "kube/time.h"

namespace berth::gateway {
namespace {

using scheduler::ExtenderFilterResult;
using scheduler::VictimsByNode;
using slots::SlotAnswer;

constexpr int kTries = 5;             // where others write the same job
constexpr Duration kCallLimit = 10s;  // the caller has given up long before

// What a job's status says of its pins, with these promised.
std::string pins_patch(const kube::Object& job, const std::map<int, const std::string*>& uids,
                       const std::map<int, std::string>& names, WallTime now) {
  json::Writer w;
  w.object().member("metadata").object();
  w.member("resourceVersion").string(std::to_string(job.revision()));
  w.member("uid").string(job.uid()).end();
  w.member("status").object().member("pins").array();
  for (const json::Slice pin : job.status()["pins"].elements()) {
    const auto slot = pin["slot"].integer();
    const bool replaced = (slot && uids.count(static_cast<int>(*slot)) > 0) ||
                          std::any_of(uids.begin(), uids.end(), [&](const auto& each) {
                            return pin["podUid"].equals(*each.second);
                          });
    if (!replaced) w.raw(pin.raw());
  }
  for (const auto& [slot, uid] : uids) {
    w.object().member("slot").integer(slot).member("podUid").string(*uid);
    w.member("podName").string(names.at(slot)).member("since").string(kube::time_text(now)).end();
  }
  return w.end().end().end().take();
}

std::string text_of(const slots::SlotBoard::Answered& answer) {
  std::string text = answer.why;
  for (const slots::SlotRefusal& each : answer.slot.why)
    text += fmt::format("{}slot {} on {}: {}", text.empty() ? "" : "; ", each.slot, each.node,
                        each.why);
  return text;
}

}  // namespace

SlotDoor::SlotDoor(Scope& scope, client::Api& api, slots::SlotBoard& board,
                   client::EventRecorder* events, Metrics& metrics)
    : scope_(scope),
      api_(api),
      board_(board),
      events_(events),
      refused_(scope, api, board),
      trespassers_(metrics.counter("berth_trespass_total",
                                   "Pods in the room of a slot that had to make way for it")) {}
SlotDoor::~SlotDoor() = default;

void SlotDoor::filter(scheduler::ExtenderArgs args, Done<ExtenderFilterResult> done) {
  Asked asked = slots::question_of(args.pod);
  const bool whole = !args.nodes.empty();
  const auto kept = [whole](const scheduler::ExtenderArgs& from, std::size_t i) {
    return ExtenderFilterResult::Kept{(*from.names)[i], whole ? from.nodes[i] : kube::Object()};
  };
  if (asked.grant.empty()) {  // no pod of ours
    ExtenderFilterResult all;
    for (std::size_t i = 0; i < args.names->size(); ++i) all.kept.push_back(kept(args, i));
    return done(std::move(all));
  }
  std::string name(args.pod.name());
  auto shared = std::make_shared<Done<ExtenderFilterResult>>(std::move(done));
  promise(std::move(asked), std::move(name),
          [this, args = std::move(args), kept, shared](const Answered& answer) {
            ExtenderFilterResult result;
            const bool has = answer.slot.kind == SlotAnswer::Kind::kSlot;
            for (std::size_t i = 0; i < args.names->size(); ++i) {
              const std::string& node = (*args.names)[i];
              if (has && node == answer.slot.node)
                result.kept.push_back(kept(args, i));
              else if (answer.nodes.count(node) > 0)
                result.failed[node] = has ? fmt::format("the pod's slot is {} on {}",
                                                        answer.slot.slot, answer.slot.node)
                                          : "the pod has no slot: " + text_of(answer);
              else
                result.unresolvable[node] = "no slot of the pod's grant is here";
            }
            if (has)
              refused_.remove(args.pod);
            else
              refuse(args.pod, answer);
            (*shared)(std::move(result));
          });
}

void SlotDoor::preempt(scheduler::ExtenderPreemptArgs args, Done<VictimsByNode> done) {
  Asked asked = slots::question_of(args.pod);
  if (asked.grant.empty()) {
    for (auto& [node, victims] : args.victims) victims.pods.clear();
    return done(std::move(args.victims));
  }
  std::string name(args.pod.name());
  auto shared = std::make_shared<Done<VictimsByNode>>(std::move(done));
  const auto answer_with = [this, shared](const scheduler::ExtenderPreemptArgs& from,
                                          const Answered& answer) {
    VictimsByNode result;
    const auto offered = from.victims.find(answer.slot.node);
    if (answer.slot.kind != SlotAnswer::Kind::kSlot || offered == from.victims.end()) {
      refuse(from.pod, answer);
      return (*shared)(std::move(result));
    }
    if (const slots::SlotPod* ghost = bound_ghost(answer)) {
      result[answer.slot.node].uids = {ghost->uid};
      return (*shared)(std::move(result));
    }
    // The ghost is gone. Whoever took its room has no slot; but the scheduler may only not have
    // heard of it yet, and the room be there.
    ask_for_room(answer.slot.node, from.pod,
                 [this, shared, node = answer.slot.node, uids = offered->second.uids](bool taken) {
                   VictimsByNode found;
                   scheduler::ExtenderVictims trespassers;
                   for (const std::string& uid : uids)
                     if (taken && !board_.place_of(uid, now())) trespassers.uids.push_back(uid);
                   trespassers_.add(static_cast<double>(trespassers.uids.size()));
                   if (!trespassers.uids.empty()) found[node] = std::move(trespassers);
                   (*shared)(std::move(found));
                 });
  };
  promise(asked, name, [this, asked, name, answer_with, args](const Answered& answer) mutable {
    const bool has = answer.slot.kind == SlotAnswer::Kind::kSlot;
    if (!has || args.victims.count(answer.slot.node) > 0) return answer_with(args, answer);
    // A filter that we do not know keeps it from its slot's node: the promise moves to one that
    // the scheduler can make room on.
    asked.nodes.emplace();
    for (const auto& [node, victims] : args.victims) asked.nodes->insert(node);
    promise(asked, name, [args, answer_with](const Answered& moved) { answer_with(args, moved); });
  });
}

// `taken`: what is on the node leaves no room for the pod. Unknown counts as room: it is asked
// again.
void SlotDoor::ask_for_room(const std::string& node, const kube::Object& pod,
                            std::function<void(bool taken)> then) {
  kube::Options there;
  there.field_selector = "spec.nodeName=" + node;
  api_.list_all(
      kube::kPod, "", there,
      scope_.done<kube::ObjectList>(kCallLimit, [this, node, pod, then = std::move(then)](
                                                    Result<kube::ObjectList> pods) mutable {
        if (!pods) return then(false);
        kube::ResourceList needed =
            kube::pod_requests(pod, {.use_status = false}).value_or(kube::ResourceList());
        const kube::ResourceList asked = needed;
        for (const kube::Object& each : pods->items)
          if (!kube::PodView(each).finished() && each.uid() != pod.uid())
            kube::add(needed, kube::pod_requests(each).value_or(kube::ResourceList()));
        api_.get(kube::kNode, {"", node},
                 scope_.done<kube::Object>(
                     kCallLimit, [needed = std::move(needed), asked,
                                  then = std::move(then)](Result<kube::Object> found) {
                       if (!found) return then(false);
                       const auto room = kube::NodeView(*found).allocatable();
                       if (!room) return then(false);
                       then(std::any_of(asked.begin(), asked.end(), [&](const auto& each) {
                         const auto has = room->find(each.first);
                         return has != room->end() && needed.at(each.first) > has->second;
                       }));
                     }));
      }));
}

slots::SlotPod const* SlotDoor::bound_ghost(const Answered& answer) {
  const slots::SlotTable* table = board_.table(answer.testbed, now());
  const slots::Slot* slot = table == nullptr ? nullptr : table->find(answer.slot.slot);
  return slot != nullptr && slot->ghost && slot->ghost_bound ? &*slot->ghost : nullptr;
}

bool SlotDoor::has_promise(const Asked& asked, const Answered& answer) {
  const auto pin = answer.pins.find(answer.slot.slot);
  return pin != answer.pins.end() && pin->second == asked.pod;
}

// Once the slot that the board names is written down as this pod's.
void SlotDoor::promise(Asked asked, std::string pod_name, Then then) {
  const Answered answer = board_.ask(asked, now());
  if (answer.slot.kind != SlotAnswer::Kind::kSlot || has_promise(asked, answer))
    return then(answer);
  const JobKey key{answer.job.kind(), answer.job.key()};
  Job& job = jobs_[key];
  for (std::vector<Candidate>* list : {&job.under_way, &job.waiting})
    for (Candidate& each : *list)
      if (each.asked.pod == asked.pod && each.asked.nodes == asked.nodes) {
        each.then.push_back(std::move(then));
        return;
      }
  Candidate& added = job.waiting.emplace_back();
  added.asked = std::move(asked);
  added.pod_name = std::move(pod_name);
  added.then.push_back(std::move(then));
  if (!job.busy) next(key);
}

// All that wait for promises of one job get them in one write; whoever asks meanwhile waits.
void SlotDoor::next(const JobKey& key) {
  Job& job = jobs_[key];
  if (job.waiting.empty()) {
    jobs_.erase(key);
    return;
  }
  job.busy = true;
  job.under_way = std::exchange(job.waiting, {});
  write(key, kTries);
}

void SlotDoor::write(const JobKey& key, int tries_left) {
  Job& job = jobs_[key];
  std::map<int, const std::string*> uids;
  std::map<int, std::string> names;
  slots::Pins promised;
  kube::Object object;
  std::set<std::string_view> served;  // by uid: one may have asked for different nodes
  for (Candidate& each : job.under_way) {
    each.asked.promised = promised;
    if (served.count(each.asked.pod) > 0) continue;
    const Answered answer = board_.ask(each.asked, now());
    if (answer.slot.kind != SlotAnswer::Kind::kSlot) continue;
    object = answer.job;
    served.insert(each.asked.pod);
    if (has_promise(each.asked, answer)) continue;
    promised[answer.slot.slot] = each.asked.pod;
    uids[answer.slot.slot] = &each.asked.pod;
    names[answer.slot.slot] = each.pod_name;
  }
  if (uids.empty()) return ended(key, "");
  api_.patch(key.kind, key.key, pins_patch(object, uids, names, now()), kube::PatchType::kMerge,
             scope_.done<kube::Object>(kCallLimit,
                                       [this, key, tries_left](Result<kube::Object> written) {
                                         if (written) {
                                           ++pins_written_;
                                           board_.put(*written);
                                           return ended(key, "");
                                         }
                                         const Error& error = written.error();
                                         const bool again = error.reason == Reason::kConflict ||
                                                            error.outcome == Outcome::kUnknown;
                                         if (!again || tries_left <= 1 || scope_.closing())
                                           return ended(key, "the slot could not be promised: " +
                                                                 error.message);
                                         read_again(key, tries_left - 1);
                                       }),
             "status");
}

void SlotDoor::read_again(const JobKey& key, int tries_left) {
  api_.get(
      key.kind, key.key,
      scope_.done<kube::Object>(kCallLimit, [this, key, tries_left](Result<kube::Object> read) {
        if (!read) return ended(key, "the slot could not be promised: " + read.error().message);
        board_.put(*read);
        write(key, tries_left);
      }));
}

// Everybody is told, what the board says or why it does not matter.
void SlotDoor::ended(const JobKey& key, const std::string& failure) {
  std::vector<Candidate> all = std::exchange(jobs_[key].under_way, {});
  for (Candidate& each : all) {
    each.asked.promised.clear();
    Answered answer = board_.ask(each.asked, now());
    if (answer.slot.kind == SlotAnswer::Kind::kSlot && !has_promise(each.asked, answer)) {
      answer.slot = {.kind = SlotAnswer::Kind::kWait};
      answer.why = failure.empty() ? "its slot has just been given away" : failure;
    }
    for (const Then& then : each.then) then(answer);
  }
  if (!scope_.closing()) next(key);
}

void SlotDoor::refuse(const kube::Object& pod, const Answered& answer) {
  if (answer.slot.kind != SlotAnswer::Kind::kSlot) refused_.add(pod, slots::question_of(pod));
  if (events_ == nullptr) return;
  std::string text = text_of(answer);
  events_->event(pod, {client::EventType::kWarning, "NoFreeSlot", "Scheduling",
                       text.empty() ? "the pod's slot is on no node that was offered" : text});
}

}  // namespace berth::gateway
