// SPDX-License-Identifier: Apache-2.0
#include "cluster/applier.h"

#include <algorithm>
#include <utility>

#include <fmt/format.h>

namespace berth::cluster {
namespace {

// A kind whose definition was applied a moment ago takes a moment to be served, and so does the
// service account of a new namespace to be made.
constexpr int kMostIdleRounds = 20;
constexpr Duration kPause = 100ms;

bool may_pass(const ApplyError& refused) {
  return refused.error.reason == Reason::kNotFound || refused.error.reason == Reason::kForbidden;
}

int turn_of(const kube::Object& object) {
  if (object.kind() == kube::kNamespace) return 0;
  if (object.kind() == kube::kCustomResourceDefinition) return 1;
  return 2;
}

}  // namespace

std::string ApplyError::text() const {
  return fmt::format("{} {}: {}", kube::kind_of(object.kind()).kind, object.key().text(),
                     error.message);
}

Applier::Applier(Scope& scope, client::Transport& transport, Random random, std::string manager)
    : scope_(scope),
      api_(scope, transport, random, nullptr, {.attempts = 3}),
      manager_(std::move(manager)) {}

void Applier::apply(std::vector<kube::Object> objects,
                    std::function<void(std::vector<ApplyError>)> done) {
  std::stable_sort(objects.begin(), objects.end(),
                   [](const auto& a, const auto& b) { return turn_of(a) < turn_of(b); });
  objects_ = std::move(objects);
  done_ = std::move(done);
  at_ = 0;
  idle_rounds_ = 0;
  refused_.clear();
  next();
}

void Applier::next() {
  if (at_ == objects_.size()) return end_round();
  const kube::Object& object = objects_[at_];
  kube::Key key = object.key();
  if (kube::kind_of(object.kind()).namespaced && key.ns.empty()) key.ns = "default";
  api_.patch(
      object.kind(), key, object.json(), kube::PatchType::kApply,
      scope_.done<kube::Object>(60s,
                                [this](Result<kube::Object> applied) {
                                  if (!applied)
                                    refused_.push_back({objects_[at_], std::move(applied.error())});
                                  ++at_;
                                  next();
                                }),
      "", {.force = true, .field_manager = manager_});
}

void Applier::end_round() {
  idle_rounds_ = refused_.size() < objects_.size() ? 0 : idle_rounds_ + 1;
  const bool wait = idle_rounds_ > 0;
  if (refused_.empty() || (wait && (idle_rounds_ == kMostIdleRounds ||
                                    std::none_of(refused_.begin(), refused_.end(), &may_pass)))) {
    const auto done = std::exchange(done_, nullptr);
    return done(std::move(refused_));
  }
  objects_.clear();
  for (ApplyError& each : std::exchange(refused_, {})) objects_.push_back(std::move(each.object));
  at_ = 0;
  if (!wait) return next();
  scope_.after(kPause, [this] { next(); });
}

}  // namespace berth::cluster
