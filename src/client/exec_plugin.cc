// SPDX-License-Identifier: Apache-2.0
#include "client/exec_plugin.h"

#include <fmt/format.h>
#include <unistd.h>

#include "base/base64.h"
#include "client/one_line.h"
#include "client/process.h"
#include "json/cursor.h"
#include "json/slice.h"
#include "json/writer.h"
#include "kube/time.h"

namespace berth::client {
namespace {

constexpr Duration kLimit = 60s;
constexpr Duration kLimitWithPerson = 10min;  // somebody may have to log in

tl::unexpected<Error> wrong(const ExecPlugin& plugin, std::string_view what) {
  return fail(Reason::kUnauthorized,
              one_line(fmt::format("{}: plugin {}: {}", plugin.place, plugin.command, what), 2000));
}

}  // namespace

std::string exec_info(const ExecPlugin& plugin, const ClusterConfig& config,
                      std::string_view ca_pem, bool interactive) {
  json::Writer w;
  w.object().member("kind").string("ExecCredential");
  w.member("apiVersion").string(plugin.api_version);
  w.member("spec").object();
  if (plugin.provide_cluster_info) {
    w.member("cluster").object().member("server").string(config.server);
    if (!config.server_name.empty()) w.member("tls-server-name").string(config.server_name);
    if (config.insecure_skip_verify) w.member("insecure-skip-tls-verify").boolean(true);
    if (!ca_pem.empty()) w.member("certificate-authority-data").string(base64(ca_pem));
    if (config.disable_compression) w.member("disable-compression").boolean(true);
    if (!plugin.cluster_config.empty()) w.member("config").raw(plugin.cluster_config);
    w.end();
  }
  w.member("interactive").boolean(interactive).end().end();
  return w.take();
}

Result<ExecCredential> parse_exec_credential(const ExecPlugin& plugin, std::string_view output) {
  if (Result<Ok> good = json::check(output); !good)
    return wrong(plugin, "its output is not JSON: " + good.error().message);
  const json::Slice root(output);
  if (!root["kind"].equals("ExecCredential"))
    return wrong(plugin, "its output is not an ExecCredential");
  if (!root["apiVersion"].equals(plugin.api_version))
    return wrong(plugin, fmt::format("it answers in {}, but {} is configured",
                                     one_line(root["apiVersion"].text()), plugin.api_version));
  const json::Slice status = root["status"];
  if (!status.is_object()) return wrong(plugin, "its output has no status");
  for (const char* field :
       {"token", "clientCertificateData", "clientKeyData", "expirationTimestamp"})
    if (status[field] && !status[field].is_null() && !status[field].is_string())
      return wrong(plugin, fmt::format("status.{} is not a string", field));
  ExecCredential out{.token = status["token"].text(),
                     .certificate_pem = status["clientCertificateData"].text(),
                     .key_pem = status["clientKeyData"].text(),
                     .expires = {}};
  if (out.token.empty() && out.certificate_pem.empty() && out.key_pem.empty())
    return wrong(plugin, "it gave neither a token nor a certificate");
  if (out.token.find_first_of("\r\n") != std::string::npos)
    return wrong(plugin, "its token has a line break");
  if (out.certificate_pem.empty() != out.key_pem.empty())
    return wrong(plugin, "it gave only one of certificate and key");
  if (!out.certificate_pem.empty())
    if (Result<Ok> good = net::check(
            net::TlsClientOptions{.certificate_pem = out.certificate_pem, .key_pem = out.key_pem});
        !good)
      return wrong(plugin, good.error().message);
  if (const std::string expires = status["expirationTimestamp"].text(); !expires.empty()) {
    out.expires = kube::parse_time(expires);
    if (!out.expires) return wrong(plugin, "status.expirationTimestamp is not an RFC 3339 time");
  }
  return out;
}

Result<ExecCredential> run_exec_plugin(const ExecPlugin& plugin, const ClusterConfig& config,
                                       std::string_view ca_pem, const Surroundings& surroundings,
                                       const Clock& clock, const std::atomic<bool>& stop) {
  const bool terminal = ::isatty(STDIN_FILENO) == 1;
  if (plugin.interactive == ExecPlugin::Interactive::kAlways && !terminal)
    return wrong(plugin, "it wants to ask you, but standard input is not a terminal");
  const bool interactive = terminal && plugin.interactive != ExecPlugin::Interactive::kNever;
  const std::optional<std::string> path = surroundings.find_program(plugin.command);
  if (!path)
    return wrong(plugin, "was not found; " + (plugin.install_hint.empty()
                                                  ? "install it or correct the command"
                                                  : plugin.install_hint));
  Command command;
  command.argv = {*path};
  command.argv.insert(command.argv.end(), plugin.args.begin(), plugin.args.end());
  for (const auto& [name, value] : plugin.env)
    command.env.push_back(fmt::format("{}={}", name, value));
  command.env.push_back("KUBERNETES_EXEC_INFO=" + exec_info(plugin, config, ca_pem, interactive));
  command.use_terminal = interactive;
  command.limit = interactive ? kLimitWithPerson : kLimit;
  Result<CommandOutput> output = run_command(command, clock, stop);
  if (!output) return wrong(plugin, output.error().message);
  if (output->exit_code != 0) {
    const std::string complaint = one_line(output->err);
    return wrong(plugin, fmt::format("failed with exit code {}{}{}", output->exit_code,
                                     complaint.empty() ? "" : ": ", complaint));
  }
  return parse_exec_credential(plugin, output->out);
}

}  // namespace berth::client
