// SPDX-License-Identifier: Apache-2.0
// The labels of a pod or node as the scheduler keeps them: sorted, flat, shared by all that carry
// the same ones.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "json/slice.h"
#include "kube/label_selector.h"
#include "kube/node_selector.h"

namespace berth::scheduler {

// Immutable once made; thread-safe.
class Labels {
 public:
  using Pair = std::pair<std::string, std::string>;

  Labels() = default;
  explicit Labels(std::vector<Pair> pairs);  // any order; of equal keys the last counts
  static Labels from_json(json::Slice);

  std::optional<std::string_view> find(std::string_view key) const;
  bool has(std::string_view key) const { return find(key).has_value(); }
  const std::vector<Pair>& pairs() const { return pairs_; }
  bool empty() const { return pairs_.empty(); }
  friend bool operator==(const Labels&, const Labels&) = default;

 private:
  std::vector<Pair> pairs_;
};
using LabelsPtr = std::shared_ptr<const Labels>;  // never null in a Pod or Node

// Labels for the selectors of kube/: selector.matches(LabelsLookup{labels}).
struct LabelsLookup {
  const Labels& labels;
  std::optional<std::string_view> operator()(std::string_view key) const {
    return labels.find(key);
  }
};

bool matches(const kube::Requirement&, const Labels&);
bool matches(const kube::LabelSelector&, const Labels&);
// k8s 1.36: terms that cannot be read match nothing; that they could not be read is forgotten.
bool matches(const kube::NodeSelector&, const Labels&, std::string_view node_name);
std::int64_t score(const kube::PreferredNodeTerms&, const Labels&, std::string_view node_name);

}  // namespace berth::scheduler
