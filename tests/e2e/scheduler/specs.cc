// SPDX-License-Identifier: Apache-2.0
#include "specs.h"

#include <cstdio>
#include <cstdlib>
#include <fstream>
#include <iterator>

#include <fmt/format.h>

#include "child.h"
#include "json/slice.h"

namespace berth::e2e {

Result<std::string> specs_program() {
  const std::string command = std::string(BERTH_SOURCE_DIR) + "/tests/e2e/scheduler/upstream/build";
  FILE* pipe = ::popen(command.c_str(), "r");
  if (pipe == nullptr) return fail(Reason::kInternalError, "no shell: " + command);
  char line[4096] = "";
  while (std::fgets(line, sizeof line, pipe) != nullptr) {
  }
  if (::pclose(pipe) != 0)
    return fail(Reason::kNotFound, "no Go: the specs are not there; `make real` builds it");
  std::string program = line;
  while (!program.empty() && program.back() == '\n') program.pop_back();
  return program;
}

bool all_specs() { return std::getenv("BERTH_SPECS") == nullptr; }

Result<Outcomes> run_specs(const std::string& program, const std::filesystem::path& kubeconfig,
                           const std::filesystem::path& folder, const std::string& left_out) {
  const auto report = folder / "specs.json";
  auto specs =
      Child::start({.program = program,
                    .args = {"--provider=skeleton", "--kubeconfig=" + kubeconfig.string(),
                             fmt::format(R"(--ginkgo.focus=\[sig-scheduling\].*{})",
                                         all_specs() ? "" : std::getenv("BERTH_SPECS")),
                             "--ginkgo.skip=" + left_out, "--ginkgo.json-report=" + report.string(),
                             "--ginkgo.no-color", "--ginkgo.timeout=1h", "--ginkgo.seed=1",
                             "--allowed-not-ready-nodes=-1", "--minStartupPods=0"},
                    .env = {"HOME=" + folder.string()},
                    .log = folder / "specs.log"});
  if (!specs) return tl::unexpected(specs.error());
  if (!(*specs)->wait(std::chrono::minutes(65)))
    return fail(Reason::kTimeout, "the specs still run:\n" + (*specs)->log_tail());
  std::ifstream file(report);
  const std::string text{std::istreambuf_iterator<char>(file), {}};
  if (text.empty())
    return fail(Reason::kInternalError, "the specs left no report:\n" + (*specs)->log_tail());
  Outcomes out;
  for (json::Slice spec : json::Slice(text)[std::size_t{0}]["SpecReports"].elements()) {
    const std::string state = spec["State"].text();
    if (!spec["LeafNodeType"].equals("It") || state == "skipped") continue;
    std::string name;
    for (json::Slice part : spec["ContainerHierarchyTexts"].elements()) name += part.text() + " ";
    name += spec["LeafNodeText"].text();
    out[name] = state;
    fmt::print("  {:<7} {:>4} s  {}\n", state,
               spec["RunTime"].integer().value_or(0) / 1'000'000'000, name);
    if (state != "passed") fmt::print("    {}\n", spec["Failure"]["Message"].text().substr(0, 600));
  }
  std::fflush(stdout);  // another run may take a while
  return out;
}

}  // namespace berth::e2e
