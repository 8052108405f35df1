// SPDX-License-Identifier: Apache-2.0
// Collects what is wrong with a configuration, each with its line, so that one look mends all.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/result.h"

namespace berth::scheduler {

// Thread-compatible. The text must outlive it.
class Problems {
 public:
  Problems(std::string_view file, std::string_view text) : file_(file), text_(text) {}

  // "f.yaml:7: profiles[0].schedulerName: …". Past the first hundred they are only counted.
  void add(const std::string& path, std::string_view what) { add(path, path, what); }
  // The line is that of another, more exact path.
  void add(const std::string& path, const std::string& line_of, std::string_view what);
  void warn(const std::string& path, std::string_view what);

  bool any() const { return count_ != 0; }
  std::size_t count() const { return count_; }
  Error error() const;
  std::vector<std::string> take_warnings() { return std::move(warnings_); }

 private:
  std::string line(const std::string& path, const std::string& line_of,
                   std::string_view what) const;
  std::string_view file_, text_;
  std::vector<Cause> causes_;
  std::size_t count_ = 0;
  std::vector<std::string> warnings_;
};

// "; did you mean \"b\"?" or nothing.
std::string did_you_mean(std::string_view word, const std::vector<std::string_view>& candidates);

}  // namespace berth::scheduler
