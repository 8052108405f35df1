// SPDX-License-Identifier: Apache-2.0
// A pretended extender beside the lab's scheduler.
#pragma once

#include <deque>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "lab.h"

namespace berth::scheduler::stories {

// A pretended extender: `answer` gives the reply to "filter", "prioritize" and "bind"; nullopt
// leaves the caller hanging, an empty text closes the connection.
struct Helper {
  // What an endless reply comes to: the connection is cut.
  static constexpr const char* kEndless = "(endless)";
  std::function<std::optional<std::string>(const std::string& verb, const std::string& body)>
      answer;
  std::vector<std::string> calls;  // verbs
  std::vector<std::string> bodies;
  std::deque<Done<ExtenderReply>> hanging;

  auto maker() {
    return [this](Scope& scope, const ExtenderConfig& config) -> Result<std::unique_ptr<Extender>> {
      return std::make_unique<Extender>(scope, config, std::make_unique<Way>(*this));
    };
  }
  struct Way final : ExtenderTransport {
    explicit Way(Helper& to) : helper(to) {}
    void post(std::string target, std::string body, std::size_t most, Instant,
              Done<ExtenderReply> done) override {
      const std::string verb = target.substr(target.rfind('/') + 1);
      helper.calls.push_back(verb);
      helper.bodies.push_back(body);
      const auto text = helper.answer(verb, body);
      if (!text)
        helper.hanging.push_back(std::move(done));
      else if (text->empty())
        done(fail(Reason::kUnreachable, "connection reset"));
      else if (*text == kEndless)
        done(fail(Reason::kInternalError, fmt::format("the reply is larger than {} bytes", most)));
      else
        done(ExtenderReply{.body = *text});
    }
    Helper& helper;
  };
};

// Cares for pods that ask for example.com/gpu.
inline auto configured(ExtenderConfig extender = {}, bool ignorable = false,
                       bool caches_nodes = true) {
  return [extender, ignorable, caches_nodes](SchedulerConfig& config) mutable {
    extender.url_prefix = "http://helper";
    extender.node_cache_capable = caches_nodes;
    extender.ignorable = ignorable;
    extender.weight = 1;
    if (extender.filter_verb.empty() && extender.bind_verb.empty() && extender.preempt_verb.empty())
      extender.filter_verb = "filter";
    extender.managed_resources = {{"example.com/gpu", false}};
    config.extenders = {extender};
  };
}

class Extending : public testing::Test {
 protected:
  void begin(ExtenderConfig config = {}, bool ignorable = false) {
    lab = std::make_unique<Lab>(configured(std::move(config), ignorable),
                                [this](AppOptions& options) { options.extender = helper.maker(); });
    for (const char* name : {"n1", "n2", "n3"})
      lab->server.objects.set(
          kube::kNode, {"", name},
          R"("spec":{},"status":{"allocatable":{"cpu":"8","memory":"32Gi","pods":"110","example.com/gpu":"4"}})");
    lab->run();
  }
  void gpu_pod(const std::string& name) {
    lab->server.objects.set(
        kube::kPod, {"default", name},
        R"("spec":{"schedulerName":"default-scheduler","containers":[{"name":"main","resources":{"requests":{"cpu":"1","example.com/gpu":"1"},"limits":{"example.com/gpu":"1"}}}]},"status":{"phase":"Pending"})");
  }
  ~Extending() override {
    helper.hanging.clear();
    lab.reset();
  }
  Helper helper;
  std::unique_ptr<Lab> lab;
};

}  // namespace berth::scheduler::stories
