// SPDX-License-Identifier: Apache-2.0
#include "cli/listing.h"

#include <algorithm>
#include <memory>
#include <optional>
#include <utility>

#include <fmt/format.h>

#include "cli/command.h"
#include "cli/manifests.h"
#include "cli/on_cluster.h"
#include "client/api.h"

namespace berth::cli {
namespace {

using Look = std::function<Result<int>(const Listing&)>;

class LiveListing {
 public:
  LiveListing(Scope& scope, std::unique_ptr<client::Cluster> cluster, std::vector<Wanted> wanted,
              Look look, Finish finish)
      : scope_(scope),
        cluster_(std::move(cluster)),
        wanted_(std::move(wanted)),
        look_(std::move(look)),
        finish_(std::move(finish)),
        api_(scope, *cluster_->transport, Random::from_entropy(), nullptr, {.attempts = 3}) {}

  void list(std::size_t at = 0) {
    if (at == wanted_.size()) {
      listing_.ns = cluster_->ns;
      listing_.now = scope_.executor().clock().wall();
      return finish_(look_(listing_));
    }
    const Wanted& next = wanted_[at];
    api_.list_all(next.kind, next.only_here ? cluster_->ns : "", next.options,
                  scope_.done<kube::ObjectList>(kNoLimit, [this, at](Result<kube::ObjectList> got) {
                    if (!got && !may_lack(wanted_[at], got.error()))
                      return fail_with(wanted_[at], std::move(got.error()));
                    if (got)
                      for (const kube::Object& object : got->items) listing_.objects.add(object);
                    list(at + 1);
                  }));
  }

 private:
  static bool may_lack(const Wanted& wanted, const Error& error) {
    return wanted.lack == Wanted::Lack::kIsNoQuestion ||
           (wanted.lack == Wanted::Lack::kIsFine && error.reason == Reason::kNotFound);
  }
  void fail_with(const Wanted& wanted, Error error) {
    const kube::Kind& kind = kube::kind_of(wanted.kind);
    if (error.reason == Reason::kNotFound)
      error.message =
          fmt::format("the cluster has no kind {}.{}: berth install prints what has to be there",
                      kind.plural, kind.group);
    finish_(tl::unexpected(asked_of(*cluster_, std::move(error))));
  }

  Scope& scope_;
  std::unique_ptr<client::Cluster> cluster_;
  std::vector<Wanted> wanted_;
  Look look_;
  Finish finish_;
  client::Api api_;
  Listing listing_;
};

Result<int> look_at_files(const std::vector<std::string>& files, const std::string& ns,
                          const std::vector<Wanted>& wanted, const Look& look) {
  Manifests all;
  for (const std::string& file : files)
    if (Result<Ok> read = all.read(file); !read) return tl::unexpected(std::move(read.error()));
  Listing listing{.objects = {}, .ns = ns.empty() ? "default" : ns};
  std::optional<WallTime> newest;
  for (const Wanted& each : wanted)
    for (const kube::Object& object : all.of(each.kind)) {
      listing.objects.add(object);
      if (object.created()) newest = std::max(newest.value_or(WallTime{}), *object.created());
    }
  listing.now = newest.value_or(WallTime{}) + 1h;
  return look(listing);
}

}  // namespace

Result<int> look_at(const std::vector<std::string>& files, const client::ConnectOptions& connect,
                    std::vector<Wanted> wanted, Look look) {
  if (!files.empty()) return look_at_files(files, connect.ns, wanted, look);
  return run_on_cluster(kExitFailed, connect, [&](Scope& scope, auto cluster, Finish finish) {
    auto live = std::make_shared<LiveListing>(scope, std::move(cluster), std::move(wanted),
                                              std::move(look), std::move(finish));
    live->list();
    return live;
  });
}

}  // namespace berth::cli
