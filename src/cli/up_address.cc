// SPDX-License-Identifier: Apache-2.0
#include "cli/up_address.h"

#include <string_view>
#include <vector>

#include <arpa/inet.h>
#include <fmt/format.h>

#include "cli/command.h"
#include "cli/serving_flags.h"
#include "net/address.h"
#include "net/host.h"

namespace berth::cli {
namespace {

constexpr std::string_view kEvery = "0.0.0.0";
constexpr const char* kLoopback = "127.0.0.1";

bool is_address(const std::string& text) {
  in_addr ignored{};
  return inet_pton(AF_INET, text.c_str(), &ignored) == 1;
}

}  // namespace

Result<Ok> UpAddress::check() const {
  if (!is_address(bound))
    return tl::unexpected(usage_error(fmt::format(
        "--bind-address {}: not an IPv4 address; write one like 127.0.0.1 or 0.0.0.0", bound)));
  if (!advertised.empty() && (!is_address(advertised) || advertised == kEvery))
    return tl::unexpected(usage_error(fmt::format(
        "--advertise-address {}: not an IPv4 address that others could connect to", advertised)));
  return Ok{};
}

std::string UpAddress::for_others() const {
  if (!advertised.empty()) return advertised;
  if (bound != kEvery) return bound;
  const std::string hosts = net::default_address();
  return hosts.empty() ? kLoopback : hosts;
}

std::string UpAddress::for_ourselves() const { return bound == kEvery ? kLoopback : bound; }

Result<cluster::Identity> UpAddress::identity(
    const std::optional<std::filesystem::path>& data_dir) const {
  std::vector<std::string> addresses{kLoopback, "10.96.0.1", bound, for_others()};
  std::vector<std::string> hosts;
  if (bound == kEvery)
    for (std::string& each : net::host_addresses()) addresses.push_back(std::move(each));
  if (!net::is_loopback(bound)) hosts.push_back(host_name());
  return cluster::identity_in(data_dir ? std::optional(*data_dir / "pki") : std::nullopt, addresses,
                              hosts);
}

}  // namespace berth::cli
