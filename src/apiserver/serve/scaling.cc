// SPDX-License-Identifier: Apache-2.0
#include "apiserver/serve/scaling.h"

#include <fmt/format.h>

#include "apiserver/serve/errors.h"
#include "json/writer.h"
#include "kube/kind.h"
#include "kube/label_selector.h"

namespace berth::apiserver {
namespace {

// The first word of a path, which is cut off.
std::string_view next_step(std::string_view& path) {
  const std::size_t dot = path.find('.');
  const std::string_view step = path.substr(0, dot);
  path = dot == std::string_view::npos ? std::string_view() : path.substr(dot + 1);
  return step;
}

json::Slice look_up(const kube::Object& object, std::string_view path) {
  if (path.empty()) return {};
  const std::string_view top = next_step(path);
  json::Slice at = top == "metadata" ? object.metadata()
                   : top == "status" ? object.status()
                                     : object.member(top);
  while (!path.empty()) at = at[next_step(path)];
  return at;
}

std::string selector_text(const KindRow& row, json::Slice selector) {
  if (selector.is_string()) return selector.text();
  if (!selector.is_object()) return "";
  if (row.id == kube::kReplicationController)
    return kube::LabelSelector::from_labels(selector).text();
  const auto parsed = kube::LabelSelector::from_json(selector);
  return parsed ? parsed->text() : "";
}

}  // namespace

Result<kube::Object> scale_of(const KindRow& row, const kube::Object& object) {
  static const kube::KindId kScale = kube::guess_kind("autoscaling/v1", "Scale");
  json::Writer metadata, body, status;
  metadata.object().member("name").string(object.name());
  if (!object.ns().empty()) metadata.member("namespace").string(object.ns());
  metadata.member("uid").string(object.uid());
  metadata.member("resourceVersion").string(std::to_string(object.revision()));
  if (const json::Slice created = object.metadata()["creationTimestamp"]; created.is_string())
    metadata.member("creationTimestamp").raw(created.raw());
  metadata.end();
  const std::int64_t wanted = look_up(object, row.scale_paths.replicas).integer().value_or(0);
  body.object().member("spec").object();
  if (wanted != 0) body.member("replicas").integer(wanted);
  body.end().end();
  status.object().member("replicas");
  status.integer(look_up(object, row.scale_paths.status_replicas).integer().value_or(0));
  if (const std::string selector = selector_text(row, look_up(object, row.scale_paths.selector));
      !selector.empty())
    status.member("selector").string(selector);
  status.end();
  kube::Segments segments;
  segments.metadata = metadata.text();
  segments.body = body.text();
  segments.status = status.text();
  return kube::Object::assemble(kScale, 0, segments);
}

Result<Ok> write_scale(const KindRow& row, Edit& edit, const json::Value& scale) {
  const Peek posted(scale);
  const std::int64_t wanted = posted["spec"]["replicas"].integer_or(0);
  const std::string name(posted["metadata"]["name"].text());
  if (wanted < 0 && !row.custom)  // custom kinds check what it becomes
    return tl::unexpected(invalid_about(
        "Scale", "autoscaling", name,
        {{"FieldValueInvalid",
          fmt::format("Invalid value: {}: must be greater than or equal to 0", wanted),
          "spec.replicas"}}));
  if (const std::string_view revision = posted["metadata"]["resourceVersion"].text();
      !revision.empty())
    edit.metadata()["resourceVersion"] = bj(revision);
  std::string_view path = row.scale_paths.replicas;
  json::Dict* at = &edit.body();
  std::string_view step = next_step(path);
  for (; !path.empty(); step = next_step(path)) at = &make_dict(*at, step);
  (*at)[bj(step)] = wanted;
  return Ok{};
}

}  // namespace berth::apiserver
