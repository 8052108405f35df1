// SPDX-License-Identifier: Apache-2.0
// A real API server with Berth's kinds and controllers, and one of the doors to slots: Berth's
// scheduler with the plugin, or the stock kube-scheduler with the extender, asked about every pod
// or about executors alone.
#pragma once

#include <functional>
#include <memory>
#include <set>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "cluster.h"
#include "kube/ours/ours.h"

namespace berth::e2e {

inline const kube::SlotKinds& slot_kinds() { return kube::thesis_kinds(); }
inline constexpr std::chrono::seconds kSlotPatience{120};

enum class SlotsDoor {
  kPlugin,
  kExtender,         // it is asked about every pod
  kManagedResource,  // about those that request a slot
  kSecondScheduler   // for executors, as in the thesis; the first knows nothing of slots
};

// Priorities count here, unlike in other tests of schedulers.
Cluster::Options slots_cluster(std::vector<std::string> controllers = {});

// Thread-compatible: one test thread uses it.
class SlotsStage {
 public:
  SlotsStage(Cluster&, SlotsDoor);

  // Three nodes of four cores with the label that Testbeds here go by.
  void nodes();
  void node(const std::string& name, const std::string& label);
  void testbed(std::string_view more = "", int slots_per_node = 2, std::string_view cpu = "750m",
               const std::string& name = "tb", std::string_view label = "tuberlin.de/tb");
  // A plain Job; its pods run until finish() ends them.
  void job(const std::string& name, std::string_view more = "");
  void queue(const std::string& name, std::string_view jobs, std::string_view testbed = "tb");
  void placed(const std::string& name, std::string_view mode,
              const std::vector<std::pair<std::string, std::vector<int>>>& jobs);
  void pod(const std::string& name, std::string_view cpu, std::string_view more = "");
  // An executor without an application, for a job whose application makes none.
  void executor(const std::string& name, const std::string& job, std::string_view more = "");
  // Its executors end, as a kubelet would say it.
  void finish(const std::string& job);
  // All that Berth carries out goes, and then everything else.
  void clear();

  void create(const std::string& json);
  void patch(kube::KindId, const std::string& name, std::string merge_patch,
             std::string subresource = "");
  void erase(kube::KindId, const std::string& name);
  kube::Object get(kube::KindId, const std::string& name);  // invalid where there is none

  std::vector<kube::Object> pods();
  std::vector<kube::Object> executors();  // that live
  std::vector<kube::Object> ghosts(bool bound = true);
  std::string grant_of(const std::string& job);
  std::string slot_states(const std::string& testbed = "tb");  // "FREE OCCUPIED"
  std::string state(const std::string& scheduling);            // "gone" where there is none
  std::string job_state(const std::string& job);
  std::string condition(kube::KindId, const std::string& name, std::string_view type);
  std::vector<std::string> history(const std::string& job);  // "1 s ok"
  std::string running();                                     // "a{0,3} b{1,2}": grants, by job
  // "a: slot 0 on node-0", for every executor that has a node.
  std::multiset<std::string> placement();
  std::multiset<std::string> placement_of(std::size_t executors);  // once so many have one
  std::vector<std::string> events_of(std::string_view name, std::string_view reason);

  void restart_scheduler();
  // Those that run die, as by kill -9. More than one elect a leader.
  void run_controllers(int replicas = 1);
  void kill_leader();             // once there is one
  std::uint64_t filters_asked();  // of the extender, by now
  std::string kubeconfig() { return cluster_.plane().kubeconfig().string(); }
  std::string kubectl(std::vector<std::string> args);  // expects it to succeed
  Session& admin() { return cluster_.admin(); }
  std::string log_tails();
  // Expects it to hold before long.
  void until(const std::string& what, const std::function<bool()>& holds);

 private:
  std::unique_ptr<Child> program(const std::string& name, std::vector<std::string> args);
  std::string extender();

  Cluster& cluster_;
  SlotsDoor door_;
  std::string config_;  // of the scheduler that knows of slots
  std::vector<std::unique_ptr<Child>> controllers_;
  int started_ = 0;  // of whatever program
  std::uint16_t extender_port_ = 0;
  std::unique_ptr<Child> extender_, scheduler_, other_scheduler_;
};

}  // namespace berth::e2e
