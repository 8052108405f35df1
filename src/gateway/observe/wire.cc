// SPDX-License-Identifier: Apache-2.0
#include "gateway/observe/wire.h"

namespace berth::gateway {

void write_decision(json::Writer& out, const DecisionRecord& record) {
  constexpr std::string_view kOutcomes[] = {"placed", "unschedulable", "error"};
  out.object();
  out.member("id").integer(static_cast<std::int64_t>(record.id));
  out.member("time").integer(millis(record.time));
  out.member("namespace").string(record.ns);
  out.member("name").string(record.name);
  out.member("uid").string(record.uid);
  out.member("outcome").string(kOutcomes[static_cast<std::size_t>(record.outcome)]);
  out.member("node").string(record.node);
  out.member("us").integer(record.took / std::chrono::microseconds(1));
  out.member("attempt").integer(record.attempt);
  out.member("nodes").integer(record.nodes);
  out.member("fit").integer(record.fit);
  out.member("rejected").array();
  for (const auto& [plugin, nodes] : record.rejected)
    out.object().member("plugin").string(plugin).member("nodes").integer(nodes).end();
  out.end();
  out.member("message").string(record.message);
  out.member("stages").array();
  for (const auto& [stage, took] : record.stages)
    out.object()
        .member("stage")
        .string(stage)
        .member("us")
        .integer(took / std::chrono::microseconds(1))
        .end();
  out.end().end();
}

std::string decisions_json(std::span<const DecisionRecord> records) {
  json::Writer out;
  out.array();
  for (const DecisionRecord& record : records) write_decision(out, record);
  out.end();
  return out.take();
}

}  // namespace berth::gateway
