// SPDX-License-Identifier: Apache-2.0
// Recorded answers: JSON lines, compressed.
#pragma once

#include <map>
#include <string>
#include <vector>

namespace berth::apiserver {

// The lines of tests/apiserver/goldens/NAME.jsonl.gz.
std::vector<std::string> golden_lines(const std::string& name);

// Cases that are known to differ, by name, with the reason: goldens/differences.txt.
std::map<std::string, std::string> known_differences();

}  // namespace berth::apiserver
