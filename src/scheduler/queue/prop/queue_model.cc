// SPDX-License-Identifier: Apache-2.0
#include "scheduler/queue/prop/queue_model.h"

namespace berth::scheduler::test {
namespace {

const ClusterEvent kActivate{EventResource::kWildcard, action::kAll, "ForceActivate"};
const ClusterEvent kTimeout{EventResource::kWildcard, action::kAll, "UnschedulableTimeout"};
const ByPriority kSort;

bool sorted_before(const ModelPodPtr& a, const ModelPodPtr& b) {
  return kSort.less({*a->pod, a->timestamp}, {*b->pod, b->timestamp});
}

}  // namespace

QueueModel::QueueModel(const Clock& clock, QueueOptions options, std::vector<QueueProfile> profiles,
                       Nominator::Find known)
    : active(sorted_before),
      backoff([this](const ModelPodPtr& a, const ModelPodPtr& b) {
        if (expiry(*a) != expiry(*b) || !options_.pop_from_backoff) return expiry(*a) < expiry(*b);
        return sorted_before(a, b);
      }),
      errors(
          [this](const ModelPodPtr& a, const ModelPodPtr& b) { return expiry(*a) < expiry(*b); }),
      clock_(clock),
      options_(options),
      profiles_(std::move(profiles)),
      known_(std::move(known)) {
  for (QueueProfile& profile : profiles_) {
    for (PluginEvents& plugin : profile.plugins) {
      if (!plugin.events) plugin.events = all_events();
      bool add = false;
      bool taint = false;
      for (const EventInterest& e : *plugin.events)
        if (e.event.resource == EventResource::kNode) {
          if (e.event.action & action::kAdd) add = true;
          if (e.event.action & action::kUpdateNodeTaint) taint = true;
        }
      if (add && !taint)
        plugin.events->push_back({{EventResource::kNode, action::kUpdateNodeTaint}, nullptr});
    }
  }
}

bool QueueModel::flying(const std::string& uid) const {
  for (const FlightEntry& entry : flight)
    if (entry.pod && entry.pod->uid == uid) return true;
  return false;
}

ModelPod* QueueModel::pooled(const std::string& of) const {
  for (const PoolEntry& entry : pool)
    if (entry.key == of) return entry.queued.get();
  return nullptr;
}

void QueueModel::unpool(const std::string& of) {
  std::erase_if(pool, [&](const PoolEntry& entry) { return entry.key == of; });
}

void QueueModel::pool_in(const ModelPodPtr& queued, const std::string& event) {
  for (PoolEntry& entry : pool)
    if (entry.key == key(*queued->pod)) {
      entry.queued = queued;
      return;
    }
  pool.push_back({key(*queued->pod), queued});
  ++counts.incoming[{QueueName::kUnschedulable, event}];
}

ModelPodPtr QueueModel::queued(const std::string& of) const {
  for (const PoolEntry& entry : pool)
    if (entry.key == of) return entry.queued;
  for (const Heap* heap : {&active, &backoff, &errors})
    if (const int i = heap->index(of); i >= 0)
      return heap->entries()[static_cast<std::size_t>(i)].value;
  return nullptr;
}

const QueueProfile* QueueModel::profile(const Pod& pod) const {
  for (const QueueProfile& profile : profiles_)
    if (profile.scheduler_name == pod.spec->scheduler_name) return &profile;
  return nullptr;
}

// Backoff.

std::int64_t QueueModel::align(std::int64_t wall) const {
  return options_.pop_from_backoff ? wall / 1'000'000'000 : wall;
}

std::int64_t QueueModel::expiry(ModelPod& queued) const {
  const int count = queued.errors > 0 ? queued.errors : queued.refused;
  if (options_.max_backoff == Duration{} || count == 0) return INT64_MIN;
  if (!queued.expiry) {
    Duration wait = options_.initial_backoff;
    for (int i = 1; i < count && wait < options_.max_backoff; ++i) wait *= 2;
    wait = std::min(wait, options_.max_backoff);
    queued.expiry = align((World::kNewYear2026 + queued.timestamp.since_start + wait).unix_nanos);
  }
  return *queued.expiry;
}

bool QueueModel::backing_off(ModelPod& queued) const {
  return !(expiry(queued) < align(clock_.wall().unix_nanos));
}

// PreEnqueue.

bool QueueModel::gate_passes(const PreEnqueue& plugin, ModelPod& queued) {
  if (plugin.pre_enqueue(*queued.pod).ok()) return true;
  const auto number = static_cast<unsigned>(plugin.id());
  if (!queued.rejectors().contains(number))
    ++counts.unschedulable[{plugin.id(), queued.pod->spec->scheduler_name}];
  queued.unschedulable.insert(number);
  queued.gate = number;
  return false;
}

void QueueModel::pre_enqueue(ModelPod& queued) {
  const std::optional<unsigned> first = queued.gate;
  if (const QueueProfile* in = profile(*queued.pod)) {
    for (const PreEnqueue* plugin : in->pre_enqueue)
      if (first && static_cast<unsigned>(plugin->id()) == *first && !gate_passes(*plugin, queued))
        return;
    for (const PreEnqueue* plugin : in->pre_enqueue)
      if (!(first && static_cast<unsigned>(plugin->id()) == *first) &&
          !gate_passes(*plugin, queued))
        return;
  }
  queued.gate.reset();
}

// Moves.

bool QueueModel::to_active(const ModelPodPtr& queued, const std::string& event, bool from_backoff) {
  if (!(options_.pop_from_backoff && from_backoff)) pre_enqueue(*queued);
  const std::string of = key(*queued->pod);
  if (queued->gate) {
    if (active.index(of) >= 0 || backoff.index(of) >= 0 || errors.index(of) >= 0) return false;
    queued->flushed = false;
    pool_in(queued, event);
    return false;
  }
  if (!queued->first_attempt) queued->first_attempt = clock_.now();
  unpool(of);
  if (!backoff.erase(of)) errors.erase(of);
  active.add_or_update(of, queued);
  ++counts.incoming[{QueueName::kActive, event}];
  if (event == "UnschedulablePodAdd" || event == "UnschedulablePodUpdate")
    nominate(*queued->pod, std::nullopt);
  return true;
}

bool QueueModel::to_backoff(const ModelPodPtr& queued, const std::string& event) {
  if (options_.pop_from_backoff) {
    pre_enqueue(*queued);
    if (queued->gate) {
      queued->flushed = false;
      pool_in(queued, event);
      return false;
    }
  }
  const std::string of = key(*queued->pod);
  unpool(of);
  (queued->rejectors().empty() ? errors : backoff).add_or_update(of, queued);
  ++counts.incoming[{QueueName::kBackoff, event}];
  return true;
}

QueueModel::Where QueueModel::requeue(const ModelPodPtr& queued, Plan plan,
                                      const std::string& event) {
  if (plan == Plan::kSkip) {
    pool_in(queued, event);
    return Where::kPool;
  }
  if (plan == Plan::kAfterBackoff && backing_off(*queued))
    return to_backoff(queued, event) ? Where::kBackoff : Where::kPool;
  return to_active(queued, event, false) ? Where::kActive : Where::kPool;
}

bool QueueModel::of_interest(const ClusterEvent& event) const {
  if (event.wildcard()) return true;
  for (const QueueProfile& in : profiles_)
    for (const PluginEvents& plugin : in.plugins)
      for (const EventInterest& interest : *plugin.events)
        if (matches(interest.event, event)) return true;
  return false;
}

QueueModel::Plan QueueModel::worth(const ModelPod& queued, const Change& change) const {
  const std::set<unsigned> rejectors = queued.rejectors();
  if (rejectors.empty()) return Plan::kAfterBackoff;
  if (change.event.wildcard()) {
    if (change.pod_after && change.pod_after->uid != queued.pod->uid) return Plan::kSkip;
    return Plan::kAfterBackoff;
  }
  const QueueProfile* in = profile(*queued.pod);
  if (in == nullptr) return Plan::kAfterBackoff;
  Plan plan = Plan::kSkip;
  for (const PluginEvents& plugin : in->plugins)
    for (const EventInterest& interest : *plugin.events) {
      const auto number = static_cast<unsigned>(plugin.id);
      if (!matches(interest.event, change.event) || !rejectors.contains(number)) continue;
      if (interest.hint && interest.hint(*queued.pod, change, *no_cluster()) == Hint::kSkip)
        continue;
      if (queued.pending.contains(number)) return Plan::kImmediately;
      if (queued.pending.empty()) return Plan::kAfterBackoff;
      plan = Plan::kAfterBackoff;
    }
  return plan;
}

void QueueModel::move(const std::vector<ModelPodPtr>& pods, const Change& change) {
  if (!of_interest(change.event)) return;
  for (const ModelPodPtr& queued : pods) {
    if (queued->gate && !change.event.wildcard()) {
      bool wanted = false;
      for (const QueueProfile& in : profiles_)
        for (const PluginEvents& plugin : in.plugins)
          if (static_cast<unsigned>(plugin.id) == *queued->gate)
            for (const EventInterest& interest : *plugin.events)
              wanted |= matches(interest.event, change.event);
      if (!wanted) continue;
    }
    const Plan plan = worth(*queued, change);
    if (plan == Plan::kSkip) continue;
    unpool(key(*queued->pod));
    requeue(queued, plan, change.event.label());
  }
  bool any = false;
  for (const FlightEntry& entry : flight) any |= entry.pod != nullptr;
  if (any) {
    ++counts.in_flight_events[change.event.label()];
    flight.push_back({nullptr, change});
  }
}

// Operations.

void QueueModel::add(const PodPtr& pod) {
  auto queued = std::make_shared<ModelPod>();
  queued->pod = pod;
  queued->timestamp = clock_.now();
  to_active(queued, "UnschedulablePodAdd", false);
}

void QueueModel::update(const PodPtr& before, const PodPtr& after) {
  const std::vector<ClusterEvent> events = events_of_update(*before, *after);
  if (flying(after->uid)) {
    for (const ClusterEvent& event : events) {
      ++counts.in_flight_events[event.label()];
      flight.push_back({nullptr, {.event = event, .pod_before = before, .pod_after = after}});
    }
    return;
  }
  const std::string of = key(*after);
  for (Heap* heap : {&active, &backoff, &errors})
    if (ModelPodPtr* found = heap->get(of)) {
      const ModelPodPtr queued = *found;
      queued->pod = after;
      heap->add_or_update(of, queued);
      renominate(*before, *after);
      return;
    }
  for (const PoolEntry& entry : pool) {
    if (entry.key != of) continue;
    const ModelPodPtr queued = entry.queued;
    queued->pod = after;
    renominate(*before, *after);
    for (const ClusterEvent& event : events) {
      const Plan plan = worth(*queued, {.event = event, .pod_before = before, .pod_after = after});
      // kube-scheduler would put a pod that has just gone to backoffQ (without being popped from
      // there) into the pool as well.
      if (plan == Plan::kSkip) continue;
      const Where where = requeue(queued, plan, event.label());
      if (where == Where::kActive || (where == Where::kBackoff && options_.pop_from_backoff)) break;
    }
    return;
  }
  auto queued = std::make_shared<ModelPod>();
  queued->pod = after;
  queued->timestamp = clock_.now();
  to_active(queued, "UnschedulablePodUpdate", false);
}

void QueueModel::remove(const Pod& pod) {
  denominate(pod);
  const std::string of = key(pod);
  if (active.erase(of) || backoff.erase(of) || errors.erase(of)) return;
  if (const ModelPod* queued = pooled(of)) {
    for (const unsigned plugin : queued->rejectors())
      --counts.unschedulable[{static_cast<PluginId>(plugin), queued->pod->spec->scheduler_name}];
    unpool(of);
  }
}

bool QueueModel::fly(ModelPod& queued) {
  ++queued.attempts;
  if (flying(queued.pod->uid)) return false;
  ++counts.in_flight_events["PodPopped"];
  flight.push_back({queued.pod, {}});
  for (const unsigned plugin : queued.rejectors())
    --counts.unschedulable[{static_cast<PluginId>(plugin), queued.pod->spec->scheduler_name}];
  return true;
}

ModelPodPtr QueueModel::pop() {
  for (;;) {
    ModelPodPtr queued;
    if (active.len() > 0) {
      queued = active.pop();
    } else if (options_.pop_from_backoff && backoff.len() > 0) {
      queued = backoff.pop();
      ++counts.incoming[{QueueName::kActive, "PopFromBackoffQ"}];
    } else {
      return nullptr;
    }
    if (fly(*queued)) return queued;
  }
}

ModelPodPtr QueueModel::pop_specific(const Pod& pod) {
  activate_one(pod);
  ModelPodPtr* found = active.get(key(pod));
  if (found == nullptr) return nullptr;
  const ModelPodPtr queued = *found;
  active.erase(key(pod));
  return fly(*queued) ? queued : nullptr;
}

bool QueueModel::fail(const ModelPodPtr& queued, std::set<unsigned> unschedulable,
                      std::set<unsigned> pending) {
  const std::string uid = queued->pod->uid;
  queued->unschedulable = std::move(unschedulable);
  queued->pending = std::move(pending);
  queued->gate.reset();
  if (this->queued(key(*queued->pod))) {
    done(uid);
    return false;
  }
  if (queued->rejectors().empty()) {
    ++queued->errors;
  } else {
    ++queued->refused;
    queued->errors = 0;
  }
  queued->timestamp = clock_.now();
  queued->expiry.reset();
  queued->flushed = false;
  queued->flush_time.reset();
  for (const unsigned plugin : queued->rejectors())
    ++counts.unschedulable[{static_cast<PluginId>(plugin), queued->pod->spec->scheduler_name}];
  Plan plan = Plan::kSkip;
  if (queued->rejectors().empty() || !flying(uid)) {
    plan = Plan::kAfterBackoff;
  } else {
    bool after = false;
    for (const FlightEntry& entry : flight) {
      if (entry.pod) {
        after |= entry.pod->uid == uid;
        continue;
      }
      if (!after || plan == Plan::kImmediately) continue;
      const Plan one = worth(*queued, entry.change);
      if (one != Plan::kSkip) plan = one;
      if (one == Plan::kAfterBackoff && queued->pending.empty()) break;
    }
  }
  requeue(queued, plan, "ScheduleAttemptFailure");
  done(uid);
  return true;
}

void QueueModel::done(const std::string& uid) {
  if (!flying(uid)) return;
  std::erase_if(flight, [&](const FlightEntry& e) { return e.pod && e.pod->uid == uid; });
  while (!flight.empty() && !flight.front().pod) {
    --counts.in_flight_events[flight.front().change.event.label()];
    flight.erase(flight.begin());
  }
  --counts.in_flight_events["PodPopped"];
}

bool QueueModel::activate_one(const Pod& pod) {
  const std::string of = key(pod);
  for (const PoolEntry& entry : pool)
    if (entry.key == of) return to_active(ModelPodPtr(entry.queued), "ForceActivate", false);
  for (Heap* heap : {&backoff, &errors})
    if (ModelPodPtr* found = heap->get(of)) {
      const ModelPodPtr queued = *found;
      heap->erase(of);
      return to_active(queued, "ForceActivate", true);
    }
  return false;
}

void QueueModel::activate(const std::vector<PodPtr>& pods) {
  for (const PodPtr& pod : pods)
    if (!activate_one(*pod) && flying(pod->uid)) {
      ++counts.in_flight_events["ForceActivate"];
      flight.push_back({nullptr, {.event = kActivate, .pod_after = pod}});
    }
}

void QueueModel::move_all(const Change& change, const std::function<bool(const Pod&)>& pre_check) {
  if (!of_interest(change.event)) return;
  std::vector<ModelPodPtr> pods;
  for (const PoolEntry& entry : pool)
    if (!pre_check || pre_check(*entry.queued->pod)) pods.push_back(entry.queued);
  move(pods, change);
}

void QueueModel::flush_backoff() {
  std::vector<ModelPodPtr> due;
  for (Heap* heap : {&backoff, &errors})
    while (heap->len() > 0 && !backing_off(*heap->entries().front().value))
      due.push_back(heap->pop());
  for (const ModelPodPtr& queued : due) to_active(queued, "BackoffComplete", true);
}

void QueueModel::flush_leftover() {
  std::vector<ModelPodPtr> due;
  const Instant now = clock_.now();
  for (const PoolEntry& entry : pool) {
    Instant last = entry.queued->timestamp;
    if (entry.queued->flush_time && *entry.queued->flush_time > last)
      last = *entry.queued->flush_time;
    if (now - last > options_.max_in_unschedulable) {
      entry.queued->flushed = true;
      entry.queued->flush_time = now;
      due.push_back(entry.queued);
    }
  }
  if (!due.empty()) move(due, {.event = kTimeout});
}

// Nominations.

void QueueModel::denominate(const Pod& pod) {
  const auto of = node_of_.find(pod.uid);
  if (of == node_of_.end()) return;
  auto& on = nominated_[of->second];
  std::erase_if(on, [&](const PodPtr& other) { return other->uid == pod.uid; });
  node_of_.erase(of);
}

void QueueModel::nominate(const Pod& pod, const std::optional<std::string>& node) {
  denominate(pod);
  if (!node && pod.nominated_node_name.empty()) return;
  const PodPtr now = known_(pod.ns, pod.name);
  if (!now || !now->node_name.empty()) return;
  const std::string to = node ? *node : pod.nominated_node_name;
  node_of_[pod.uid] = to;
  nominated_[to].push_back(std::make_shared<Pod>(pod));
}

void QueueModel::renominate(const Pod& before, const Pod& after) {
  std::optional<std::string> keep;
  if (before.nominated_node_name.empty() && after.nominated_node_name.empty() &&
      node_of_.contains(before.uid))
    keep = node_of_[before.uid];
  denominate(before);
  nominate(after, keep);
}

std::vector<std::string> QueueModel::nominated(const std::string& node) const {
  std::vector<std::string> uids;
  const auto on = nominated_.find(node);
  if (on == nominated_.end()) return uids;
  for (const PodPtr& pod : on->second) {
    const ModelPodPtr found = queued(key(*pod));
    uids.push_back(found ? found->pod->uid : pod->uid + "?");
  }
  return uids;
}

}  // namespace berth::scheduler::test
