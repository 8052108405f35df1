// SPDX-License-Identifier: Apache-2.0
#include "policy/scavenge/victim_record.h"

#include <algorithm>
#include <cmath>

#include <fmt/format.h>

#include "json/slice.h"
#include "json/writer.h"
#include "kube/time.h"

namespace berth::scavenge {
namespace {

constexpr std::size_t kMostNamed = 3;  // jobs in a sentence

void write_texts(json::Writer& to, std::string_view name, const std::vector<std::string>& texts,
                 std::size_t most) {
  to.member(name).array();
  for (std::size_t i = 0; i < std::min(most, texts.size()); ++i) to.string(texts[i]);
  to.end();
}
std::vector<std::string> read_texts(json::Slice from) {
  std::vector<std::string> texts;
  for (const json::Slice each : from.elements()) texts.push_back(each.text());
  return texts;
}
int small(json::Slice from, int otherwise = 0) {
  const auto number = from.integer();
  if (!number || *number < INT32_MIN || *number > INT32_MAX) return otherwise;
  return static_cast<int>(*number);
}

}  // namespace

std::string victim_record_json(const VictimRecord& record) {
  json::Writer to;
  to.object().member("at").string(kube::micro_time_text(record.at));
  to.member("door").string(record.door);
  if (!record.because.empty()) to.member("because").string(record.because);
  to.member("for").object();
  to.member("namespace").string(record.pod_ns).member("name").string(record.pod_name);
  to.member("uid").string(record.pod_uid).end();
  to.member("node").string(record.node);
  to.member("cost").integer(record.cost);
  if (record.stock_cost) to.member("stockCost").integer(*record.stock_cost);
  to.member("exact").boolean(record.exact);
  to.member("nodesLookedAt").integer(record.nodes_looked_at);
  to.member("victims").array();
  for (std::size_t i = 0; i < std::min(kMostVictims, record.victims.size()); ++i) {
    const VictimRecord::Job& job = record.victims[i];
    to.object().member("namespace").string(job.ns).member("name").string(job.name);
    to.member("uid").string(job.uid);
    write_texts(to, "pods", job.pods, kMostPodsNamed);
    to.member("members").integer(job.members);
    to.member("cost").integer(job.cost);
    to.member("lost").string(kube::duration_text(job.lost));
    to.member("runningPriority").integer(job.running_priority);
    to.member("tier").integer(job.tier);
    to.member("reported").boolean(job.reported).end();
  }
  to.end().member("alternatives").array();
  for (std::size_t i = 0; i < std::min(kMostAlternatives, record.alternatives.size()); ++i) {
    const VictimRecord::Alternative& other = record.alternatives[i];
    to.object().member("node").string(other.node).member("cost").integer(other.cost);
    write_texts(to, "jobs", other.jobs, kMostPodsNamed);
    to.member("topTier").integer(other.top_tier).end();
  }
  to.end().end();
  return to.take();
}

std::optional<VictimRecord> parse_victim_record(std::string_view text) {
  if (!json::check(text)) return std::nullopt;
  const json::Slice from(text);
  const auto at = kube::parse_time(from["at"].text());
  if (!from.is_object() || !at || !from["victims"].is_array()) return std::nullopt;
  VictimRecord record{.at = *at, .door = from["door"].text()};
  record.because = from["because"].text();
  record.pod_ns = from["for"]["namespace"].text();
  record.pod_name = from["for"]["name"].text();
  record.pod_uid = from["for"]["uid"].text();
  record.node = from["node"].text();
  record.cost = from["cost"].integer().value_or(0);
  record.stock_cost = from["stockCost"].integer();
  record.exact = from["exact"].boolean(true);
  record.nodes_looked_at = small(from["nodesLookedAt"]);
  for (const json::Slice each : from["victims"].elements()) {
    VictimRecord::Job& job = record.victims.emplace_back();
    job.ns = each["namespace"].text();
    job.name = each["name"].text();
    job.uid = each["uid"].text();
    job.pods = read_texts(each["pods"]);
    job.members = small(each["members"], 1);
    job.cost = each["cost"].integer().value_or(0);
    job.lost = kube::parse_duration(each["lost"].text()).value_or(Duration{});
    job.running_priority = small(each["runningPriority"]);
    job.tier = small(each["tier"]);
    job.reported = each["reported"].boolean();
  }
  for (const json::Slice each : from["alternatives"].elements()) {
    VictimRecord::Alternative& other = record.alternatives.emplace_back();
    other.node = each["node"].text();
    other.cost = each["cost"].integer().value_or(0);
    other.jobs = read_texts(each["jobs"]);
    other.top_tier = small(each["topTier"]);
  }
  return record;
}

std::string core_seconds_text(std::int64_t milli) {
  const double seconds = static_cast<double>(milli) / 1000;
  const bool hours = seconds >= 36'000;
  const double shown = std::round((hours ? seconds / 3600 : seconds) * 10) / 10;
  return fmt::format("{} core-{}", shown, hours ? "hours" : "seconds");
}

std::string victim_text(const VictimRecord& record) {
  std::string text = fmt::format("{} {} interrupted ", record.victims.size(),
                                 record.victims.size() == 1 ? "job" : "jobs");
  text += record.because.empty()
              ? fmt::format("on {} for {}/{}: ", record.node, record.pod_ns, record.pod_name)
              : fmt::format("because of {}: ", record.because);
  for (std::size_t i = 0; i < std::min(kMostNamed, record.victims.size()); ++i)
    text += fmt::format("{}{}/{} ({})", i == 0 ? "" : ", ", record.victims[i].ns,
                        record.victims[i].name, core_seconds_text(record.victims[i].cost));
  if (record.victims.size() > kMostNamed)
    text += fmt::format(" and {} more ({} in all)", record.victims.size() - kMostNamed,
                        core_seconds_text(record.cost));
  if (!record.alternatives.empty())
    text += fmt::format("; {} would have lost {}", record.alternatives.front().node,
                        core_seconds_text(record.alternatives.front().cost));
  return text;
}

}  // namespace berth::scavenge
