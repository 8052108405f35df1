// SPDX-License-Identifier: Apache-2.0
// The members of a StatefulSet: pods with an ordinal, a name that follows from it, and claims of
// their own.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "json/slice.h"
#include "kube/object.h"

namespace berth::controllers {

// "web-3" is of "web", and its ordinal is 3; -1: no ordinal.
std::pair<std::string_view, std::int64_t> parent_and_ordinal(std::string_view pod_name);
std::int64_t ordinal_of(const kube::Object& pod);

struct SetSpec {
  explicit SetSpec(const kube::Object& set);
  bool in_range(std::int64_t ordinal) const {
    return ordinal >= start && ordinal < start + replicas;
  }
  std::string pod_name(std::int64_t ordinal) const;
  std::string claim_name(std::string_view claim_template, std::int64_t ordinal) const;

  std::string name;
  json::Slice spec, claim_templates;
  std::int64_t replicas, start;
  std::int64_t min_ready_seconds, history_limit;
  bool parallel, on_delete, rolling_given;
  std::int64_t partition;
  bool deletes_on_scale, deletes_with_set;  // what becomes of claims
};

std::string member_json(const kube::Object& set, const SetSpec&, json::Slice pod_template,
                        std::string_view revision, std::int64_t ordinal);
std::string claim_json(const kube::Object& set, const SetSpec&, json::Slice claim_template,
                       std::int64_t ordinal);

bool identity_matches(const SetSpec&, const kube::Object& pod);
bool storage_matches(const SetSpec&, const kube::Object& pod);
// What an existing member lacks: labels of its identity, and volumes.
std::string member_patch(const SetSpec&, const kube::Object& pod);

std::string_view constexpr kRevisionLabel = "controller-revision-hash";

}  // namespace berth::controllers
