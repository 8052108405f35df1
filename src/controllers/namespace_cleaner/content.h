// SPDX-License-Identifier: Apache-2.0
// What a look at everything in a namespace found: what is left, what keeps it, what went wrong; and
// the conditions that say so to people.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/time.h"
#include "controllers/status.h"
#include "kube/object.h"
#include "runtime/view.h"

namespace berth::controllers::namespaces {

// Thread-compatible.
class Content {
 public:
  Content(std::string ns, WallTime deleted, WallTime now)
      : ns_(std::move(ns)), deleted_(deleted), now_(now) {}

  void discovery_failed(std::string message) { discovery_error_ = std::move(message); }
  void failed(std::string message) { errors_.push_back(std::move(message)); }
  // One kind: what came of erasing it, and what was there afterwards; null: it was not asked.
  // `before` is given for pods: as long as their grace lasts, they may stay. How many are left is
  // the answer.
  std::size_t judge(kube::KindId, const runtime::Answer* erased, const runtime::Answer* left,
                    const runtime::Answer* before = nullptr);
  // k8s 1.36: while there are pods, what is left is not told.
  void total() { totalled_ = true; }

  bool clean() const { return errors_.empty() && !discovery_error_ && estimate_ == 0; }
  bool failing() const { return !errors_.empty() || discovery_error_; }
  std::int64_t estimate() const { return estimate_; }  // seconds until it may be worth a look
  void write(Conditions&) const;

 private:
  struct Finding {
    std::string reason, message;
  };
  std::optional<Finding> finding(std::string_view type) const;

  std::string ns_;
  WallTime deleted_, now_;
  std::optional<std::string> discovery_error_;
  std::vector<std::string> errors_;
  std::map<std::string, std::size_t> left_;        // "pods.": how many
  std::map<std::string, std::size_t> finalizers_;  // how many objects each keeps
  std::int64_t estimate_ = 0;
  bool totalled_ = false;
};

// "unable to retrieve the complete list of server APIs: …", as a condition has it.
std::string stale_message(const std::vector<std::string>& group_versions);

}  // namespace berth::controllers::namespaces
