// SPDX-License-Identifier: Apache-2.0
#include "apiserver/serve/patching.h"

#include <fmt/format.h>

#include "apiserver/edit/peek.h"
#include "apiserver/serve/go_text.h"
#include "apiserver/serve/strict.h"
#include "json/patch.h"
#include "json/yaml.h"

namespace berth::apiserver {
namespace {

using kube::PatchType;

constexpr std::size_t kMostOperations = 10'000;

Error rejected() {
  return {.reason = Reason::kInvalid,
          .message = "the server rejected our request due to an error in our request",
          .about = std::make_shared<const About>()};
}

const json::Message* schema_of(const Form& form) {
  return form.row != nullptr ? form.row->schema : form.schema;
}

// An element without its key is shown as Go shows it.
std::string in_go(const std::string& message, json::Arena& arena) {
  const std::size_t at = message.find(" does not contain declared merge key: ");
  if (at == std::string::npos) return message;
  const Result<json::Value> element = json::parse(message.substr(0, at), arena);
  return element ? "map: " + go_plus_v(*element) + message.substr(at) : message;
}

// Members that no operation of a JSON patch has.
std::vector<std::string> unknown_in(const json::Value& operations) {
  std::vector<std::string> out;
  std::size_t i = 0;
  for (const json::Value& each : Peek(operations).elements()) {
    for (const auto& member : Peek(each).members()) {
      const std::string_view name = sv(member.key());
      if (name != "op" && name != "path" && name != "from" && name != "value")
        out.push_back(fmt::format("[{}].{}", i, name));
    }
    ++i;
  }
  return out;
}

// The patch itself, before it is applied to anything.
struct Parsed {
  json::Value value;
  std::vector<std::string> complaints;  // fields given twice
};

Result<Parsed> parse_patch(const Call& call, std::string_view text, json::Arena& arena) {
  const PatchType type = call.request.options.patch_type;
  // k8s 1.36: not for strategic ones.
  const std::string_view prefix = type == PatchType::kStrategic ? "" : "error decoding patch: ";
  Result<json::Value> patch = json::parse(text, arena, call.core.options.json);
  if (!patch)
    return tl::unexpected(
        bad_request(fmt::format("{}{}", prefix, go_json_error(text, patch.error()))));
  const bool list = type == PatchType::kJson;
  if (!patch->is_null() && (list ? !patch->is_array() : !patch->is_object()))
    return tl::unexpected(bad_request(fmt::format(
        "{}json: cannot unmarshal {} into Go value of type {}", prefix, go_type_name(*patch),
        list ? "[]handlers.jsonPatchOp" : "map[string]interface {}")));
  if (list && patch->is_array() && patch->get_array().size() > kMostOperations)
    return fail(Reason::kRequestEntityTooLarge,
                fmt::format("Request entity too large: The allowed maximum operations in a JSON "
                            "patch is {}, got {}",
                            kMostOperations, patch->get_array().size()));
  Parsed parsed{std::move(*patch), {}};
  if (strictness_of(call.request.options) == Strictness::kIgnore) return parsed;
  parsed.complaints = complaints_about(
      text, members_in(parsed.value), list ? unknown_in(parsed.value) : std::vector<std::string>());
  if (list)
    for (std::string& complaint : parsed.complaints) complaint = "json patch " + complaint;
  return parsed;
}

}  // namespace

Result<Ok> check_patch_options(const Call& call, const Form& form) {
  const kube::Options& options = call.request.options;
  const bool custom = form.row != nullptr && form.row->custom;
  if (options.patch_type == PatchType::kStrategic && (custom || schema_of(form) == nullptr))
    return fail(Reason::kUnsupportedMediaType,
                "the body of the request was in an unknown format - accepted media types include: "
                "application/json-patch+json, application/merge-patch+json, "
                "application/apply-patch+yaml");
  const auto wrong = [](std::string_view reason, std::string message, std::string field) {
    return tl::unexpected(
        invalid_about("PatchOptions", "meta.k8s.io", "",
                      {{std::string(reason), std::move(message), std::move(field)}}));
  };
  if (options.patch_type != PatchType::kApply && options.force)
    return wrong("FieldValueForbidden", "Forbidden: may not be specified for non-apply patch",
                 "force");
  if (options.patch_type == PatchType::kApply && options.field_manager.empty())
    return wrong("FieldValueRequired", "Required value: is required for apply patch",
                 "fieldManager");
  return Ok{};
}

Result<json::Value> read_applied_text(Call& call, json::Arena& arena) {
  if (Result<Ok> fits = check_size(call); !fits) return tl::unexpected(std::move(fits.error()));
  const std::string_view text = bytes_of(call.request);
  const json::Limits& limits = call.core.options.json;
  Result<json::Value> document = json::parse(text, arena, limits);
  if (!document) {
    const Result<std::string> converted = json::yaml_document_to_json(
        text, {.max_bytes = limits.max_bytes, .max_depth = limits.max_depth});
    if (!converted)
      return tl::unexpected(
          bad_request(fmt::format("error decoding YAML: error converting YAML to JSON: yaml: {}",
                                  converted.error().message)));
    document = json::parse_good(*converted, arena);
  }
  if (document->is_null()) document->emplace_object();
  if (!document->is_object())
    return tl::unexpected(bad_request(
        fmt::format("error decoding YAML: error unmarshaling JSON: while decoding JSON: json: "
                    "cannot unmarshal {} into Go value of type map[string]interface {{}}",
                    go_type_name(*document))));
  return document;
}

Result<json::Value> read_patch(Call& call, const Form& form, std::string_view document,
                               json::Arena& arena) {
  if (Result<Ok> fits = check_size(call); !fits) return tl::unexpected(std::move(fits.error()));
  const std::string_view text = bytes_of(call.request);
  Result<Parsed> patch = parse_patch(call, text, arena);
  if (!patch) return tl::unexpected(std::move(patch.error()));
  const PatchType type = call.request.options.patch_type;
  Result<std::string> made = fail(Reason::kInternalError, "");
  if (patch->value.is_null() && type == PatchType::kMerge)
    return tl::unexpected(bad_request("Invalid JSON Patch"));
  if (patch->value.is_null())
    made = std::string(document);
  else if (type == PatchType::kJson)
    made = json::json_patch(document, text);
  else if (type == PatchType::kMerge || type == PatchType::kApply)
    // What is applied to a Scale is all it has.
    made = json::merge_patch(document, text);
  else
    made = json::strategic_merge_patch(document, text, *schema_of(form));
  if (!made) {
    Error& error = made.error();
    if (error.reason == Reason::kRequestEntityTooLarge) return tl::unexpected(std::move(error));
    if (error.reason == Reason::kBadRequest && type != PatchType::kJson)
      return tl::unexpected(bad_request(std::move(error.message)));
    if (error.reason == Reason::kInternalError)
      return tl::unexpected(plain_error(in_go(error.message, arena)));
    return tl::unexpected(rejected());
  }
  json::Value value = json::parse_good(*made, arena);
  const bool strategic = type == PatchType::kStrategic;
  const std::string shown = strategic ? go_plus_v(patch->value) : *made;
  return read_patched(call, form, std::move(value), *made, std::move(patch->complaints), strategic,
                      shown);
}

}  // namespace berth::apiserver
