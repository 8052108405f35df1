// SPDX-License-Identifier: Apache-2.0
#include "apiserver/store/watch_plan.h"

#include <utility>
#include <vector>

#include "apiserver/store/list_plan.h"

namespace berth::apiserver {
namespace {

using kube::VersionMatch;

std::vector<Cause> mistakes_in(const kube::Options& options) {
  std::vector<Cause> found;
  const auto forbid = [&found](std::string_view why) {
    found.push_back(
        {"FieldValueForbidden", "Forbidden: " + std::string(why), "resourceVersionMatch"});
  };
  const VersionMatch match = options.version_match;
  if (options.send_initial_events && match != VersionMatch::kNotOlderThan)
    forbid("sendInitialEvents requires setting resourceVersionMatch to NotOlderThan");
  if (match == VersionMatch::kUnset) return found;
  if (!options.send_initial_events)
    forbid("resourceVersionMatch is forbidden for watch unless sendInitialEvents is provided");
  if (match != VersionMatch::kNotOlderThan)
    found.push_back({"FieldValueNotSupported",
                     R"(Unsupported value: "Exact": supported values: "NotOlderThan")",
                     "resourceVersionMatch"});
  if (!options.continue_token.empty())
    forbid("resourceVersionMatch is forbidden when continue is provided");
  return found;
}

}  // namespace

Result<WatchPlan> plan_watch(const kube::Options& options) {
  if (std::vector<Cause> causes = mistakes_in(options); !causes.empty())
    return tl::unexpected(invalid_list_options(std::move(causes)));
  const Result<kube::Revision> revision = parse_revision(options.resource_version.value_or(""));
  if (!revision) return tl::unexpected(revision.error());
  WatchPlan plan{.at_least = *revision, .bookmarks = options.bookmarks};
  // k8s 1.36: without a revision, and with 0, a watch begins with what there is, unless told not
  // to.
  plan.initial_events = options.send_initial_events.value_or(*revision == 0);
  if (!plan.initial_events) plan.after = *revision;
  plan.initial_bookmark = options.send_initial_events.value_or(false) && options.bookmarks;
  return plan;
}

}  // namespace berth::apiserver
