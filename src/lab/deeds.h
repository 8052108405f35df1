// SPDX-License-Identifier: Apache-2.0
// What can be done to simulated nodes and pods from outside, below /lab/: failures on demand, and
// waiting until nothing happens any more. What lasts is written down as an annotation, so that
// everybody sees it and a cluster that starts again goes on with it.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "base/scope.h"
#include "kube/api.h"
#include "lab/lab.h"

namespace berth::lab {

// How to tell that a cluster is idle.
struct IdleSigns {
  // In virtual time: runs the task, on the lab's loop, as soon as nothing is left to do, if what is
  // returned is still held by then. Null: time is real, and what is still for a second is idle.
  std::function<std::shared_ptr<void>(Task)> when_idle = {};
  std::function<std::uint64_t()> changes = {};  // grows with what is done; null: never
};

// Loop-confined to the lab's. `lab` and `api` outlive it; requests under way keep it.
class Deeds : public std::enable_shared_from_this<Deeds> {
 public:
  Deeds(Scope& scope, Lab& lab, kube::ApiHandler& api, IdleSigns signs);

  // GET /lab/status
  kube::ApiReply status() const;
  // POST /lab/crash-node/node-7, /lab/flap-node/node-7?down=30s&up=1m&times=3 …
  void perform(const kube::ApiRequest&, Done<kube::ApiReply>);

 private:
  struct Wish;  // deeds.cc
  using Then = Fn<void(Result<Ok>)>;

  void on_node(const Wish&, Done<kube::ApiReply>);
  void flap(const Wish&, Done<kube::ApiReply>);
  void on_zone(const Wish&, Done<kube::ApiReply>);
  void on_pod(const Wish&, Done<kube::ApiReply>);
  void recover_all(Done<kube::ApiReply>);
  void settle(const Wish&, Done<kube::ApiReply>);
  void look_again(std::uint64_t seen, Instant since, std::shared_ptr<Done<kube::ApiReply>>);

  // Writes the same annotations to all of them; then() once everybody has answered.
  void annotate(kube::KindId, std::vector<kube::Key>, const std::string& annotations, Then);
  void recover_nodes(const std::vector<std::string>& names, Then);

  Scope& scope_;
  Lab& lab_;
  kube::ApiHandler& api_;
  IdleSigns signs_;
};

}  // namespace berth::lab
