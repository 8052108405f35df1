// SPDX-License-Identifier: Apache-2.0
#include "client/kubeconfig_file.h"

#include <fmt/format.h>

#include "base/base64.h"
#include "json/slice.h"
#include "json/yaml.h"

namespace berth::client {
namespace {

using json::Slice;

std::string_view type_name(Slice value) {
  if (value.is_object()) return "a mapping";
  if (value.is_array()) return "a list";
  if (value.is_string()) return "a string";
  if (value.is_number()) return "a number";
  return value.is_bool() ? "true or false" : "nothing";
}

// Reads members and checks their types. The first mistake is kept; reading goes on harmlessly.
class Reader {
 public:
  explicit Reader(const std::string& path) : path_(path) {}

  bool ok() const { return error_.empty(); }
  Error error() const { return {.reason = Reason::kInvalid, .message = error_}; }
  void complain(std::string_view place, std::string_view what) {
    if (ok())
      error_ = fmt::format("kubeconfig {}: {}{}{}", path_, place, place.empty() ? "" : ": ", what);
  }

  // Absent and null are the empty value, as in Go.
  bool missing(Slice value) const { return !value.present() || value.is_null(); }

  std::string text(Slice parent, std::string_view place, std::string_view key) {
    const Slice value = parent[key];
    if (missing(value)) return "";
    if (value.is_string()) return value.text();
    not_text(place, key, value);
    return "";
  }
  bool boolean(Slice parent, std::string_view place, std::string_view key) {
    const Slice value = parent[key];
    if (missing(value)) return false;
    if (!value.is_bool()) wrong_type(place, key, "true or false", value, "");
    return value.boolean();
  }
  std::string bytes(Slice parent, std::string_view place, std::string_view key) {
    std::optional<std::string> decoded = from_base64(text(parent, place, key));
    if (!decoded)
      complain(fmt::format("{}: {}", place, key),
               "is not base64; encode the PEM file with `base64 -w0`");
    return std::move(decoded).value_or("");
  }
  Slice object(Slice parent, std::string_view place, std::string_view key) {
    const Slice value = parent[key];
    if (missing(value)) return {};
    if (value.is_object()) return value;
    wrong_type(place, key, "a mapping", value, "");
    return {};
  }
  Slice list(Slice parent, std::string_view place, std::string_view key) {
    const Slice value = parent[key];
    if (missing(value)) return {};
    if (value.is_array()) return value;
    wrong_type(place, key, "a list", value, "");
    return {};
  }
  std::vector<std::string> texts(Slice parent, std::string_view place, std::string_view key) {
    std::vector<std::string> out;
    const Slice all = list(parent, place, key);
    if (!all) return out;
    for (Slice item : all.elements()) {
      if (!item.is_string()) not_text(place, fmt::format("{}[{}]", key, out.size()), item);
      out.push_back(item.text());
    }
    return out;
  }

 private:
  void not_text(std::string_view place, std::string_view key, Slice value) {
    wrong_type(place, key, "a string", value,
               value.is_object() || value.is_array() ? "" : "; put it in quotes");
  }
  void wrong_type(std::string_view place, std::string_view key, std::string_view want, Slice value,
                  std::string_view remedy) {
    complain(fmt::format("{}{}{}", place, place.empty() ? "" : ": ", key),
             fmt::format("expected {}, found {}{}", want, type_name(value), remedy));
  }

  const std::string& path_;
  std::string error_;
};

void read(Reader& in, Slice from, std::string_view place, KubeconfigCluster& out) {
  out.server = in.text(from, place, "server");
  out.tls_server_name = in.text(from, place, "tls-server-name");
  out.proxy_url = in.text(from, place, "proxy-url");
  out.ca_file = in.text(from, place, "certificate-authority");
  out.ca_data = in.bytes(from, place, "certificate-authority-data");
  out.insecure_skip_tls_verify = in.boolean(from, place, "insecure-skip-tls-verify");
  out.disable_compression = in.boolean(from, place, "disable-compression");
  const Slice extensions = in.list(from, place, "extensions");
  if (!extensions) return;
  for (Slice extension : extensions.elements())
    if (extension["name"].equals("client.authentication.k8s.io/exec"))
      out.exec_config = extension["extension"].raw();
}

KubeconfigExec read_exec(Reader& in, Slice from, std::string_view user) {
  const std::string place = fmt::format("{}: exec", user);
  KubeconfigExec out;
  out.api_version = in.text(from, place, "apiVersion");
  out.command = in.text(from, place, "command");
  out.install_hint = in.text(from, place, "installHint");
  out.interactive_mode = in.text(from, place, "interactiveMode");
  out.args = in.texts(from, place, "args");
  out.provide_cluster_info = in.boolean(from, place, "provideClusterInfo");
  const Slice env = in.list(from, place, "env");
  if (!env) return out;
  for (Slice item : env.elements()) {
    const std::string entry = fmt::format("{}: env[{}]", place, out.env.size());
    if (!item.is_object() && !item.is_null()) in.complain(entry, "expected a mapping");
    out.env.emplace_back(in.text(item, entry, "name"), in.text(item, entry, "value"));
  }
  return out;
}

void read(Reader& in, Slice from, std::string_view place, KubeconfigUser& out) {
  out.certificate_file = in.text(from, place, "client-certificate");
  out.certificate_data = in.bytes(from, place, "client-certificate-data");
  out.key_file = in.text(from, place, "client-key");
  out.key_data = in.bytes(from, place, "client-key-data");
  out.token = in.text(from, place, "token");
  out.token_file = in.text(from, place, "tokenFile");
  out.username = in.text(from, place, "username");
  out.password = in.text(from, place, "password");
  out.as = in.text(from, place, "as");
  out.as_uid = in.text(from, place, "as-uid");
  out.as_groups = in.texts(from, place, "as-groups");
  if (const Slice extra = in.object(from, place, "as-user-extra"))
    for (const auto& [key, value] : extra.members()) {
      const std::string name(key);
      out.as_extra.emplace_back(name,
                                in.texts(extra, fmt::format("{}: as-user-extra", place), name));
    }
  if (const Slice provider = in.object(from, place, "auth-provider"))
    out.auth_provider = in.text(provider, fmt::format("{}: auth-provider", place), "name");
  if (const Slice exec = in.object(from, place, "exec")) out.exec = read_exec(in, exec, place);
}

void read(Reader& in, Slice from, std::string_view place, KubeconfigContext& out) {
  out.cluster = in.text(from, place, "cluster");
  out.user = in.text(from, place, "user");
  out.ns = in.text(from, place, "namespace");
}

// A list of {name, <one>}: clusters, users, contexts.
template <class Entry>
std::map<std::string, Entry> entries(Reader& in, Slice root, const std::string& path,
                                     std::string_view many, std::string_view one) {
  std::map<std::string, Entry> out;
  const Slice all = in.list(root, "", many);
  if (!all) return out;
  std::size_t index = 0;
  for (Slice item : all.elements()) {
    const std::string number = fmt::format("{}[{}]", many, index++);
    if (!item.is_object()) {
      in.complain(number, fmt::format("expected a mapping, found {}", type_name(item)));
      continue;
    }
    const std::string name = in.text(item, number, "name");
    const std::string place = fmt::format("{} \"{}\"", one, name);
    Entry entry;
    entry.file = path;
    read(in, in.object(item, place, one), place, entry);
    if (!out.emplace(name, std::move(entry)).second)
      in.complain(many, fmt::format("two entries are named \"{}\"; rename or remove one", name));
  }
  return out;
}

}  // namespace

Result<KubeconfigFile> parse_kubeconfig(const std::string& path, std::string_view text) {
  Result<std::vector<json::YamlDocument>> documents = json::yaml_to_json(text);
  if (!documents)
    return invalid(
        fmt::format("kubeconfig {}: {}; correct the file or name another one with "
                    "--kubeconfig",
                    path, documents.error().message));
  KubeconfigFile out;
  if (documents->empty()) return out;
  Reader in(path);
  // k8s 1.36: only the first document counts.
  const Slice root(documents->front().json);
  if (root.is_null()) return out;
  if (!root.is_object()) {
    in.complain("", fmt::format("expected a mapping with clusters, users and contexts, found {}",
                                type_name(root)));
    return tl::unexpected(in.error());
  }
  const std::string version = in.text(root, "", "apiVersion");
  const std::string kind = in.text(root, "", "kind");
  if ((!version.empty() && version != "v1") || (!kind.empty() && kind != "Config"))
    in.complain("", fmt::format("is \"{}\", kind \"{}\", not a kubeconfig (apiVersion: v1, kind: "
                                "Config); name another file with --kubeconfig",
                                version, kind));
  out.current_context = in.text(root, "", "current-context");
  out.clusters = entries<KubeconfigCluster>(in, root, path, "clusters", "cluster");
  out.users = entries<KubeconfigUser>(in, root, path, "users", "user");
  out.contexts = entries<KubeconfigContext>(in, root, path, "contexts", "context");
  if (!in.ok()) return tl::unexpected(in.error());
  return out;
}

}  // namespace berth::client
