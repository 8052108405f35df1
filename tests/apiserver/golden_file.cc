// SPDX-License-Identifier: Apache-2.0
#include "golden_file.h"

#include <fstream>

#include <gtest/gtest.h>
#include <zlib.h>

namespace berth::apiserver {
namespace {

std::string folder() { return BERTH_SOURCE_DIR "/tests/apiserver/goldens/"; }

}  // namespace

std::vector<std::string> golden_lines(const std::string& name) {
  const std::string path = folder() + name + ".jsonl.gz";
  gzFile file = gzopen(path.c_str(), "rb");
  if (file == nullptr) {
    ADD_FAILURE() << path << " cannot be opened";
    return {};
  }
  std::string text;
  char block[1 << 16];
  for (int n; (n = gzread(file, block, sizeof block)) > 0;)
    text.append(block, static_cast<std::size_t>(n));
  gzclose(file);
  std::vector<std::string> lines;
  for (std::size_t at = 0; at < text.size();) {
    const std::size_t end = std::min(text.find('\n', at), text.size());
    lines.push_back(text.substr(at, end - at));
    at = end + 1;
  }
  return lines;
}

std::map<std::string, std::string> known_differences() {
  std::map<std::string, std::string> out;
  std::ifstream file(folder() + "differences.txt");
  for (std::string line; std::getline(file, line);) {
    if (line.empty() || line.front() == '#') continue;
    const std::size_t bar = line.find(" | ");
    out.emplace(line.substr(0, bar), bar == std::string::npos ? "" : line.substr(bar + 3));
  }
  return out;
}

}  // namespace berth::apiserver
