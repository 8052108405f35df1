// SPDX-License-Identifier: Apache-2.0
#include "scheduler/config/problems.h"

#include <fmt/format.h>

#include "base/escape.h"
#include "base/nearest.h"
#include "json/yaml.h"

namespace berth::scheduler {
namespace {

// Lines are looked up by reading the file again, so a hopeless file must not cost many readings.
constexpr std::size_t kMostReported = 100;

}  // namespace

std::string Problems::line(const std::string& path, const std::string& line_of,
                           std::string_view what) const {
  const auto number = json::yaml_line_of(text_, 0, line_of);
  std::string out;
  append_escaped(out, file_, Quotes::kKeep);
  if (number) out += fmt::format(":{}", *number);
  out += path.empty() ? ": " : fmt::format(": {}: ", path);
  append_escaped(out, what, Quotes::kKeep);
  return out;
}

void Problems::add(const std::string& path, const std::string& line_of, std::string_view what) {
  if (count_++ < kMostReported)
    causes_.push_back(
        {.reason = "FieldValueInvalid", .message = line(path, line_of, what), .field = path});
}

void Problems::warn(const std::string& path, std::string_view what) {
  if (warnings_.size() < kMostReported) warnings_.push_back(line(path, path, what));
}

Error Problems::error() const {
  Error out{.reason = Reason::kInvalid, .message = causes_.front().message, .causes = causes_};
  if (count_ > 1) out.message += fmt::format(" (the first of {} problems)", count_);
  return out;
}

std::string did_you_mean(std::string_view word, const std::vector<std::string_view>& candidates) {
  const std::string_view found = nearest(word, candidates);
  return found.empty() ? "" : fmt::format("; did you mean \"{}\"?", found);
}

}  // namespace berth::scheduler
