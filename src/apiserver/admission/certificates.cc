// SPDX-License-Identifier: Apache-2.0
// Whoever approves or signs certificate requests needs the right to do so for their signer.
#include <fmt/format.h>

#include "apiserver/admission/refusal.h"
#include "apiserver/admission/steps.h"

namespace berth::apiserver {

namespace {

// For this signer, or for all of its domain.
bool may(Authorizer& authorizer, const kube::User& user, std::string_view verb,
         const std::string& signer) {
  const auto allowed = [&](std::string_view name) {
    return authorizer
        .authorize(user, {.verb = verb,
                          .group = "certificates.k8s.io",
                          .version = "*",
                          .resource = "signers",
                          .name = name})
        .allowed;
  };
  return allowed(signer) || allowed(signer.substr(0, signer.find('/')) + "/*");
}

class CertificateStep final : public AdmissionStep {
 public:
  CertificateStep(Authorizer& authorizer, std::string_view name, std::string_view subresource,
                  std::string_view verb)
      : authorizer_(authorizer), name_(name), subresource_(subresource), verb_(verb) {}
  std::string_view name() const override { return name_; }

  Result<Ok> validate(AdmissionCall& call) override {
    if (!call.is(kube::kCertificateSigningRequest, subresource_) ||
        call.operation != Operation::kUpdate || call.edit == nullptr || !call.old.valid())
      return Ok{};
    if (verb_ == "sign") {
      const Peek now(call.edit->status()), was = call.edit->was_status();
      if (same(now["certificate"], was["certificate"]) &&
          same(now["conditions"], was["conditions"]))
        return Ok{};
    }
    // Of the version before: a new signer's name would be refused anyway.
    const std::string signer = call.old.member("spec")["signerName"].text();
    if (may(authorizer_, call.request.user, verb_, signer)) return Ok{};
    return tl::unexpected(
        refusal(call, fmt::format("user not permitted to {} requests with signerName {}", verb_,
                                  json::quoted(signer))));
  }

 private:
  Authorizer& authorizer_;
  std::string_view name_, subresource_, verb_;
};

}  // namespace

Step certificate_approval(Authorizer& authorizer) {
  return std::make_unique<CertificateStep>(authorizer, "CertificateApproval", "approval",
                                           "approve");
}
Step certificate_signing(Authorizer& authorizer) {
  return std::make_unique<CertificateStep>(authorizer, "CertificateSigning", "status", "sign");
}

}  // namespace berth::apiserver
