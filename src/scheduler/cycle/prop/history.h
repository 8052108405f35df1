// SPDX-License-Identifier: Apache-2.0
// A cluster that changes at random while pods are placed on it, by the cached and by the plain
// path. Only tests include this.
#pragma once

#include <map>
#include <memory>
#include <string>
#include <vector>

#include "base/random.h"
#include "scheduler/cache/cluster_state.h"
#include "scheduler/cache/test_builders.h"
#include "scheduler/cache/trial.h"
#include "scheduler/cycle/decide.h"

namespace berth::scheduler::test {

class Promises final : public NominatedPods {
 public:
  void add(PodPtr pod) { by_node_[pod->nominated_node_name].push_back(std::move(pod)); }
  void clear() { by_node_.clear(); }
  bool empty() const override { return by_node_.empty(); }
  std::vector<PodPtr> on(std::string_view node) const override {
    const auto found = by_node_.find(node);
    return found == by_node_.end() ? std::vector<PodPtr>() : found->second;
  }
  std::vector<std::string> nodes() const override {
    std::vector<std::string> names;
    for (const auto& [name, pods] : by_node_) names.push_back(name);
    return names;
  }

 private:
  std::map<std::string, std::vector<PodPtr>, std::less<>> by_node_;
};

class History {
 public:
  explicit History(std::uint64_t seed);
  // What differed, with the step; empty when nothing did.
  std::string run(int steps);
  const FastPathStats& stats() { return fast_->fast_path().stats(); }

 private:
  std::string step();
  std::string decide(bool keep);
  std::string compare(const Decision& fast, const Decision& plain) const;
  std::string change();
  void change_node();
  void change_pod();
  void change_world();
  std::string trial();

  NodePtr make_node(const std::string& name);
  PodPtr make_template(std::size_t number);
  PodPtr pod_of(std::size_t shape);
  std::string any_node();
  template <class T>
  const T& any(const std::vector<T>& list) {
    return list[random_.below(list.size())];
  }

  Random random_;
  ReasonTable reasons_;
  std::unique_ptr<Profile> profile_;
  ClusterState cluster_;
  Promises promises_;
  SearchStart fast_start_, plain_start_;
  std::unique_ptr<Decider> fast_, plain_;
  std::vector<PodPtr> shapes_;
  std::vector<std::string> nodes_;
  std::vector<std::string> placed_;  // uids
  std::size_t last_shape_ = 0;
  int names_ = 0;
};

}  // namespace berth::scheduler::test
