// SPDX-License-Identifier: Apache-2.0
#include "gateway/scavenge/victims.h"

#include <algorithm>

#include "gateway/scavenge/wire.h"
#include "kube/time.h"

namespace berth::gateway {
namespace {

using scavenge::VictimRecord;

kube::Key key_of(std::string_view text) {
  const std::size_t slash = text.find('/');
  if (slash == std::string_view::npos) return {"", std::string(text)};
  return {std::string(text.substr(0, slash)), std::string(text.substr(slash + 1))};
}

void write_candidate(json::Writer& out, const kube::Key& job, const std::string& node,
                     const VictimSize& size, std::int64_t cost, bool chosen, std::size_t others) {
  out.object().member("namespace").string(job.ns).member("name").string(job.name);
  out.member("node").string(node).member("cores").integer(size.cores_milli);
  if (size.checkpoint) out.member("checkpoint").integer(millis(size.checkpoint));
  out.member("cost").integer(cost).member("chosen").boolean(chosen);
  if (others > 0) out.member("others").integer(static_cast<std::int64_t>(others));
  out.end();
}

}  // namespace

bool Victims::add(VictimRecord record, const VictimSizes& sizes) {
  const bool known = std::any_of(kept_.rbegin(), kept_.rend(), [&](const Kept& one) {
    return one.record.at == record.at && one.record.pod_uid == record.pod_uid &&
           one.record.node == record.node && one.record.because == record.because;
  });
  if (known) return false;
  Kept kept{.id = ++last_id_};
  for (const VictimRecord::Job& job : record.victims) {
    VictimSize size = sizes({job.ns, job.name});
    size.checkpoint = job.reported ? std::optional(record.at - job.lost) : std::nullopt;
    kept.victims.push_back(size);
  }
  for (const VictimRecord::Alternative& one : record.alternatives) {
    VictimSize all;
    for (const std::string& job : one.jobs) {
      const VictimSize size = sizes(key_of(job));
      all.cores_milli += size.cores_milli;
      if (one.jobs.size() == 1) all.checkpoint = size.checkpoint;
    }
    kept.alternatives.push_back(all);
  }
  kept.record = std::move(record);
  // Events come in any order when somebody looks for the first time.
  auto at = kept_.end();
  while (at != kept_.begin() && kept.record.at < std::prev(at)->record.at) --at;
  const bool newest = at == kept_.end();
  kept_.insert(at, std::move(kept));
  if (kept_.size() > kKept) kept_.pop_front();
  return newest;
}

void Victims::write(json::Writer& out, const Kept& kept) {
  const VictimRecord& record = kept.record;
  out.object().member("id").integer(static_cast<std::int64_t>(kept.id));
  out.member("time").integer(millis(record.at)).member("door").string(record.door);
  if (record.because.empty()) {
    out.member("for").object().member("namespace").string(record.pod_ns);
    out.member("name").string(record.pod_name).end().member("node").string(record.node);
  } else {
    out.member("because").string(record.because);
  }
  out.member("cost").integer(record.cost).member("exact").boolean(record.exact);
  out.member("nodes").integer(record.nodes_looked_at);
  if (record.stock_cost) out.member("stockCost").integer(*record.stock_cost);
  out.member("candidates").array();
  for (std::size_t i = 0; i < record.victims.size(); ++i) {
    const VictimRecord::Job& job = record.victims[i];
    write_candidate(out, {job.ns, job.name}, record.node, kept.victims[i], job.cost, true, 0);
  }
  for (std::size_t i = 0; i < record.alternatives.size(); ++i) {
    const VictimRecord::Alternative& one = record.alternatives[i];
    if (one.jobs.empty()) continue;
    write_candidate(out, key_of(one.jobs.front()), one.node, kept.alternatives[i], one.cost, false,
                    one.jobs.size() - 1);
  }
  out.end().end();
}

std::string Victims::json() const {
  json::Writer out;
  out.array();
  for (auto one = kept_.rbegin(); one != kept_.rend(); ++one) write(out, *one);
  return out.end().take();
}

std::string Victims::last_json() const {
  json::Writer out;
  out.array();
  if (!kept_.empty()) write(out, kept_.back());
  return out.end().take();
}

std::vector<std::string> Victims::told_of(std::string_view uid) const {
  std::vector<std::string> told;
  for (auto one = kept_.rbegin(); one != kept_.rend(); ++one)
    if (std::any_of(one->record.victims.begin(), one->record.victims.end(),
                    [&](const auto& victim) { return victim.uid == uid; }))
      told.push_back(kube::time_text(one->record.at) + ": " + scavenge::victim_text(one->record));
  return told;
}

}  // namespace berth::gateway
