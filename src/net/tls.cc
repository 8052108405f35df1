// SPDX-License-Identifier: Apache-2.0
#include "net/tls.h"

#include <array>

#include <arpa/inet.h>
#include <fmt/format.h>
#include <openssl/err.h>
#include <openssl/pem.h>
#include <openssl/ssl.h>
#include <openssl/x509v3.h>

#include "base/check.h"
#include "net/openssl_ptr.h"
#include "net/tls_context.h"

namespace berth::net {
namespace {

Bio reader(std::string_view pem) {
  return Bio(BIO_new_mem_buf(pem.data(), static_cast<int>(pem.size())));
}

// An encrypted key must not make OpenSSL ask on the terminal.
int no_passphrase(char*, int, int, void*) { return -1; }

Result<std::vector<Certificate>> read_certificates(std::string_view pem, std::string_view what) {
  std::vector<Certificate> found;
  const Bio bio = reader(pem);
  while (X509* next = PEM_read_bio_X509(bio.get(), nullptr, no_passphrase, nullptr))
    found.emplace_back(next);
  const unsigned long error = ERR_peek_last_error();
  ERR_clear_error();
  if (ERR_GET_REASON(error) != PEM_R_NO_START_LINE)
    return invalid(fmt::format("{}: PEM block {} is not a valid certificate ({})", what,
                               found.size() + 1, ERR_reason_error_string(error)));
  if (found.empty())
    return invalid(pem.find("-----BEGIN") == std::string_view::npos
                       ? fmt::format("{}: no PEM block found", what)
                       : fmt::format("{}: no PEM block of type CERTIFICATE found", what));
  return found;
}

Result<Key> read_key(std::string_view pem, std::string_view what) {
  const Bio bio = reader(pem);
  Key key(PEM_read_bio_PrivateKey(bio.get(), nullptr, no_passphrase, nullptr));
  if (key) return key;
  const bool encrypted = pem.find("ENCRYPTED") != std::string_view::npos;
  const bool any = pem.find("PRIVATE KEY-----") != std::string_view::npos;
  ERR_clear_error();
  if (!any) return invalid(fmt::format("{}: no PEM block of type PRIVATE KEY found", what));
  if (encrypted)
    return invalid(fmt::format("{}: it is encrypted; store it without a passphrase", what));
  return invalid(fmt::format("{}: the PEM block is not a valid private key", what));
}

Result<Ok> check_dates(const X509& certificate, std::string_view what) {
  const ASN1_TIME* end = X509_get0_notAfter(&certificate);
  if (X509_cmp_current_time(end) > 0) return Ok{};
  std::tm date{};
  ASN1_TIME_to_tm(end, &date);
  return invalid(fmt::format("{}: expired on {:04}-{:02}-{:02}; renew it", what,
                             date.tm_year + 1900, date.tm_mon + 1, date.tm_mday));
}

Result<Ok> use_key_pair(SSL_CTX* context, std::string_view certificate_pem,
                        std::string_view key_pem, std::string_view side) {
  const std::string certificate_name = fmt::format("{} certificate", side);
  const std::string key_name = fmt::format("{} key", side);
  if (certificate_pem.empty()) return invalid(certificate_name + ": missing, but there is a key");
  if (key_pem.empty()) return invalid(key_name + ": missing, but there is a certificate");
  auto chain = read_certificates(certificate_pem, certificate_name);
  if (!chain) return tl::unexpected(std::move(chain.error()));
  auto key = read_key(key_pem, key_name);
  if (!key) return tl::unexpected(std::move(key.error()));
  if (X509_check_private_key(chain->front().get(), key->get()) != 1) {
    ERR_clear_error();
    return invalid(fmt::format("{}: it does not belong to the {}", key_name, certificate_name));
  }
  if (auto valid = check_dates(*chain->front(), certificate_name); !valid) return valid;
  if (SSL_CTX_use_certificate(context, chain->front().get()) != 1)
    return invalid(certificate_name + ": " + tls_error());
  for (std::size_t i = 1; i < chain->size(); ++i)
    if (SSL_CTX_add1_chain_cert(context, (*chain)[i].get()) != 1)
      return invalid(certificate_name + ": " + tls_error());
  if (SSL_CTX_use_PrivateKey(context, key->get()) != 1)
    return invalid(key_name + ": " + tls_error());
  return Ok{};
}

Result<Ok> trust(SSL_CTX* context, std::string_view ca_pem, std::string_view what) {
  auto authorities = read_certificates(ca_pem, what);
  if (!authorities) return tl::unexpected(std::move(authorities.error()));
  X509_STORE* store = SSL_CTX_get_cert_store(context);
  for (const Certificate& authority : *authorities)
    if (X509_STORE_add_cert(store, authority.get()) != 1)
      return invalid(fmt::format("{}: {}", what, tls_error()));
  // k8s 1.36: a bundle may name an intermediate authority without its root, as Go accepts it.
  X509_STORE_set_flags(store, X509_V_FLAG_PARTIAL_CHAIN);
  return Ok{};
}

TlsContext new_context(const SSL_METHOD* method) {
  TlsContext context(SSL_CTX_new(method), SSL_CTX_free);
  BERTH_CHECK(context != nullptr, "OpenSSL has no memory");
  SSL_CTX_set_min_proto_version(context.get(), TLS1_2_VERSION);
  SSL_CTX_set_mode(context.get(), SSL_MODE_ENABLE_PARTIAL_WRITE |
                                      SSL_MODE_ACCEPT_MOVING_WRITE_BUFFER |
                                      SSL_MODE_RELEASE_BUFFERS);
  SSL_CTX_set_options(context.get(), SSL_OP_NO_RENEGOTIATION);
  return context;
}

std::string utf8(const ASN1_STRING* text) {
  unsigned char* bytes = nullptr;
  const int size = ASN1_STRING_to_UTF8(&bytes, text);
  if (size < 0) return {};
  std::string copy(reinterpret_cast<char*>(bytes), static_cast<std::size_t>(size));
  OPENSSL_free(bytes);
  return copy;
}

bool is_address(const std::string& host) {
  std::array<unsigned char, 16> bytes;
  return inet_pton(AF_INET, host.c_str(), bytes.data()) == 1 ||
         inet_pton(AF_INET6, host.c_str(), bytes.data()) == 1;
}

}  // namespace

Result<TlsContext> make_context(const TlsClientOptions& options) {
  TlsContext context = new_context(TLS_client_method());
  if (!options.certificate_pem.empty() || !options.key_pem.empty()) {
    auto used = use_key_pair(context.get(), options.certificate_pem, options.key_pem, "client");
    if (!used) return tl::unexpected(std::move(used.error()));
  }
  if (options.ca_pem.empty()) {
    SSL_CTX_set_default_verify_paths(context.get());
  } else if (auto trusted = trust(context.get(), options.ca_pem, "certificate authority");
             !trusted) {
    return tl::unexpected(std::move(trusted.error()));
  }
  SSL_CTX_set_verify(context.get(),
                     options.insecure_skip_verify ? SSL_VERIFY_NONE : SSL_VERIFY_PEER, nullptr);
  return context;
}

Result<TlsContext> make_context(const TlsServerOptions& options) {
  TlsContext context = new_context(TLS_server_method());
  auto used = use_key_pair(context.get(), options.certificate_pem, options.key_pem, "server");
  if (!used) return tl::unexpected(std::move(used.error()));
  if (options.request_client_certificate) {
    if (!options.client_ca_pem.empty() || options.require_client_certificate)
      return invalid("client certificates are either verified here or left to the handler");
    SSL_CTX_set_verify(context.get(), SSL_VERIFY_PEER, [](int, X509_STORE_CTX*) { return 1; });
    // A resumed session would bring the certificate without the rest of its chain.
    SSL_CTX_set_options(context.get(), SSL_OP_NO_TICKET);
    SSL_CTX_set_session_cache_mode(context.get(), SSL_SESS_CACHE_OFF);
    SSL_CTX_set_num_tickets(context.get(), 0);
  } else if (options.client_ca_pem.empty()) {
    if (options.require_client_certificate)
      return invalid("client certificates are required, but no authority for them is given");
  } else {
    auto trusted = trust(context.get(), options.client_ca_pem, "client certificate authority");
    if (!trusted) return tl::unexpected(std::move(trusted.error()));
    int mode = SSL_VERIFY_PEER | SSL_VERIFY_CLIENT_ONCE;
    if (options.require_client_certificate) mode |= SSL_VERIFY_FAIL_IF_NO_PEER_CERT;
    SSL_CTX_set_verify(context.get(), mode, nullptr);
    // Tells clients with several certificates which one to show.
    const Bio bio = reader(options.client_ca_pem);
    while (X509* next = PEM_read_bio_X509(bio.get(), nullptr, no_passphrase, nullptr)) {
      const Certificate authority(next);
      SSL_CTX_add_client_CA(context.get(), authority.get());
    }
    ERR_clear_error();
  }
  constexpr unsigned char kName[] = "berth";
  SSL_CTX_set_session_id_context(context.get(), kName, sizeof kName - 1);
  return context;
}

Result<Ok> check(const TlsClientOptions& options) {
  return make_context(options).map([](const TlsContext&) { return Ok{}; });
}
Result<Ok> check(const TlsServerOptions& options) {
  return make_context(options).map([](const TlsContext&) { return Ok{}; });
}

Result<Ok> expect_peer(ssl_st* ssl, const std::string& name, bool verify) {
  const bool address = is_address(name);
  if (!address && SSL_set_tlsext_host_name(ssl, name.c_str()) != 1)
    return invalid(fmt::format("server name '{}': {}", name, tls_error()));
  if (!verify) return Ok{};
  X509_VERIFY_PARAM* rules = SSL_get0_param(ssl);
  // As Go does: only the alternative names count, never the common name.
  X509_VERIFY_PARAM_set_hostflags(
      rules, X509_CHECK_FLAG_NEVER_CHECK_SUBJECT | X509_CHECK_FLAG_NO_PARTIAL_WILDCARDS);
  const int set = address ? X509_VERIFY_PARAM_set1_ip_asc(rules, name.c_str())
                          : X509_VERIFY_PARAM_set1_host(rules, name.data(), name.size());
  if (set != 1) return invalid(fmt::format("server name '{}': {}", name, tls_error()));
  return Ok{};
}

namespace {

// k8s 1.36: the UID of a user may stand in the subject under this number.
constexpr const char* kUidOid = "1.3.6.1.4.1.57683.2";

PeerIdentity subject_of(const X509& certificate) {
  const X509_NAME* subject = X509_get_subject_name(&certificate);
  PeerIdentity identity;
  std::array<unsigned char, EVP_MAX_MD_SIZE> digest;
  unsigned size = 0;
  if (X509_digest(&certificate, EVP_sha256(), digest.data(), &size) == 1)
    for (unsigned i = 0; i < size; ++i) identity.sha256 += fmt::format("{:02x}", digest[i]);
  for (int i = 0; i < X509_NAME_entry_count(subject); ++i) {
    const X509_NAME_ENTRY* entry = X509_NAME_get_entry(subject, i);
    std::string value = utf8(X509_NAME_ENTRY_get_data(entry));
    switch (OBJ_obj2nid(X509_NAME_ENTRY_get_object(entry))) {
      case NID_commonName:
        identity.common_name = std::move(value);
        break;
      case NID_organizationName:
        identity.organizations.push_back(std::move(value));
        break;
      default: {
        std::array<char, 64> oid;
        OBJ_obj2txt(oid.data(), oid.size(), X509_NAME_ENTRY_get_object(entry), 1);
        if (std::string_view(oid.data()) == kUidOid) identity.uid = std::move(value);
        break;
      }
    }
  }
  return identity;
}

std::string pem_of(const X509& certificate) {
  const Bio out(BIO_new(BIO_s_mem()));
  char* text = nullptr;
  if (!out || PEM_write_bio_X509(out.get(), &certificate) != 1) return {};
  const long size = BIO_get_mem_data(out.get(), &text);
  return {text, static_cast<std::size_t>(size)};
}

}  // namespace

std::optional<PeerIdentity> identity_of(ssl_st* ssl) {
  const X509* certificate = SSL_get0_peer_certificate(ssl);
  if (certificate == nullptr || SSL_get_verify_result(ssl) != X509_V_OK) return {};
  return subject_of(*certificate);
}

std::string chain_of(ssl_st* ssl) {
  const X509* own = SSL_get0_peer_certificate(ssl);
  if (own == nullptr) return {};
  std::string pem = pem_of(*own);
  // To a server, OpenSSL tells the rest of the chain apart from its first certificate.
  const STACK_OF(X509)* rest = SSL_get_peer_cert_chain(ssl);
  for (int i = 0; rest != nullptr && i < sk_X509_num(rest); ++i)
    pem += pem_of(*sk_X509_value(rest, i));
  return pem;
}

Result<PeerIdentity> verify_client(std::string_view chain_pem, std::string_view ca_pem) {
  using Store = std::unique_ptr<X509_STORE, Freed<X509_STORE_free>>;
  using Verdict = std::unique_ptr<X509_STORE_CTX, Freed<X509_STORE_CTX_free>>;
  auto chain = read_certificates(chain_pem, "client certificate");
  if (!chain) return tl::unexpected(std::move(chain.error()));
  auto authorities = read_certificates(ca_pem, "client certificate authority");
  if (!authorities) return tl::unexpected(std::move(authorities.error()));
  const Store store(X509_STORE_new());
  const Verdict verdict(X509_STORE_CTX_new());
  const std::unique_ptr<STACK_OF(X509), decltype([](STACK_OF(X509) * s) { sk_X509_free(s); })> rest(
      sk_X509_new_null());
  BERTH_CHECK(store && verdict && rest, "OpenSSL has no memory");
  for (const Certificate& authority : *authorities)
    X509_STORE_add_cert(store.get(), authority.get());
  X509_STORE_set_flags(store.get(), X509_V_FLAG_PARTIAL_CHAIN);
  for (std::size_t i = 1; i < chain->size(); ++i) sk_X509_push(rest.get(), (*chain)[i].get());
  X509_STORE_CTX_init(verdict.get(), store.get(), chain->front().get(), rest.get());
  X509_STORE_CTX_set_purpose(verdict.get(), X509_PURPOSE_SSL_CLIENT);
  const bool good = X509_verify_cert(verdict.get()) == 1;
  const int why = X509_STORE_CTX_get_error(verdict.get());
  ERR_clear_error();
  if (!good)
    return fail(Reason::kUntrusted, fmt::format("the client certificate is refused: {}",
                                                X509_verify_cert_error_string(why)));
  return subject_of(*chain->front());
}

std::string sha256_hex(std::string_view bytes) {
  std::array<unsigned char, EVP_MAX_MD_SIZE> digest;
  unsigned size = 0;
  BERTH_CHECK(
      EVP_Digest(bytes.data(), bytes.size(), digest.data(), &size, EVP_sha256(), nullptr) == 1,
      "OpenSSL has no SHA-256");
  std::string hex;
  for (unsigned i = 0; i < size; ++i) hex += fmt::format("{:02x}", digest[i]);
  return hex;
}

std::string tls_error(ssl_st* ssl) {
  const unsigned long error = ERR_peek_last_error();
  ERR_clear_error();
  const long verdict = ssl == nullptr ? X509_V_OK : SSL_get_verify_result(ssl);
  if (verdict != X509_V_OK)
    return fmt::format("the certificate is refused: {}", X509_verify_cert_error_string(verdict));
  const char* reason = ERR_reason_error_string(error);
  return reason == nullptr ? "unknown TLS failure" : reason;
}

}  // namespace berth::net
