// SPDX-License-Identifier: Apache-2.0
// How to reach one API server and as whom: what kubeconfig files or a pod's surroundings come down
// to.
#pragma once

#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "base/result.h"
#include "client/surroundings.h"
#include "net/http_client.h"
#include "net/tls.h"

namespace berth::client {

// PEM text or a token: given inline, or in a file that may be replaced while we run.
struct Material {
  std::string data;
  std::string file;   // absolute; read anew from time to time
  std::string place;  // for errors: `kubeconfig /a/b: user "dev": client-key`
  bool set() const { return !data.empty() || !file.empty(); }
  Result<std::string> read(const Surroundings&) const;  // the error names place and file
};

// A program that hands out credentials (client.authentication.k8s.io).
struct ExecPlugin {
  enum class Interactive : unsigned char { kNever, kIfAvailable, kAlways };
  std::string api_version;
  std::string command;  // with a slash: an absolute path; without: looked up in PATH
  std::vector<std::string> args;
  std::vector<std::pair<std::string, std::string>> env;
  std::string install_hint;  // one line, safe to print
  bool provide_cluster_info = false;
  Interactive interactive = Interactive::kNever;
  std::string cluster_config;  // JSON that the cluster entry holds for the plugin, or ""
  std::string place;           // `kubeconfig /a/b: user "dev": exec`
};

struct Impersonation {
  std::string user, uid;
  std::vector<std::string> groups;
  std::vector<std::pair<std::string, std::vector<std::string>>> extra;
};

struct ClusterConfig {
  std::string origin;   // for messages: `kubeconfig /a/b, context "dev"` or `in-cluster`
  std::string context;  // "" in a cluster
  std::string ns = "default";
  bool ns_given = false;  // false: nobody chose "default"

  std::string server;  // as written, with a scheme
  net::Url url;
  Material ca;
  std::string server_name;
  bool insecure_skip_verify = false;
  bool disable_compression = false;

  // At most one way to show who we are beside the certificate; all unset: anonymous.
  Material certificate, key;
  Material token;
  std::string username, password;
  std::optional<ExecPlugin> exec;
  Impersonation as;
};

// Reads what is in files and checks that all of it can be used; an error names file and field.
Result<net::TlsClientOptions> tls_of(const ClusterConfig&, const Surroundings&);

}  // namespace berth::client
