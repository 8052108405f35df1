// SPDX-License-Identifier: Apache-2.0
#include "apiserver/http/accept.h"

#include <algorithm>
#include <charconv>
#include <optional>
#include <vector>

#include <fmt/format.h>

#include "json/writer.h"
#include "net/http.h"

namespace berth::apiserver {
namespace {

constexpr std::size_t kMostClauses = 64;
constexpr std::string_view kProtobuf = "application/vnd.kubernetes.protobuf";

std::string_view trimmed(std::string_view text) {
  const std::size_t from = text.find_first_not_of(" \t");
  if (from == std::string_view::npos) return {};
  return text.substr(from, text.find_last_not_of(" \t") - from + 1);
}

// The part before `by`, which is taken off with it.
std::string_view take(std::string_view& rest, char by) {
  const std::string_view part = rest.substr(0, rest.find(by));
  rest.remove_prefix(std::min(part.size() + 1, rest.size()));
  return trimmed(part);
}

struct Clause {
  std::string_view type, subtype, as, group, version, stream, server_version;
  bool pretty = false;
  double quality = 1;
};

Clause parse_clause(std::string_view text) {
  Clause clause;
  std::string_view media = take(text, ';');
  clause.type = take(media, '/');
  clause.subtype = trimmed(media);
  while (!text.empty()) {
    std::string_view value = take(text, ';');
    const std::string_view name = take(value, '=');
    value = trimmed(value);
    if (value.size() > 1 && value.front() == '"' && value.back() == '"')
      value = value.substr(1, value.size() - 2);
    if (name == "as") clause.as = value;
    if (name == "g") clause.group = value;
    if (name == "v") clause.version = value;
    if (name == "stream") clause.stream = value;
    if (name == "sv") clause.server_version = value;
    if (name == "pretty") clause.pretty = value == "1";
    if (name == "q") std::from_chars(value.data(), value.data() + value.size(), clause.quality);
  }
  return clause;
}

// Better ones first; a wish that is more exact goes before one that is not.
bool goes_before(const Clause& a, const Clause& b) {
  if (a.quality != b.quality) return a.quality > b.quality;
  if ((a.type == "*") != (b.type == "*")) return b.type == "*";
  if ((a.subtype == "*") != (b.subtype == "*")) return b.subtype == "*";
  return false;
}

std::optional<Wanted> granted(const Clause& clause, bool yaml) {
  const bool any = clause.type == "*" && clause.subtype == "*";
  if (!any && clause.type != "application") return std::nullopt;
  if (!any && clause.subtype != "*" && clause.subtype != (yaml ? "yaml" : "json"))
    return std::nullopt;
  if (!clause.stream.empty() && (yaml || clause.stream != "watch")) return std::nullopt;
  if (!clause.server_version.empty() && clause.server_version != "v1") return std::nullopt;
  Wanted wanted{.yaml = yaml, .pretty = clause.pretty};
  if (clause.as.empty() && clause.group.empty() && clause.version.empty()) return wanted;
  if (clause.group != "meta.k8s.io") return std::nullopt;
  if (clause.version == "v1beta1")
    wanted.version = "v1beta1";
  else if (clause.version != "v1")
    return std::nullopt;
  if (clause.as == "Table")
    wanted.form = Form::kTable;
  else if (clause.as == "PartialObjectMetadata")
    wanted.form = Form::kMetadata;
  else if (clause.as == "PartialObjectMetadataList")
    wanted.form = Form::kMetadataList;
  else
    return std::nullopt;
  return wanted;
}

std::optional<Wanted> first_granted(std::string_view accept) {
  if (trimmed(accept).empty()) return Wanted{};
  std::vector<Clause> clauses;
  while (!accept.empty() && clauses.size() < kMostClauses)
    clauses.push_back(parse_clause(take(accept, ',')));
  std::stable_sort(clauses.begin(), clauses.end(), goes_before);
  for (const Clause& clause : clauses)
    for (const bool yaml : {false, true})
      if (auto wanted = granted(clause, yaml)) return wanted;
  return std::nullopt;
}

// k8s 1.36: people get it indented.
bool is_person(std::string_view user_agent) {
  return user_agent.starts_with("curl") || user_agent.starts_with("Wget") ||
         user_agent.starts_with("Mozilla/5.0");
}

bool is_true(std::string_view text) {  // as Go's ParseBool
  for (const char* word : {"1", "t", "T", "TRUE", "true", "True"})
    if (text == word) return true;
  return false;
}

}  // namespace

bool wants_pretty(const Query& query, std::string_view user_agent) {
  const std::string asked = query.text("pretty");
  return asked.empty() ? is_person(user_agent) : is_true(asked);
}

namespace {

// k8s 1.36: what routes requests looks at media types without their parameters, and refuses in its
// own words.
bool is_routed(std::string_view accept) {
  while (!accept.empty()) {
    std::string_view clause = take(accept, ',');
    const std::string_view media = take(clause, ';');
    if (media == "*/*" || media == "application/json" || media == "application/yaml" ||
        media == kProtobuf)
      return true;
  }
  return false;
}

Error not_acceptable(std::string_view accept, const Asked& asked) {
  if (!asked.custom && !is_routed(accept))
    return {.reason = Reason::kNotAcceptable,
            .message = fmt::format(
                "406: Not Acceptable\n\nAvailable representations: application/json, "
                "application/yaml, {}{}",
                kProtobuf,
                asked.collection
                    ? fmt::format(", application/json;stream=watch, {};stream=watch", kProtobuf)
                    : ""),
            .about = std::make_shared<const About>()};
  // Protobuf is read and not written; who insists on it is not told that it could be had.
  const bool insists = accept.find(kProtobuf) != std::string_view::npos;
  const std::string_view types =
      asked.watch ? "application/json;stream=watch" : "application/json, application/yaml";
  return {.reason = Reason::kNotAcceptable,
          .message = fmt::format("only the following media types are accepted: {}{}", types,
                                 insists       ? ""
                                 : asked.watch ? fmt::format(", {};stream=watch", kProtobuf)
                                               : fmt::format(", {}", kProtobuf))};
}

}  // namespace

Result<Wanted> negotiate(std::string_view accept, const Query& query, std::string_view user_agent,
                         const Asked& asked) {
  std::optional<Wanted> wanted = first_granted(accept);
  if (!wanted || (asked.watch && wanted->yaml))
    return tl::unexpected(not_acceptable(accept, asked));
  wanted->pretty = wanted->pretty || wants_pretty(query, user_agent);
  if (wanted->form == Form::kTable) {
    const std::string include = query.text("includeObject");
    if (include == "None")
      wanted->include = Include::kNone;
    else if (include == "Object")
      wanted->include = Include::kObject;
    else if (!include.empty() && include != "Metadata")
      return fail(Reason::kBadRequest,
                  fmt::format("Unable to convert to Table as requested: includeObject: Invalid "
                              "value: {}: must be 'Metadata', 'Object', 'None', or empty",
                              json::quoted(include)));
  }
  return *wanted;
}

}  // namespace berth::apiserver
