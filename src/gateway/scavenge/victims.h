// SPDX-License-Identifier: Apache-2.0
// Why jobs had to go: the choices of doors, as the page shows them.
#pragma once

#include <cstdint>
#include <deque>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "json/writer.h"
#include "kube/object.h"
#include "policy/scavenge/victim_record.h"

namespace berth::gateway {

// What a door does not say of a job.
struct VictimSize {
  std::int64_t cores_milli = 0;
  std::optional<WallTime> checkpoint = {};
};
using VictimSizes = std::function<VictimSize(const kube::Key& job)>;

// Thread-compatible.
class Victims {
 public:
  // The sizes are those of the moment. False: it is known already, or others came later.
  bool add(scavenge::VictimRecord, const VictimSizes&);
  // All, newest first, or the newest alone.
  std::string json() const;
  std::string last_json() const;
  // Why the job of this uid was interrupted, newest first: sentences with costs and alternatives.
  std::vector<std::string> told_of(std::string_view uid) const;

 private:
  static constexpr std::size_t kKept = 200;
  struct Kept {
    std::uint64_t id = 0;
    scavenge::VictimRecord record = {};
    std::vector<VictimSize> victims = {}, alternatives = {};  // as in the record
  };
  static void write(json::Writer&, const Kept&);
  std::deque<Kept> kept_;
  std::uint64_t last_id_ = 0;
};

}  // namespace berth::gateway
