// SPDX-License-Identifier: Apache-2.0
#include "runtime/one_namespace.h"

#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace berth::runtime {
namespace {

class Listener final : public client::Transport {
 public:
  void call(kube::ApiRequest request, Instant, Done<kube::ApiReply>) override {
    heard.push_back(std::string(kube::kind_of(request.kind).plural) + " in " + request.ns);
  }
  std::vector<std::string> heard;
};

TEST(OneNamespace, ESI_121_AsksForWhatIsThereAndForAllPodsAndNodes) {
  Listener listener;
  OneNamespace way(listener, "a");
  const auto ask = [&](kube::Verb verb, kube::KindId kind, std::string ns = "") {
    kube::ApiRequest request;
    request.verb = verb;
    request.kind = kind;
    request.ns = std::move(ns);
    way.call(std::move(request), Instant{}, {});
  };
  ask(kube::Verb::kList, kube::kJob);
  ask(kube::Verb::kWatch, kube::kJob);
  ask(kube::Verb::kList, kube::kPod);
  ask(kube::Verb::kWatch, kube::kNode);
  ask(kube::Verb::kCreate, kube::kPod, "a");
  ask(kube::Verb::kGet, kube::kLease, "b");
  EXPECT_THAT(listener.heard, testing::ElementsAre("jobs in a", "jobs in a", "pods in ",
                                                   "nodes in ", "pods in a", "leases in b"));
}

}  // namespace
}  // namespace berth::runtime
