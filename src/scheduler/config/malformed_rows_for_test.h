// SPDX-License-Identifier: Apache-2.0
// testdata/malformed.golden: configurations that are refused, and every line that is said about
// them when the file is called f.yaml. "### name", the file, ">>>", the lines.
#pragma once

#include <fstream>
#include <string>
#include <vector>

namespace berth::scheduler {

struct MalformedRow {
  std::string name, config, says;
};

inline std::vector<MalformedRow> malformed_rows() {
  std::ifstream in("src/scheduler/config/testdata/malformed.golden");
  std::vector<MalformedRow> out;
  bool answer = false;
  for (std::string line; std::getline(in, line);) {
    if (line.starts_with("### ")) {
      out.push_back({.name = line.substr(4), .config = {}, .says = {}});
      answer = false;
    } else if (line == ">>>") {
      answer = true;
    } else {
      (answer ? out.back().says : out.back().config) += line + "\n";
    }
  }
  return out;
}

}  // namespace berth::scheduler
