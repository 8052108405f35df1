// SPDX-License-Identifier: Apache-2.0
#include "real.h"

#include <array>
#include <atomic>
#include <cstdio>
#include <cstdlib>

#include <fmt/format.h>

namespace berth::e2e {
namespace fs = std::filesystem;
namespace {

std::string first_line_of(const std::string& command) {
  std::string line;
  if (FILE* pipe = ::popen(command.c_str(), "r")) {
    std::array<char, 4096> buffer{};
    if (std::fgets(buffer.data(), buffer.size(), pipe) != nullptr) line = buffer.data();
    ::pclose(pipe);
  }
  while (!line.empty() && line.back() == '\n') line.pop_back();
  return line;
}

}  // namespace

Result<fs::path> real_program(const std::string& name) {
  const char* given = std::getenv("BERTH_REAL_BIN");
  static const std::string built =
      first_line_of(std::string(BERTH_SOURCE_DIR) + "/tools/real/build --where");
  const fs::path program = fs::path(given != nullptr ? given : built) / name;
  if (!fs::exists(program))
    return fail(
        Reason::kNotFound,
        fmt::format("{} is not there: `make real` builds it (it needs Go 1.26)", program.string()));
  return program;
}

Result<std::unique_ptr<Child>> start_real(const std::string& name, std::vector<std::string> args,
                                          const TempFolder& folder) {
  const auto program = real_program(name);
  if (!program) return tl::unexpected(program.error());
  return Child::start({.program = program->string(),
                       .args = std::move(args),
                       .env = {},
                       .log = folder.path() / (name + ".log")});
}

std::vector<std::string> controller_manager_args(const fs::path& kubeconfig,
                                                 const std::vector<std::string>& controllers) {
  return {"--kubeconfig=" + kubeconfig.string(),
          fmt::format("--controllers={}", fmt::join(controllers, ",")), "--secure-port=0",
          "--kube-api-qps=5000", "--kube-api-burst=5000",
          // A machine that is busy elsewhere for ten seconds is no finding.
          "--leader-elect-lease-duration=90s", "--leader-elect-renew-deadline=60s"};
}

std::vector<std::string> kwok_args(const fs::path& kubeconfig) {
  return {"--kubeconfig=" + kubeconfig.string(),
          "--node-ip=10.255.0.1",
          "--cidr=10.128.0.0/9",
          "--config=" BERTH_SOURCE_DIR "/tests/e2e/scheduler/kwok.yaml",
          "-v",
          "WARN"};
}

Result<Ran> run_kubectl(std::vector<std::string> args, const TempFolder& folder,
                        std::chrono::seconds limit) {
  const auto program = real_program("kubectl");
  if (!program) return tl::unexpected(program.error());
  static std::atomic<int> runs = 0;
  const std::string command = fmt::format("kubectl {}", fmt::join(args, " "));
  auto child = Child::start({.program = program->string(),
                             .args = std::move(args),
                             .env = {"HOME=" + folder.path().string()},
                             .log = folder.path() / fmt::format("kubectl-{}.log", ++runs)});
  if (!child) return tl::unexpected(child.error());
  if (!(*child)->wait(limit))
    return fail(Reason::kTimeout, fmt::format("{} still runs:\n{}", command, (*child)->log()));
  return Ran{(*child)->exit_code(), (*child)->log()};
}

}  // namespace berth::e2e
