// SPDX-License-Identifier: Apache-2.0
#include "client/kubeconfig.h"

#include <algorithm>
#include <filesystem>
#include <utility>
#include <vector>

#include <fmt/format.h>

#include "client/kubeconfig_file.h"
#include "client/one_line.h"

namespace berth::client {
namespace {

constexpr std::string_view kExecV1 = "client.authentication.k8s.io/v1";
constexpr std::string_view kExecV1Beta1 = "client.authentication.k8s.io/v1beta1";
constexpr std::size_t kMostNamesShown = 10;
constexpr std::size_t kMostMessage = 2000;

std::string absolute(const std::string& path, const std::filesystem::path& base) {
  if (path.empty()) return path;
  return (base / path).lexically_normal().string();  // an absolute path replaces the base
}

// The names a person may choose from: "dev, test".
template <class Map>
std::string choices(const Map& entries) {
  std::string out;
  std::size_t shown = 0;
  for (const auto& [name, entry] : entries) {
    if (shown++ == kMostNamesShown) return out + fmt::format(", … ({} in all)", entries.size());
    out += (out.empty() ? "" : ", ") + name;
  }
  return out.empty() ? "none" : out;
}

std::vector<std::string> files_to_read(const Surroundings& surroundings,
                                       const KubeconfigChoice& choice) {
  if (!choice.path.empty()) return {choice.path};
  std::vector<std::string> out;
  const std::string variable = surroundings.env("KUBECONFIG");
  if (!variable.empty()) {
    for (std::size_t from = 0; from <= variable.size();) {
      const std::size_t colon = std::min(variable.find(':', from), variable.size());
      std::string path = variable.substr(from, colon - from);
      if (!path.empty() && std::find(out.begin(), out.end(), path) == out.end())
        out.push_back(std::move(path));
      from = colon + 1;
    }
    return out;
  }
  const std::string home = surroundings.env("HOME");
  if (!home.empty()) out.push_back(home + "/.kube/config");
  return out;
}

// What is left of several files: the first one to name an entry decides all of it.
struct Merged {
  KubeconfigFile config;
  std::string files;  // those that exist, for messages
};

Result<Merged> read_and_merge(const Surroundings& surroundings, const KubeconfigChoice& choice) {
  const std::vector<std::string> paths = files_to_read(surroundings, choice);
  Merged out;
  std::string missing;
  for (const std::string& path : paths) {
    Result<std::string> text = surroundings.read_file(absolute(path, surroundings.directory));
    if (!text && text.error().reason == Reason::kNotFound && choice.path.empty()) {
      missing += (missing.empty() ? "" : ":") + path;
      continue;
    }
    if (!text)
      return invalid(fmt::format("kubeconfig {}: {}; name a readable file with --kubeconfig", path,
                                 text.error().message));
    Result<KubeconfigFile> file = parse_kubeconfig(path, *text);
    if (!file) return tl::unexpected(file.error());
    out.files += (out.files.empty() ? "" : ":") + path;
    if (out.config.current_context.empty())
      out.config.current_context = std::move(file->current_context);
    out.config.clusters.merge(file->clusters);
    out.config.users.merge(file->users);
    out.config.contexts.merge(file->contexts);
  }
  if (out.files.empty())
    return fail(Reason::kNotFound,
                fmt::format("no kubeconfig: {} does not exist; name a file with --kubeconfig or "
                            "KUBECONFIG",
                            missing.empty() ? "~/.kube/config" : missing));
  return out;
}

Result<Ok> resolve_cluster(const KubeconfigCluster& entry, const std::string& name,
                           const Surroundings& surroundings, ClusterConfig& out) {
  const std::string place = fmt::format("kubeconfig {}: cluster \"{}\"", entry.file, name);
  const auto wrong = [&](std::string_view what) {
    return invalid(fmt::format("{}: {}", place, what));
  };
  if (entry.server.empty())
    return wrong("has no server; set it to the API server's URL, e.g. https://host:6443");
  if (!entry.proxy_url.empty())
    return wrong("proxy-url is not supported; remove it and make the server reachable directly");
  if (!entry.ca_file.empty() && !entry.ca_data.empty())
    return wrong(
        "certificate-authority and certificate-authority-data are both set; remove one of them");
  const bool has_ca = !entry.ca_file.empty() || !entry.ca_data.empty();
  if (entry.insecure_skip_tls_verify && has_ca)
    return wrong(
        "insecure-skip-tls-verify and a certificate authority are both set; remove one of them");

  const auto base =
      std::filesystem::path(absolute(entry.file, surroundings.directory)).parent_path();
  out.server = entry.server;
  // k8s 1.36: without a scheme it is plain HTTP, whatever else the entry says.
  if (out.server.find("://") == std::string::npos) out.server.insert(0, "http://");
  Result<net::Url> url = net::parse_url(out.server);
  if (!url)
    return wrong(fmt::format("server: {}; write it as https://host:6443", url.error().message));
  out.url = std::move(*url);
  const std::string field =
      entry.ca_data.empty() ? "certificate-authority" : "certificate-authority-data";
  out.ca = {.data = entry.ca_data,
            .file = absolute(entry.ca_file, base),
            .place = fmt::format("{}: {}", place, field)};
  out.server_name = entry.tls_server_name;
  out.insecure_skip_verify = entry.insecure_skip_tls_verify;
  out.disable_compression = entry.disable_compression;
  return Ok{};
}

Result<ExecPlugin> resolve_exec(const KubeconfigExec& entry, const std::string& place,
                                const std::filesystem::path& base,
                                const Surroundings& surroundings) {
  const auto wrong = [&](std::string_view what) {
    return invalid(fmt::format("{}: {}", place, what));
  };
  ExecPlugin out;
  if (entry.command.empty()) return wrong("command is missing; name the program to run");
  if (entry.api_version != kExecV1 && entry.api_version != kExecV1Beta1)
    return wrong(fmt::format("apiVersion \"{}\" is not supported; use {} or {}", entry.api_version,
                             kExecV1, kExecV1Beta1));
  for (const auto& [name, value] : entry.env)
    if (name.empty()) return wrong("an entry of env has no name; give it one");
  // k8s 1.36: only v1beta1 has a default.
  if (entry.interactive_mode == "IfAvailable" ||
      (entry.interactive_mode.empty() && entry.api_version == kExecV1Beta1))
    out.interactive = ExecPlugin::Interactive::kIfAvailable;
  else if (entry.interactive_mode == "Always")
    out.interactive = ExecPlugin::Interactive::kAlways;
  else if (entry.interactive_mode != "Never")
    return wrong(fmt::format("interactiveMode \"{}\" is not one of Never, IfAvailable, Always",
                             entry.interactive_mode));
  out.api_version = entry.api_version;
  out.command =
      entry.command.find('/') == std::string::npos ? entry.command : absolute(entry.command, base);
  out.args = entry.args;
  out.env = entry.env;
  out.install_hint = one_line(entry.install_hint);
  out.provide_cluster_info = entry.provide_cluster_info;
  out.place = place;
  if (!surroundings.find_program(out.command))
    return wrong(fmt::format(
        "plugin {} was not found; {}", out.command,
        out.install_hint.empty() ? "install it or correct the command" : out.install_hint));
  return out;
}

Result<Ok> resolve_user(const KubeconfigUser& entry, const std::string& name,
                        const Surroundings& surroundings, ClusterConfig& out) {
  const std::string place = fmt::format("kubeconfig {}: user \"{}\"", entry.file, name);
  const auto wrong = [&](std::string_view what) {
    return invalid(fmt::format("{}: {}", place, what));
  };
  const auto base =
      std::filesystem::path(absolute(entry.file, surroundings.directory)).parent_path();
  const auto material = [&](std::string_view field, const std::string& data,
                            const std::string& file) {
    return Material{.data = data,
                    .file = absolute(file, base),
                    .place = fmt::format("{}: {}{}", place, field, data.empty() ? "" : "-data")};
  };
  const bool basic = !entry.username.empty() || !entry.password.empty();
  const bool token = !entry.token.empty() || !entry.token_file.empty();
  const bool certificate = !entry.certificate_file.empty() || !entry.certificate_data.empty();
  if (basic && !entry.token.empty())
    return wrong("token and username/password are both set; remove one of them");
  if (!entry.certificate_file.empty() && !entry.certificate_data.empty())
    return wrong("client-certificate and client-certificate-data are both set; remove one of them");
  if (!entry.key_file.empty() && !entry.key_data.empty())
    return wrong("client-key and client-key-data are both set; remove one of them");
  const bool key = !entry.key_file.empty() || !entry.key_data.empty();
  if (certificate && !key)
    return wrong("client-certificate has no key; set client-key or client-key-data");
  if (entry.as.empty() &&
      (!entry.as_uid.empty() || !entry.as_groups.empty() || !entry.as_extra.empty()))
    return wrong("as-uid, as-groups and as-user-extra need a user to impersonate; set as");
  if (entry.auth_provider)
    return wrong(fmt::format("auth-provider \"{}\" is not supported; use an exec plugin or a token",
                             *entry.auth_provider));

  out.as = {
      .user = entry.as, .uid = entry.as_uid, .groups = entry.as_groups, .extra = entry.as_extra};
  // k8s 1.36: credentials are only shown to a server that proves who it is.
  if (!out.url.origin.tls) return Ok{};
  if (certificate) {
    out.certificate =
        material("client-certificate", entry.certificate_data, entry.certificate_file);
    out.key = material("client-key", entry.key_data, entry.key_file);
  }
  if (token)
    out.token = {
        .data = entry.token,
        .file = absolute(entry.token_file, base),
        .place = fmt::format("{}: {}", place, entry.token.empty() ? "tokenFile" : "token")};
  out.username = entry.username;
  out.password = entry.password;
  // k8s 1.36: a plugin is asked only where nothing else says who we are.
  if (!entry.exec || certificate || token || basic) return Ok{};
  Result<ExecPlugin> exec =
      resolve_exec(*entry.exec, fmt::format("{}: exec", place), base, surroundings);
  if (!exec) return tl::unexpected(exec.error());
  out.exec = std::move(*exec);
  return Ok{};
}

Result<ClusterConfig> load(const Surroundings& surroundings, const KubeconfigChoice& choice) {
  Result<Merged> merged = read_and_merge(surroundings, choice);
  if (!merged) return tl::unexpected(merged.error());
  const KubeconfigFile& config = merged->config;
  const std::string& name = choice.context.empty() ? config.current_context : choice.context;
  if (name.empty())
    return fail(Reason::kNotFound,
                fmt::format("kubeconfig {}: no current-context is set; it has: {} (choose one with "
                            "--context)",
                            merged->files, choices(config.contexts)));
  const auto context = config.contexts.find(name);
  if (context == config.contexts.end())
    return invalid(
        fmt::format("kubeconfig {}: context \"{}\" does not exist; it has: {} (choose one with "
                    "--context)",
                    merged->files, name, choices(config.contexts)));
  const KubeconfigContext& chosen = context->second;
  const auto cluster = config.clusters.find(chosen.cluster);
  if (cluster == config.clusters.end())
    return invalid(fmt::format(
        "kubeconfig {}: context \"{}\": cluster \"{}\" does not exist; the clusters are: {}",
        chosen.file, name, chosen.cluster, choices(config.clusters)));

  ClusterConfig out;
  out.origin = fmt::format("kubeconfig {}, context \"{}\"", chosen.file, name);
  out.context = name;
  out.ns_given = !chosen.ns.empty();
  if (out.ns_given) out.ns = chosen.ns;
  if (Result<Ok> r = resolve_cluster(cluster->second, chosen.cluster, surroundings, out); !r)
    return tl::unexpected(r.error());
  if (chosen.user.empty()) return out;  // anonymous
  const auto user = config.users.find(chosen.user);
  if (user == config.users.end())
    return invalid(
        fmt::format("kubeconfig {}: context \"{}\": user \"{}\" does not exist; the users are: {}",
                    chosen.file, name, chosen.user, choices(config.users)));
  if (Result<Ok> r = resolve_user(user->second, chosen.user, surroundings, out); !r)
    return tl::unexpected(r.error());
  if (out.exec) out.exec->cluster_config = cluster->second.exec_config;
  return out;
}

}  // namespace

Result<ClusterConfig> load_kubeconfig(const Surroundings& surroundings,
                                      const KubeconfigChoice& choice) {
  Result<ClusterConfig> config = load(surroundings, choice);
  // Names and paths come from the file and may hold anything.
  if (!config) config.error().message = one_line(config.error().message, kMostMessage);
  return config;
}

}  // namespace berth::client
