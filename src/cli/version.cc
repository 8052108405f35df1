// SPDX-License-Identifier: Apache-2.0
// berth version: which Berth this is, and whose Kubernetes it follows.
#include "cli/version.h"

#include <fmt/format.h>

#include "cli/command.h"

namespace berth::cli {

Command version() {
  return std::move(
      Command("version", "Print the version").example("berth version").run([](Context& context) {
        context.out << fmt::format("berth {} (follows Kubernetes {})\n", kVersion,
                                   kKubernetesVersion);
        return Result<int>(kExitOk);
      }));
}

}  // namespace berth::cli
