// SPDX-License-Identifier: Apache-2.0
#include "cli/explain_scavenger.h"

#include <algorithm>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include <fmt/format.h>

#include "cli/listing.h"
#include "controllers/scavenger_diagnosis.h"
#include "kube/ours/ours.h"
#include "kube/time.h"
#include "policy/scavenge/victim_record.h"

namespace berth::cli {
namespace {

// Not those about an earlier job of the name.
std::vector<kube::Object> events_of(const Listing& seen, const std::string& job) {
  std::set<std::string, std::less<>> uids = {""};
  for (const kube::KindId kind : {kube::scavenger_kinds().job, kube::cerit_kinds().job})
    if (const kube::Object* found = seen.objects.get(kind, {seen.ns, job}))
      uids.emplace(found->uid());
  std::vector<kube::Object> events;
  for (const kube::Object* event : seen.objects.list(kube::kEvent, seen.ns)) {
    const json::Slice regarding = event->member("regarding");
    if (regarding["kind"].equals("ScavengerJob") && regarding["name"].equals(job) &&
        uids.count(regarding["uid"].text()) > 0)
      events.push_back(*event);
  }
  return events;
}

// What those who chose it told of the job: "12 min ago, Preempted: Interrupted for pod shop/web on
// n3: …".
std::vector<std::string> told_by(std::vector<kube::Object> events) {
  const auto time_of = [](const kube::Object& event) {
    for (const json::Slice at :
         {event.member("series")["lastObservedTime"], event.member("eventTime"),
          event.member("deprecatedLastTimestamp")})
      if (const auto time = kube::parse_time(at.text())) return *time;
    return event.created().value_or(WallTime{});
  };
  std::erase_if(events, [](const kube::Object& event) {
    return event.annotation(scavenge::kVictimsAnnotation).empty();
  });
  std::sort(events.begin(), events.end(),
            [&](const kube::Object& a, const kube::Object& b) { return time_of(b) < time_of(a); });
  std::vector<std::string> told;
  for (const kube::Object& event : events)
    told.push_back(
        fmt::format("{}: {}", kube::time_text(time_of(event)), event.member("note").text()));
  return told;
}

}  // namespace

Result<int> explain_scavenger(const ExplainSlotsOptions& options, Context& context) {
  std::vector<Wanted> wanted;
  for (const kube::KindId kind : controllers::kinds_of_scavengers())
    wanted.push_back({.kind = kind,
                      .lack = kind == kube::cerit_kinds().job ? Wanted::Lack::kIsFine
                                                              : Wanted::Lack::kIsAnError});
  wanted.push_back({.kind = kube::kEvent, .lack = Wanted::Lack::kIsNoQuestion, .only_here = true});
  wanted.back().options.field_selector = fmt::format("regarding.name={}", options.name);
  return look_at(
      options.files, options.connect, std::move(wanted), [&](const Listing& seen) -> Result<int> {
        const auto said =
            controllers::diagnose_scavenger(runtime::View(seen.objects), {seen.ns, options.name},
                                            told_by(events_of(seen, options.name)), seen.now);
        if (!said) return tl::unexpected(said.error());
        return print_diagnosis(*said, options.output, context);
      });
}

}  // namespace berth::cli
