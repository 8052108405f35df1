// SPDX-License-Identifier: Apache-2.0
// Asks a server which kinds it has, and again when that may have changed. It is not asked for the
// sake of the clock: definitions of kinds are objects, and whoever watches them says when.
#pragma once

#include <cstddef>
#include <functional>
#include <string>

#include "base/random.h"
#include "base/scope.h"
#include "client/api.h"
#include "runtime/served_kinds.h"

namespace berth::runtime {

// Loop-confined to its scope's executor; outlives that scope.
class KindFinder {
 public:
  // `found` is called with every answer that differs from the one before, never inline.
  KindFinder(Scope& scope, client::Transport& transport, Random random,
             std::function<void(const ServedKinds&)> found);

  void start() { ask(); }
  // A definition was seen to change. A real server may take a while to serve what it has accepted,
  // so it is asked until the answer changes, or half a minute.
  void look_again();

 private:
  void ask();
  void ask_in(Duration);
  void on_api(Result<std::string>);
  void on_apis(Result<std::string>);
  void failed();
  Done<kube::ApiReply> then(void (KindFinder::*step)(Result<std::string>));

  Scope& scope_;
  client::Api api_;
  std::function<void(const ServedKinds&)> found_;
  std::string api_text_, known_;
  TimerId timer_ = TimerId::kNone;
  std::size_t patience_ = 0;  // the next of the waits
  Duration after_failure_{};
  bool asking_ = false, again_ = false, looking_ = false;
};

}  // namespace berth::runtime
