// SPDX-License-Identifier: Apache-2.0
// What the queue needs to know of every node, pod and ScavengerJob. Reading an object is a hundred
// times dearer than adding up what was read, and between two looks few objects change: so what was
// read of a version is kept with it.
#pragma once

#include <map>
#include <optional>
#include <string>
#include <unordered_map>
#include <vector>

#include "controllers/scavenger/job_builder.h"
#include "kube/ours/ours.h"
#include "kube/ours/scavenger_policy_view.h"
#include "policy/scavenge/admit.h"
#include "runtime/view.h"

namespace berth::controllers {

struct QueuedJob {
  const kube::Object* object = nullptr;  // of this look
  bool waiting = false, open = false;
  bool elastic = false;  // it runs, may be made smaller, and nobody asks it to go
  std::string uid, ns, name, job_uid, launcher_uid;
  std::int64_t interrupted = 0;
  WallTime waiting_since = {};
  std::optional<WallTime> not_before = {};
  kube::Key gave_way_to = {};  // the pod that it was interrupted for
  std::string gave_way_uid = {};
  Members members = {};
  std::string told;       // the reason of its condition Admitted
  std::string placement;  // where it may go, as a text: jobs of one text are alike
  std::vector<std::pair<WallTime, std::optional<WallTime>>> runs = {};
};

struct QueueSight {
  scavenge::AdmitQuestion question = {};
  std::vector<const QueuedJob*> jobs = {};
  kube::ResourceList capacity = {}, used = {}, ordinary = {};
  std::map<std::string, double> hours = {};  // decayed core-hours by user, where shares are fair
  bool used_since = false;                   // more than the ledger has
  // Pods that run, of jobs that may have been made smaller, by the uid of their Job.
  std::unordered_map<std::string, std::vector<const kube::Object*>> elastic_pods = {};
  std::int64_t running = 0;
};

// A memo of a pure function of objects: the same answer with or without what it kept.
// Loop-confined.
class QueueFacts {
 public:
  QueueSight look(const runtime::View&, const std::vector<kube::KindId>& job_kinds, WallTime now);
  std::size_t kept() const { return pods_.size() + nodes_.size() + jobs_.size(); }

 private:
  struct PodFact {
    kube::Revision revision = 0;
    std::uint64_t round = 0;
    bool bound = false, live = false, unplaced = false;
    std::string node, scavenger, controller;
    kube::ResourceList requests;
  };
  struct NodeFact {
    kube::Revision revision = 0;
    std::uint64_t round = 0;
    bool usable = false, tainted = false;
    kube::ResourceList allocatable;
  };
  struct JobFact {
    kube::Revision revision = 0;
    std::uint64_t round = 0;
    QueuedJob job;
  };
  template <class Fact>
  using Kept = std::unordered_map<std::string, Fact>;

  const PodFact& fact_of(const kube::Object& pod);
  const NodeFact& node_fact(const kube::Object& node);
  const QueuedJob& job_fact(const kube::Object& job);
  // Finds what was kept of the version, or an empty place for it.
  template <class Fact>
  std::pair<Fact&, bool> kept(Kept<Fact>&, const kube::Object&) const;
  template <class Fact>
  void drop_old(Kept<Fact>&);
  std::vector<std::string> nodes_for(const runtime::View&, const QueuedJob&) const;

  Kept<PodFact> pods_;
  Kept<NodeFact> nodes_;
  Kept<JobFact> jobs_;
  std::uint64_t round_ = 0;
};

// The whole question: with the rules of the policy, quotas and shares, and how much ordinary use
// varies as the policy's status has it.
QueueSight queue_question(QueueFacts&, const runtime::View&,
                          const std::vector<kube::KindId>& job_kinds, WallTime now);
scavenge::AdmitRules admit_rules(const kube::ScavengerPolicy&);

// Core-hours that a job has used since then, each worth half as much after a half-life.
double decayed_hours(const QueuedJob&, Duration half_life, WallTime since, WallTime now);

// What users had used by some time, whether their jobs are still there or not: shares that were
// counted from jobs alone could be had back by deleting them. Stands in the policy's status.
struct ShareLedger {
  WallTime at = {};
  std::map<std::string, double> hours = {};  // decayed, by user
};
ShareLedger read_shares(const kube::Object* policy);
std::string shares_json(const std::map<std::string, double>& hours);  // in core-seconds
// The largest share of a resource that is used, of cpu and memory.
double utilisation(const kube::ResourceList& used, const kube::ResourceList& capacity);

}  // namespace berth::controllers
