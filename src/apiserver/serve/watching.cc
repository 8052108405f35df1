// SPDX-License-Identifier: Apache-2.0
#include "apiserver/serve/watching.h"

#include <algorithm>
#include <utility>

#include "apiserver/serve/convert.h"
#include "apiserver/serve/selecting.h"
#include "apiserver/serve/waiting.h"
#include "apiserver/store/watch_plan.h"

namespace berth::apiserver {
namespace {

using Batch = kube::WatchStream::Batch;

constexpr std::size_t kMostEvents = 500;  // in a batch
// k8s 1.36: the last bookmark comes two seconds before the end.
constexpr Duration kLastBookmark = std::chrono::seconds(2);

// The reader's end: everything is posted home.
class Stream final : public kube::WatchStream {
 public:
  Stream(Executor& home, std::shared_ptr<Watching> watching)
      : home_(home), watching_(std::move(watching)) {}
  ~Stream() override {
    home_.post([watching = std::move(watching_)] { watching->drop(); });
  }
  void read(Done<Batch> done) override {
    home_.post([watching = watching_, done = std::move(done)]() mutable {
      watching->read(std::move(done));
    });
  }

 private:
  Executor& home_;
  std::shared_ptr<Watching> watching_;
};

Duration lasts(Core& core, const kube::Options& options) {
  if (options.timeout_seconds && *options.timeout_seconds > 0)
    return std::chrono::seconds(
        std::min<std::int64_t>(*options.timeout_seconds, std::int64_t{1} << 30));
  // k8s 1.36: without a wish of the client's, spread out so that not all come back at once.
  return Duration(static_cast<std::int64_t>(static_cast<double>(core.options.watch_from.count()) *
                                            (1 + core.random.unit())));
}

}  // namespace

Watching::Watching(Call& call)
    : core_(&call.core),
      home_(call.core.home()),
      kinds_(call.kinds),
      row_(*call.row),
      looked_(std::move(call.looked)) {
  core_->watches.insert(this);
  core_->traffic.watch_began(row_);
}

Watching::~Watching() { leave(); }

void Watching::start(WatchSpec spec, Duration lasts) {
  const bool bookmarks = spec.bookmarks;
  id_ = core_->store.watch(std::move(spec), *this);
  const std::weak_ptr<Watching> weak = weak_from_this();
  if (bookmarks && lasts > kLastBookmark)
    bookmark_ = core_->scope.after(
        lasts - kLastBookmark,
        [weak] {
          if (const auto self = weak.lock(); self && self->core_ != nullptr) {
            self->bookmark_ = TimerId::kNone;
            self->core_->store.bookmark(self->id_);
          }
        },
        Timer::kBackground);
  timeout_ = core_->scope.after(
      lasts,
      [weak] {
        if (const auto self = weak.lock(); self && self->core_ != nullptr) {
          self->timeout_ = TimerId::kNone;
          self->end();
        }
      },
      Timer::kBackground);
}

std::unique_ptr<kube::WatchStream> Watching::stream() {
  return std::make_unique<Stream>(home_, shared_from_this());
}

void Watching::leave() {
  if (core_ == nullptr) return;
  if (id_ != WatchId::kNone) core_->store.unwatch(id_);
  if (bookmark_ != TimerId::kNone) core_->scope.cancel(bookmark_);
  if (timeout_ != TimerId::kNone) core_->scope.cancel(timeout_);
  core_->traffic.watch_ended(row_);
  core_->watches.erase(this);
  looked_.reset();
  core_ = nullptr;
}

void Watching::drop() {
  waiting_ = {};
  leave();
}

void Watching::end() {
  leave();
  if (waiting_) waiting_(Batch{.events = {}, .end = true});
}

bool Watching::served(const Kinds& now) const {
  const KindRow* row = now.find(row_.id);
  return row != nullptr && row->definition == row_.definition;
}

void Watching::read(Done<Batch> done) {
  if (core_ == nullptr) return done(Batch{.events = {}, .end = true});
  waiting_ = std::move(done);
  pump();
}

void Watching::ready(WatchId) {
  readable_ = true;
  if (waiting_) pump();
}

// Answers the reader as soon as there is something for it.
void Watching::pump() {
  if (!readable_ || !waiting_ || core_ == nullptr) return;
  WatchBatch batch = core_->store.read(id_, kMostEvents);
  readable_ = batch.more;
  if (row_.stored_as) {
    for (kube::WatchEvent& event : batch.events) {
      if (!event.object.valid()) continue;
      Result<kube::Object> own = as_asked(row_, event.object);
      if (own) event.object = std::move(*own);
    }
  }
  if (batch.end) leave();
  if (!batch.events.empty() || batch.end)
    return waiting_(Batch{.events = std::move(batch.events), .end = batch.end});
  // Much was looked at and nothing found; others may want the loop.
  if (batch.more) core_->scope.post([self = shared_from_this()] { self->pump(); });
}

void serve_watch(CallPtr call) {
  Core& core = call->core;
  Result<WatchPlan> plan = plan_watch(call->request.options);
  if (!plan) return call->answer(unlike_a_list(std::move(plan.error())));
  Result<Selector> selector = selector_of(*call->row, call->request.options);
  if (!selector) return call->answer(std::move(selector.error()));
  if (Result<Ok> room = core.traffic.room_for_watch(); !room)
    return call->answer(std::move(room.error()));
  WatchSpec spec{
      .kind = call->table(),
      .range = {.ns = call->request.ns},
      .selector = std::move(*selector),
      // k8s 1.36: one that is told neither what there is nor from where begins now.
      .after = plan->initial_events || plan->after != 0 ? plan->after : core.store.published(),
      .initial_events = plan->initial_events,
      .initial_bookmark = plan->initial_bookmark,
      .bookmarks = plan->bookmarks};
  Call& waits = *call;
  // k8s 1.36: one that begins with what there is waits for its revision, others begin at once.
  when_there(waits, plan->initial_events ? plan->at_least : 0,
             [call = std::move(call), spec = std::move(spec)]() mutable {
               const auto watching = std::make_shared<Watching>(*call);
               watching->start(std::move(spec), lasts(call->core, call->request.options));
               kube::ApiReply reply;
               reply.body = watching->stream();
               call->answer(std::move(reply));
             });
}

}  // namespace berth::apiserver
