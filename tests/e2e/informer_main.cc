// SPDX-License-Identifier: Apache-2.0
// One informer over all pods, in a process of its own so that its memory can be told:
//   e2e_informer KUBECONFIG stream|list
// prints "started <peak KB>", then "synced <pods> <resident KB> <peak KB>", and goes on until
// killed.
#include <cstdio>
#include <fstream>
#include <string>

#include <unistd.h>

#include "client/informer.h"
#include "session.h"

namespace {

// From /proc/self/status, in KB.
long memory(const std::string& field) {
  std::ifstream status("/proc/self/status");
  for (std::string line; std::getline(status, line);)
    if (line.starts_with(field + ":")) return std::stol(line.substr(field.size() + 1));
  return -1;
}

}  // namespace

int main(int argc, char** argv) {
  using namespace berth;
  if (argc != 3) return 2;
  auto session = e2e::Session::open(std::filesystem::path(argv[1]));
  if (!session) {
    std::fprintf(stderr, "%s\n", session.error().message.c_str());
    return 1;
  }
  std::printf("started %ld\n", memory("VmHWM"));
  client::InformerOptions options{.feed = {.kind = kube::kPod}};
  options.feed.settings.stream = std::string_view(argv[2]) == "stream";
  std::unique_ptr<client::Informer<>> informer;
  (*session)->loop().run([&] {
    informer =
        std::make_unique<client::Informer<>>((*session)->loop().scope(), (*session)->transport(),
                                             Random::from_entropy(), std::move(options));
    informer->on_synced([&] {
      std::printf("synced %zu %ld %ld\n", informer->size(), memory("VmRSS"), memory("VmHWM"));
      std::fflush(stdout);
    });
    informer->start();
  });
  for (;;) ::pause();
}
