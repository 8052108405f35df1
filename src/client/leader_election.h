// SPDX-License-Identifier: Apache-2.0
// Runs an Elector over a Transport. Whoever leads works inside the term's Scope: it closes before
// anybody else can lead, and that is the fence.
#pragma once

#include <string>

#include "base/metrics.h"
#include "client/elector.h"
#include "client/transport.h"

namespace berth::client {

struct LeaderElectionOptions {
  ElectorSettings settings;
  std::string ns = "kube-system";
  std::string name;
  Metrics* metrics = nullptr;  // outlives the election
};

struct LeaderCallbacks {
  Fn<void(Scope& term)> on_started = nullptr;
  Fn<void()> on_stopped = nullptr;  // the term's scope has closed
  Fn<void(const std::string& holder)> on_new_leader = nullptr;
};

// Loop-confined to its scope's executor; outlives that scope. Closing the scope ends the term, then
// releases the lease.
class LeaderElection {
 public:
  // The settings have passed check().
  LeaderElection(Scope& parent, Transport& transport, Random random, LeaderElectionOptions options,
                 LeaderCallbacks callbacks);
  LeaderElection(const LeaderElection&) = delete;
  LeaderElection& operator=(const LeaderElection&) = delete;

  void start();
  bool leads() const;  // by the clock: also right after a long freeze
  Instant term_end() const { return elector_.term_end(); }
  // For the calls of a term: their deadline never lies behind its end, and none is sent after it.
  Transport& term_transport() { return fence_; }

 private:
  class Fence final : public Transport {
   public:
    explicit Fence(LeaderElection& election) : election_(election) {}
    void call(kube::ApiRequest, Instant deadline, Done<kube::ApiReply>) override;

   private:
    LeaderElection& election_;
  };

  void tell(Elector::What);
  void perform(Elector::Effects);
  void begin_term();
  void end_term();
  void term_closed();
  void send(const Elector::Call&);
  void on_reply(Elector::Call::Kind, Result<kube::ApiReply>);
  void wake_at(std::optional<Instant>);

  Scope& scope_;  // gone once it has closed
  const Clock& clock_;
  Transport& transport_;
  LeaderElectionOptions options_;
  LeaderCallbacks callbacks_;
  Elector elector_;
  Fence fence_;
  kube::Object lease_;     // as last seen; writes keep what is not ours in it
  Scope* term_ = nullptr;  // until it has closed
  bool term_closing_ = false, begin_again_ = false;
  std::optional<Gauge> leading_;
  std::string announced_;  // the leader last told of
  TimerId timer_ = TimerId::kNone;
};

// The Lease as text, with everything in `before` (which may be empty) that is not the record's.
std::string lease_json(const kube::Key&, const LeaseRecord&, const kube::Object& before);
LeaseRecord lease_record(const kube::Object& lease);

}  // namespace berth::client
