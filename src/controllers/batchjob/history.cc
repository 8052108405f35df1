// SPDX-License-Identifier: Apache-2.0
#include "controllers/batchjob/history.h"

#include "json/writer.h"

namespace berth::controllers {

std::string with_run(json::Slice events, std::int64_t run, std::string_view run_json) {
  bool known = false;
  for (const json::Slice each : events.elements()) known |= each["run"].integer() == run;
  const std::size_t size = events.size() + (known ? 0 : 1);
  std::size_t skip = size > kRunsKept ? size - kRunsKept : 0;
  json::Writer w;
  w.array();
  for (const json::Slice each : events.elements()) {
    if (skip > 0) {
      --skip;
      continue;
    }
    w.raw(each.raw());
  }
  if (!known) w.raw(run_json);
  return w.end().take();
}

}  // namespace berth::controllers
