// SPDX-License-Identifier: Apache-2.0
// The three kinds that external schedulers see, and positions in their stream of changes.
#pragma once

#include <array>
#include <optional>
#include <string>
#include <string_view>

#include "kube/kind.h"
#include "kube/object.h"

namespace berth::gateway {

enum class Topic : unsigned char { kTestbeds, kJobs, kSchedulings };
inline constexpr std::array kTopics{Topic::kTestbeds, Topic::kJobs, Topic::kSchedulings};

inline constexpr std::string_view kGroup = "batchjob.gcr.io";

std::string_view name_of(Topic);  // "jobs", as callers say it
std::optional<Topic> topic_named(std::string_view);
kube::KindId kind_of(Topic);
std::string_view resource_of(Topic);  // "batchjobs", as RBAC says it

// Up to where somebody has seen each kind: revisions have no order between kinds, so a position is
// a vector. "t812.j805.s790"; opaque to callers. A value.
struct Cursor {
  std::array<kube::Revision, kTopics.size()> seen = {};

  kube::Revision& of(Topic topic) { return seen[static_cast<std::size_t>(topic)]; }
  kube::Revision of(Topic topic) const { return seen[static_cast<std::size_t>(topic)]; }
  std::string text() const;
  static std::optional<Cursor> parse(std::string_view);
  friend bool operator==(const Cursor&, const Cursor&) = default;
};

}  // namespace berth::gateway
