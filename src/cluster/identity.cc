// SPDX-License-Identifier: Apache-2.0
#include "cluster/identity.h"

#include <array>
#include <cerrno>
#include <cstring>
#include <fstream>
#include <iterator>

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/base64.h"
#include "base/random.h"

namespace berth::cluster {
namespace {

constexpr std::string_view kAdmin = "kubernetes-admin";

tl::unexpected<Error> cannot(std::string_view what, const std::filesystem::path& path) {
  return fail(Reason::kInternalError,
              fmt::format("{}: cannot be {}: {}", path.string(), what, std::strerror(errno)));
}

Result<std::optional<std::string>> read_if_there(const std::filesystem::path& path) {
  std::error_code none;
  if (!std::filesystem::exists(path, none)) return std::nullopt;
  std::ifstream file(path, std::ios::binary);
  if (!file) return cannot("read", path);
  return std::string(std::istreambuf_iterator<char>(file), {});
}

// What stands in the file; if there is none, what `make` makes, kept there.
template <class Make>
Result<std::string> kept(const std::optional<std::filesystem::path>& path, Make make) {
  if (!path) return make();
  Result<std::optional<std::string>> old = read_if_there(*path);
  if (!old) return tl::unexpected(old.error());
  if (*old) return **old;
  Result<std::string> made = make();
  if (!made) return made;
  if (Result<Ok> written = write_private_file(*path, *made); !written)
    return tl::unexpected(written.error());
  return made;
}

// A certificate and its key are one file, so that they cannot be lost one without the other.
template <class Make>
Result<net::KeyPair> kept_pair(const std::optional<std::filesystem::path>& folder,
                               std::string_view name, Make make) {
  const auto path = folder ? std::optional(*folder / fmt::format("{}.pem", name)) : std::nullopt;
  Result<std::string> both = kept(path, [&]() -> Result<std::string> {
    Result<net::KeyPair> pair = make();
    if (!pair) return tl::unexpected(pair.error());
    return pair->certificate_pem + pair->key_pem;
  });
  if (!both) return tl::unexpected(both.error());
  constexpr std::string_view kEnd = "-----END CERTIFICATE-----\n";
  const std::size_t end = both->find(kEnd);
  if (end == std::string::npos)
    return fail(Reason::kInternalError,
                fmt::format("{}: no certificate is in it; remove it, and a new one is made",
                            path ? path->string() : std::string(name)));
  return net::KeyPair{both->substr(0, end + kEnd.size()), both->substr(end + kEnd.size())};
}

std::string random_hex() {
  Random random = Random::from_entropy();
  std::string text;
  for (int i = 0; i < 4; ++i) text += fmt::format("{:016x}", random.next());
  return text;
}

}  // namespace

Result<Ok> write_private_file(const std::filesystem::path& path, std::string_view text) {
  const std::filesystem::path beside = path.string() + ".new";
  const int file = ::open(beside.c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);
  if (file < 0) return cannot("written", beside);
  std::size_t written = 0;
  while (written < text.size()) {
    const ssize_t now = ::write(file, text.data() + written, text.size() - written);
    if (now < 0 && errno == EINTR) continue;
    if (now < 0) {
      const auto error = cannot("written", beside);
      ::close(file);
      return error;
    }
    written += static_cast<std::size_t>(now);
  }
  if (::close(file) != 0) return cannot("written", beside);
  if (::rename(beside.c_str(), path.c_str()) != 0) return cannot("written", path);
  return Ok{};
}

Result<Identity> identity_in(const std::optional<std::filesystem::path>& folder,
                             const std::vector<std::string>& addresses,
                             const std::vector<std::string>& hosts) {
  if (folder) {
    std::error_code failed;
    std::filesystem::create_directories(*folder, failed);
    if (failed)
      return fail(Reason::kInternalError,
                  fmt::format("{}: cannot be made: {}", folder->string(), failed.message()));
    ::chmod(folder->c_str(), 0700);
  }
  Identity identity;
  Result<net::KeyPair> authority =
      kept_pair(folder, "ca", [] { return net::make_authority("berth"); });
  if (!authority) return tl::unexpected(authority.error());
  identity.authority = *std::move(authority);
  Result<net::KeyPair> admin = kept_pair(folder, "admin", [&] {
    return net::issue_certificate(
        identity.authority,
        {.common_name = std::string(kAdmin), .organizations = {"system:masters"}, .days = 3650});
  });
  if (!admin) return tl::unexpected(admin.error());
  identity.admin = *std::move(admin);
  net::CertificateRequest names{
      .common_name = "kube-apiserver",
      .dns_names = {"localhost", "kubernetes", "kubernetes.default", "kubernetes.default.svc"},
      .ip_addresses = addresses};
  names.dns_names.insert(names.dns_names.end(), hosts.begin(), hosts.end());
  Result<net::KeyPair> server = net::issue_certificate(identity.authority, names);
  if (!server) return tl::unexpected(server.error());
  identity.server = *std::move(server);
  Result<std::string> key = kept(folder ? std::optional(*folder / "tokens.key") : std::nullopt,
                                 []() -> Result<std::string> { return random_hex(); });
  if (!key) return tl::unexpected(key.error());
  identity.token_key = *std::move(key);
  return identity;
}

std::string kubeconfig_for(const Identity& identity, std::string_view url) {
  return fmt::format(R"(apiVersion: v1
kind: Config
clusters:
- name: berth
  cluster:
    server: {}
    certificate-authority-data: {}
users:
- name: {}
  user:
    client-certificate-data: {}
    client-key-data: {}
contexts:
- name: berth
  context:
    cluster: berth
    user: {}
current-context: berth
)",
                     url, base64(identity.authority.certificate_pem), kAdmin,
                     base64(identity.admin.certificate_pem), base64(identity.admin.key_pem),
                     kAdmin);
}

}  // namespace berth::cluster
