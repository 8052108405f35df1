// SPDX-License-Identifier: Apache-2.0
#include "extender_process.h"

#include <regex>

namespace berth::e2e {

Result<std::string> extenders_config(Cluster& cluster, const std::string& slots_url,
                                     std::vector<std::string> flags) {
  std::vector<std::string> args = {"extender", "--print", "scheduler-config", "--url", slots_url};
  args.insert(args.end(), flags.begin(), flags.end());
  const auto log = cluster.plane().folder().path() / "extenders-config.log";
  std::filesystem::remove(log);  // programs append
  auto printing = Child::start({.program = BERTH_BERTH, .args = args, .env = {}, .log = log});
  if (!printing) return tl::unexpected(printing.error());
  if (!(*printing)->wait(std::chrono::seconds(30)) || (*printing)->exit_code() != 0)
    return fail(Reason::kInternalError, (*printing)->log());
  const std::string text = (*printing)->log();
  return text.substr(text.find("extenders:"));
}

Result<std::unique_ptr<ExtenderProcess>> ExtenderProcess::start(Cluster& cluster) {
  auto made = std::make_unique<ExtenderProcess>();
  auto child = Child::start(
      {.program = BERTH_BERTH,
       .args = {"extender", "--kubeconfig", cluster.plane().kubeconfig().string(), "--port", "0"},
       .env = {},
       .log = cluster.plane().folder().path() / "extender.log"});
  if (!child) return tl::unexpected(child.error());
  made->child_ = *std::move(child);
  std::string text;
  std::smatch found;
  if (!eventually(std::chrono::seconds(60), [&] {
        text = made->child_->log();
        return std::regex_search(text, found, std::regex("http://[0-9.]+:([0-9]+)/slots"));
      }))
    return fail(Reason::kTimeout, "the extender does not listen:\n" + text);
  made->url_ = found[0].str();
  made->port_ = static_cast<std::uint16_t>(std::stoi(found[1].str()));
  return made;
}

Result<std::string> ExtenderProcess::post(TestLoop& loop, const std::string& path,
                                          std::string body) const {
  net::HttpRequest request{.method = "POST", .target = path, .body = std::move(body)};
  request.headers.add("Content-Type", "application/json");
  return exchange(loop, {.origin = {.tls = false, .host = "127.0.0.1", .port = port_}},
                  std::move(request));
}

}  // namespace berth::e2e
