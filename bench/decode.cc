// SPDX-License-Identifier: Apache-2.0
// Decodes a PodList as an informer does and prints the CPU time of it.
//   decode_bench generate COUNT FILE   writes the list that both sides decode
//   decode_bench decode cut|keep FILE  prints "<items> <CPU seconds>"; cut drops managedFields
#include <cstdio>
#include <cstdlib>
#include <fstream>
#include <sstream>
#include <string>

#include <fmt/format.h>
#include <sys/resource.h>

#include "kube/object.h"
#include "pod_maker.h"

namespace {

double cpu_seconds() {
  rusage used{};
  ::getrusage(RUSAGE_SELF, &used);
  const auto seconds = [](const timeval& t) {
    return static_cast<double>(t.tv_sec) + static_cast<double>(t.tv_usec) / 1e6;
  };
  return seconds(used.ru_utime) + seconds(used.ru_stime);
}

int generate(std::size_t count, const char* file) {
  std::ofstream out(file, std::ios::binary);
  out << berth::bench::pod_list_json(0, count, 2000000);
  return out.flush() ? 0 : 1;
}

int decode(bool keep_managed_fields, const char* file) {
  std::ostringstream text;
  text << std::ifstream(file, std::ios::binary).rdbuf();
  const std::string data = std::move(text).str();
  const berth::json::Limits whole{.max_bytes = data.size()};
  const double before = cpu_seconds();
  const auto list = berth::kube::parse_list(berth::kube::kPod, data, keep_managed_fields, whole);
  const double after = cpu_seconds();
  if (!list) {
    fmt::print(stderr, "{}: {}\n", file, list.error().message);
    return 1;
  }
  fmt::print("{} {:.4f}\n", list->items.size(), after - before);
  std::fflush(stdout);
  std::_Exit(0);  // taking 50,000 objects apart again is nobody's question
}

}  // namespace

int main(int argc, char** argv) {
  const std::string what = argc == 4 ? argv[1] : "";
  const std::string how = argc == 4 ? argv[2] : "";
  if (what == "generate") return generate(std::strtoull(how.c_str(), nullptr, 10), argv[3]);
  if (what == "decode" && (how == "cut" || how == "keep")) return decode(how == "keep", argv[3]);
  fmt::print(stderr,
             "usage: decode_bench generate COUNT FILE | decode_bench decode cut|keep FILE\n");
  return 2;
}
