// SPDX-License-Identifier: Apache-2.0
// An answer without a foreseen end: server-sent events, lines of JSON.
#pragma once

#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "base/scope.h"
#include "net/http_server.h"

namespace berth::gateway {

// Loop-confined to the gateway's. Held by the gateway and by the handler, who is told when it is
// over: the listener has left, its right has ended, or the gateway closes.
class Stream {
 public:
  // `more` goes with the head of the answer.
  Stream(Scope& scope, net::HttpReply reply, net::Headers more = {});

  void begin(std::string_view content_type);  // 200; once, and first
  void refuse(const Error&);                  // instead of begin()
  // Fires when the bytes have left, with an error once it is over. The next piece waits for that:
  // a slow listener is the handler's to judge.
  void write(std::string bytes, Done<Ok> taken);
  void end();  // from either side; the listener sees a proper end
  bool over() const { return over_; }
  void when_over(Task);  // at once, but never inline, if it is over already

 private:
  Scope& scope_;
  net::HttpReply reply_;
  net::Headers more_;
  bool begun_ = false;
  bool over_ = false;
  std::vector<Task> watchers_;
  std::shared_ptr<Stream*> self_;  // empties with it
};

}  // namespace berth::gateway
