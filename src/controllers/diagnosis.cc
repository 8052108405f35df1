// SPDX-License-Identifier: Apache-2.0
#include "controllers/diagnosis.h"

#include <algorithm>
#include <set>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "controllers/slot_sight.h"
#include "json/writer.h"
#include "kube/ours/reasons.h"
#include "kube/pod_view.h"
#include "policy/slots/explain_slot.h"

namespace berth::controllers {
namespace {

using kube::BatchJobView;
using kube::Key;
using kube::Object;
using kube::SchedulingView;
using runtime::View;
using slots::SlotState;

constexpr Duration kSoon = 30s;  // a controller that runs has looked by then

constexpr std::string_view kNobodyLooks =
    "Run the controllers (berth controllers, or berth up), or look at the log of those that run.";

// Where a search is: what was found so far, and whether it ends here.
struct Finding {
  bool well = false;
  std::string cause;
  std::string remedy = {};
};
Finding fine(std::string cause) { return {true, std::move(cause)}; }
Finding wrong(std::string cause, std::string_view remedy) {
  return {false, std::move(cause), std::string(remedy)};
}

json::Slice condition(const Object& object, std::string_view type) {
  return kube::find_condition(object.status(), type);
}

// "NoRoom: n0 (cpu)", as the condition has it.
std::string told(json::Slice condition, std::string_view otherwise) {
  const std::string message = condition["message"].text();
  return message.empty() ? std::string(otherwise) : message;
}

std::string counted(std::size_t count, std::string_view what) {
  return fmt::format("{} {}{}", count, what, count == 1 ? "" : "s");
}

class Search {
 public:
  Search(const View& view, WallTime now) : view_(view), now_(now) {}

  std::vector<std::string> because;
  // The cause itself is not said twice.
  void end_with(const std::string& cause) {
    if (!because.empty() && because.back() == cause) because.pop_back();
  }

  Finding scheduling(const Object& object) {
    const SchedulingView one(object);
    const std::string name = "Scheduling " + object.key().text();
    if (!visit(name)) return fine(name + " waits for what waits for it; tickets decide");
    if (const auto nobody = not_looked_at(object, name)) return *nobody;
    if (object.deleting()) return leaving(one, name);
    if (one.completed()) return complete(one, name);
    const json::Slice progressing = condition(object, "Progressing");
    const json::Slice acquired = condition(object, "Acquired");
    // What it has not acquired explains why it does not progress.
    const bool has_all = !acquired || acquired["status"].equals("True");
    const json::Slice why = has_all ? progressing : acquired;
    const std::string reason = why["reason"].text();
    if (why["status"].equals("True") || reason.empty() || reason == kube::reason::kAcquiring)
      return going_on(one, name);
    because.push_back(fmt::format("{} waits: {}", name, told(why, reason)));
    if (reason == kube::reason::kTestbedHeld) return held_testbed(one, why);
    if (reason == kube::reason::kJobHeld || reason == kube::reason::kNotFirst)
      return held_job(one, why);
    if (reason == kube::reason::kJobFailed || reason == kube::reason::kStalled)
      return bad_job(one, why, reason);
    if (reason == kube::reason::kWaitingForCapacity) return no_capacity(one, why);
    return wrong(told(why, reason), kube::remedy_for("Scheduling", reason));
  }

  Finding job(const Object& object) {
    const BatchJobView one(object);
    const std::string name = "BatchJob " + object.key().text();
    if (!visit(name)) return fine(name + " waits for what waits for it; tickets decide");
    if (const auto nobody = not_looked_at(object, name)) return *nobody;
    const json::Slice degraded = condition(object, "Degraded"), ready = condition(object, "Ready");
    const std::string state = one.state();
    if (degraded["status"].equals("True") &&
        !degraded["reason"].equals(kube::reason::kExecutorLost))
      return wrong(fmt::format("{} {}: {}", name, state == "Failed" ? "has failed" : "fails",
                               told(degraded, degraded["reason"].text())),
                   kube::remedy_for("BatchJob", degraded["reason"].text()));
    if (ready["reason"].equals(kube::reason::kKindUnknown))
      return wrong(fmt::format("{}: {}", name, told(ready, "its kind is not known")),
                   kube::remedy_for("BatchJob", kube::reason::kKindUnknown));
    const auto claim = one.claim();
    const Object* by = claim ? view_.get(kinds().scheduling, claim->scheduling) : nullptr;
    if (claim && by == nullptr && !claim->uid.empty())
      return wrong(fmt::format("{} is claimed by Scheduling {}, which does not exist", name,
                               claim->scheduling.text()),
                   "Remove spec.activeScheduling of the job.");
    if (one.open()) return open_run(one, name, state);
    if (by != nullptr && (state == "Ready" || state == "InQueue")) {
      because.push_back(fmt::format("{} waits for Scheduling {}", name, by->key().text()));
      return scheduling(*by);
    }
    if (claim && by == nullptr)
      return wrong(fmt::format("{}: {}", name, told(ready, "it is claimed and not ordered")),
                   kube::remedy_for("BatchJob", ready["reason"].text()));
    return unclaimed(one, name, state);
  }

  Finding testbed(const Object& object) {
    const std::string name = "Testbed " + object.key().text();
    if (const auto nobody = not_looked_at(object, name)) return *nobody;
    const json::Slice ready = condition(object, "Ready");
    const std::string reason = ready["reason"].text();
    if (ready["status"].equals("True")) {
      const auto remedy = kube::remedy_for("Testbed", reason);
      const bool warns =
          reason == kube::reason::kSlotsPreemptible || reason == kube::reason::kWeakHold;
      if (warns) return wrong(fmt::format("{}: {}", name, told(ready, reason)), remedy);
      return fine(fmt::format("{} is ready: {}", name, told(ready, "all slots are held")));
    }
    if (reason == kube::reason::kHoldPending)
      if (const auto why = pending_ghost(object)) return *why;
    return wrong(fmt::format("{}: {}", name, told(ready, reason)),
                 kube::remedy_for("Testbed", reason));
  }

  Finding slot(const Object& object, const SlotSight& sight, slots::SlotNumber number) {
    const slots::SlotTable table = sight.table(now_);
    const slots::SlotExplanation why = slots::explain_slot(table, number);
    const slots::Slot& slot = *table.find(number);
    const Finding here{why.remedy.empty(), why.cause, why.remedy};
    if (slot.state == SlotState::kReserved || slot.state == SlotState::kOccupied) {
      const Object* holder = view_.get(kinds().batch_job, slot.job);
      if (holder == nullptr) return here;
      because.push_back(why.cause);
      Finding found = job(*holder);
      return found.well ? here : found;
    }
    if (slot.state != SlotState::kHolding && slot.state != SlotState::kError) return here;
    because.push_back(why.cause);
    Finding found = testbed(object);
    return found.well ? here : found;
  }

 private:
  static const kube::SlotKinds& kinds() { return kube::thesis_kinds(); }
  bool visit(const std::string& name) { return visited_.insert(name).second; }

  std::optional<Finding> not_looked_at(const Object& object, const std::string& name) {
    const bool never = !object.status()["observedGeneration"];
    const std::int64_t seen = object.status()["observedGeneration"].integer().value_or(0);
    if (!never && seen >= object.generation()) return std::nullopt;
    const auto created = object.created();
    if (never && created && now_ - *created < kSoon)
      return fine(name + " is new: no controller has looked at it yet");
    if (!never && object.deleting()) return std::nullopt;
    return wrong(never ? fmt::format("no controller has looked at {}", name)
                       : fmt::format("no controller has looked at {} since it was changed", name),
                 kNobodyLooks);
  }

  // Jobs that it still has.
  std::vector<const Object*> claimed_by(const SchedulingView& one) const {
    std::vector<const Object*> jobs;
    for (const Object* job : view_.by_index(kinds().batch_job, kByClaim, one.object().key().text()))
      if (BatchJobView(*job).claim()->by(one.object())) jobs.push_back(job);
    return jobs;
  }

  Finding leaving(const SchedulingView& one, const std::string& name) {
    for (const Object* claimed : claimed_by(one))
      if (BatchJobView(*claimed).open()) {
        because.push_back(fmt::format("{} is deleted and waits until BatchJob {} has ended", name,
                                      claimed->key().text()));
        return job(*claimed);
      }
    return fine(name + " is deleted and gives back what it holds");
  }

  Finding complete(const SchedulingView& one, const std::string& name) {
    std::vector<std::string> waiting;
    for (const Object* other :
         view_.by_index(kinds().scheduling, kByTestbed, one.testbed().text())) {
      const SchedulingView view(*other);
      if (is_live(view) &&
          condition(*other, "Acquired")["reason"].equals(kube::reason::kTestbedHeld))
        waiting.push_back(other->key().text());
    }
    if (waiting.empty()) return fine(name + " is complete");
    return wrong(fmt::format("{} is complete and keeps its Testbed, for which {} waits", name,
                             fmt::join(waiting, ", ")),
                 delete_it(one.object().key()));
  }
  static std::string delete_it(const Key& key) {
    return fmt::format(
        "Delete it: kubectl delete schedulings.{} {} -n {}; or give Schedulings a "
        "ttlSecondsAfterFinished.",
        kube::kThesisGroup, key.name, key.ns);
  }

  // It holds what this one waits for.
  Finding holder(const Object* object, const std::string& what, json::Slice why) {
    if (object == nullptr)
      return wrong(told(why, what), kube::remedy_for("Scheduling", why["reason"].text()));
    const SchedulingView one(*object);
    const std::string name = "Scheduling " + object->key().text();
    if (one.completed() && !object->deleting())
      return wrong(fmt::format("{} is complete and keeps {} until it is deleted", name, what),
                   delete_it(object->key()));
    Finding found = scheduling(*object);
    if (!found.well) return found;
    return {true, fmt::format("{} goes first: {}", name, found.cause)};
  }

  Finding held_testbed(const SchedulingView& one, json::Slice why) {
    const std::string what = "Testbed " + one.testbed().text();
    const Object* object = view_.get(kinds().ledger, one.testbed());
    if (object != nullptr)
      if (const auto ledger = slots::Ledger::parse(*object); ledger && ledger->owner)
        return holder(view_.get(kinds().scheduling, ledger->owner->scheduling), what, why);
    return holder(
        older(one, [&](const SchedulingView& other) { return other.testbed() == one.testbed(); }),
        what, why);
  }

  template <class Wants>
  const Object* older(const SchedulingView& one, const Wants& wants) const {
    const Object* first = nullptr;
    for (const Object* each : view_.list(kinds().scheduling)) {
      const SchedulingView other(*each);
      if (!is_live(other) || !(other.ticket() < one.ticket()) || !wants(other)) continue;
      if (first == nullptr || other.ticket() < SchedulingView(*first).ticket()) first = each;
    }
    return first;
  }

  Finding held_job(const SchedulingView& one, json::Slice why) {
    for (const Key& key : one.jobs()) {
      const Object* object = view_.get(kinds().batch_job, key);
      if (object == nullptr) continue;
      const auto claim = BatchJobView(*object).claim();
      if (!claim || claim->by(one.object())) continue;
      return holder(view_.get(kinds().scheduling, claim->scheduling), "BatchJob " + key.text(),
                    why);
    }
    const std::vector<Key> jobs = one.jobs();
    return holder(older(one,
                        [&](const SchedulingView& other) {
                          const std::vector<Key> theirs = other.jobs();
                          return std::any_of(jobs.begin(), jobs.end(), [&](const Key& job) {
                            return std::find(theirs.begin(), theirs.end(), job) != theirs.end();
                          });
                        }),
                  "what it wants too", why);
  }

  Finding bad_job(const SchedulingView& one, json::Slice why, const std::string& reason) {
    for (const Key& key : one.jobs()) {
      const Object* object = view_.get(kinds().batch_job, key);
      if (object == nullptr) continue;
      const std::string state = BatchJobView(*object).state();
      if (reason == kube::reason::kJobFailed ? state != "Failed" : state != "Submitted") continue;
      Finding found = job(*object);
      if (!found.well) return found;
    }
    return wrong(told(why, reason), kube::remedy_for("Scheduling", reason));
  }

  Finding no_capacity(const SchedulingView& one, json::Slice why) {
    const Object* object = view_.get(kinds().testbed, one.testbed());
    if (object == nullptr)
      return wrong(fmt::format("Testbed {} does not exist", one.testbed().text()),
                   kube::remedy_for("Scheduling", kube::reason::kTestbedNotFound));
    const auto sight = look(view_, kinds(), *object);
    if (!sight) return wrong(sight.error().message, kNobodyLooks);
    const slots::SlotTable table = sight->table(now_);
    if (Finding found = testbed(*object); !found.well) return found;
    // More than there ever are?
    std::map<Key, std::size_t> wanted;
    for (const Key& entry : one.queue()) ++wanted[entry];
    for (const auto& [key, width] : wanted) {
      const auto fact = sight->jobs.find(key);
      if (fact == sight->jobs.end()) continue;
      const auto there = static_cast<std::size_t>(
          std::count_if(table.slots.begin(), table.slots.end(), [&](const slots::Slot& slot) {
            return slot.wanted && slot.slot_class == fact->second.slot_class;
          }));
      if (width > there && one.job(key).used == 0)
        return wrong(fmt::format("BatchJob {} wants {} of class {} at once, and Testbed {} has {}",
                                 key.text(), counted(width, "slot"), fact->second.slot_class,
                                 one.testbed().text(), there),
                     "Name the job in fewer entries, or make the Testbed larger.");
    }
    std::set<std::string> running;
    for (const auto& [id, grant] : sight->ledger.grants()) running.insert(grant.job.text());
    for (const auto& [id, grant] : sight->ledger.grants()) {
      const Object* other = view_.get(kinds().batch_job, grant.job);
      if (other == nullptr) continue;
      Finding found = job(*other);
      if (!found.well) return found;
    }
    if (running.empty()) return wrong(told(why, "slots are missing"), kNobodyLooks);
    return fine(
        fmt::format("slots are used by {}, and this comes after", fmt::join(running, ", ")));
  }

  Finding going_on(const SchedulingView& one, const std::string& name) {
    for (const Key& key : one.jobs()) {
      const Object* object = view_.get(kinds().batch_job, key);
      if (object == nullptr || !BatchJobView(*object).open()) continue;
      const std::size_t depth = because.size();
      Finding found = job(*object);
      if (!found.well) return found;
      because.resize(depth);
    }
    return fine(fmt::format("{} goes on ({})", name, one.state()));
  }

  Finding open_run(const BatchJobView& one, const std::string& name, const std::string& state) {
    const slots::GrantId grant = slots::grant_id(one.object().uid(), one.run());
    std::vector<const Object*> executors, pending;
    for (const Object* pod : view_.list(kube::kPod)) {
      if (pod->label(kube::kGrantLabel) != grant || kube::PodView(*pod).finished()) continue;
      executors.push_back(pod);
      if (kube::PodView(*pod).phase() == "Pending") pending.push_back(pod);
    }
    for (const Object* pod : pending)
      if (const auto why = pending_pod(*pod)) {
        because.push_back(fmt::format("{} waits for pod {}", name, pod->key().text()));
        return *why;
      }
    if (executors.empty() && state == "Submitted") {
      const auto since = kube::parse_time(one.status()["submittedTime"].text());
      if (since && now_ - *since < kSoon)
        return fine(name + " is submitted, and its executors are on the way");
      return wrong(since ? fmt::format("the application of {} has made no executors", name)
                         : fmt::format("the application of {} was not created", name),
                   "Look at the application's own status and at the log of its operator.");
    }
    if (const json::Slice degraded = condition(one.object(), "Degraded");
        degraded["status"].equals("True"))
      return wrong(fmt::format("{}: {}", name, told(degraded, degraded["reason"].text())),
                   kube::remedy_for("BatchJob", degraded["reason"].text()));
    return fine(
        fmt::format("{} is {} with {}", name, state, counted(executors.size(), "executor")));
  }

  // Why a pod does not start; nothing where it is only young.
  std::optional<Finding> pending_pod(const Object& pod) {
    const kube::PodView view(pod);
    const std::string name = "pod " + pod.key().text();
    if (view.node_name().empty()) {
      const json::Slice scheduled = view.condition("PodScheduled");
      if (scheduled["status"].equals("False"))
        return wrong(fmt::format("{} finds no node: {}", name, scheduled["message"].text()),
                     "See why with: berth explain pod " + std::string(pod.name()) + " -n " +
                         std::string(pod.ns()));
      if (pod.created() && now_ - *pod.created() < kSoon) return std::nullopt;
      return wrong(fmt::format("no scheduler has looked at {}: its schedulerName is {}", name,
                               pod.member("spec")["schedulerName"].text()),
                   "Run a scheduler of that name, or correct the name in the application.");
    }
    for (const json::Slice container : pod.status()["containerStatuses"].elements()) {
      const json::Slice waiting = container["state"]["waiting"];
      const std::string reason = waiting["reason"].text();
      if (reason.empty() || reason == "ContainerCreating" || reason == "PodInitializing") continue;
      return wrong(
          fmt::format("{} on {} does not start: {}{}{}", name, view.node_name(), reason,
                      waiting["message"].text().empty() ? "" : ": ", waiting["message"].text()),
          "Mend the image or its settings in the job's spec.");
    }
    return std::nullopt;
  }

  std::optional<Finding> pending_ghost(const Object& testbed) {
    for (const Object* pod : view_.by_index(kube::kPod, kByTestbed, testbed.key().text())) {
      if (pod->label(kube::kGhostLabel) != "true" || !kube::PodView(*pod).node_name().empty())
        continue;
      if (auto why = pending_pod(*pod)) {
        because.push_back(fmt::format("Testbed {} waits for its ghosts", testbed.key().text()));
        return why;
      }
    }
    return std::nullopt;
  }

  Finding unclaimed(const BatchJobView& one, const std::string& name, const std::string& state) {
    const Object* wanting = nullptr;
    for (const Object* each :
         view_.by_index(kinds().scheduling, kByJob, one.object().key().text())) {
      const SchedulingView other(*each);
      if (!is_live(other)) continue;
      if (wanting == nullptr || other.ticket() < SchedulingView(*wanting).ticket()) wanting = each;
    }
    if (wanting != nullptr) {
      because.push_back(fmt::format("{} waits for Scheduling {}", name, wanting->key().text()));
      return scheduling(*wanting);
    }
    if (state == "Ready")
      return {true, fmt::format("{} is ready, and no Scheduling names it", name),
              "Create a Scheduling that names it."};
    return fine(fmt::format("{} is {}", name, state));
  }

  const View& view_;
  WallTime now_;
  std::set<std::string> visited_;
};

Error missing(kube::KindId kind, const Key& key) {
  return {.reason = Reason::kNotFound,
          .message = fmt::format("{} {} does not exist", kube::kind_of(kind).kind, key.text())};
}

using Look = Finding (Search::*)(const Object&);
Result<Diagnosis> diagnose(const View& view, kube::KindId kind, const Key& key, WallTime now,
                           Look look) {
  const Object* object = view.get(kind, key);
  if (object == nullptr) return tl::unexpected(missing(kind, key));
  Search search(view, now);
  Finding found = (search.*look)(*object);
  search.end_with(found.cause);
  return Diagnosis{fmt::format("{} {}", kube::kind_of(kind).kind, key.text()),
                   object->status()["state"].text(),
                   found.well,
                   std::move(found.cause),
                   std::move(found.remedy),
                   std::move(search.because)};
}

}  // namespace

Result<Diagnosis> diagnose_scheduling(const View& view, const Key& key, WallTime now) {
  return diagnose(view, kube::thesis_kinds().scheduling, key, now, &Search::scheduling);
}
Result<Diagnosis> diagnose_job(const View& view, const Key& key, WallTime now) {
  return diagnose(view, kube::thesis_kinds().batch_job, key, now, &Search::job);
}
Result<Diagnosis> diagnose_testbed(const View& view, const Key& key, WallTime now) {
  return diagnose(view, kube::thesis_kinds().testbed, key, now, &Search::testbed);
}

Result<Diagnosis> diagnose_slot(const View& view, const Key& testbed, slots::SlotNumber number,
                                WallTime now) {
  const kube::SlotKinds& kinds = kube::thesis_kinds();
  const Object* object = view.get(kinds.testbed, testbed);
  if (object == nullptr) return tl::unexpected(missing(kinds.testbed, testbed));
  const auto sight = look(view, kinds, *object);
  if (!sight) return tl::unexpected(sight.error());
  const slots::SlotTable table = sight->table(now);
  const slots::Slot* slot = table.find(number);
  if (slot == nullptr)
    return fail(Reason::kNotFound,
                fmt::format("Testbed {} has no slot {}{}", testbed.text(), number,
                            table.slots.empty()
                                ? ": it has none"
                                : fmt::format("; it has {} to {}", table.slots.front().number,
                                              table.slots.back().number)));
  Search search(view, now);
  Finding found = search.slot(*object, *sight, number);
  search.end_with(found.cause);
  return Diagnosis{fmt::format("Slot {} of Testbed {}", number, testbed.text()),
                   std::string(slots::wire_name_of(slot->state)),
                   found.well,
                   std::move(found.cause),
                   std::move(found.remedy),
                   std::move(search.because)};
}

std::string diagnosis_json(const Diagnosis& said) {
  json::Writer out;
  out.object().member("subject").string(said.subject).member("state").string(said.state);
  out.member("well").boolean(said.well).member("cause").string(said.cause);
  out.member("remedy").string(said.remedy).member("because").array();
  for (const std::string& sentence : said.because) out.string(sentence);
  return out.end().end().take();
}

std::vector<kube::KindId> kinds_to_diagnose() {
  const kube::SlotKinds& kinds = kube::thesis_kinds();
  return {kinds.testbed, kinds.batch_job, kinds.scheduling, kinds.ledger, kube::kNode, kube::kPod};
}

}  // namespace berth::controllers
