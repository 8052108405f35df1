// SPDX-License-Identifier: Apache-2.0
// Something that is made, lives and ends on one loop, with a scope of its own.
#pragma once

#include <functional>
#include <memory>
#include <string>
#include <string_view>

#include "base/check.h"
#include "base/scope.h"

namespace berth::cluster {

// make() and stop() from any thread.
template <class T>
class Placed {
 public:
  explicit Placed(Executor& loop) : loop_(loop) {}
  ~Placed() { BERTH_CHECK(it_ == nullptr && scope_ == nullptr, "a part was not stopped"); }

  Executor& loop() const { return loop_; }
  T* get() const { return it_.get(); }  // on the loop only
  // `how` runs on the loop.
  void make(std::string_view name, std::function<std::unique_ptr<T>(Scope&)> how) {
    loop_.post([this, name = std::string(name), how = std::move(how)] {
      scope_ = std::make_unique<Scope>(loop_, name);
      it_ = how(*scope_);
    });
  }
  // Five seconds for calls under way; `stopped` runs on the loop.
  void stop(Task stopped) {
    loop_.post([this, stopped = std::move(stopped)]() mutable {
      if (scope_ == nullptr) return stopped();
      scope_->close(5s, [this, stopped = std::move(stopped)]() mutable {
        loop_.post([this, stopped = std::move(stopped)]() mutable {
          it_.reset();
          scope_.reset();
          stopped();
        });
      });
    });
  }

 private:
  Executor& loop_;
  std::unique_ptr<Scope> scope_;
  std::unique_ptr<T> it_;
};

}  // namespace berth::cluster
