// SPDX-License-Identifier: Apache-2.0
// Whatever a Job's condition says: what is read of it comes out of it, and it can be judged.
#include <cstddef>
#include <cstdint>
#include <string_view>

#include "base/check.h"
#include "policy/scavenge/verdict.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace berth::scavenge;
  const std::string_view text(reinterpret_cast<const char*>(data), size);
  JobEvidence job{.exists = true, .failing = true};
  read_failure_message(job, text);
  BERTH_CHECK(job.message == text, "the message was changed");
  BERTH_CHECK(text.find(job.cause_pod) != text.npos, "a pod that is not there");
  const Judgement judged = judge({.job = job});
  BERTH_CHECK(judged.verdict == Verdict::kFailed || judged.verdict == Verdict::kInterrupted,
              "a Job that failed goes on");
  return 0;
}
