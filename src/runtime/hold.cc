// SPDX-License-Identifier: Apache-2.0
#include "runtime/hold.h"

#include <memory>
#include <utility>

namespace berth::runtime {
namespace {

class Hold : public std::enable_shared_from_this<Hold> {
 public:
  Hold(Scope& scope, Caches& caches, client::Api& api, std::vector<Wait> waits, Counter late,
       Task then)
      : scope_(scope),
        caches_(caches),
        api_(api),
        waits_(std::move(waits)),
        late_(late),
        then_(std::move(then)) {}

  // One after another: whatever the order they are looked at, the last one to hold decides.
  void next() {
    while (at_ < waits_.size() && caches_.holds(waits_[at_])) ++at_;
    if (at_ == waits_.size()) {
      scope_.cancel(timer_);
      return then_();
    }
    waiting_ = caches_.when(waits_[at_], [self = shared_from_this()] {
      ++self->at_;
      self->next();
    });
    if (timer_ == TimerId::kNone && !asking_) arm();
  }

 private:
  void arm() {
    timer_ = scope_.after(kCachePatience, [self = shared_from_this()] { self->ask(); });
  }

  void ask() {
    timer_ = TimerId::kNone;
    late_.add();
    const Target& target = waits_[at_].target;
    asking_ = true;
    api_.get(target.kind, target.key,
             scope_.done<Object>(kNoLimit, [self = shared_from_this(), at = at_](Result<Object> r) {
               self->asking_ = false;
               if (self->at_ == self->waits_.size()) return;
               if (self->at_ == at) return self->answered(std::move(r));
               self->arm();
             }));
  }

  void answered(Result<Object> object) {
    if (!object && object.error().reason != Reason::kNotFound) return arm();
    const Wait& wait = waits_[at_];
    const Target& target = wait.target;
    const bool same = object && object->uid() == target.uid;
    bool pointless = false;
    switch (wait.what) {
      case Wait::For::kSeen:
        pointless = !object || object->revision() < target.revision;
        break;
      case Wait::For::kGone:
        pointless = same && !object->deleting();
        break;
      case Wait::For::kMoved:
        pointless = same && object->revision() <= target.revision;
        break;
      case Wait::For::kPresent:
        pointless = !object;
        break;
    }
    if (!pointless) return arm();           // the server has it: the cache is late
    if (!caches_.cancel(waiting_)) return;  // it has just been shown
    ++at_;
    next();
  }

  Scope& scope_;
  Caches& caches_;
  client::Api& api_;
  std::vector<Wait> waits_;
  Counter late_;
  Task then_;
  std::size_t at_ = 0;
  Caches::WaitId waiting_ = 0;
  TimerId timer_ = TimerId::kNone;
  bool asking_ = false;
};

}  // namespace

void hold(Scope& scope, Caches& caches, client::Api& api, std::vector<Wait> waits, Counter late,
          Task then) {
  auto one = std::make_shared<Hold>(scope, caches, api, std::move(waits), late, std::move(then));
  scope.post([one] { one->next(); });
}

}  // namespace berth::runtime
