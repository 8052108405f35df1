// SPDX-License-Identifier: Apache-2.0
// Throw-away certificates.
#include <fmt/format.h>
#include <openssl/bn.h>
#include <openssl/ec.h>
#include <openssl/err.h>
#include <openssl/pem.h>
#include <openssl/x509v3.h>

#include "net/openssl_ptr.h"
#include "net/tls.h"
#include "net/tls_context.h"

namespace berth::net {
namespace {

using Extension = std::unique_ptr<X509_EXTENSION, Freed<X509_EXTENSION_free>>;
using Number = std::unique_ptr<BIGNUM, Freed<BN_free>>;

std::string text_of(BIO* bio) {
  char* data = nullptr;
  const long size = BIO_get_mem_data(bio, &data);
  return {data, static_cast<std::size_t>(size)};
}

bool add_name(X509_NAME* name, const char* field, std::string_view value) {
  return X509_NAME_add_entry_by_txt(name, field, MBSTRING_UTF8,
                                    reinterpret_cast<const unsigned char*>(value.data()),
                                    static_cast<int>(value.size()), -1, 0) == 1;
}

bool add_extension(X509* certificate, X509* issuer, int nid, const std::string& value) {
  X509V3_CTX context;
  X509V3_set_ctx(&context, issuer, certificate, nullptr, nullptr, 0);
  const Extension extension(X509V3_EXT_conf_nid(nullptr, &context, nid, value.c_str()));
  return extension && X509_add_ext(certificate, extension.get(), -1) == 1;
}

// 127 random bits: unique, positive, and no longer than RFC 5280 allows.
bool set_serial(X509* certificate) {
  const Number number(BN_new());
  return number && BN_rand(number.get(), 127, BN_RAND_TOP_ANY, BN_RAND_BOTTOM_ANY) == 1 &&
         BN_to_ASN1_INTEGER(number.get(), X509_get_serialNumber(certificate)) != nullptr;
}

// Valid from an hour ago, because clocks differ.
bool set_dates(X509* certificate, int days) {
  constexpr long kDay = 24L * 60 * 60;
  return X509_gmtime_adj(X509_getm_notBefore(certificate), days > 0 ? -3600 : (days - 1) * kDay) !=
             nullptr &&
         X509_gmtime_adj(X509_getm_notAfter(certificate), days * kDay) != nullptr;
}

Result<KeyPair> to_pem(X509* certificate, EVP_PKEY* key) {
  const Bio certificate_out(BIO_new(BIO_s_mem()));
  const Bio key_out(BIO_new(BIO_s_mem()));
  if (PEM_write_bio_X509(certificate_out.get(), certificate) != 1 ||
      PEM_write_bio_PKCS8PrivateKey(key_out.get(), key, nullptr, nullptr, 0, nullptr, nullptr) != 1)
    return fail(Reason::kInternalError, "cannot write a certificate: " + tls_error());
  return KeyPair{text_of(certificate_out.get()), text_of(key_out.get())};
}

tl::unexpected<Error> failed(std::string_view name) {
  return fail(Reason::kInternalError,
              fmt::format("cannot make a certificate for '{}': {}", name, tls_error()));
}

std::string alternative_names(const CertificateRequest& request) {
  std::string names;
  for (const std::string& name : request.dns_names)
    names += (names.empty() ? "DNS:" : ",DNS:") + name;
  for (const std::string& address : request.ip_addresses)
    names += (names.empty() ? "IP:" : ",IP:") + address;
  return names;
}

}  // namespace

Result<KeyPair> make_authority(std::string_view common_name, int days) {
  const Key key(EVP_EC_gen("P-256"));
  const Certificate certificate(X509_new());
  if (!key || !certificate) return failed(common_name);
  X509* x = certificate.get();
  X509_NAME* name = X509_get_subject_name(x);
  const bool made =
      X509_set_version(x, X509_VERSION_3) == 1 && set_serial(x) && set_dates(x, days) &&
      add_name(name, "CN", common_name) && X509_set_issuer_name(x, name) == 1 &&
      X509_set_pubkey(x, key.get()) == 1 &&
      add_extension(x, x, NID_basic_constraints, "critical,CA:TRUE") &&
      add_extension(x, x, NID_key_usage, "critical,digitalSignature,keyCertSign,cRLSign") &&
      add_extension(x, x, NID_subject_key_identifier, "hash") &&
      X509_sign(x, key.get(), EVP_sha256()) > 0;
  if (!made) return failed(common_name);
  return to_pem(x, key.get());
}

Result<KeyPair> issue_certificate(const KeyPair& authority, const CertificateRequest& request) {
  const Bio ca_in(BIO_new_mem_buf(authority.certificate_pem.data(),
                                  static_cast<int>(authority.certificate_pem.size())));
  const Bio ca_key_in(
      BIO_new_mem_buf(authority.key_pem.data(), static_cast<int>(authority.key_pem.size())));
  const Certificate ca(PEM_read_bio_X509(ca_in.get(), nullptr, nullptr, nullptr));
  const Key ca_key(PEM_read_bio_PrivateKey(ca_key_in.get(), nullptr, nullptr, nullptr));
  if (!ca || !ca_key) return failed(request.common_name);

  // In one value of OpenSSL's configuration language, a comma would start another name.
  const std::string names = alternative_names(request);
  for (const auto* list : {&request.dns_names, &request.ip_addresses})
    for (const std::string& name : *list)
      if (name.find_first_of(",; \n") != std::string::npos)
        return invalid(fmt::format("'{}' is neither a DNS name nor an address", name));

  const Key key(EVP_EC_gen("P-256"));
  const Certificate certificate(X509_new());
  if (!key || !certificate) return failed(request.common_name);
  X509* x = certificate.get();
  X509_NAME* subject = X509_get_subject_name(x);
  bool made = X509_set_version(x, X509_VERSION_3) == 1 && set_serial(x) &&
              set_dates(x, request.days) &&
              X509_set_issuer_name(x, X509_get_subject_name(ca.get())) == 1 &&
              X509_set_pubkey(x, key.get()) == 1;
  for (const std::string& organization : request.organizations)
    made = made && add_name(subject, "O", organization);
  made = made && add_name(subject, "CN", request.common_name) &&
         add_extension(x, ca.get(), NID_basic_constraints, "critical,CA:FALSE") &&
         add_extension(x, ca.get(), NID_key_usage, "critical,digitalSignature") &&
         add_extension(x, ca.get(), NID_ext_key_usage, "serverAuth,clientAuth") &&
         // Without a key id of its own, one that is named as its authority passes for self-signed.
         add_extension(x, ca.get(), NID_subject_key_identifier, "hash") &&
         add_extension(x, ca.get(), NID_authority_key_identifier, "keyid") &&
         (names.empty() || add_extension(x, ca.get(), NID_subject_alt_name, names)) &&
         X509_sign(x, ca_key.get(), EVP_sha256()) > 0;
  if (!made) return failed(request.common_name);
  return to_pem(x, key.get());
}

}  // namespace berth::net
