// SPDX-License-Identifier: Apache-2.0
// A whole cluster for one test: control plane, the controllers that are asked for, kwok playing the
// kubelets, and the scheduler that is being tested.
#pragma once

#include <atomic>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "checker.h"
#include "client/informer.h"
#include "control_plane.h"
#include "session.h"

namespace berth::e2e {

// Who schedules: Berth, or with BERTH_SUBJECT=stock the real kube-scheduler, which shows that what
// a test expects is what Kubernetes does.
enum class Subject { kBerth, kStock };
Subject subject();
std::string name_of(Subject);
// NotFound, and why, where the program is not built or has no such command.
Result<std::string> program_of(Subject);

struct SchedulerOptions {
  std::string config = "";  // further YAML at the top level of the KubeSchedulerConfiguration
  std::vector<std::string> flags = {};
  // Every cached decision is made again without caches; a difference ends the process.
  bool verify = true;
};

// Thread-compatible: one test thread uses it.
class Cluster {
 public:
  struct Options {
    // Of kube-controller-manager; none: it does not run.
    std::vector<std::string> controllers = {"persistentvolume-binder-controller",
                                            "disruption-controller"};
    bool kwok = true;
    // Nodes are ready as soon as they are made: no controller takes taints off. Pods say their
    // priority as a number.
    std::string without_admission =
        "TaintNodesByCondition,Priority,DefaultTolerationSeconds,StorageObjectInUseProtection,"
        "RuntimeClass";
    std::vector<std::string> api_server_flags = {};  // on top of ours
  };
  static Result<std::unique_ptr<Cluster>> start(Options);
  static Result<std::unique_ptr<Cluster>> start() { return start(Options()); }
  ~Cluster();

  ControlPlane& plane() { return *plane_; }
  Session& admin() { return *admin_; }

  Result<Ok> create_all(std::vector<NewObject> objects) {
    return e2e::create_all(*admin_, std::move(objects));
  }
  Result<std::unique_ptr<Child>> start_scheduler(Subject, const SchedulerOptions& = {});
  // Takes away every pod, node, claim, volume and whatever else a test may have made; namespaces
  // and classes stay.
  void wipe();
  ClusterState state();  // as the server tells it now
  std::string log_tails(std::size_t lines = 15) const;

 private:
  Cluster() = default;
  Result<Ok> start_helpers(const Options&);
  std::vector<kube::Object> list(kube::KindId);

  std::unique_ptr<ControlPlane> plane_;
  std::unique_ptr<Session> admin_;
  std::unique_ptr<Child> controllers_, kwok_;
  int schedulers_ = 0;
  std::filesystem::path last_log_;
};

// Follows every pod from the first to the last state. Lives on the session's loop; the test thread
// asks.
class PodHistory {
 public:
  struct Life {
    std::string key, uid, node, nominated;
    int binds = 0;  // changes from no node to a node, or from a node to another
    bool gone = false, leaving = false;
  };
  explicit PodHistory(Session& session);
  ~PodHistory();

  std::size_t bound() const { return bound_; }  // pods that have a node and were not deleted
  std::size_t there() const { return there_; }
  std::vector<Life> lives();
  std::map<std::string, Life> by_key();  // the last one of each name
  // How often it had to begin again from a list: then states may have been missed. A watch that the
  // server ends is taken up where it ended and misses nothing.
  std::uint64_t gaps();

 private:
  void saw(const kube::Object&, bool gone);

  Session& session_;
  Scope& scope_;
  std::unique_ptr<client::Informer<>> informer_;
  std::map<std::string, Life> by_uid_;
  std::atomic<std::size_t> bound_{0}, there_{0};
};

// "a: 3 binds" for each pod that was not bound exactly once; "" when all were.
std::string bound_other_than_once(const std::vector<PodHistory::Life>&);

}  // namespace berth::e2e

// Starts a Cluster into `name`, or skips the test where the programs are not built.
#define BERTH_CLUSTER(name, ...)                                                    \
  if (const auto there = ::berth::e2e::program_of(::berth::e2e::subject()); !there) \
    GTEST_SKIP() << there.error().message;                                          \
  auto name##_or = ::berth::e2e::Cluster::start(__VA_ARGS__);                       \
  if (!name##_or && name##_or.error().reason == ::berth::Reason::kNotFound)         \
    GTEST_SKIP() << name##_or.error().message;                                      \
  ASSERT_TRUE(name##_or) << name##_or.error().message;                              \
  ::berth::e2e::Cluster& name = **name##_or
