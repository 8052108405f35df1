// SPDX-License-Identifier: Apache-2.0
// What is kept of a job's runs, for whoever wants to ask a metrics server about them: when, where,
// how it went.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "controllers/status.h"
#include "kube/object.h"
#include "policy/slots/ledger.h"

namespace berth::controllers {

inline constexpr std::size_t kRunsKept = 100;

// A pod of the run, and where it is.
struct ExecutorPod {
  const kube::Object* pod = nullptr;
  std::string node;  // "": nowhere yet
  std::optional<int> slot;
};

// `events` with one more run at its end; the oldest goes where there are too many. A run that is
// there already stays as it is: closing it again changes nothing.
std::string with_run(json::Slice events, std::int64_t run, std::string_view run_json);
// What a job's status says of the run that it closes; `grant` may be gone (null).
std::string run_json(const StatusDraft& status, std::int64_t run, std::int64_t attempts,
                     bool successful, const slots::Grant* grant);
// The pods of a run: those that were noted `before`, as far as they are not there any more, and
// those that are.
std::string pods_json(json::Slice before, const std::vector<ExecutorPod>& executors);

}  // namespace berth::controllers
