// SPDX-License-Identifier: Apache-2.0
#include "apiserver/kinds/cells.h"

namespace berth::apiserver {

namespace {

std::string condition(const kube::Object& object) {
  bool approved = false, denied = false, failed = false;
  for (const json::Slice each : object.status()["conditions"].elements()) {
    approved |= each["type"].equals("Approved");
    denied |= each["type"].equals("Denied");
    failed |= each["type"].equals("Failed");
  }
  std::string out = denied ? "Denied" : approved ? "Approved" : "Pending";
  if (failed) out += ",Failed";
  if (!object.status()["certificate"].text().empty()) out += ",Issued";
  return out;
}

std::string requested(const kube::Object& object) {
  const auto seconds = look_up(object, "spec.expirationSeconds").integer();
  return seconds ? human_duration(std::chrono::seconds(*seconds)) : "<none>";
}

}  // namespace

KindRow certificate_signing_request() {
  return Kind("certificates.k8s.io/v1", "CertificateSigningRequest", "certificatesigningrequests")
      .cluster_scoped()
      .short_name("csr")
      .status()
      .subresource({.name = "approval",
                    .kind = "CertificateSigningRequest",
                    .verbs = {"get", "patch", "update"}})
      .name_column()
      .age_column()
      .column("SignerName", text("spec.signerName", "<none>"))
      .column("Requestor", text("spec.username"))
      .column("RequestedDuration", shown(&requested))
      .column("Condition", shown(&condition))
      .selectable("spec.signerName");
}

}  // namespace berth::apiserver
