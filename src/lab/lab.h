// SPDX-License-Identifier: Apache-2.0
// What makes an embedded cluster alive: simulated nodes that send heartbeats, and pods that start,
// run and end on them as their annotations say. The lab sees the cluster through the store and
// writes as kubelets do, by requests.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "apiserver/store/store.h"
#include "base/log.h"
#include "base/random.h"
#include "base/scope.h"
#include "kube/api.h"
#include "lab/node_document.h"
#include "lab/pace.h"
#include "lab/rows.h"
#include "lab/silence.h"

namespace berth::lab {

// Takes the place of the usual life of pods or nodes; see stages/stages.h.
class Stages;
class KubeletEvents;
class Objectors;
struct Outlook;
struct TemplateFacts;

enum class Heartbeat : std::uint8_t {
  kPaced,     // leases every ten seconds, statuses every five minutes
  kOnDemand,  // in virtual time: leases when somebody looks, statuses when they change
};

struct LabOptions {
  std::size_t nodes = 0;  // made from the template
  NodeTemplate node = {};
  std::vector<kube::Object> given_nodes = {};  // of a file
  // True: every node is simulated. False: those with the annotation kwok.x-k8s.io/node: fake.
  bool every_node = true;
  Pace pace = {};
  bool check_fit = false;  // refuse pods for which their node has no room, as kubelets do
  Heartbeat heartbeat = Heartbeat::kPaced;
  Duration lease_period = 10s, lease_duration = 40s, status_period = 5min;
  // False: the statuses of pods go straight to the store unless a webhook or policy could object.
  bool always_ask = false;
  bool events = false;  // tell what kubelets tell; not where stages say what happens
  std::shared_ptr<const Stages> stages = {};  // null: the life described in simulated-nodes.md
  kube::User user = {.name = "system:lab", .groups = {"system:masters", "system:authenticated"}};
};

struct LabParts {
  apiserver::Store& store;
  kube::ApiHandler& api;  // on the store's executor
  Random random;
  Logger log;
};

struct LabCounts {
  std::size_t nodes = 0, silent_nodes = 0;  // simulated ones
  std::size_t pods = 0;                     // that have a simulated node
  std::size_t pending = 0, running = 0, finished = 0, stopping = 0;
  std::uint64_t writes = 0, refused = 0, renewals = 0;
};

// Loop-confined to its scope's executor, the store's. Outlives its scope's work.
class Lab {
 public:
  Lab(Scope& parent, LabParts, LabOptions);
  ~Lab();
  Lab(const Lab&) = delete;
  Lab& operator=(const Lab&) = delete;

  // Looks at what there is and creates the nodes that there should be. Answers once they exist;
  // with an error if one was refused.
  void start(Done<Ok>);
  LabCounts counts() const;  // walks over all pods

  // Failures on demand. False where there is no such simulated node or pod.
  bool fail_node(std::string_view name, Outage = Outage::kCrashed);
  bool recover_node(std::string_view name);
  // Down and up again, so many times; each span is that long.
  bool flap_node(std::string_view name, Duration down, Duration up, int times);
  std::size_t fail_zone(std::string_view zone, Outage = Outage::kCrashed);  // how many nodes
  std::size_t recover_zone(std::string_view zone);
  bool slow_node(std::string_view name, double factor);  // 1: as usual
  bool set_health(std::string_view name, Health);
  bool fail_pod(const kube::Key&);  // its containers end with an error
  // What is wrong with which node, in the order of their names: "crashed", "3 times slower".
  std::vector<std::pair<std::string, std::string>> troubles() const;
  bool simulates_node(std::string_view name) const;
  std::vector<std::string> nodes_in(std::string_view zone) const;  // simulated ones; "": all
  bool busy() const;  // something is under way, or going to happen without anybody's help

  // Who is not heard of. Lives as long as anybody holds it.
  const std::shared_ptr<Silence>& silence() const { return silence_; }
  // Writes the leases that are due. Only with Heartbeat::kOnDemand is there anything to do.
  void renew_due();
  // Leases are kept up while anybody holds one of these.
  std::shared_ptr<void> watch_leases();

  // What there is, for who computes from it; in the order of keys.
  std::vector<kube::Object> beating_nodes() const;
  bool is_beating(std::string_view node) const;
  std::vector<kube::Object> pods_on(std::string_view node) const;
  std::vector<kube::Object> pods_in(std::string_view ns) const;  // that have a node; "": all
  const Random& chance() const { return parts_.random; }

  Instant now() const;
  WallTime wall() const;
  apiserver::Store& store() { return parts_.store; }
  const LabOptions& options() const { return options_; }

 private:
  class Feed;
  struct Index;
  struct Beats;
  struct Birth;

  // lab.cc
  std::uint32_t node_row(std::string_view name, bool make);
  std::uint32_t pod_row(std::string_view ns, std::string_view name) const;
  void send(kube::ApiRequest, Fn<void(Result<kube::ApiReply>)>);
  void create_next();

  // lab_nodes.cc
  void on_node(const kube::WatchEvent&);
  void on_nodes_listed();
  void drop_node(std::uint32_t);
  void look_at_node(std::uint32_t);
  void read_node_annotations(std::uint32_t);
  void report(std::uint32_t);
  bool beats(const NodeRow& row) const { return row.managed && row.outage == Outage::kNone; }
  void fall_silent(std::uint32_t, Outage);
  void come_back(std::uint32_t);
  void flap(std::uint32_t node, Duration down, Duration up, int times, bool failing);

  // lab_pods.cc
  void on_pod(const kube::WatchEvent&);
  void on_pods_listed();
  std::uint32_t adopt(const kube::Object& pod);
  void drop_pod(std::uint32_t);
  void look_at_pod(std::uint32_t);
  void look_at_pods_of(std::uint32_t node);
  void live(std::uint32_t);
  void stops(std::uint32_t);
  void arm(std::uint32_t, Duration);
  bool anybody_objects() const;
  void put_status(std::uint32_t, std::string status, Outlook);
  void patch_status(std::uint32_t, std::string patch);
  void remove_pod(std::uint32_t);
  void on_pod_written(std::uint32_t, const kube::Object& was, Result<kube::ApiReply>,
                      const Outlook* = nullptr);
  std::string address_of(std::uint32_t pod);
  std::string refusal(std::uint32_t pod, std::string& message);

  std::string host_address(std::uint32_t node) const;

  // lab_stages.cc
  bool staged(kube::KindId) const;
  void send_in_turn(std::vector<kube::ApiRequest>, std::size_t next,
                    Fn<void(Result<kube::ApiReply>)>);
  TemplateFacts facts(std::uint32_t node, std::uint32_t pod);
  void follow_stages(std::uint32_t pod);
  void enter_stage(std::uint32_t pod);
  void follow_node_stages(std::uint32_t node);

  // lab_leases.cc
  void begin_beating(std::uint32_t node);
  void beat_later();
  void beat();
  void renew(std::uint32_t node, WallTime at);
  Duration offset(const NodeRow&) const;
  WallTime last_beat(const NodeRow&, WallTime now) const;
  void tell(std::uint32_t node);

  Scope& scope_;
  LabParts parts_;
  LabOptions options_;
  std::vector<NodeRow> nodes_;
  std::vector<PodRow> pods_;
  std::uint32_t free_pod_ = kNoRow;
  std::unique_ptr<Index> index_;
  std::unique_ptr<Feed> node_feed_, pod_feed_;
  std::unique_ptr<Objectors> objectors_;
  std::unique_ptr<Beats> beats_;
  std::unique_ptr<Birth> birth_;
  std::unique_ptr<KubeletEvents> events_;  // null: nothing is told
  std::shared_ptr<Silence> silence_ = std::make_shared<Silence>();
  WallTime started_{};
  std::uint64_t writes_ = 0, refused_ = 0, renewals_ = 0;
};

}  // namespace berth::lab
