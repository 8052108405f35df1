// SPDX-License-Identifier: Apache-2.0
#include "controllers/batchjob/history.h"

#include <algorithm>

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

std::string run_json(const StatusDraft& status, std::int64_t run, std::int64_t attempts,
                     bool successful, const slots::Grant* grant) {
  json::Writer w;
  w.object().member("run").integer(run).member("successful").boolean(successful);
  for (const auto& [name, from] : {std::pair{"start", "startTime"}, {"stop", "stopTime"}})
    if (const std::string time = status[from].text(); !time.empty()) w.member(name).string(time);
  if (grant != nullptr) {
    if (!grant->scheduling.name.empty()) w.member("scheduling").string(grant->scheduling.name);
    if (!grant->since.empty()) w.member("granted").string(grant->since);
  }
  w.member("testbed").string(status["slots"].text());
  if (const json::Slice ids = status["slotIds"]) w.member("slotIds").raw(ids.raw());
  w.member("replication").integer(status["replication"].integer().value_or(0));
  w.member("attempts").integer(attempts);
  if (const json::Slice pods = status["pods"]) w.member("pods").raw(pods.raw());
  return w.end().take();
}

std::string pods_json(json::Slice before, const std::vector<ExecutorPod>& executors) {
  json::Writer w;
  w.array();
  for (const json::Slice each : before.elements())
    if (std::none_of(executors.begin(), executors.end(),
                     [&](const ExecutorPod& one) { return each["name"].equals(one.pod->name()); }))
      w.raw(each.raw());
  for (const ExecutorPod& one : executors) {
    if (one.node.empty()) continue;  // it may ask for more than it has
    w.object().member("name").string(one.pod->name()).member("node").string(one.node);
    if (one.slot) w.member("slot").integer(*one.slot);
    w.end();
  }
  return w.end().take();
}

}  // namespace berth::controllers
