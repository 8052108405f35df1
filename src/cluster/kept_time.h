// SPDX-License-Identifier: Apache-2.0
// The wall time of a cluster in virtual time, in a file of its data directory, so that it does not
// go back when the cluster starts again.
#pragma once

#include <filesystem>
#include <memory>

#include "base/executor.h"
#include "base/log.h"
#include "base/result.h"

namespace berth::cluster {

// What the file says; long ago where there is none.
Result<WallTime> kept_time(const std::filesystem::path& file);

// Writes it down every second, and when it is destroyed. Loop-confined to `home`.
class TimeKeeper {
 public:
  TimeKeeper(Executor& home, std::shared_ptr<const Clock> cluster, std::filesystem::path file,
             Logger);
  ~TimeKeeper();
  TimeKeeper(const TimeKeeper&) = delete;
  TimeKeeper& operator=(const TimeKeeper&) = delete;

 private:
  void keep();
  void again();

  Executor& home_;
  const std::shared_ptr<const Clock> cluster_;
  const std::filesystem::path file_;
  Logger log_;
  WallTime kept_{};
  bool warned_ = false;
  TimerId timer_ = TimerId::kNone;
};

}  // namespace berth::cluster
