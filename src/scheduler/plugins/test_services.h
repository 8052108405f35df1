// SPDX-License-Identifier: Apache-2.0
// What plugins may do, in a test: the API is a transport of the test's own, logs go to a string.
// Only tests include this.
#pragma once

#include <string>
#include <vector>

#include "base/log.h"
#include "base/world.h"
#include "client/api.h"
#include "scheduler/framework/services.h"

namespace berth::scheduler::test {

class TestServices final : public Services, private NominatedPods {
 public:
  // Without a transport nothing may be asked of the API.
  explicit TestServices(client::Transport* transport = nullptr, std::uint64_t seed = 1)
      : random_(seed) {
    if (transport != nullptr)
      api_ = std::make_unique<client::Api>(scope_, *transport, Random(seed));
  }
  ~TestServices() override {
    scope_.close(Duration{}, [] {});
    world.run_until_idle(1h);
  }

  Scope& scope() override { return scope_; }
  client::Api& api() override { return *api_; }
  Logger& log() override { return log_; }
  Random& random() override { return random_; }
  const NominatedPods& nominated() const override { return *this; }
  WaitingPod* waiting(std::string_view) override { return nullptr; }
  void for_each_waiting(Fn<void(WaitingPod&)>) override {}
  bool cancel_pre_bind(std::string_view) override { return false; }
  void activate(const std::vector<PodPtr>&) override {}
  bool pre_bind_cancelled(std::string_view) const override { return cancelled; }
  StorageState* storage() override { return volumes; }
  slots::SlotBoard* slots() override { return board; }
  PodPtr pending_pod(std::string_view, std::string_view) const override { return pending; }
  void clear_nomination(const Pod&) override {}
  void event(const Pod& regarding, bool, std::string reason, std::string, std::string note,
             const Pod*) override {
    events.push_back(regarding.text() + " " + reason + ": " + note);
  }
  std::string logged() const { return sink_.text(); }

  World world{1};
  std::vector<std::string> events;
  StorageState* volumes = nullptr;
  slots::SlotBoard* board = nullptr;
  PodPtr pending;  // what is still pending, whatever is asked for
  bool cancelled = false;

 private:
  bool empty() const override { return true; }
  std::vector<PodPtr> on(std::string_view) const override { return {}; }
  std::vector<std::string> nodes() const override { return {}; }

  Scope scope_{world.loop("scheduler"), "test"};
  StringSink sink_;
  Logger log_{sink_, world.loop("scheduler").clock()};
  Random random_;
  std::unique_ptr<client::Api> api_;
};

}  // namespace berth::scheduler::test
