// SPDX-License-Identifier: Apache-2.0
#include "client/faulty_transport.h"

#include <algorithm>
#include <utility>
#include <vector>

namespace berth::client {

using kube::Verb;
using Batch = kube::WatchStream::Batch;

namespace {

bool writes(Verb verb) { return verb != Verb::kGet && verb != Verb::kList && verb != Verb::kWatch; }

Error broken(Outcome outcome) {
  return {.reason = Reason::kUnreachable,
          .message = "the connection broke (on purpose)",
          .outcome = outcome};
}

Error refusal(const kube::ApiRequest& request, Random& random) {
  static constexpr Reason kAny[] = {Reason::kTooManyRequests, Reason::kInternalError,
                                    Reason::kServiceUnavailable, Reason::kTimeout};
  Reason reason = kAny[random.below(std::size(kAny))];
  if (random.chance(0.3)) {
    if (request.verb == Verb::kUpdate || request.verb == Verb::kPatch) reason = Reason::kConflict;
    if (request.verb == Verb::kList || request.verb == Verb::kWatch) reason = Reason::kExpired;
  }
  Error error{.reason = reason, .message = "refused (on purpose)", .code = http_code_of(reason)};
  if (reason == Reason::kTooManyRequests) error.retry_after = std::chrono::seconds(random.below(3));
  return error;
}

}  // namespace

struct FaultyTransport::Shared {
  Shared(Scope& s, TransportFaults f, Random r) : scope(s), faults(f), random(r) {}
  Duration draw_delay() {
    return Duration(
        static_cast<std::int64_t>(random.unit() * static_cast<double>(faults.most_delay.count())));
  }

  Scope& scope;
  TransportFaults faults;
  Random random;
  bool away = false;
  std::uint64_t calls = 0;
  std::vector<Stream*> streams;  // in the order of opening
};

// Holds what the client sees of a watch apart from what the server sent, so that either can end.
class FaultyTransport::Stream final : public kube::WatchStream {
 public:
  Stream(std::shared_ptr<Shared> shared, std::unique_ptr<kube::WatchStream> inner)
      : shared_(std::move(shared)), inner_(std::move(inner)) {
    shared_->streams.push_back(this);
  }
  ~Stream() override {
    *alive_ = false;
    std::erase(shared_->streams, this);
  }

  void read(Done<Batch> done) override {
    if (broken_) return done(tl::unexpected(broken(Outcome::kRefused)));
    waiting_ = std::move(done);
    if (silent_) return;
    if (!later_.empty()) return deliver({.events = std::exchange(later_, {}), .end = false});
    inner_->read(shared_->scope.done<Batch>(kNoLimit, [this, alive = alive_](Result<Batch> batch) {
      if (*alive && !broken_) on_batch(std::move(batch));
    }));
  }

  void cut() {
    if (std::exchange(broken_, true)) return;
    inner_.reset();
    if (waiting_) std::exchange(waiting_, {})(tl::unexpected(broken(Outcome::kRefused)));
  }

 private:
  void on_batch(Result<Batch> batch) {
    Random& random = shared_->random;
    const TransportFaults& faults = shared_->faults;
    if (!batch) return std::exchange(waiting_, {})(std::move(batch));
    if (random.chance(faults.watch_silence)) {
      silent_ = true;
      return;
    }
    if (random.chance(faults.watch_gone)) {
      kube::WatchEvent gone;
      gone.type = kube::WatchEvent::Type::kError;
      gone.error = Error{.reason = Reason::kExpired,
                         .message = "too old resource version (on purpose)",
                         .code = 410};
      return deliver({.events = {std::move(gone)}, .end = true});
    }
    if (random.chance(faults.watch_cut)) {
      batch->events.resize(random.below(batch->events.size() + 1));
      batch->end = false;
      cut_next_ = true;
      if (batch->events.empty()) return cut();
    }
    if (random.chance(faults.watch_duplicate) && !batch->events.empty()) {
      const std::size_t from = random.below(batch->events.size());
      later_.assign(batch->events.begin() + static_cast<std::ptrdiff_t>(from), batch->events.end());
      std::erase_if(later_, [](const kube::WatchEvent& e) {
        return e.type == kube::WatchEvent::Type::kError || e.initial_events_end;
      });
    }
    if (!random.chance(faults.watch_lag)) return deliver(std::move(*batch));
    shared_->scope.after(shared_->draw_delay(),
                         [this, alive = alive_, late = std::move(*batch)]() mutable {
                           if (*alive && !broken_) deliver(std::move(late));
                         });
  }

  void deliver(Batch batch) {
    if (std::exchange(cut_next_, false)) broken_ = true;
    std::exchange(waiting_, {})(std::move(batch));
  }

  std::shared_ptr<Shared> shared_;
  std::unique_ptr<kube::WatchStream> inner_;
  std::shared_ptr<bool> alive_ = std::make_shared<bool>(true);
  Done<Batch> waiting_;
  std::vector<kube::WatchEvent> later_;  // to come again
  bool silent_ = false, broken_ = false, cut_next_ = false;
};

FaultyTransport::FaultyTransport(Scope& scope, Transport& inner, TransportFaults faults,
                                 Random random)
    : scope_(scope), inner_(inner), shared_(std::make_shared<Shared>(scope, faults, random)) {}

FaultyTransport::~FaultyTransport() = default;

void FaultyTransport::set(TransportFaults faults) { shared_->faults = faults; }

void FaultyTransport::set_away(bool away) {
  shared_->away = away;
  if (!away) return;
  for (Stream* stream : std::vector<Stream*>(shared_->streams)) stream->cut();
}

std::uint64_t FaultyTransport::calls() const { return shared_->calls; }

void FaultyTransport::call(kube::ApiRequest request, Instant deadline, Done<kube::ApiReply> done) {
  ++shared_->calls;
  const TransportFaults& faults = shared_->faults;
  Random& random = shared_->random;
  if (shared_->away) return done(tl::unexpected(broken(Outcome::kNotSent)));
  if (random.chance(faults.refuse)) return done(tl::unexpected(refusal(request, random)));
  if (random.chance(faults.lose_request)) {
    scope_.after(shared_->draw_delay(), [done = std::move(done)]() mutable {
      done(tl::unexpected(broken(Outcome::kUnknown)));
    });
    return;
  }
  if (!random.chance(faults.delay)) return forward(std::move(request), deadline, std::move(done));
  scope_.after(shared_->draw_delay(),
               [this, request = std::move(request), deadline, done = std::move(done)]() mutable {
                 if (scope_.executor().clock().now() < deadline)
                   forward(std::move(request), deadline, std::move(done));
               });
}

void FaultyTransport::forward(kube::ApiRequest request, Instant deadline,
                              Done<kube::ApiReply> done) {
  Random& random = shared_->random;
  const bool lost = writes(request.verb) && random.chance(shared_->faults.lose_reply);
  const Duration slow =
      random.chance(shared_->faults.slow_reply) ? shared_->draw_delay() : Duration{};
  inner_.call(
      std::move(request), deadline,
      scope_.done<kube::ApiReply>(
          kNoLimit, [shared = shared_, lost, slow, done = std::move(done)](auto reply) mutable {
            if (lost || shared->away) return done(tl::unexpected(broken(Outcome::kUnknown)));
            if (reply) {
              auto* stream = std::get_if<std::unique_ptr<kube::WatchStream>>(&reply->body);
              if (stream != nullptr && *stream)
                *stream = std::make_unique<Stream>(shared, std::move(*stream));
            }
            if (slow == Duration{}) return done(std::move(reply));
            shared->scope.after(slow, [done = std::move(done), late = std::move(reply)]() mutable {
              done(std::move(late));
            });
          }));
}

}  // namespace berth::client
