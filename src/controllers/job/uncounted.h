// SPDX-License-Identifier: Apache-2.0
// status.uncountedTerminatedPods: pods that ended and still have, or just lost, their finalizer.
#pragma once

#include <cstdint>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "json/slice.h"

namespace berth::controllers {

// Uids in the order they came. A value.
class Uids {
 public:
  explicit Uids(json::Slice list);
  bool has(std::string_view uid) const { return known_.count(uid) > 0; }
  void add(std::string_view uid);  // once
  std::size_t size() const { return uids_.size(); }
  const std::vector<std::string>& all() const { return uids_; }
  // Takes out those that have no finalizer any more; how many there were.
  std::int64_t settle(const std::set<std::string_view>& tracked);

 private:
  std::vector<std::string> uids_;
  std::set<std::string, std::less<>> known_;
};

struct Uncounted {
  explicit Uncounted(json::Slice);
  bool empty() const { return succeeded.size() + failed.size() == 0; }
  std::string json() const;
  Uids succeeded, failed;
};

}  // namespace berth::controllers
