// SPDX-License-Identifier: Apache-2.0
// Named points in shipped code where a virtual World may crash, slow down or fail a process. In
// production nothing is planned and a point is one branch.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/random.h"
#include "base/result.h"
#include "base/time.h"

namespace berth {

enum class FaultAction : unsigned char {
  kCrash,  // the process ends between this statement and the next
  kDelay,  // its lane stays busy for `delay`
  kFail,   // failure() answers `error`; point() ignores it
};
std::optional<FaultAction> fault_action_named(std::string_view);  // "crash", "delay", "fail"

// One line of a plan. Exactly one of `hit` and `probability` says when.
struct FaultRule {
  std::string point;         // "bind.sent"
  std::string process = {};  // empty: any
  std::uint64_t hit = 0;     // the n-th time it is passed, counted from 1 over all restarts
  double probability = 0;
  FaultAction action = FaultAction::kCrash;
  Duration delay{};                   // kDelay
  Duration restart_after = kNoLimit;  // kCrash; kNoLimit: it stays dead
  Error error = {};                   // kFail
};

// What is to go wrong, and how often each point was passed so far. Thread-compatible.
class FaultPlan {
 public:
  FaultPlan() = default;  // only counts
  // The error names the rule by its place in the list.
  static Result<FaultPlan> make(std::vector<FaultRule>);

  // Counts the passing; the first rule that applies, or null.
  const FaultRule* pass(std::string_view process, std::string_view point, Random&);
  std::uint64_t passed(std::string_view point) const;  // by all processes

 private:
  struct Counted {
    FaultRule rule;
    std::uint64_t passed = 0;
  };
  std::vector<Counted> rules_;
  std::map<std::string, std::uint64_t, std::less<>> passed_;
};

// What a World does about a passed point.
class FaultHandler {
 public:
  virtual ~FaultHandler() = default;
  virtual std::optional<Error> on_point(std::string_view name, bool may_fail) = 0;
};

// Loop-confined to the process it belongs to. Without a handler, as in production, nothing happens.
class Faults {
 public:
  Faults() = default;
  explicit Faults(FaultHandler* handler) : handler_(handler) {}

  // May not return: a crash unwinds the stack up to the World. So never in a destructor.
  void point(std::string_view name) {
    if (handler_ != nullptr) [[unlikely]]
      handler_->on_point(name, false);
  }
  // For points where the caller can fail by itself: a full disk, a refused write.
  std::optional<Error> failure(std::string_view name) {
    if (handler_ != nullptr) [[unlikely]]
      return handler_->on_point(name, true);
    return std::nullopt;
  }

 private:
  FaultHandler* handler_ = nullptr;
};

}  // namespace berth
