// SPDX-License-Identifier: Apache-2.0
#include "cluster/kept_time.h"

#include <fstream>
#include <utility>

#include <fmt/format.h>

#include "cluster/identity.h"

namespace berth::cluster {
namespace {

constexpr Duration kEvery = 1s;

}  // namespace

Result<WallTime> kept_time(const std::filesystem::path& file) {
  std::error_code none;
  if (!std::filesystem::exists(file, none)) return WallTime{};
  WallTime kept;
  if (!(std::ifstream(file) >> kept.unix_nanos))
    return fail(Reason::kInternalError,
                fmt::format("{}: no time can be read from it; remove it, and the cluster goes on "
                            "at the real time",
                            file.string()));
  return kept;
}

TimeKeeper::TimeKeeper(Executor& home, std::shared_ptr<const Clock> cluster,
                       std::filesystem::path file, Logger log)
    : home_(home), cluster_(std::move(cluster)), file_(std::move(file)), log_(std::move(log)) {
  again();
}

TimeKeeper::~TimeKeeper() {
  home_.cancel(timer_);
  keep();
}

void TimeKeeper::again() {
  timer_ = home_.at(
      home_.clock().now() + kEvery,
      [this] {
        keep();
        again();
      },
      Timer::kBackground);
}

void TimeKeeper::keep() {
  const WallTime now = cluster_->wall();
  if (now == kept_) return;
  const Result<Ok> written = write_private_file(file_, fmt::format("{}\n", now.unix_nanos));
  if (written)
    kept_ = now;
  else if (!std::exchange(warned_, true))
    log_.warn("the cluster's time cannot be kept", {{"error", written.error()}});
}

}  // namespace berth::cluster
