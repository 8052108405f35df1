// SPDX-License-Identifier: Apache-2.0
#include "apiserver/kinds/extensions/definition_check.h"

#include <map>
#include <set>

#include <fmt/format.h>

#include "apiserver/kinds/extensions/definition_status.h"
#include "apiserver/kinds/extensions/formats.h"
#include "apiserver/kinds/extensions/schema_check.h"
#include "apiserver/kinds/extensions/structural.h"
#include "apiserver/kinds/rules.h"
#include "base/lower.h"
#include "json/writer.h"
#include "kube/names.h"

namespace berth::apiserver {
namespace {

const Path kSpec("spec");

std::string together(const kube::Complaints& complaints) {
  return fmt::format("{}", fmt::join(complaints, ","));
}

// A part of the versions that is the same in all of them. k8s 1.36: it is then looked at, and
// complained about, as if it stood in the spec.
bool same_in_all(Peek versions, std::string_view part) {
  for (const json::Value& each : versions.elements())
    if (!same(Peek(each)[part], versions[std::size_t{0}][part])) return false;
  return true;
}

void check_names(Peek names, const Path& at, Findings& findings) {
  const auto label = [&](std::string_view field) {
    const std::string_view name = names[field].text();
    const kube::Complaints wrong = kube::check_dns_1035_label(name);
    if (!name.empty() && !wrong.empty()) findings.invalid(at / field, name, together(wrong));
  };
  const auto mixed = [&](std::string_view field) {
    const std::string_view name = names[field].text();
    const kube::Complaints wrong = kube::check_dns_1035_label(lower(name));
    if (!name.empty() && !wrong.empty())
      findings.invalid(at / field, name,
                       "may have mixed case, but should otherwise match: " + together(wrong));
  };
  const auto labels = [&](std::string_view field) {
    std::size_t i = 0;
    for (const json::Value& each : names[field].elements()) {
      const kube::Complaints wrong = kube::check_dns_1035_label(Peek(each).text());
      if (!wrong.empty()) findings.invalid((at / field)[i], Peek(each).text(), together(wrong));
      ++i;
    }
  };
  label("plural");
  label("singular");
  mixed("kind");
  mixed("listKind");
  labels("shortNames");
  if (!names["kind"].text().empty() && names["kind"].text() == names["listKind"].text())
    findings.invalid(at / "listKind", names["listKind"].text(),
                     "kind and listKind may not be the same");
  labels("categories");
}

void check_json_path(std::string_view path, const Path& at, Findings& findings) {
  if (!path.starts_with('.'))
    findings.invalid(at, path, "must be a simple json path starting with .");
}

void check_columns(Peek columns, const Path& at, Findings& findings) {
  std::size_t i = 0;
  for (const json::Value& each : columns.elements()) {
    const Peek column(each);
    const Path place = at[i++];
    constexpr std::string_view kTypes = "must be one of boolean,date,integer,number,string";
    if (column["name"].text().empty()) findings.required(place / "name");
    const std::string_view type = column["type"].text(), format = column["format"].text();
    if (type.empty())
      findings.required(place / "type", kTypes);
    else if (!one_of(type, {"boolean", "date", "integer", "number", "string"}))
      findings.invalid(place / "type", type, kTypes);
    if (!format.empty() && !one_of(format, {"int32", "int64", "float", "double", "byte", "date",
                                            "date-time", "password"}))
      findings.invalid(place / "format", format,
                       "must be one of byte,date,date-time,double,float,int32,int64,password");
    const std::string_view path = column["jsonPath"].text();
    if (path.empty())
      findings.required(place / "JSONPath");
    else
      check_json_path(path, place / "JSONPath", findings);
  }
}

void check_subresources(Peek subresources, const Path& at, Findings& findings) {
  const Peek scale = subresources["scale"];
  if (!scale) return;
  const auto required = [&](std::string_view field, std::string_view below) {
    const std::string_view path = scale[field].text();
    const std::string name = fmt::format("scale.{}", field);
    if (path.empty())
      findings.required(at / name);
    else if (!path.starts_with('.'))
      check_json_path(path, at / name, findings);
    else if (!path.starts_with(fmt::format(".{}.", below)))
      findings.invalid(at / name, path, fmt::format("should be a json path under .{}", below));
  };
  required("specReplicasPath", "spec");
  required("statusReplicasPath", "status");
  const std::string_view selector = scale["labelSelectorPath"].text();
  if (selector.empty()) return;
  if (!selector.starts_with('.'))
    check_json_path(selector, at / "scale.labelSelectorPath", findings);
  else if (!selector.starts_with(".spec.") && !selector.starts_with(".status."))
    findings.invalid(at / "scale.labelSelectorPath", selector,
                     "should be a json path under either .spec or .status");
}

// The schema of the field that a path like ".spec.color" names; absent with a reason when none.
Peek schema_at(Peek schema, std::string_view path, std::string& why) {
  if (!path.starts_with('.')) {
    why = "expected [ or . but got: " + std::string(path.substr(0, 1));
    return {};
  }
  while (!path.empty()) {
    path.remove_prefix(1);
    const std::string_view name = path.substr(0, path.find('.'));
    path.remove_prefix(name.size());
    schema = schema["properties"][name];
    if (!schema) {
      why = "does not refer to a valid field";
      return {};
    }
  }
  return schema;
}

void check_selectable(Peek fields, Peek schema, const Path& at, Findings& findings) {
  constexpr std::int64_t kMost = 8;
  std::set<std::string_view> seen;
  std::size_t i = 0;
  for (const json::Value& each : fields.elements()) {
    const Path place = at[i++] / "jsonPath";
    const std::string_view path = Peek(each)["jsonPath"].text();
    if (path.empty()) {
      findings.required(place);
      continue;
    }
    std::string why;
    const Peek found = schema_at(schema, path, why);
    if (!why.empty()) {
      findings.invalid(place, path, "is an invalid path: " + why);
      continue;
    }
    if (path.starts_with(".metadata"))
      findings.invalid(place, path, "must not point to fields in metadata");
    if (!one_of(found["type"].text(), {"string", "boolean", "integer"}))
      findings.invalid(place, path,
                       "must point to a field of type string, boolean or integer. Enum string "
                       "fields and strings with formats are allowed.");
    if (!seen.insert(path).second) findings.duplicate(place, path);
  }
  if (static_cast<std::int64_t>(seen.size()) > kMost)
    findings.too_many(at, static_cast<std::int64_t>(seen.size()), kMost);
}

void check_deprecation(Peek version, const Path& at, Findings& findings) {
  const Peek warning = version["deprecationWarning"];
  if (warning.value() == nullptr) return;
  const std::string_view text = warning.text();
  const auto refuse = [&](std::string_view why) {
    findings.invalid(at / "deprecationWarning", text, why);
  };
  if (!version["deprecated"].boolean()) return refuse("can only be set for deprecated versions");
  if (text.size() > 256) refuse("must be <= 256 characters long");
  if (text.empty()) refuse("must not be an empty string");
  for (std::size_t i = 0; i < text.size(); ++i)
    if (static_cast<unsigned char>(text[i]) < 0x20 || text[i] == 0x7f)
      return refuse(
          fmt::format("must only contain printable UTF-8 characters; non-printable "
                      "character found at index {}",
                      i));
}

// As the internal form of the versions prints.
Shown shown_versions(Peek versions) {
  std::string out = "[";
  for (const json::Value& each : versions.elements()) {
    const Peek version(each);
    const auto text_or_null = [&](std::string_view key) {
      const json::Value* value = version[key].value();
      return value == nullptr ? std::string("null") : go_json(*value);
    };
    out += fmt::format(
        "{}{{\"Name\":{},\"Served\":{},\"Storage\":{},\"Deprecated\":{},\"DeprecationWarning\":{},"
        "\"Schema\":null,\"Subresources\":null,\"AdditionalPrinterColumns\":null,"
        "\"SelectableFields\":null}}",
        out.size() > 1 ? "," : "", json::quoted(version["name"].text()),
        version["served"].boolean(), version["storage"].boolean(), version["deprecated"].boolean(),
        text_or_null("deprecationWarning"));
  }
  return Shown::raw(out + "]");
}

void check_conversion(Peek conversion, const Path& at, Findings& findings) {
  if (!conversion) return;
  const std::string_view strategy = conversion["strategy"].text();
  if (must_be_one_of(strategy, {"None", "Webhook"}, at / "strategy", findings) &&
      strategy == "Webhook")
    findings.forbidden(at / "strategy",
                       "conversion by webhook is not supported by this server, which converts "
                       "between versions by their name only");
  if (strategy == "None" && conversion["webhook"])
    findings.forbidden(at / "webhookClientConfig",
                       "should not be set when strategy is not set to Webhook");
}

void check_approval(Peek metadata, std::string_view group, Findings& findings) {
  if (!guarded_group(group)) return;
  const ApprovalState state = approval_of(metadata);
  const Path at = (Path("metadata") / "annotations").key(kApprovalAnnotation);
  if (state.approval == Approval::kMissing) findings.required(at, state.message);
  if (state.approval == Approval::kInvalid)
    findings.invalid(at, metadata["annotations"][kApprovalAnnotation].text(), state.message);
}

void check_spec(Peek spec, Findings& findings) {
  const std::string_view group = spec["group"].text();
  if (group.empty())
    findings.required(kSpec / "group");
  else if (const kube::Complaints wrong = kube::check_dns_subdomain(group); !wrong.empty())
    findings.invalid(kSpec / "group", group, together(wrong));
  else if (group.find('.') == std::string_view::npos)
    findings.invalid(kSpec / "group", group, "should be a domain with at least one dot");
  must_be_one_of(spec["scope"].text(), {"Cluster", "Namespaced"}, kSpec / "scope", findings);

  const Peek versions = spec["versions"];
  const Path versions_at = kSpec / "versions";
  const bool one_schema = same_in_all(versions, "schema");
  const bool one_subresources = same_in_all(versions, "subresources");
  const bool one_columns = same_in_all(versions, "additionalPrinterColumns");
  const bool one_selectable = same_in_all(versions, "selectableFields");
  const Peek first = versions[std::size_t{0}];
  if (!one_schema || !first["schema"]["openAPIV3Schema"]) {
    std::size_t i = 0;
    for (const json::Value& each : versions.elements()) {
      if (!Peek(each)["schema"]["openAPIV3Schema"])
        findings.required(versions_at[i] / "schema" / "openAPIV3Schema");
      ++i;
    }
  }
  // Every version is a kind of its own here, and there is room for so many kinds only.
  constexpr std::int64_t kMostVersions = 100;
  if (const auto count = static_cast<std::int64_t>(versions.size()); count > kMostVersions)
    return findings.too_many(versions_at, count, kMostVersions);
  int stored = 0;
  std::set<std::string_view> names;
  bool unique = true, any_status = false;
  std::size_t i = 0;
  for (const json::Value& each : versions.elements()) {
    const Peek version(each);
    const Path at = versions_at[i];
    stored += version["storage"].boolean() ? 1 : 0;
    unique &= names.insert(version["name"].text()).second;
    if (const kube::Complaints wrong = kube::check_dns_1035_label(version["name"].text());
        !wrong.empty())
      findings.invalid(at / "name", version["name"].text(), together(wrong));
    check_deprecation(version, at, findings);
    const bool status = version["subresources"]["status"].present();
    any_status |= status;
    if (!one_schema && version["schema"]["openAPIV3Schema"])
      check_schema(version["schema"]["openAPIV3Schema"],
                   fmt::format("spec.versions[{}].schema.openAPIV3Schema", i), status, findings);
    if (!one_subresources)
      check_subresources(version["subresources"], at / "subresources", findings);
    if (!one_columns)
      check_columns(version["additionalPrinterColumns"], at / "additionalPrinterColumns", findings);
    if (!one_selectable)
      check_selectable(version["selectableFields"], version["schema"]["openAPIV3Schema"],
                       at / "selectableFields", findings);
    ++i;
  }
  if (!unique)
    findings.invalid(versions_at, shown_versions(versions), "must contain unique version names");
  if (stored != 1)
    findings.invalid(versions_at, shown_versions(versions),
                     "must have exactly one version marked as storage version");

  // k8s 1.36: the first version is also looked at by its name of old.
  if (first)
    if (const kube::Complaints wrong = kube::check_dns_1035_label(first["name"].text());
        !first["name"].text().empty() && !wrong.empty())
      findings.invalid(kSpec / "version", first["name"].text(), together(wrong));

  const Peek own = spec["names"];
  for (const std::string_view field : {"plural", "singular", "kind", "listKind"})
    if (own[field].text().empty()) findings.required(kSpec / "names" / field);
  check_names(own, kSpec / "names", findings);
  if (one_schema && first["schema"]["openAPIV3Schema"])
    check_schema(first["schema"]["openAPIV3Schema"], "spec.validation.openAPIV3Schema", any_status,
                 findings);
  if (one_subresources) check_subresources(first["subresources"], kSpec / "subresources", findings);
  if (one_columns)
    check_columns(first["additionalPrinterColumns"], kSpec / "additionalPrinterColumns", findings);
  if (one_selectable)
    check_selectable(first["selectableFields"], first["schema"]["openAPIV3Schema"],
                     kSpec / "selectableFields", findings);
  check_conversion(spec["conversion"], kSpec / "conversion", findings);
  if (spec["preserveUnknownFields"].boolean())
    findings.invalid(kSpec / "preserveUnknownFields", true,
                     "cannot set to true, set x-kubernetes-preserve-unknown-fields to true in "
                     "spec.versions[*].schema instead");
}

void check_stored_versions(Peek status, Peek versions, Findings& findings) {
  const Path at = Path("status") / "storedVersions";
  if (status["storedVersions"].size() == 0)
    return findings.invalid(at, Shown::raw("null"), "must have at least one stored version");
  std::size_t i = 0;
  for (const json::Value& each : status["storedVersions"].elements()) {
    const std::string_view name = Peek(each).text();
    bool known = false;
    for (const json::Value& version : versions.elements())
      known |= Peek(version)["name"].text() == name;
    if (!known)
      findings.invalid(
          at[i], name,
          fmt::format("missing from spec.versions; {0} was previously a storage version, and must "
                      "remain in spec.versions until a storage migration ensures no data remains "
                      "persisted in {0} and removes {0} from status.storedVersions",
                      name));
    ++i;
  }
}

}  // namespace

void check_definition(Edit& edit, Findings& findings) {
  const Peek metadata(edit.metadata()), spec = Peek(edit.body())["spec"];
  const std::string wanted =
      fmt::format("{}.{}", spec["names"]["plural"].text(), spec["group"].text());
  if (metadata["name"].text() != wanted)
    findings.invalid(Path("metadata") / "name", metadata["name"].text(),
                     "must be spec.names.plural+\".\"+spec.group");
  check_spec(spec, findings);
  const json::Value status = edit.status();
  check_stored_versions(Peek(status), spec["versions"], findings);
  check_approval(metadata, spec["group"].text(), findings);
}

void check_definition_update(Edit& edit, Findings& findings) {
  const Peek spec = Peek(edit.body())["spec"], before = edit.was_body()["spec"];
  check_spec(spec, findings);
  const auto fixed = [&](Peek now, Peek then, const Path& at) {
    if (now.text() != then.text()) findings.invalid(at, now.text(), "field is immutable");
  };
  if (definition_has_condition(edit.was_status(), "Established")) {
    fixed(spec["scope"], before["scope"], kSpec / "scope");
    fixed(spec["names"]["kind"], before["names"]["kind"], kSpec / "names" / "kind");
  }
  fixed(spec["group"], before["group"], kSpec / "group");
  fixed(spec["names"]["plural"], before["names"]["plural"], kSpec / "names" / "plural");
  const json::Value status = edit.status();
  check_stored_versions(Peek(status), spec["versions"], findings);
  const bool was_approved = edit.was_metadata()["annotations"][kApprovalAnnotation].text() ==
                            Peek(edit.metadata())["annotations"][kApprovalAnnotation].text();
  if (!was_approved) check_approval(Peek(edit.metadata()), spec["group"].text(), findings);
}

}  // namespace berth::apiserver
