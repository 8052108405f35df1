// SPDX-License-Identifier: Apache-2.0
#include "berth_up.h"

#include <cstdlib>
#include <fstream>

#include <fmt/format.h>
#include <signal.h>

namespace berth::e2e {
namespace {
namespace fs = std::filesystem;

constexpr std::chrono::seconds kPatience{60};  // a second on an idle machine

}  // namespace

std::vector<std::string> bare() {
  return {"--nodes",   "0",           "--without", "scheduler",
          "--without", "controllers", "--without", "nodes"};
}

Result<std::unique_ptr<BerthUp>> BerthUp::launch(const Options& options) {
  std::unique_ptr<BerthUp> up(new BerthUp);
  if (options.folder.empty()) up->own_ = std::make_unique<TempFolder>();
  const fs::path folder = up->own_ ? up->own_->path() : options.folder;
  up->kubeconfig_ = folder / "kubeconfig";
  const fs::path log = folder / "berth.log";
  fs::remove(up->kubeconfig_);
  fs::remove(log);
  std::vector<std::string> words = options.before;
  words.insert(words.end(),
               {BERTH_BERTH, "up", "--port", "0", "--kubeconfig-out", up->kubeconfig_.string()});
  if (options.data_dir.empty())
    words.emplace_back("--ephemeral");
  else
    words.insert(words.end(), {"--data-dir", options.data_dir.string()});
  words.insert(words.end(), options.flags.begin(), options.flags.end());
  auto child = Child::start(
      {.program = words[0], .args = {words.begin() + 1, words.end()}, .env = {}, .log = log});
  if (!child) return tl::unexpected(child.error());
  up->child_ = *std::move(child);
  return up;
}

Result<std::unique_ptr<BerthUp>> BerthUp::start(const Options& options) {
  auto up = launch(options);
  if (!up) return up;
  if (auto ready = (*up)->wait_ready(); !ready) return tl::unexpected(ready.error());
  return up;
}

Result<Ok> BerthUp::wait_ready() {
  eventually(kPatience, [&] { return !child_->running() || fs::exists(kubeconfig_); });
  if (!fs::exists(kubeconfig_))
    return fail(Reason::kServiceUnavailable, "berth up is not ready:\n" + said());
  auto access = access_from(kubeconfig_);
  if (!access) return tl::unexpected(access.error());
  access_ = *std::move(access);
  return Ok{};
}

void BerthUp::kill() {
  child_->signal(SIGKILL);
  child_->wait(kPatience);
}

bool BerthUp::end() {
  child_->signal(SIGINT);
  return child_->wait(kPatience) && child_->exit_code() == 0;
}

std::size_t BerthUp::status_kib(std::string_view field) const {
  std::ifstream in(fmt::format("/proc/{}/status", child_->pid()));
  for (std::string line; std::getline(in, line);)
    if (line.starts_with(field)) return std::strtoull(line.c_str() + field.size(), nullptr, 10);
  return 0;
}
std::size_t BerthUp::resident_kib() const { return status_kib("VmRSS:"); }
std::size_t BerthUp::peak_kib() const { return status_kib("VmHWM:"); }
void BerthUp::forget_peak() const {
  std::ofstream(fmt::format("/proc/{}/clear_refs", child_->pid())) << "5";
}

std::size_t BerthUp::open_files() const {
  const fs::directory_iterator all(fmt::format("/proc/{}/fd", child_->pid()));
  return static_cast<std::size_t>(std::distance(all, fs::directory_iterator()));
}

}  // namespace berth::e2e
