// SPDX-License-Identifier: Apache-2.0
#include "apiserver/http/body.h"

#include <algorithm>
#include <iterator>

#include <fmt/format.h>

#include "json/yaml.h"

namespace berth::apiserver {
namespace {

constexpr std::string_view kJson = "application/json", kYaml = "application/yaml",
                           kProtobuf = "application/vnd.kubernetes.protobuf";

struct PatchName {
  std::string_view media_type;
  kube::PatchType type;
};
constexpr PatchName kPatches[] = {
    {"application/json-patch+json", kube::PatchType::kJson},
    {"application/merge-patch+json", kube::PatchType::kMerge},
    {"application/strategic-merge-patch+json", kube::PatchType::kStrategic},
    {"application/apply-patch+yaml", kube::PatchType::kApply},
};

std::string_view media_type_of(const net::Headers& headers) {
  std::string_view type = headers.get("Content-Type");
  type = type.substr(0, type.find(';'));
  while (type.ends_with(' ')) type.remove_suffix(1);
  return type;
}

Error unsupported(std::string_view accepted) {
  return {.reason = Reason::kUnsupportedMediaType,
          .message = fmt::format("the body of the request was in an unknown format - accepted "
                                 "media types include: {}",
                                 accepted)};
}

// k8s 1.36: nobody looks at a Content-Encoding; what is packed cannot be read as what it says to
// be.
Result<Ok> check_size(const net::HttpRequest& http, const DoorLimits& limits) {
  if (http.body.size() > limits.body_bytes)
    return fail(Reason::kRequestEntityTooLarge,
                fmt::format("Request entity too large: limit is {}", limits.body_bytes));
  return Ok{};
}

// k8s 1.36: how a body is shown that cannot be read.
std::string summary(std::string_view body) {
  constexpr std::size_t kMost = 30;
  if (body.empty()) return "<empty>";
  const std::string_view start = body.substr(0, kMost);
  std::string out;
  if (body.front() == '{')
    out = start;
  else
    for (const char c : start) out += fmt::format("{:02x}", static_cast<unsigned char>(c));
  return body.size() > kMost ? out + " ..." : out;
}

// As Go's YAML puts it: without columns, and without the line where that is the first.
std::string go_yaml_text(std::string_view message) {
  constexpr std::string_view kLine = "line ", kColumn = ", column ";
  const std::size_t column = message.find(kColumn), end = message.find(": ");
  if (!message.starts_with(kLine) || column == std::string_view::npos || end < column ||
      end == std::string_view::npos)
    return fmt::format("yaml: {}", message);
  const std::string_view line = message.substr(kLine.size(), column - kLine.size());
  const std::string_view what = message.substr(end + 2);
  return line == "1" ? fmt::format("yaml: {}", what) : fmt::format("yaml: line {}: {}", line, what);
}

Result<std::string> yaml_as_json(std::string_view body, const DoorLimits& limits) {
  // A few aliases can stand for much; what comes out of them is bounded like what is written out.
  constexpr std::size_t kBytesPerNode = 16;
  Result<std::string> text =
      json::yaml_document_to_json(body, {.max_bytes = limits.body_bytes,
                                         .max_depth = limits.depth,
                                         .max_nodes = limits.body_bytes / kBytesPerNode});
  if (!text) return fail(Reason::kBadRequest, go_yaml_text(text.error().message));
  return text;
}

kube::Body as_body(std::string bytes, std::string_view media_type) {
  return {.bytes = std::make_shared<const std::string>(std::move(bytes)),
          .media_type = std::string(media_type)};
}

}  // namespace

BodyCounts::BodyCounts(Metrics& metrics)
    : BodyCounts(metrics.counters("berth_apiserver_request_bodies_total",
                                  "Bodies of requests over HTTP, by the format they came in",
                                  {"format"})) {}

BodyCounts::BodyCounts(const Labelled<Counter>& bodies)
    : json_(bodies.with({"json"})),
      yaml_(bodies.with({"yaml"})),
      protobuf_(bodies.with({"protobuf"})),
      patch_(bodies.with({"patch"})),
      other_(bodies.with({"other"})) {}

void BodyCounts::count(const net::HttpRequest& http) const {
  if (http.body.empty()) return;
  const std::string_view type = media_type_of(http.headers);
  if (type.empty() || net::same_token(type, kJson))
    json_.add();
  else if (net::same_token(type, kYaml))
    yaml_.add();
  else if (net::same_token(type, kProtobuf))
    protobuf_.add();
  else if (std::any_of(std::begin(kPatches), std::end(kPatches),
                       [&](const PatchName& each) { return each.media_type == type; }))
    patch_.add();
  else
    other_.add();
}

Result<kube::Body> read_document(net::HttpRequest& http, const KindRow& row,
                                 const DoorLimits& limits) {
  if (const auto fine = check_size(http, limits); !fine) return tl::unexpected(fine.error());
  const std::string_view type = media_type_of(http.headers);
  const auto unreadable = [&](const Error& why) {
    return fail(Reason::kBadRequest,
                fmt::format("the object provided is unrecognized (must be of type {}): {} ({})",
                            row.kind.kind, why.message, summary(http.body)));
  };
  if (type.empty() || net::same_token(type, kJson)) return as_body(std::move(http.body), kJson);
  if (net::same_token(type, kYaml)) {
    Result<std::string> text = yaml_as_json(http.body, limits);
    if (!text) return unreadable(text.error());
    return as_body(std::move(*text), kJson);
  }
  if (net::same_token(type, kProtobuf) && !row.custom) {
    Result<std::string> text = kube::protobuf_to_json(http.body, row.id, limits.protobuf());
    if (!text) return unreadable(text.error());
    return as_body(std::move(*text), kJson);
  }
  return tl::unexpected(unsupported(row.custom ? "application/json, application/yaml"
                                               : "application/json, application/yaml, "
                                                 "application/vnd.kubernetes.protobuf"));
}

Result<kube::Body> read_delete_body(net::HttpRequest& http, const DoorLimits& limits) {
  if (http.body.empty()) return kube::Body{};
  if (const auto fine = check_size(http, limits); !fine) return tl::unexpected(fine.error());
  const std::string_view type = media_type_of(http.headers);
  if (type.empty() || net::same_token(type, kJson)) return as_body(std::move(http.body), kJson);
  Result<std::string> text;
  if (net::same_token(type, kYaml))
    text = yaml_as_json(http.body, limits);
  else if (net::same_token(type, kProtobuf))
    text = kube::protobuf_to_json(http.body, {}, limits.protobuf());
  else
    return tl::unexpected(
        unsupported("application/json, application/yaml, application/vnd.kubernetes.protobuf"));
  if (!text) return fail(Reason::kBadRequest, text.error().message);
  return as_body(std::move(*text), kJson);
}

Result<kube::PatchType> patch_type_of(const net::Headers& headers, const KindRow& row) {
  const std::string_view type = media_type_of(headers);
  std::string accepted;
  for (const PatchName& each : kPatches) {
    if (row.custom && each.type == kube::PatchType::kStrategic) continue;
    if (each.media_type == type) return each.type;
    accepted += fmt::format("{}{}", accepted.empty() ? "" : ", ", each.media_type);
  }
  // k8s 1.36: built-in kinds are refused by what routes requests, custom ones by what serves them.
  if (!row.custom)
    return tl::unexpected(Error{.reason = Reason::kUnsupportedMediaType,
                                .message = "415: Unsupported Media Type",
                                .about = std::make_shared<const About>()});
  return tl::unexpected(unsupported(accepted));
}

Result<kube::Body> read_patch(net::HttpRequest& http, kube::PatchType type,
                              const DoorLimits& limits) {
  if (const auto fine = check_size(http, limits); !fine) return tl::unexpected(fine.error());
  const std::string_view media_type = kPatches[static_cast<std::size_t>(type)].media_type;
  if (type != kube::PatchType::kApply) return as_body(std::move(http.body), media_type);
  Result<std::string> text = yaml_as_json(http.body, limits);
  if (!text)
    return fail(Reason::kBadRequest,
                "error decoding YAML: error converting YAML to JSON: " + text.error().message);
  return as_body(std::move(*text), media_type);
}

}  // namespace berth::apiserver
