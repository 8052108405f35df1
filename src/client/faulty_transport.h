// SPDX-License-Identifier: Apache-2.0
// A transport that goes wrong on purpose, by chances and a seed: the network and the server at
// their worst, over whatever transport it is put.
#pragma once

#include <cstdint>
#include <memory>

#include "base/random.h"
#include "base/scope.h"
#include "client/transport.h"

namespace berth::client {

// Chances, each between 0 and 1. The first group is drawn once a call, the second once a batch.
struct TransportFaults {
  double delay = 0;         // the request leaves late
  double lose_request = 0;  // it never arrives, and the sender cannot know
  double lose_reply = 0;    // it is carried out, and the sender cannot know
  double refuse = 0;        // 409 (writes), 410 (lists, watches), 429, 500, 503 or 504
  double slow_reply = 0;

  double watch_cut = 0;        // the connection breaks, perhaps in the middle of a batch
  double watch_silence = 0;    // nothing comes any more, and nobody says so
  double watch_duplicate = 0;  // some events come again
  double watch_lag = 0;        // the batch comes late
  double watch_gone = 0;       // an ERROR event with 410

  Duration most_delay = 2s;  // delays are drawn up to here
};

// Loop-confined to its scope's executor, callers too. `inner` outlives it; calls under way are of
// the scope.
class FaultyTransport final : public Transport {
 public:
  FaultyTransport(Scope& scope, Transport& inner, TransportFaults faults, Random random);
  ~FaultyTransport() override;

  void call(kube::ApiRequest, Instant deadline, Done<kube::ApiReply>) override;

  void set(TransportFaults);  // for calls and batches from now on
  // Away: calls fail as if nothing listened, and every running watch breaks.
  void set_away(bool);
  std::uint64_t calls() const;  // since it was made, whatever became of them

 private:
  struct Shared;
  class Stream;
  void forward(kube::ApiRequest, Instant deadline, Done<kube::ApiReply>);

  Scope& scope_;
  Transport& inner_;
  std::shared_ptr<Shared> shared_;
};

}  // namespace berth::client
