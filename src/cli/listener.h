// SPDX-License-Identifier: Apache-2.0
// Where a command listens, as its flags say it.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "base/result.h"
#include "cli/command.h"
#include "client/connect.h"
#include "net/tls.h"

namespace berth::cli {

// Of a flag; an error names it.
Result<std::uint16_t> port_of(const char* flag, std::int64_t port);

// Which cluster a command serves, and where.
struct ListenerFlags {
  client::ConnectOptions connect = {};
  std::string address = "127.0.0.1";
  std::int64_t port = 0;
  std::string cert_file = {}, key_file = {}, client_ca_file = {};

  void add_to(Command&, const char* what_client_ca_is_for);
  // None: plain, which is only allowed on this machine. `what` would travel in the open otherwise.
  Result<std::optional<net::TlsServerOptions>> tls(const char* what) const;
};

}  // namespace berth::cli
