// SPDX-License-Identifier: Apache-2.0
// What simulated containers have printed: a function of the pod and the time.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "base/result.h"
#include "kube/api.h"
#include "kube/object.h"

namespace berth::lab {

struct LogOptions {
  std::string container = {};  // "": the only one
  bool previous = false;       // of the run before
  bool timestamps = false;
  std::optional<std::int64_t> tail_lines = {}, limit_bytes = {}, since_seconds = {};
  std::optional<WallTime> since_time = {};

  // From "/api/v1/…/log?container=x&tailLines=5". follow and what is unknown count for nothing.
  static Result<LogOptions> parse(std::string_view target);
};

// Errors are worded as the real server words them.
Result<std::string> log_text(const kube::Object& pod, const LogOptions&, WallTime now);

// For Server::answer(kPod, "log", …).
Result<kube::ApiReply> answer_log(const kube::Object& pod, std::string_view target, WallTime now);

}  // namespace berth::lab
