// SPDX-License-Identifier: Apache-2.0
#include "gateway/stream.h"

#include "gateway/replies.h"

namespace berth::gateway {

Stream::Stream(Scope& scope, net::HttpReply reply, net::Headers more)
    : scope_(scope),
      reply_(std::move(reply)),
      more_(std::move(more)),
      self_(std::make_shared<Stream*>(this)) {
  reply_.when_gone(
      scope.done<Ok>(kNoLimit, [weak = std::weak_ptr<Stream*>(self_)](const Result<Ok>&) {
        if (const auto self = weak.lock()) (*self)->end();
      }));
}

void Stream::begin(std::string_view content_type) {
  if (over_ || std::exchange(begun_, true)) return;
  net::Headers headers = common_headers();
  headers.add("Content-Type", std::string(content_type));
  headers.set("Cache-Control", "no-store, no-transform");
  headers.add("X-Accel-Buffering", "no");  // proxies that would hold events back
  for (const auto& [name, value] : more_.items()) headers.add(name, value);
  reply_.begin(200, std::move(headers));
}

void Stream::refuse(const Error& error) {
  if (over_ || std::exchange(begun_, true)) return;
  Reply reply = status_reply(error);
  for (const auto& [name, value] : more_.items()) reply.headers.add(name, value);
  reply_.send(http_of(std::move(reply)));
  end();
}

void Stream::write(std::string bytes, Done<Ok> taken) {
  if (over_) return taken(fail(Reason::kUnreachable, "the stream is over"));
  reply_.write(std::move(bytes), std::move(taken));
}

void Stream::end() {
  if (std::exchange(over_, true)) return;
  reply_.end();
  for (Task& watcher : std::exchange(watchers_, {})) scope_.post(std::move(watcher));
}

void Stream::when_over(Task then) {
  if (over_) return scope_.post(std::move(then));
  watchers_.push_back(std::move(then));
}

}  // namespace berth::gateway
