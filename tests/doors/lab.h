// SPDX-License-Identifier: Apache-2.0
// An embedded cluster in virtual time whose executors find their slots through one of the two
// doors: the scheduler's plugin, or the extender beside a scheduler that knows nothing of slots.
#pragma once

#include <map>
#include <memory>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "base/world.h"
#include "client/api.h"
#include "cluster/cluster.h"
#include "gateway/extender/extender_service.h"
#include "kube/ours/ours.h"
#include "policy/slots/ledger.h"
#include "scheduler/run/app.h"

namespace berth::doors {

enum class Way { kPlugin, kExtender, kNone };  // kNone: nobody schedules

struct LabOptions {
  Way way = Way::kPlugin;
  std::size_t nodes = 3;
  Seed seed = 1;
  bool names_only = true;  // nodeCacheCapable
  bool managed = false;    // only pods that ask for berth.dev/slot are asked about
  std::string cpu = "4";   // of a node
};

class Lab {
 public:
  explicit Lab(LabOptions = {});
  ~Lab();

  kube::Object create(std::string_view json);
  kube::Object patch(kube::KindId, const kube::Key&, std::string merge_patch,
                     std::string subresource = "");
  void bind(const kube::Object& pod, const std::string& node);
  void erase(kube::KindId, const kube::Key&, std::optional<std::int64_t> grace = {});
  kube::Object get(kube::KindId, const kube::Key&);  // invalid where there is none
  std::vector<kube::Object> list(kube::KindId);
  void run(Duration how_long = 10s) { world.run_for(how_long); }

  void testbed(const std::string& name = "tb", int slots_per_node = 2,
               std::string_view cpu = "750m");
  void job(const std::string& name, std::string_view duration = "1h", bool suspended = false);
  // A job that has slots and makes no pods: its executors are made by hand.
  void granted(const std::string& job, int slots, const std::string& testbed = "tb");
  kube::Object executor(const std::string& name, const std::string& job);
  void queue(const std::string& name, std::string_view jobs, std::string_view testbed = "tb");
  void pod(const std::string& name, std::string_view cpu, std::string_view more = "");

  slots::Ledger ledger(const std::string& name = "tb");
  std::vector<kube::Object> executors();
  std::vector<kube::Object> ghosts();
  // "A-0: slot 0 on node-0", sorted; what sits in slots, by annotation or pin.
  std::vector<std::string> placement();
  std::map<int, std::string> states(const std::string& name = "tb");  // wire states
  std::vector<std::string> events_of(std::string_view pod, std::string_view reason);
  std::string node_of(std::string_view pod);
  // What is wrong with it all just now: two executors in a slot, a slot that is not the grant's, a
  // node that has more than it can hold.
  std::vector<std::string> wrongs();

  // The extender's process.
  void start_extender();
  void kill_extender();
  net::HttpResponse post(std::string path, std::string body);  // to the extender
  std::vector<std::string> access_log;                         // "filter pod"

  // The scheduler's process, beside the cluster.
  void start_scheduler();
  void kill_scheduler();

  World world;
  StringSink log;
  Metrics metrics;
  std::unique_ptr<cluster::Cluster> cluster;
  std::unique_ptr<client::Transport> transport;
  std::unique_ptr<gateway::ExtenderService> extender;

 private:
  scheduler::SchedulerConfig config() const;

  LabOptions options_;
  Scope scope_;
  std::unique_ptr<client::Api> api_;
  std::unique_ptr<Scope> extender_scope_, scheduler_scope_;
  std::vector<std::unique_ptr<gateway::ExtenderService>> dead_extenders_;
  std::vector<std::unique_ptr<scheduler::App>> dead_schedulers_;
  std::vector<std::unique_ptr<Scope>> dead_scopes_;
  std::vector<std::unique_ptr<Metrics>> scheduler_metrics_;
  std::unique_ptr<scheduler::App> scheduler_;
};

inline const kube::SlotKinds& kinds() { return kube::thesis_kinds(); }

}  // namespace berth::doors
