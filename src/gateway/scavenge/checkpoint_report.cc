// SPDX-License-Identifier: Apache-2.0
#include "gateway/scavenge/checkpoint_report.h"

#include <algorithm>
#include <cmath>

#include <fmt/format.h>

#include "controllers/scavenger/checkpoints.h"
#include "json/cursor.h"
#include "json/slice.h"
#include "json/writer.h"
#include "kube/ours/ours.h"
#include "kube/time.h"

namespace berth::gateway {
namespace {

constexpr double kLongest = 24 * 3600;

tl::unexpected<Error> wrong(std::string message) {
  return fail(Reason::kBadRequest, std::move(message));
}

}  // namespace

Result<CheckpointReport> checkpoint_report(std::string_view body) {
  CheckpointReport report;
  if (body.find_first_not_of(" \t\r\n") == std::string_view::npos) return report;
  if (const auto good = json::check(body); !good)
    return wrong(fmt::format("the body is no JSON: {}", good.error().message));
  const json::Slice said(body);
  if (!said.is_object())
    return wrong(R"(write an object, such as {"time": "2026-01-02T15:04:05Z", "seconds": 2.5})");
  if (const json::Slice time = said["time"]; time && !time.is_null()) {
    report.at = kube::parse_time(time.text());
    if (!report.at)
      return wrong(fmt::format("time: {} is no RFC 3339 time, such as 2026-01-02T15:04:05Z",
                               time.raw().substr(0, 100)));
  }
  if (const json::Slice seconds = said["seconds"]; seconds && !seconds.is_null()) {
    const auto number = seconds.number();
    if (!number || !(*number >= 0) || *number > kLongest)
      return wrong("seconds: how long writing it took, 0 to 86400");
    report.took = std::chrono::milliseconds(static_cast<std::int64_t>(std::ceil(*number * 1000)));
  }
  report.pod = said["pod"].text();
  return report;
}

std::string checkpoint_patch(const CheckpointReport& report, WallTime now) {
  json::Writer out;
  out.object().member("metadata").object().member("annotations").object();
  out.member(kube::kCheckpointAnnotation)
      .string(kube::micro_time_text(std::min(report.at.value_or(now), now)));
  if (report.took)
    out.member(controllers::kCheckpointCostAnnotation).string(kube::duration_text(*report.took));
  return out.end().end().end().take();
}

}  // namespace berth::gateway
