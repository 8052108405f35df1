// SPDX-License-Identifier: Apache-2.0
#include "scheduler/run/waiting_pods.h"

#include <algorithm>

#include <fmt/format.h>

#include "scheduler/config/go_duration.h"

namespace berth::scheduler {

class WaitingPods::Entry final : public WaitingPod {
 public:
  Entry(WaitingPods& all, PodPtr pod, Fn<void(Status)> decided)
      : all_(all), pod_(std::move(pod)), decided_(std::move(decided)) {}

  const Pod& pod() const override { return *pod_; }
  std::vector<PluginId> pending() const override {
    std::vector<PluginId> plugins;
    for (const auto& [plugin, timer] : timers_) plugins.push_back(plugin);
    return plugins;
  }
  void allow(PluginId plugin) override {
    if (const auto found = timers_.find(plugin); found != timers_.end()) {
      all_.scope_.cancel(found->second);
      timers_.erase(found);
    }
    if (timers_.empty()) all_.settle(*this, {});
  }
  void reject(PluginId plugin, std::string message) override {
    all_.settle(*this, {Code::kUnschedulable, {std::move(message)}, plugin});
  }
  void preempt(PluginId plugin, std::string message) override {
    all_.settle(*this, {Code::kError, {std::move(message)}, plugin});
  }

 private:
  friend class WaitingPods;
  WaitingPods& all_;
  PodPtr pod_;
  Fn<void(Status)> decided_;
  std::map<PluginId, TimerId> timers_;
};

WaitingPods::WaitingPods(Scope& scope, PluginName plugin_name)
    : scope_(scope), plugin_name_(std::move(plugin_name)) {}
WaitingPods::~WaitingPods() = default;

void WaitingPods::add(PodPtr pod, const std::vector<std::pair<PluginId, Duration>>& waits,
                      Fn<void(Status)> decided) {
  const std::string uid = pod->uid;
  auto& entry = pods_[uid];
  entry = std::make_unique<Entry>(*this, std::move(pod), std::move(decided));
  for (const auto& [plugin, asked] : waits) {
    const Duration limit = std::min<Duration>(asked, 15min);
    entry->timers_[plugin] = scope_.after(limit, [this, uid, plugin = plugin, limit] {
      if (WaitingPod* waiting = find(uid))
        waiting->reject(plugin, fmt::format("rejected due to timeout after waiting {} at plugin {}",
                                            go_duration(limit), plugin_name_(plugin)));
    });
  }
}

WaitingPod* WaitingPods::find(std::string_view uid) {
  const auto found = pods_.find(uid);
  return found == pods_.end() ? nullptr : found->second.get();
}

void WaitingPods::for_each(Fn<void(WaitingPod&)> f) {
  std::vector<std::string> uids;
  for (const auto& [uid, entry] : pods_) uids.push_back(uid);
  std::sort(uids.begin(), uids.end());
  for (const std::string& uid : uids)
    if (WaitingPod* waiting = find(uid)) f(*waiting);
}

void WaitingPods::reject_all(const std::string& message) {
  for_each([&](WaitingPod& waiting) { waiting.reject(PluginId::kNone, message); });
}

void WaitingPods::settle(Entry& entry, Status status) {
  for (const auto& [plugin, timer] : entry.timers_) scope_.cancel(timer);
  Fn<void(Status)> decided = std::move(entry.decided_);
  pods_.erase(pods_.find(entry.pod().uid));
  scope_.post([decided = std::move(decided), status = std::move(status)]() mutable {
    decided(std::move(status));
  });
}

}  // namespace berth::scheduler
