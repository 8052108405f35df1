// SPDX-License-Identifier: Apache-2.0
// Pods that wait for something to happen. Those that no hint can tell apart form a group, and a
// group is asked once.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <string>
#include <tuple>
#include <unordered_map>
#include <vector>

#include "scheduler/queue/queue_observer.h"
#include "scheduler/queue/queued_pod.h"
#include "scheduler/queue/requeue_table.h"

namespace berth::scheduler {

// Pods refused by the same plugins of the same profile: no event wakes one but not the others
// without a hint being asked.
struct WaitClass;

// Pods of a class with the same spec, labels and namespace. A hint may look at those, and at
// whether the change is about the waiting pod itself; a pod with volumes or claims, which hints
// look at too, is a group of its own.
struct WaitGroup {
  struct Key {
    const PodSpec* spec = nullptr;
    const Labels* labels = nullptr;
    std::string ns;
    std::string alone;  // the uid of a pod that shares with nobody
    friend bool operator==(const Key&, const Key&) = default;
  };
  struct KeyHash {
    std::size_t operator()(const Key&) const;
  };

  WaitClass* of = nullptr;
  Key key;
  std::vector<QueuedPod*> members;  // in no order; pods know their place in it
};

struct WaitClass {
  using Key = std::tuple<int, std::uint64_t, std::uint64_t, PluginId>;

  Key key;
  int profile = RequeueTable::kNoProfile;
  PluginSet rejectors;
  PluginId gating = PluginId::kNone;
  std::unordered_map<WaitGroup::Key, std::unique_ptr<WaitGroup>, WaitGroup::KeyHash> groups;
};

// Loop-confined. Pods belong to the queue.
class UnschedulablePool {
 public:
  // False: the pod is left alone, and not asked about.
  using PreCheck = std::function<bool(const Pod&)>;
  using Ask = std::function<Strategy(const QueuedPod&)>;
  struct Woken {
    QueuedPod* queued = nullptr;
    Strategy strategy = Strategy::kSkip;
  };

  UnschedulablePool(const RequeueTable& table, QueueObserver& observer)
      : table_(table), observer_(observer) {}
  UnschedulablePool(const UnschedulablePool&) = delete;
  UnschedulablePool& operator=(const UnschedulablePool&) = delete;

  std::size_t size() const { return size_; }
  void add(QueuedPod&);     // at the end; sets its place
  void remove(QueuedPod&);  // sets its place
  // What groups go by has changed: the pod, its rejectors or its gate. It keeps its place in line.
  void refresh(QueuedPod&);

  // Pods for which `ask` answers other than kSkip, in the order in which they came. `subject` is
  // the pod that the event is about, if it is in here: it is asked by itself.
  std::vector<Woken> woken_by(const RequeueTable::Kind&, const QueuedPod* subject,
                              const PreCheck& pre_check, const Ask& ask) const;
  // Pods that have waited for more than `limit` since they came or were last flushed, in the order
  // in which they came.
  std::vector<QueuedPod*> overdue(Instant now, Duration limit);
  std::vector<QueuedPod*> all() const;  // in the order in which they came
  std::size_t groups() const;

 private:
  static constexpr Instant kNever{Duration::max()};
  void join(QueuedPod&);
  void leave(QueuedPod&);
  void wake_group(const WaitGroup&, const QueuedPod* subject, const PreCheck&, const Ask&,
                  std::vector<Woken>&) const;

  const RequeueTable& table_;
  QueueObserver& observer_;
  std::map<WaitClass::Key, WaitClass> classes_;  // few
  std::size_t size_ = 0;
  Instant oldest_ = kNever;  // nobody has waited since before that; spares most looks at everybody
  std::uint64_t next_number_ = 0;
};

}  // namespace berth::scheduler
