// SPDX-License-Identifier: Apache-2.0
#include "up_process.h"

#include <cstdlib>
#include <fstream>
#include <sstream>

#include <fmt/format.h>
#include <signal.h>

namespace berth::e2e {
namespace {
namespace fs = std::filesystem;

constexpr std::chrono::seconds kPatience{60};

std::string contents_of_file(const fs::path& file) {
  std::ostringstream out;
  out << std::ifstream(file, std::ios::binary).rdbuf();
  return out.str();
}

}  // namespace

std::vector<std::string> bare() {
  return {"--nodes",   "0",           "--without", "scheduler",
          "--without", "controllers", "--without", "nodes"};
}

Result<std::unique_ptr<UpProcess>> UpProcess::launch(const Options& options) {
  auto up = std::make_unique<UpProcess>();
  up->kubeconfig_ = options.folder / "kubeconfig";
  up->log_ = options.folder / "berth.log";
  fs::remove(up->kubeconfig_);
  fs::remove(up->log_);
  std::vector<std::string> words = options.before;
  words.insert(words.end(),
               {BERTH_BERTH, "up", "--port", "0", "--kubeconfig-out", up->kubeconfig_.string()});
  if (options.data_dir.empty())
    words.emplace_back("--ephemeral");
  else
    words.insert(words.end(), {"--data-dir", options.data_dir.string()});
  words.insert(words.end(), options.flags.begin(), options.flags.end());
  auto child = Child::start(
      {.program = words[0], .args = {words.begin() + 1, words.end()}, .env = {}, .log = up->log_});
  if (!child) return tl::unexpected(child.error());
  up->child_ = *std::move(child);
  return up;
}

Result<std::unique_ptr<UpProcess>> UpProcess::start(const Options& options) {
  auto up = launch(options);
  if (!up) return up;
  if (auto ready = (*up)->wait_ready(); !ready) return tl::unexpected(ready.error());
  return up;
}

Result<Ok> UpProcess::wait_ready() {
  eventually(kPatience, [&] { return !child_->running() || fs::exists(kubeconfig_); });
  if (!fs::exists(kubeconfig_))
    return fail(Reason::kServiceUnavailable, "berth up is not ready:\n" + said());
  return read_kubeconfig(kubeconfig_.string());
}

void UpProcess::kill() {
  child_->signal(SIGKILL);
  child_->wait(kPatience);
}

bool UpProcess::end() {
  child_->signal(SIGINT);
  return child_->wait(kPatience) && child_->exit_code() == 0;
}

std::string UpProcess::said() const { return contents_of_file(log_); }

std::size_t UpProcess::status_kib(std::string_view field) const {
  std::ifstream in(fmt::format("/proc/{}/status", child_->pid()));
  for (std::string line; std::getline(in, line);)
    if (line.starts_with(field)) return std::strtoull(line.c_str() + field.size(), nullptr, 10);
  return 0;
}
std::size_t UpProcess::resident_kib() const { return status_kib("VmRSS:"); }
std::size_t UpProcess::peak_kib() const { return status_kib("VmHWM:"); }
void UpProcess::forget_peak() const {
  std::ofstream(fmt::format("/proc/{}/clear_refs", child_->pid())) << "5";
}

std::size_t UpProcess::open_files() const {
  const fs::directory_iterator all(fmt::format("/proc/{}/fd", child_->pid()));
  return static_cast<std::size_t>(std::distance(all, fs::directory_iterator()));
}

Result<net::HttpResponse> ask(conformance::Wire& wire, std::string method, std::string target,
                              std::string body, std::string content_type) {
  net::HttpRequest request{.method = std::move(method),
                           .target = std::move(target),
                           .headers = {},
                           .body = std::move(body)};
  if (!request.body.empty()) request.headers.set("Content-Type", std::move(content_type));
  return wire.call(std::move(request));
}

}  // namespace berth::e2e
