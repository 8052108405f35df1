// SPDX-License-Identifier: Apache-2.0
#include "apiserver/apply/reset_fields.h"

#include <array>

namespace berth::apiserver {
namespace {

void add(FieldSet& set, std::string_view first, std::string_view second = "") {
  if (second.empty()) return set.insert(std::array{PathElement::field(first)});
  set.insert(std::array{PathElement::field(first), PathElement::field(second)});
}

}  // namespace

FieldSet reset_fields(const KindRow& row, std::string_view subresource) {
  FieldSet out;
  const std::string_view kind = row.custom ? std::string_view() : row.kind.kind;
  const std::string_view group = row.kind.group;
  if (kind == "CertificateSigningRequest") {
    add(out, "spec");
    if (subresource == "status")
      add(out, "status", "conditions");
    else if (subresource == "approval")
      add(out, "status", "certificate");
    else
      add(out, "status");
    return out;
  }
  if (subresource.empty()) {
    if (row.has_status) add(out, "status");
    return out;
  }
  if (subresource != "status") return out;
  add(out, "spec");
  if (kind == "Deployment") add(out, "metadata", "labels");
  if (kind == "Pod") {
    add(out, "metadata", "deletionTimestamp");
    add(out, "metadata", "ownerReferences");
  }
  if (row.custom || group == "resource.k8s.io" || group == "storage.k8s.io" ||
      group == "flowcontrol.apiserver.k8s.io" || group == "admissionregistration.k8s.io" ||
      group == "apiextensions.k8s.io" || group == "networking.k8s.io")
    if (kind != "Ingress") add(out, "metadata");
  return out;
}

}  // namespace berth::apiserver
