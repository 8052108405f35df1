// SPDX-License-Identifier: Apache-2.0
#include "berth_up.h"

namespace berth::e2e {
namespace fs = std::filesystem;

Result<std::unique_ptr<BerthUp>> BerthUp::start(const std::vector<std::string>& flags) {
  constexpr std::chrono::seconds kReady{60};  // a second on an idle machine
  std::unique_ptr<BerthUp> up(new BerthUp);
  up->kubeconfig_ = up->folder_.path() / "kubeconfig";
  std::vector<std::string> args{"up", "--ephemeral",      "--port",
                                "0",  "--kubeconfig-out", up->kubeconfig_.string()};
  args.insert(args.end(), flags.begin(), flags.end());
  auto process = Child::start({.program = BERTH_BERTH,
                               .args = std::move(args),
                               .env = {},
                               .log = up->folder_.path() / "berth.log"});
  if (!process) return tl::unexpected(process.error());
  up->process_ = std::move(*process);
  eventually(kReady, [&] { return !up->process_->running() || fs::exists(up->kubeconfig_); });
  if (!fs::exists(up->kubeconfig_))
    return fail(Reason::kServiceUnavailable, "berth up is not ready:\n" + up->log_tail());
  return up;
}

}  // namespace berth::e2e
