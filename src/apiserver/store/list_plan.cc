// SPDX-License-Identifier: Apache-2.0
#include "apiserver/store/list_plan.h"

#include <charconv>
#include <utility>
#include <vector>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "apiserver/store/continue_token.h"

namespace berth::apiserver {
namespace {

using kube::VersionMatch;

std::vector<Cause> mistakes_in(const kube::Options& options) {
  std::vector<Cause> found;
  const auto forbid = [&found](std::string field, std::string_view why) {
    found.push_back({"FieldValueForbidden", fmt::format("Forbidden: {}", why), std::move(field)});
  };
  const std::string& revision = options.resource_version.value_or("");
  if (options.version_match != VersionMatch::kUnset) {
    if (revision.empty())
      forbid("resourceVersionMatch",
             "resourceVersionMatch is forbidden unless resourceVersion is provided");
    if (!options.continue_token.empty())
      forbid("resourceVersionMatch", "resourceVersionMatch is forbidden when continue is provided");
    if (options.version_match == VersionMatch::kExact && revision == "0")
      forbid("resourceVersionMatch",
             R"(resourceVersionMatch "exact" is forbidden for resourceVersion "0")");
  }
  if (options.send_initial_events)
    forbid("sendInitialEvents", "sendInitialEvents is forbidden for list");
  return found;
}

}  // namespace

Error invalid_list_options(std::vector<Cause> causes) {
  std::vector<std::string> texts;
  for (const Cause& cause : causes)
    texts.push_back(fmt::format("{}: {}", cause.field, cause.message));
  const std::string all =
      texts.size() == 1 ? texts.front() : fmt::format("[{}]", fmt::join(texts, ", "));
  return {
      .reason = Reason::kInvalid,
      .message = fmt::format("ListOptions.meta.k8s.io \"\" is invalid: {}", all),
      .causes = std::move(causes),
      .about = std::make_shared<const About>(About{.group = "meta.k8s.io", .kind = "ListOptions"})};
}

Result<kube::Revision> parse_revision(std::string_view text) {
  kube::Revision revision = 0;
  const char* const end = text.data() + text.size();
  const auto [stop, error] = std::from_chars(text.data(), end, revision);
  if (!text.empty() && (error != std::errc() || stop != end))
    return fail(Reason::kBadRequest,
                fmt::format("invalid resource version: resourceVersion: Invalid value: \"{}\": "
                            "strconv.ParseUint: parsing \"{}\": {}",
                            text, text,
                            error == std::errc::result_out_of_range ? "value out of range"
                                                                    : "invalid syntax"));
  return revision;
}

Result<ListPlan> plan_list(const kube::Options& options) {
  if (std::vector<Cause> causes = mistakes_in(options); !causes.empty())
    return tl::unexpected(invalid_list_options(std::move(causes)));
  const std::string& text = options.resource_version.value_or("");
  ListPlan plan;
  plan.limit = options.limit > 0 ? static_cast<std::size_t>(options.limit) : 0;
  if (!options.continue_token.empty()) {
    Result<ContinueToken> token = ContinueToken::parse(options.continue_token);
    if (!token) return tl::unexpected(std::move(token.error()));
    if (!text.empty() && text != "0")
      return fail(Reason::kBadRequest,
                  "specifying resource version is not allowed when using continue");
    plan.exactly = token->revision > 0 ? static_cast<kube::Revision>(token->revision) : 0;
    plan.start = std::move(token->start);
    plan.continued = true;
    return plan;
  }
  const Result<kube::Revision> revision = parse_revision(text);
  if (!revision) return tl::unexpected(revision.error());
  // k8s 1.36: without a match a limit makes the revision an exact one.
  const bool exact = options.version_match == VersionMatch::kExact ||
                     (options.version_match == VersionMatch::kUnset && plan.limit > 0);
  plan.at_least = *revision;
  if (exact) plan.exactly = *revision;
  return plan;
}

Error too_large_revision(kube::Revision asked, kube::Revision current) {
  return {.reason = Reason::kTimeout,
          .message =
              fmt::format("Timeout: Too large resource version: {}, current: {}", asked, current),
          .retry_after = std::chrono::seconds(1),
          .causes = {{"ResourceVersionTooLarge", "Too large resource version", ""}}};
}

}  // namespace berth::apiserver
