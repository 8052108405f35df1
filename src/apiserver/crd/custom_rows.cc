// SPDX-License-Identifier: Apache-2.0
#include "apiserver/crd/custom_rows.h"

#include <algorithm>
#include <limits>

#include <fmt/format.h>

#include "apiserver/crd/custom_columns.h"
#include "apiserver/crd/custom_layout.h"
#include "apiserver/edit/conform.h"
#include "apiserver/edit/edit.h"
#include "apiserver/kinds/extensions/cel_rules.h"
#include "apiserver/kinds/extensions/shaping.h"
#include "apiserver/kinds/extensions/structural.h"
#include "apiserver/kinds/extensions/value_check.h"
#include "apiserver/kinds/findings.h"
#include "apiserver/kinds/kinds.h"
#include "kube/schema.h"

namespace berth::apiserver {
namespace {

using json::Dict;
using json::Value;

const json::Message& object_meta() {
  static const json::Message& message =
      *kube::find_message("io.k8s.apimachinery.pkg.apis.meta.v1.ObjectMeta");
  return message;
}

std::vector<std::string> texts(Peek list) {
  std::vector<std::string> out;
  for (const Value& each : list.elements()) out.emplace_back(Peek(each).text());
  return out;
}

// What the real server does to a document before anything else looks at it.
Result<std::vector<std::string>> decode_custom(Value& document, const Structural& schema) {
  Dict& dict = document.as_object();
  std::vector<std::string> unknown;
  if (Value* metadata = dict.if_contains("metadata")) {
    const Peek managers = Peek(*metadata)["managedFields"];
    const bool forget = managers.present() && managers.size() == 0;
    if (metadata->is_null()) *metadata = Dict(dict.storage());
    const Result<Conformed> done = conform(*metadata, object_meta());
    if (!done) return tl::unexpected(done.error());
    for (const std::string& each : done->unknown) unknown.push_back("metadata." + each);
    if (forget) metadata->as_object()["managedFields"].emplace_array();
  }
  for (std::string& each : prune(document, schema, true)) unknown.push_back(std::move(each));
  prune_nulls(document, schema);
  auto inner = coerce_embedded(document, schema, false);
  if (!inner) return inner;
  unknown.insert(unknown.end(), inner->begin(), inner->end());
  return unknown;
}

// Defaults of everything but what every object has.
void fill_custom(Edit& edit, const Structural& schema) {
  for (const auto& [name, property] : schema.properties) {
    if (name == "metadata" || name == "kind" || name == "apiVersion") continue;
    if (!property->preset && !property->presets_below) continue;
    Value* at = nullptr;
    if (name == "status") {
      at = &edit.status();
      if (at->is_null() && !property->preset) continue;
    } else {
      at = edit.body().if_contains(bj(name));
      if (at == nullptr) {
        if (!property->preset) continue;
        at = &edit.body()[bj(name)];
      }
    }
    if (at->is_null() && property->preset && !property->nullable)
      *at = Value(*property->preset, edit.arena().storage());
    fill_presets(*at, *property);
  }
}

// The whole document as it stands, to be checked.
Value document_of(Edit& edit, const kube::Kind& kind) {
  Dict out(edit.arena().storage());
  out["apiVersion"] = kind.api_version();
  out["kind"] = kind.kind;
  out["metadata"] = edit.metadata();
  for (const auto& member : edit.body()) out.emplace(member.key(), member.value());
  if (!edit.status().is_null()) out["status"] = edit.status();
  return out;
}

Value document_before(Edit& edit, const kube::Kind& kind) {
  Dict out(edit.arena().storage());
  out["apiVersion"] = kind.api_version();
  out["kind"] = kind.kind;
  out["metadata"] = Value(edit.was_metadata().members(), edit.arena().storage());
  for (const auto& member : edit.was_body().members()) out.emplace(member.key(), member.value());
  if (const Value* status = edit.was_status().value()) out["status"] = *status;
  return out;
}

struct Scale {
  std::string replicas, status_replicas;  // with the leading dot, as they were given
};

// A value and its type as Go's %v and %T print them.
std::string go_shown(const Value& value) {
  return value.is_string() ? std::string(sv(value.get_string())) : go_json(value);
}
std::string_view go_type(const Value& value) {
  if (value.is_string()) return "string";
  if (value.is_bool()) return "bool";
  if (value.is_double()) return "float64";
  if (value.is_array()) return "[]interface {}";
  return value.is_object() ? "map[string]interface {}" : "int64";
}

void check_count(Peek document, const std::string& path, Findings& findings) {
  const auto wrong = [&](std::string_view walked, const Value& found, std::string_view expected) {
    findings.invalid(Path(path), 0,
                     fmt::format("{} accessor error: {} is of the type {}, expected {}", walked,
                                 go_shown(found), go_type(found), expected));
  };
  std::size_t from = 0;
  while (from < path.size()) {
    const std::size_t to = std::min(path.find('.', from + 1), path.size());
    if (document.value() != nullptr && !document.value()->is_object())
      return wrong(std::string_view(path).substr(0, to), *document.value(),
                   "map[string]interface{}");
    document = document[std::string_view(path).substr(from + 1, to - from - 1)];
    if (!document) return;
    from = to;
  }
  const auto count = document.integer();
  if (!count)
    wrong(path, *document.value(), "int64");
  else if (*count < 0)
    findings.invalid(Path(path), *count, "should be a non-negative integer");
  else if (*count > std::numeric_limits<std::int32_t>::max())
    findings.invalid(Path(path), *count, "should be less than or equal to 2147483647");
}

void check_scale(Peek document, const Scale& scale, bool of_status, Findings& findings) {
  if (!of_status && !scale.replicas.empty()) check_count(document, scale.replicas, findings);
  if (!scale.status_replicas.empty()) check_count(document, scale.status_replicas, findings);
}

// k8s 1.36: rules may rely on what the schema says, so they are asked only of what obeys it.
void check_rules_of(const Value& document, const RuleTreePtr& rules, Findings& findings,
                    const Value* before) {
  if (rules == nullptr) return;
  for (const Cause& each : findings.causes())
    for (const std::string_view blocking :
         {"FieldValueNotSupported", "FieldValueRequired", "FieldValueTooLong", "FieldValueTooMany",
          "FieldValueTypeInvalid"})
      if (each.reason == blocking)
        return findings.invalid(Path("<nil>"), Shown::raw("null"),
                                "some validation rules were not checked because the object was "
                                "invalid; correct the existing errors to complete validation");
  check_rules(document, *rules, "", findings, before);
}

void add_checks(KindRow& row, const StructuralPtr& schema, const Scale& scale) {
  const kube::Kind kind = row.kind;
  const RuleTreePtr rules = compile_rules(schema, true);
  row.check.push_back([schema, scale, kind, rules](Edit& edit, Findings& findings) {
    const Value document = document_of(edit, kind);
    check_value(document, *schema, "", findings);
    check_scale(Peek(document), scale, false, findings);
    check_embedded(document, *schema, "", findings);
    check_lists(document, *schema, "", findings);
    check_rules_of(document, rules, findings, nullptr);
  });
  const auto lists_if_they_were_good = [schema](const Value& document, const Value& before,
                                                Findings& findings) {
    Findings old;
    check_lists(before, *schema, "", old);
    if (old.empty()) check_lists(document, *schema, "", findings);
  };
  row.check_update.push_back(
      [schema, scale, kind, rules, lists_if_they_were_good](Edit& edit, Findings& findings) {
        const Value document = document_of(edit, kind), before = document_before(edit, kind);
        check_value(document, *schema, "", findings, &before);
        check_scale(Peek(document), scale, false, findings);
        check_embedded(document, *schema, "", findings);
        lists_if_they_were_good(document, before, findings);
        check_rules_of(document, rules, findings, &before);
      });
  row.check_status.push_back(
      [schema, scale, kind, rules, lists_if_they_were_good](Edit& edit, Findings& findings) {
        const Value document = document_of(edit, kind), before = document_before(edit, kind);
        const Structural* status = schema->property("status");
        const Value* now = Peek(document)["status"].value();
        if (status != nullptr && now != nullptr)
          check_value(*now, *status, "status", findings, Peek(before)["status"].value());
        check_scale(Peek(document), scale, true, findings);
        lists_if_they_were_good(document, before, findings);
        check_rules_of(document, rules, findings, &before);
      });
}

// A status is the subresource's alone, and it touches nothing else.
void keep_metadata(Edit& edit) {
  const Value* managers = edit.metadata().if_contains("managedFields");
  const Value kept =
      managers == nullptr ? Value(nullptr) : Value(*managers, edit.arena().storage());
  Dict metadata(edit.was_metadata().members(), edit.arena().storage());
  json::erase(metadata, "managedFields");
  if (!kept.is_null()) metadata["managedFields"] = kept;
  edit.metadata() = std::move(metadata);
}

void count_status_changes(Edit& edit) {
  const Value status = edit.status();
  if (!same(Peek(status), edit.was_status()))
    edit.metadata()["generation"] = edit.from().generation() + 1;
}

kube::Kind kind_for(Peek spec, Peek names, std::string_view version) {
  return {.group = std::string(spec["group"].text()),
          .version = std::string(version),
          .kind = std::string(names["kind"].text()),
          .plural = std::string(spec["names"]["plural"].text()),
          .namespaced = spec["scope"].is("Namespaced")};
}

// Stored objects may be older than the defaults of today.
std::function<Result<kube::Object>(const kube::Object&)> reader(kube::KindId id,
                                                                StructuralPtr schema) {
  return [id, schema = std::move(schema)](const kube::Object& stored) -> Result<kube::Object> {
    kube::Segments segments;
    segments.metadata = stored.metadata().raw();
    segments.body = stored.body().raw();
    if (stored.status()) segments.status = stored.status().raw();
    Result<kube::Object> own = stored.kind() == id ? Result<kube::Object>(stored)
                                                   : kube::Object::assemble(id, 0, segments);
    if (!own || schema == nullptr) return own;
    json::Arena arena;
    Edit edit(*own, arena);
    fill_custom(edit, *schema);
    if (!edit.changed()) return own;
    return std::move(edit).commit(0);
  };
}

}  // namespace

namespace {

// The definition's spec as a tree, and what was accepted of its names.
struct Definition {
  explicit Definition(const kube::Object& object)
      : spec_tree(json::parse_good(object.member("spec").raw(), arena)),
        status_tree(object.status() ? json::parse_good(object.status().raw(), arena)
                                    : Value(nullptr)),
        spec(spec_tree),
        names(Peek(status_tree)["acceptedNames"]) {}
  json::Arena arena;
  Value spec_tree, status_tree;
  Peek spec, names;
};

std::string_view storage_version(Peek spec) {
  for (const Value& each : spec["versions"].elements())
    if (Peek(each)["storage"].boolean()) return Peek(each)["name"].text();
  return "";
}

}  // namespace

CustomNames custom_names(const kube::Object& object) {
  const Definition definition(object);
  const auto kind_of_version = [&](std::string_view version) {
    return kind_for(definition.spec, definition.names, version);
  };
  CustomNames out{.stored = kind_of_version(storage_version(definition.spec)), .served = {}};
  for (const Value& each : definition.spec["versions"].elements())
    if (Peek(each)["served"].boolean())
      out.served.push_back(kind_of_version(Peek(each)["name"].text()));
  return out;
}

std::vector<KindRow> custom_rows(const kube::Object& object, kube::KindId table) {
  const Definition definition(object);
  const Peek spec = definition.spec, names = definition.names;
  std::vector<KindRow> rows;
  for (const Value& each : spec["versions"].elements()) {
    const Peek version(each);
    if (!version["served"].boolean()) continue;
    const kube::Kind kind = kind_for(spec, names, version["name"].text());
    Kind builder(kind.api_version(), kind.kind, kind.plural);
    if (!kind.namespaced) builder.cluster_scoped();
    builder.singular(names["singular"].text()).generation().conditional_update();
    const bool status = version["subresources"]["status"].present();
    if (status) builder.status();
    const Peek scale = version["subresources"]["scale"];
    if (scale) builder.scale();
    KindRow row = std::move(builder);
    if (find_built_in(row.id) != nullptr) continue;
    row.short_names = texts(names["shortNames"]);
    row.categories = texts(names["categories"]);
    row.custom = true;
    row.list_kind = names["listKind"].text();
    row.definition = fmt::format("{}/{}", object.uid(), object.generation());
    // k8s 1.36: in an order of their own, not the alphabet's.
    row.verbs = {"delete", "deletecollection", "get", "list", "patch", "create", "update", "watch"};
    std::reverse(row.subresources.begin(), row.subresources.end());
    const auto below_top = [](Peek path) {
      const std::string_view text = path.text();
      return std::string(text.substr(text.starts_with('.') ? 1 : 0));
    };
    if (scale)
      row.scale_paths = {.replicas = below_top(scale["specReplicasPath"]),
                         .status_replicas = below_top(scale["statusReplicasPath"]),
                         .selector = below_top(scale["labelSelectorPath"])};

    const Peek open_api = version["schema"]["openAPIV3Schema"];
    const StructuralPtr schema = read_structural(open_api);
    row.layout = custom_layout(*schema);
    if (open_api) row.open_api = json::print(*open_api.value());
    row.columns = custom_columns(version["additionalPrinterColumns"]);
    row.field_labels = custom_labels(version["selectableFields"]);
    row.decode = [schema](Value& document) { return decode_custom(document, *schema); };
    const bool presets = schema->presets_below;
    if (presets) row.fill.push_back([schema](Edit& edit) { fill_custom(edit, *schema); });
    if (presets || row.id != table) {
      row.stored_as = table;
      row.from_stored = reader(row.id, presets ? schema : nullptr);
    }
    if (status)
      row.on_status_update.push_back(&keep_metadata);
    else
      row.on_update.push_back(&count_status_changes);
    add_checks(row, schema,
               {.replicas = std::string(scale["specReplicasPath"].text()),
                .status_replicas = std::string(scale["statusReplicasPath"].text())});
    rows.push_back(std::move(row));
  }
  return rows;
}

}  // namespace berth::apiserver
