// SPDX-License-Identifier: Apache-2.0
#include "apiserver/serve/core.h"

#include <fmt/format.h>

#include "kube/uid.h"

namespace berth::apiserver {
namespace {

constexpr std::size_t kSpareArenas = 4;

}  // namespace

Core::Core(Scope& parent, ServerParts parts, ServerOptions limits)
    : scope(parent.child("apiserver")),
      store(parts.store),
      kinds(parts.kinds),
      admission(parts.admission),
      authenticator(parts.authenticator),
      authorizer(parts.authorizer),
      metrics(parts.metrics),
      log(std::move(parts.log)),
      options(limits),
      traffic(parts.metrics, scope.executor().clock(), limits.limits),
      events(scope, store, options.events_last),
      random(parts.random) {}

const Server::Answer* Core::answer_of(kube::KindId kind, const std::string& subresource) const {
  const auto found = answers.find({kind, subresource});
  return found == answers.end() ? nullptr : &found->second;
}

// A UUID of version 4.
std::string Core::new_uid() { return kube::random_uid(random); }

// k8s 1.36: no vowels and none of 0, 1, 3, so that no words appear.
std::string Core::name_suffix() {
  constexpr std::string_view kAlphabet = "bcdfghjklmnpqrstvwxz2456789";
  std::string out(5, ' ');
  for (char& c : out) c = kAlphabet[random.below(kAlphabet.size())];
  return out;
}

std::unique_ptr<json::Arena> Core::take_arena() {
  if (arenas_.empty()) return std::make_unique<json::Arena>();
  std::unique_ptr<json::Arena> arena = std::move(arenas_.back());
  arenas_.pop_back();
  return arena;
}

void Core::give_back(std::unique_ptr<json::Arena> arena) {
  arena->reset();
  if (arenas_.size() < kSpareArenas) arenas_.push_back(std::move(arena));
}

}  // namespace berth::apiserver
