// SPDX-License-Identifier: Apache-2.0
#include "lab/lease_door.h"

#include <utility>

namespace berth::lab {
namespace {

// A watch that keeps the leases it looks at up to date.
class KeptUp final : public kube::WatchStream {
 public:
  KeptUp(std::unique_ptr<kube::WatchStream> inner, std::shared_ptr<void> hold)
      : inner_(std::move(inner)), hold_(std::move(hold)) {}
  void read(Done<Batch> done) override { inner_->read(std::move(done)); }

 private:
  std::unique_ptr<kube::WatchStream> inner_;
  std::shared_ptr<void> hold_;
};

}  // namespace

LeaseDoor::LeaseDoor(Scope& parent, Lab& lab, kube::ApiHandler& inner)
    : scope_(parent.child("lease-door")), lab_(lab), inner_(inner) {}

void LeaseDoor::handle(kube::ApiRequest request, Done<kube::ApiReply> done) {
  const bool leases =
      request.kind == kube::kLease && (request.ns.empty() || request.ns == "kube-node-lease");
  if (!leases || request.verb == kube::Verb::kRaw)
    return inner_.handle(std::move(request), std::move(done));
  lab_.renew_due();
  if (request.verb != kube::Verb::kWatch) return inner_.handle(std::move(request), std::move(done));
  inner_.handle(
      std::move(request),
      scope_.done<kube::ApiReply>(
          kNoLimit, [this, done = std::move(done)](Result<kube::ApiReply> reply) mutable {
            if (reply)
              if (auto* stream = std::get_if<std::unique_ptr<kube::WatchStream>>(&reply->body))
                *stream = std::make_unique<KeptUp>(std::move(*stream), lab_.watch_leases());
            done(std::move(reply));
          }));
}

}  // namespace berth::lab
