// SPDX-License-Identifier: Apache-2.0
// One or two kubeconfig files (cut at the first NUL) become a configuration or a one-line error.
// What follows a second NUL is a credential plugin's answer.
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

#include "base/check.h"
#include "client/exec_plugin.h"
#include "client/kubeconfig.h"

namespace {

using namespace berth;

std::string_view next_part(std::string_view& rest) {
  const std::size_t end = rest.find('\0');
  const std::string_view part = rest.substr(0, end);
  rest = end == std::string_view::npos ? "" : rest.substr(end + 1);
  return part;
}

void check_line(const Error& error) {
  BERTH_CHECK(!error.message.empty(), "an error without a message");
  for (const char c : error.message)
    BERTH_CHECK(static_cast<unsigned char>(c) >= 0x20 && c != 0x7f, error.message);
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  std::string_view rest(reinterpret_cast<const char*>(data), size);
  const std::string first(next_part(rest)), second(next_part(rest));
  const std::string answer(rest);

  client::Surroundings here;
  here.directory = "/srv";
  here.env = [](const char* name) { return std::string(name) == "KUBECONFIG" ? "/a/one:two" : ""; };
  here.read_file = [&](const std::string& path) -> Result<std::string> {
    if (path == "/a/one") return first;
    if (path == "/srv/two" && !second.empty()) return second;
    if (path == "/a/file") return second;
    return fail(Reason::kNotFound, "no such file");
  };
  here.find_program = [](const std::string& name) -> std::optional<std::string> {
    if (name == "absent") return std::nullopt;
    return name;
  };
  for (const char* context : {"", "dev"}) {
    const Result<client::ClusterConfig> config =
        client::load_kubeconfig(here, {.path = "", .context = context});
    if (!config) {
      check_line(config.error());
      continue;
    }
    if (const auto tls = client::tls_of(*config, here); !tls) check_line(tls.error());
    if (!config->exec) continue;
    client::exec_info(*config->exec, *config, "PEM", false);
    if (const auto given = client::parse_exec_credential(*config->exec, answer); !given)
      check_line(given.error());
  }
  return 0;
}
