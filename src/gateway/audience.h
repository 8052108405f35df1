// SPDX-License-Identifier: Apache-2.0
// Who listens to a stream of server-sent events that is the same for all: each message is encoded
// once. A slow listener gets what it missed in one piece; one that is far behind is let go and
// comes back.
#pragma once

#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "base/scope.h"
#include "gateway/stream.h"

namespace berth::gateway {

std::string event_text(std::string_view event, std::string_view data);

// Loop-confined to its scope's executor; outlives that scope.
class Audience {
 public:
  explicit Audience(Scope& scope);
  ~Audience();

  // `left` is called when this one has, whatever ended it.
  class Listener;
  std::shared_ptr<Listener> admit(std::shared_ptr<Stream>, Task left = {});
  void tell(Listener&, const std::string& text);  // one of them
  void tell(const std::string& text);             // all
  bool empty() const { return listeners_.empty(); }
  std::size_t size() const { return listeners_.size(); }

 private:
  Scope& scope_;
  std::vector<std::shared_ptr<Listener>> listeners_;
};

}  // namespace berth::gateway
