// SPDX-License-Identifier: Apache-2.0
// One kubeconfig file as it stands: types checked, nothing resolved. A pure function over its text.
#pragma once

#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/result.h"

namespace berth::client {

struct KubeconfigCluster {
  std::string file;  // the kubeconfig it stands in
  std::string server, tls_server_name, proxy_url;
  std::string ca_file, ca_data;
  bool insecure_skip_tls_verify = false;
  bool disable_compression = false;
  std::string exec_config;  // extension client.authentication.k8s.io/exec, as JSON
};

struct KubeconfigExec {
  std::string api_version, command, install_hint, interactive_mode;
  std::vector<std::string> args;
  std::vector<std::pair<std::string, std::string>> env;
  bool provide_cluster_info = false;
};

struct KubeconfigUser {
  std::string file;
  std::string certificate_file, certificate_data, key_file, key_data;
  std::string token, token_file, username, password;
  std::string as, as_uid;
  std::vector<std::string> as_groups;
  std::vector<std::pair<std::string, std::vector<std::string>>> as_extra;
  std::optional<std::string> auth_provider;  // its name
  std::optional<KubeconfigExec> exec;
};

struct KubeconfigContext {
  std::string file;
  std::string cluster, user, ns;
};

struct KubeconfigFile {
  std::string current_context;
  std::map<std::string, KubeconfigCluster> clusters;
  std::map<std::string, KubeconfigUser> users;
  std::map<std::string, KubeconfigContext> contexts;
};

// `path` is for messages and for the entries' `file`. Unknown fields are skipped, as client-go
// does; an empty file is an empty configuration.
Result<KubeconfigFile> parse_kubeconfig(const std::string& path, std::string_view text);

}  // namespace berth::client
