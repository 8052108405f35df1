// SPDX-License-Identifier: Apache-2.0
// Fixtures of tests/scavenger_doors on a real API server, where a stock kube-scheduler has to make
// room. Nobody runs the jobs: their statuses are written as the operator would have left them, so
// that a cluster is what its fixture says.
#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "cluster.h"
#include "extender_process.h"
#include "fixture.h"
#include "gateway/extender/extender_service.h"

namespace berth::e2e {

// Thread-compatible: one test thread uses it.
class ScavengerStage {
 public:
  explicit ScavengerStage(Cluster&);  // puts our kinds there
  ~ScavengerStage();

  // Jobs and pods of the fixture come into the order of their uids, as doors break ties by it.
  void show(scavenger_doors::Fixture&);
  void preemptor_comes(const scavenger_doors::Fixture&);
  void clear();

  // kube-scheduler, told of an extender at this address, and that it knows so many nodes.
  void start_scheduler(const std::string& slots_url);
  void scheduler_knows(std::size_t nodes);

  // "" as long as it has none.
  std::string node_of(const std::string& pod);
  // Its scheduler has said where it goes, or that it waits; with that it has asked whom it wanted
  // to.
  bool decided(const std::string& pod);
  std::string nominated(const std::string& pod);
  std::vector<std::string> leaving();  // names of pods that were told to go, sorted
  void leave();                        // they are gone
  void until(const std::string& what, const std::function<bool()>& holds);

  Cluster& cluster() { return cluster_; }
  Session& admin() { return cluster_.admin(); }

 private:
  void create(kube::KindId, const kube::Key&, const std::string& members, bool with_status = false);

  Cluster& cluster_;
  std::unique_ptr<Child> scheduler_;
  int canaries_ = 0;
};

// The extender in the test's own process, where it can be asked what it knows by now.
class KnownExtender {
 public:
  explicit KnownExtender(Session&);
  ~KnownExtender();

  std::string url() const;  // of its slots
  bool knows(const scavenger_doors::Fixture&);
  bool knows_nothing() { return knows({}); }
  int asked();  // about scavengers
  // What it chose since the last question.
  std::vector<scavenge::VictimRecord> new_choices();

 private:
  class Door;
  Session& session_;
  Scope& scope_;
  Metrics metrics_;
  std::unique_ptr<Door> door_;
  std::unique_ptr<net::HttpServer> server_;
  std::optional<scavenge::VictimRecord> last_;
};

}  // namespace berth::e2e
