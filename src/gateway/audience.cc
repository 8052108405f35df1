// SPDX-License-Identifier: Apache-2.0
#include "gateway/audience.h"

#include <fmt/format.h>

namespace berth::gateway {
namespace {

constexpr std::size_t kBacklog = 8 << 20;  // bytes that a listener may be behind

}  // namespace

std::string event_text(std::string_view event, std::string_view data) {
  return fmt::format("event: {}\ndata: {}\n\n", event, data);
}

class Audience::Listener : public std::enable_shared_from_this<Listener> {
 public:
  Listener(Scope& scope, std::shared_ptr<Stream> stream)
      : scope_(scope), stream_(std::move(stream)) {}

  void send(const std::string& text) {
    if (stream_->over()) return;
    waiting_ += text;
    if (waiting_.size() > kBacklog) return stream_->end();
    pump();
  }

 private:
  void pump() {
    if (writing_ || waiting_.empty()) return;
    writing_ = true;
    stream_->write(std::exchange(waiting_, {}),
                   scope_.done<Ok>(kNoLimit, [self = shared_from_this()](Result<Ok> taken) {
                     self->writing_ = false;
                     if (taken) self->pump();
                   }));
  }

  Scope& scope_;
  std::shared_ptr<Stream> stream_;
  std::string waiting_;
  bool writing_ = false;
};

Audience::Audience(Scope& scope) : scope_(scope) {}
Audience::~Audience() = default;

std::shared_ptr<Audience::Listener> Audience::admit(std::shared_ptr<Stream> stream, Task left) {
  stream->begin("text/event-stream");
  auto listener = std::make_shared<Listener>(scope_, stream);
  listeners_.push_back(listener);
  stream->when_over([this, it = listener.get(), left = std::move(left)]() mutable {
    std::erase_if(listeners_, [it](const auto& one) { return one.get() == it; });
    if (left) left();
  });
  return listener;
}

void Audience::tell(Listener& listener, const std::string& text) { listener.send(text); }
void Audience::tell(const std::string& text) {
  for (const auto& listener : std::vector(listeners_)) listener->send(text);
}

}  // namespace berth::gateway
