// SPDX-License-Identifier: Apache-2.0
// The Pod Security Standards: what a pod may not do at a level, check by check, in the words of the
// real admission plugin.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "apiserver/edit/peek.h"

namespace berth::apiserver {

struct SecurityLevel {
  enum class Level : unsigned char { kPrivileged, kBaseline, kRestricted };  // by strictness
  Level level = Level::kPrivileged;
  int minor = kLatest;  // of version 1

  static constexpr int kLatest = 1'000;
  std::string text() const;  // "baseline:latest", "restricted:v1.25"
  friend bool operator==(const SecurityLevel&, const SecurityLevel&) = default;
};
std::optional<SecurityLevel::Level> security_level_named(std::string_view);
std::optional<int> security_version_named(std::string_view);  // "latest", "v1.25"

struct SecurityFinding {
  std::string reason, detail;
};
// In the real order: baseline's checks by name, then those of restricted.
std::vector<SecurityFinding> security_findings(const SecurityLevel&, Peek metadata, Peek spec);

std::string reasons_text(const std::vector<SecurityFinding>&);  // "host namespaces, privileged"
std::string details_text(const std::vector<SecurityFinding>&);  // with the details in parentheses

}  // namespace berth::apiserver
