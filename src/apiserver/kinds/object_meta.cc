// SPDX-License-Identifier: Apache-2.0
#include "apiserver/kinds/object_meta.h"

#include <algorithm>
#include <set>

#include <fmt/format.h>

#include "base/lower.h"
#include "json/writer.h"

namespace berth::apiserver {
namespace {

// In the order in which Go's struct has the fields.
std::string shown_owners(Peek owners) {
  std::string out = "[";
  for (const json::Value& each : owners.elements()) {
    std::string one;
    for (const std::string_view field :
         {"apiVersion", "kind", "name", "uid", "controller", "blockOwnerDeletion"})
      if (const json::Value* value = Peek(each)[field].value())
        one += fmt::format("{}\"{}\":{}", one.empty() ? "" : ",", field, json::print(*value));
    out += fmt::format("{}{{{}}}", out.size() > 1 ? "," : "", one);
  }
  return out + "]";
}

constexpr std::size_t kMostAnnotationBytes = 256 << 10;

void check_owners(Peek owners, const Path& at, Findings& findings) {
  std::string controller;
  for (const json::Value& each : owners.elements()) {
    const Peek owner(each);
    const std::string_view version = owner["apiVersion"].text();
    if (version.empty() || version.ends_with('/') ||
        std::count(version.begin(), version.end(), '/') > 1)
      findings.invalid(at / "apiVersion", version, "version must not be empty");
    for (const std::string_view field : {"kind", "name", "uid"})
      if (owner[field].text().empty())
        findings.invalid(at / field, owner[field].text(), "must not be empty");
    if (version == "v1" && owner["kind"].is("Event"))
      findings.invalid(at, Shown::raw(json::print(each)),
                       "/v1, Kind=Event is disallowed from being an owner");
    if (!owner["controller"].boolean()) continue;
    const std::string name = fmt::format("{}/{}", owner["kind"].text(), owner["name"].text());
    if (!controller.empty())
      findings.invalid(at, Shown::raw(shown_owners(owners)),
                       fmt::format("Only one reference can have Controller set to true. Found "
                                   "\"true\" in references for {} and {}",
                                   controller, name));
    else
      controller = name;
  }
}

}  // namespace

kube::Complaints check_path_segment(std::string_view name) {
  if (name == "." || name == "..") return {fmt::format("may not be '{}'", name)};
  kube::Complaints out;
  for (const char c : {'/', '%'})
    if (name.find(c) != std::string_view::npos)
      out.push_back(fmt::format("may not contain '{}'", c));
  return out;
}

void check_labels(Peek labels, const Path& at, Findings& findings) {
  for (const auto& label : labels.members()) {
    for (const std::string& why : kube::check_qualified_name(sv(label.key())))
      findings.invalid(at, sv(label.key()), why);
    for (const std::string& why : kube::check_label_value(Peek(label.value()).text()))
      findings.invalid(at, Peek(label.value()).text(), why);
  }
}

void check_annotations(Peek annotations, const Path& at, Findings& findings) {
  std::size_t bytes = 0;
  for (const auto& annotation : annotations.members()) {
    for (const std::string& why : kube::check_qualified_name(lower(sv(annotation.key()))))
      findings.invalid(at, sv(annotation.key()), why);
    bytes += annotation.key().size() + Peek(annotation.value()).text().size();
  }
  if (bytes > kMostAnnotationBytes) findings.too_long(at, kMostAnnotationBytes);
}

void check_finalizers(Peek finalizers, const Path& at, Findings& findings) {
  std::size_t i = 0;
  for (const json::Value& each : finalizers.elements()) {
    const std::string_view name = Peek(each).text();
    if (name.find('/') == std::string_view::npos && name != "kubernetes" && name != "orphan" &&
        name != "foregroundDeletion")
      findings.invalid(at[i], name,
                       "name is neither a standard finalizer name nor is it fully qualified");
    ++i;
  }
}

void check_metadata(Peek metadata, bool namespaced, NameRule names, const Path& at,
                    Findings& findings) {
  if (const std::string_view prefix = metadata["generateName"].text(); !prefix.empty()) {
    // k8s 1.36: a prefix may end in what a whole name may not.
    std::string masked(prefix);
    if (masked.size() > 1 && masked.back() == '-') masked.replace(masked.size() - 2, 2, "a");
    for (const std::string& why : names(masked)) findings.invalid(at / "generateName", prefix, why);
  }
  const std::string_view name = metadata["name"].text();
  if (name.empty())
    findings.required(at / "name", "name or generateName is required");
  else
    for (const std::string& why : names(name)) findings.invalid(at / "name", name, why);
  const std::string_view ns = metadata["namespace"].text();
  if (!namespaced) {
    if (!ns.empty()) findings.forbidden(at / "namespace", "not allowed on this type");
  } else if (ns.empty()) {
    findings.required(at / "namespace");
  } else {
    for (const std::string& why : kube::check_dns_label(ns))
      findings.invalid(at / "namespace", ns, why);
  }
  if (const std::int64_t generation = metadata["generation"].integer_or(0); generation < 0)
    findings.invalid(at / "generation", generation, "must be greater than or equal to 0");
  check_labels(metadata["labels"], at / "labels", findings);
  check_annotations(metadata["annotations"], at / "annotations", findings);
  check_owners(metadata["ownerReferences"], at / "ownerReferences", findings);
  bool orphan = false, foreground = false;
  for (const json::Value& each : metadata["finalizers"].elements()) {
    const std::string_view finalizer = Peek(each).text();
    for (const std::string& why : kube::check_qualified_name(finalizer))
      findings.invalid(at / "finalizers", finalizer, why);
    orphan |= finalizer == "orphan";
    foreground |= finalizer == "foregroundDeletion";
  }
  if (orphan && foreground)
    findings.invalid(at / "finalizers", Shown::raw(json::print(*metadata["finalizers"].value())),
                     "finalizer orphan and foregroundDeletion cannot be both set");
}

void check_metadata_update(Peek now, Peek before, const Path& at, Findings& findings) {
  if (before["deletionTimestamp"]) {
    std::set<std::string_view> added;
    for (const json::Value& each : now["finalizers"].elements()) added.insert(Peek(each).text());
    for (const json::Value& each : before["finalizers"].elements()) added.erase(Peek(each).text());
    if (!added.empty()) {
      std::string list;
      for (const std::string_view name : added)
        list += fmt::format("{}{}", list.empty() ? "" : ", ", json::quoted(name));
      findings.forbidden(at / "finalizers",
                         fmt::format("no new finalizers can be added if the object is being "
                                     "deleted, found new finalizers []string{{{}}}",
                                     list));
    }
  }
  if (now["resourceVersion"].text().empty())
    findings.invalid(at / "resourceVersion", "", "must be specified for an update");
  if (now["generation"].integer_or(0) < before["generation"].integer_or(0))
    findings.invalid(at / "generation", now["generation"].integer_or(0), "must not be decremented");
  for (const std::string_view field : {"name", "namespace", "uid", "creationTimestamp",
                                       "deletionTimestamp", "deletionGracePeriodSeconds"})
    if (!same(now[field], before[field])) {
      const json::Value* value = now[field].value();
      findings.invalid(at / field,
                       value != nullptr ? Shown::raw(json::print(*value))
                       : field == "name" || field == "namespace" || field == "uid"
                           ? Shown("")
                           : Shown::raw("null"),
                       "field is immutable");
    }
  check_labels(now["labels"], at / "labels", findings);
  check_annotations(now["annotations"], at / "annotations", findings);
  check_owners(now["ownerReferences"], at / "ownerReferences", findings);
}

}  // namespace berth::apiserver
