// SPDX-License-Identifier: Apache-2.0
#include "apiserver/serve/body.h"

#include <algorithm>

#include <fmt/format.h>

#include "apiserver/edit/conform.h"
#include "apiserver/edit/peek.h"
#include "apiserver/kinds/strategy.h"
#include "apiserver/serve/go_text.h"
#include "apiserver/serve/strict.h"
#include "base/check.h"
#include "json/writer.h"
#include "kube/schema.h"

namespace berth::apiserver {
namespace {

// k8s 1.36: where its decoder was made, which it tells to everyone.
constexpr std::string_view kScheme = "pkg/runtime/scheme.go:111";

struct Named {
  std::string api_version, kind;
  std::string version() const { return api_version.substr(api_version.rfind('/') + 1); }
};

// The Go package of a group's internal types.
std::string_view internal_package(std::string_view group) {
  if (group.empty() || group == "events.k8s.io") return "core";
  return group.substr(0, group.find('.'));
}

// Why a document that says to be of another kind cannot be taken; nothing where it can.
std::optional<std::string> wrong_kind(const Call& call, const Form& form, const Named& named) {
  const kube::Kind& want = form.kind;
  if (named.kind == want.kind && named.api_version == want.api_version()) return std::nullopt;
  if (!form.also_version.empty() && named.kind == want.kind &&
      named.api_version == want.group + "/" + form.also_version)
    return std::nullopt;
  const auto cannot = [&](std::string_view why) {
    return fmt::format("{} in version {} cannot be handled as a {}: {}", named.kind,
                       json::quoted(named.version()), want.kind, why);
  };
  if (form.row != nullptr && form.row->custom)
    return fmt::format(
        "the API version in the data ({}) does not match the expected API version ({})",
        named.api_version, want.api_version());
  const auto known = kube::find_kind(named.api_version, named.kind);
  const bool served = known && (call.kinds->find(*known) != nullptr || kube::schema_of(*known));
  if (!served)
    return cannot(fmt::format("no kind {} is registered for version {} in scheme {}",
                              json::quoted(named.kind), json::quoted(named.api_version),
                              json::quoted(kScheme)));
  if (named.kind == want.kind && kube::kind_of(*known).group == want.group)
    return fmt::format(
        "the API version in the data ({}) does not match the expected API version ({})",
        named.api_version, want.api_version());
  return cannot(fmt::format("converting ({}.{}) to ({}.{}): unknown conversion", named.version(),
                            named.kind, internal_package(want.group), want.kind));
}

Result<std::vector<std::string>> conformed(const Form& form, json::Value& document) {
  if (form.row != nullptr) return decode(*form.row, document);
  BERTH_CHECK(form.schema != nullptr, "a form has a row or a schema");
  Result<Conformed> done = conform(document, *form.schema);
  if (!done)
    return tl::unexpected(bad_request(fmt::format("{} in version {} cannot be handled as a {}: {}",
                                                  form.kind.kind, json::quoted(form.kind.version),
                                                  form.kind.kind, done.error().message)));
  return std::move(done->unknown);
}

Named named_in(const json::Value& document, const Form& form) {
  const Peek top(document);
  Named named{std::string(top["apiVersion"].text()), std::string(top["kind"].text())};
  if (named.api_version.empty()) named.api_version = form.kind.api_version();
  if (named.kind.empty()) named.kind = form.kind.kind;
  return named;
}

}  // namespace

Form Form::of(std::string_view api_version, std::string_view kind) {
  const kube::KindId id = kube::guess_kind(api_version, kind);
  return {.kind = kube::kind_of(id), .schema = kube::schema_of(id)};
}

Strictness strictness_of(const kube::Options& options) {
  switch (options.field_validation) {
    case kube::FieldValidation::kIgnore:
      return Strictness::kIgnore;
    case kube::FieldValidation::kStrict:
      return Strictness::kStrict;
    default:
      return Strictness::kWarn;
  }
}

std::string_view bytes_of(const kube::ApiRequest& request) {
  return request.body.bytes == nullptr ? std::string_view() : std::string_view(*request.body.bytes);
}

Result<Ok> check_size(const Call& call) {
  const std::size_t most = call.core.options.json.max_bytes;
  if (bytes_of(call.request).size() <= most) return Ok{};
  return fail(Reason::kRequestEntityTooLarge,
              fmt::format("Request entity too large: limit is {}", most));
}

Result<json::Value> read_body(Call& call, const Form& form, json::Arena& arena) {
  const std::string_view text = bytes_of(call.request);
  if (Result<Ok> fits = check_size(call); !fits) return tl::unexpected(std::move(fits.error()));
  const auto unrecognized = [&](std::string_view why) {
    return tl::unexpected(bad_request(
        fmt::format("the object provided is unrecognized (must be of type {}): couldn't get "
                    "version/kind; json parse error: {} ({})",
                    form.kind.kind, why, go_summary(text))));
  };
  Result<json::Value> document = json::parse(text, arena, call.core.options.json);
  if (!document) return unrecognized(go_json_error(text, document.error()));
  if (document->is_null()) document->emplace_object();
  if (!document->is_object())
    return unrecognized(
        fmt::format("json: cannot unmarshal {} into Go value of type struct {{ APIVersion string "
                    "\"json:\\\"apiVersion,omitempty\\\"\"; Kind string "
                    "\"json:\\\"kind,omitempty\\\"\" }}",
                    go_type_name(*document)));
  const Named named = named_in(*document, form);
  const bool custom = form.row != nullptr && form.row->custom;
  if (!custom && std::count(named.api_version.begin(), named.api_version.end(), '/') > 1)
    return tl::unexpected(bad_request(
        fmt::format("the object provided is unrecognized (must be of type {}): unexpected "
                    "GroupVersion string: {} ({})",
                    form.kind.kind, named.api_version, go_summary(text))));
  if (auto wrong = wrong_kind(call, form, named))
    return tl::unexpected(bad_request(std::move(*wrong)));
  const Strictness strictness = strictness_of(call.request.options);
  const std::size_t members = strictness == Strictness::kIgnore ? 0 : members_in(*document);
  Result<std::vector<std::string>> unknown = conformed(form, *document);
  if (!unknown) return tl::unexpected(std::move(unknown.error()));
  if (strictness == Strictness::kIgnore) return document;
  std::vector<std::string> complaints = complaints_about(text, members, *unknown);
  if (complaints.empty()) return document;
  if (strictness == Strictness::kStrict)
    return tl::unexpected(bad_request(fmt::format("{} in version {} cannot be handled as a {}: {}",
                                                  form.kind.kind, json::quoted(form.kind.version),
                                                  form.kind.kind, strict_error(complaints))));
  call.warnings.insert(call.warnings.end(), complaints.begin(), complaints.end());
  return document;
}

Result<json::Value> read_patched(Call& call, const Form& form, json::Value document,
                                 std::string_view text, std::vector<std::string> complaints,
                                 bool from_strategic, const std::string& shown) {
  const auto refuse = [&](std::string_view why) {
    return tl::unexpected(
        invalid_about("", "", "",
                      {{"FieldValueInvalid",
                        fmt::format("Invalid value: {}: {}", json::quoted(shown), why), "patch"}}));
  };
  if (!document.is_object()) return refuse("not an object");
  const Named named = named_in(document, form);
  if (auto wrong = wrong_kind(call, form, named)) {
    // k8s 1.36: only the reason is told, without what cannot be handled.
    const std::size_t colon = wrong->find("cannot be handled as a ");
    if (colon != std::string::npos) wrong = wrong->substr(wrong->find(": ", colon) + 2);
    return refuse(*wrong);
  }
  Result<std::vector<std::string>> unknown = conformed(form, document);
  if (!unknown) {
    std::string why = unknown.error().message;
    const std::size_t colon = why.find("cannot be handled as a ");
    if (colon != std::string::npos) why = why.substr(why.find(": ", colon) + 2);
    return refuse(from_strategic ? go_conversion_error(why) : why);
  }
  const Strictness strictness = strictness_of(call.request.options);
  if (strictness == Strictness::kIgnore) return document;
  if (!unknown->empty()) {
    if (from_strategic) {
      for (const std::string& field : *unknown)
        complaints.push_back("unknown field " + json::quoted(field));
    } else {
      const std::vector<std::string> found =
          complaints_about(text, static_cast<std::size_t>(-1), *unknown);
      complaints.insert(complaints.end(), found.begin(), found.end());
    }
  }
  if (complaints.empty()) return document;
  if (strictness == Strictness::kStrict) return refuse(strict_error(complaints));
  call.warnings.insert(call.warnings.end(), complaints.begin(), complaints.end());
  return document;
}

}  // namespace berth::apiserver
