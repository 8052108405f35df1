// SPDX-License-Identifier: Apache-2.0
#include "cli/removal.h"

#include <algorithm>
#include <memory>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "cli/on_cluster.h"
#include "client/api.h"
#include "controllers/admission/feeds.h"
#include "json/writer.h"
#include "kube/ours/ours.h"
#include "policy/admission/webhooks.h"

namespace berth::cli {
namespace {

constexpr int kMostTries = 5;

class Removal {
 public:
  Removal(Scope& scope, std::unique_ptr<client::Cluster> cluster, const RemovalOptions& options,
          Context& context, Finish finish)
      : scope_(scope),
        options_(options),
        context_(context),
        finish_(std::move(finish)),
        cluster_(std::move(cluster)),
        api_(scope, *cluster_->transport, Random::from_entropy(), nullptr, {.attempts = 3}) {}

  void start() {
    if (options_.force) return remove_webhooks();
    api_.get(kube::kLease, {options_.ns, options_.lease_name},
             scope_.done<kube::Object>(kNoLimit, [this](Result<kube::Object> lease) {
               if (!lease && lease.error().reason != Reason::kNotFound)
                 return failed(lease.error());
               if (lease && controllers::is_fresh(*lease, scope_.executor().clock().wall()))
                 return failed(
                     {.reason = Reason::kConflict,
                      .message = fmt::format(
                          "the controllers still run and would write everything again; first: "
                          "kubectl -n {0} scale deployment berth-controllers --replicas=0 (--force "
                          "does not look)",
                          options_.ns)});
               remove_webhooks();
             }));
  }

 private:
  void remove_webhooks() {
    for (const admission::WebhookObject& object : admission::webhook_objects({}))
      targets_.emplace_back(object.kind, object.key);
    targets_.emplace_back(kube::kSecret, kube::Key{options_.ns, "berth-webhook-tls"});
    erase_next();
  }
  void erase_next() {
    if (targets_.empty()) return list_pods();
    const auto [kind, key] = targets_.back();
    api_.erase(
        kind, key, scope_.done<Ok>(kNoLimit, [this, kind = kind, key = key](Result<Ok> gone) {
          if (!gone && gone.error().reason != Reason::kNotFound) return failed(gone.error());
          if (gone)
            context_.out << fmt::format("removed {} {}\n", kube::kind_of(kind).kind, key.text());
          targets_.pop_back();
          erase_next();
        }));
  }

  void list_pods() {
    // By the finalizer, not by the label: whoever has one is held by it.
    api_.list_all(kube::kPod, "", {},
                  scope_.done<kube::ObjectList>(kNoLimit, [this](Result<kube::ObjectList> all) {
                    if (!all) return failed(all.error());
                    for (const kube::Object& pod : all->items)
                      if (held(pod)) pods_.push_back(pod);
                    free_next();
                  }));
  }
  static bool held(const kube::Object& pod) {
    const std::vector<std::string> all = pod.finalizers();
    return std::find(all.begin(), all.end(), kube::kAccountingFinalizer) != all.end();
  }

  void free_next() {
    if (pods_.empty()) {
      context_.out << fmt::format("{} pods are no longer held\n", freed_);
      return finish_(kExitOk);
    }
    const kube::Object& pod = pods_.back();
    json::Writer w;
    w.object().member("metadata").object().member("resourceVersion");
    w.string(std::to_string(pod.revision())).member("finalizers").array();
    for (const std::string& one : pod.finalizers())
      if (one != kube::kAccountingFinalizer) w.string(one);
    w.end().end().end();
    api_.patch(kube::kPod, pod.key(), w.take(), kube::PatchType::kMerge,
               scope_.done<kube::Object>(
                   kNoLimit, [this](const Result<kube::Object>& done) { freed(done); }));
  }
  void freed(const Result<kube::Object>& done) {
    if (!done && done.error().reason == Reason::kConflict && ++tries_ < kMostTries)
      return read_again();
    if (!done && done.error().reason != Reason::kNotFound) return failed(done.error());
    freed_ += done ? 1 : 0;
    next_pod();
  }
  void read_again() {
    api_.get(kube::kPod, pods_.back().key(),
             scope_.done<kube::Object>(kNoLimit, [this](Result<kube::Object> pod) {
               if (!pod && pod.error().reason != Reason::kNotFound) return failed(pod.error());
               if (!pod || !held(*pod)) return next_pod();
               pods_.back() = *pod;
               free_next();
             }));
  }
  void next_pod() {
    tries_ = 0;
    pods_.pop_back();
    free_next();
  }

  void failed(Error error) { finish_(tl::unexpected(asked_of(*cluster_, std::move(error)))); }

  Scope& scope_;
  const RemovalOptions& options_;
  Context& context_;
  Finish finish_;
  std::unique_ptr<client::Cluster> cluster_;
  client::Api api_;
  std::vector<std::pair<kube::KindId, kube::Key>> targets_;
  std::vector<kube::Object> pods_;
  std::size_t freed_ = 0;
  int tries_ = 0;
};

}  // namespace

Result<int> remove_from_cluster(const RemovalOptions& options, Context& context) {
  return run_on_cluster(kExitFailed, options.connect,
                        [&](Scope& scope, std::unique_ptr<client::Cluster> cluster,
                            const Finish& finish) -> std::shared_ptr<void> {
                          auto removal = std::make_shared<Removal>(scope, std::move(cluster),
                                                                   options, context, finish);
                          removal->start();
                          return removal;
                        });
}

}  // namespace berth::cli
