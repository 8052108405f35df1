// SPDX-License-Identifier: Apache-2.0
// What a source file may include and use, by the folder it stands in. Each rule is a function of
// one line of one file that answers with a complaint, or with nothing.
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace berth::layering {

struct Include {
  std::string path;
  int line = 0;
};

std::vector<Include> includes_of(std::string_view text);

// `file` and `include` are paths below src/.
std::string wrong_direction(std::string_view file, std::string_view include);

// Heavy libraries stay in the folder that owns them. `borrowed`: not included by the file itself
// but by a header of another folder that it includes.
std::string misplaced_library(std::string_view file, std::string_view include, bool borrowed);

// Time and chance come from outside, except where they come in.
std::vector<std::string> real_time_or_chance(std::string_view file, std::string_view text);

// The code without comments, and with its strings emptied; lines stay where they are.
std::string code_of(std::string_view text);

}  // namespace berth::layering
