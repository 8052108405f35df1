// SPDX-License-Identifier: Apache-2.0
// Which nodes are wanted: v1.NodeSelector and the preferred terms of a node affinity.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "json/slice.h"
#include "kube/field_selector.h"
#include "kube/label_selector.h"

namespace berth::kube {

// One term: labels and fields (metadata.name) must both match. Immutable; thread-safe.
class NodeSelectorTerm {
 public:
  static NodeSelectorTerm from_json(json::Slice);

  bool empty() const { return empty_; }  // selects nothing; the real code leaves it out
  const std::optional<Error>& error() const { return error_; }
  bool matches(const LabelLookup& labels, std::string_view node_name) const;

 private:
  void read(json::Slice expressions);
  void read_fields(json::Slice expressions);

  bool empty_ = true;
  std::vector<Requirement> labels_;
  std::vector<FieldSelector::Term> fields_;
  std::optional<Error> error_;
};

// Terms are alternatives; none at all matches no node. A term that cannot be read is an error only
// when no other term matches. Immutable; thread-safe.
class NodeSelector {
 public:
  static NodeSelector from_json(json::Slice);  // {"nodeSelectorTerms": […]}
  Result<bool> matches(json::Slice labels, std::string_view node_name) const;
  Result<bool> matches(const LabelLookup& labels, std::string_view node_name) const;

 private:
  std::vector<NodeSelectorTerm> terms_;
};

// [{"weight": 5, "preference": {…}}]; weight 0 and empty terms are left out.
class PreferredNodeTerms {
 public:
  struct Weighted {
    std::int64_t weight;
    NodeSelectorTerm term;
  };
  static Result<PreferredNodeTerms> from_json(json::Slice list);
  std::int64_t score(json::Slice labels, std::string_view node_name) const;
  std::int64_t score(const LabelLookup& labels, std::string_view node_name) const;
  const std::vector<Weighted>& terms() const { return terms_; }

 private:
  std::vector<Weighted> terms_;
};

}  // namespace berth::kube
