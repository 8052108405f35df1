// SPDX-License-Identifier: Apache-2.0
#include "cluster/applier.h"

#include <algorithm>
#include <utility>

#include <fmt/format.h>

namespace berth::cluster {
namespace {

// A kind whose definition was applied a moment ago takes a moment to be served.
constexpr int kMostTries = 20;
constexpr Duration kPause = 100ms;

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
  tries_ = 0;
  refused_.clear();
  next();
}

void Applier::next() {
  if (at_ == objects_.size()) {
    const auto done = std::exchange(done_, nullptr);
    return done(std::move(refused_));
  }
  const kube::Object& object = objects_[at_];
  kube::Key key = object.key();
  if (kube::kind_of(object.kind()).namespaced && key.ns.empty()) key.ns = "default";
  api_.patch(object.kind(), key, object.json(), kube::PatchType::kApply,
             scope_.done<kube::Object>(60s,
                                       [this](Result<kube::Object> applied) {
                                         if (!applied) return again_or(std::move(applied.error()));
                                         ++at_;
                                         tries_ = 0;
                                         next();
                                       }),
             "", {.force = true, .field_manager = manager_});
}

void Applier::again_or(Error error) {
  if (error.reason == Reason::kNotFound && ++tries_ < kMostTries) {
    scope_.after(kPause, [this] { next(); });
    return;
  }
  refused_.push_back({objects_[at_], std::move(error)});
  ++at_;
  tries_ = 0;
  next();
}

}  // namespace berth::cluster
