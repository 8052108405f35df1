// SPDX-License-Identifier: Apache-2.0
#include "kube/node_selector.h"

#include <algorithm>

#include <fmt/format.h>

namespace berth::kube {
namespace {

using Op = Requirement::Op;
constexpr std::pair<std::string_view, Op> kOps[] = {
    {"In", Op::kIn},         {"NotIn", Op::kNotIn},
    {"Exists", Op::kExists}, {"DoesNotExist", Op::kDoesNotExist},
    {"Gt", Op::kGreater},    {"Lt", Op::kLess}};

std::optional<Op> op_named(std::string_view name) {
  for (const auto& [text, op] : kOps)
    if (text == name) return op;
  return std::nullopt;
}

std::vector<std::string> texts(json::Slice list) {
  std::vector<std::string> out;
  for (const json::Slice text : list.elements()) out.push_back(text.text());
  return out;
}

struct JsonLabels {
  json::Slice labels;
  mutable std::string scratch = {};
  std::optional<std::string_view> operator()(std::string_view key) const {
    const json::Slice value = labels[key];
    return value ? std::optional(value.text(scratch)) : std::nullopt;
  }
};

Error problem(std::string_view list, std::size_t index, std::string_view what) {
  return {.reason = Reason::kInvalid, .message = fmt::format("{}[{}].{}", list, index, what)};
}

}  // namespace

NodeSelectorTerm NodeSelectorTerm::from_json(json::Slice slice) {
  NodeSelectorTerm term;
  const json::Slice expressions = slice["matchExpressions"], fields = slice["matchFields"];
  term.empty_ = expressions.size() == 0 && fields.size() == 0;
  term.read(expressions);
  term.read_fields(fields);
  return term;
}

void NodeSelectorTerm::read(json::Slice expressions) {
  std::size_t i = 0;
  for (const json::Slice e : expressions.elements()) {
    const std::string name = e["operator"].text();
    const std::optional<Op> op = op_named(name);
    if (!op) {
      if (!error_)
        error_ =
            problem("matchExpressions", i, fmt::format("operator: unsupported value \"{}\"", name));
    } else if (auto made = Requirement::make(e["key"].text(), *op, texts(e["values"])); made) {
      labels_.push_back(std::move(*made));
    } else if (!error_) {
      error_ = problem("matchExpressions", i, made.error().message);
    }
    ++i;
  }
}

void NodeSelectorTerm::read_fields(json::Slice expressions) {
  std::size_t i = 0;
  for (const json::Slice e : expressions.elements()) {
    const std::string name = e["operator"].text();
    std::vector<std::string> values = texts(e["values"]);
    std::string why;
    if (name != "In" && name != "NotIn")
      why = fmt::format("operator: unsupported value \"{}\"", name);
    else if (values.size() != 1)
      why = "values: must have one element";
    if (why.empty())
      fields_.push_back({e["key"].text(), std::move(values[0]), name == "In"});
    else if (!error_)
      error_ = problem("matchFields", i, why);
    ++i;
  }
}

bool NodeSelectorTerm::matches(const LabelLookup& labels, std::string_view node_name) const {
  if (error_) return false;
  for (const Requirement& r : labels_)
    if (!r.matches(labels(r.key()))) return false;
  if (node_name.empty()) return true;  // k8s 1.36: a node without a name has no fields to fail on
  return std::all_of(fields_.begin(), fields_.end(), [&](const FieldSelector::Term& f) {
    return ((f.field == "metadata.name" ? node_name : "") == f.value) == f.equal;
  });
}

NodeSelector NodeSelector::from_json(json::Slice slice) {
  NodeSelector selector;
  for (const json::Slice term : slice["nodeSelectorTerms"].elements())
    if (NodeSelectorTerm made = NodeSelectorTerm::from_json(term); !made.empty())
      selector.terms_.push_back(std::move(made));
  return selector;
}

Result<bool> NodeSelector::matches(json::Slice labels, std::string_view node_name) const {
  return matches(JsonLabels{labels}, node_name);
}

Result<bool> NodeSelector::matches(const LabelLookup& labels, std::string_view node_name) const {
  const Error* error = nullptr;
  for (const NodeSelectorTerm& term : terms_) {
    if (term.matches(labels, node_name)) return true;
    if (term.error() && error == nullptr) error = &*term.error();
  }
  if (error != nullptr) return tl::unexpected(*error);
  return false;
}

Result<PreferredNodeTerms> PreferredNodeTerms::from_json(json::Slice list) {
  PreferredNodeTerms out;
  for (const json::Slice preferred : list.elements()) {
    const std::int64_t weight = preferred["weight"].integer().value_or(0);
    NodeSelectorTerm term = NodeSelectorTerm::from_json(preferred["preference"]);
    if (weight == 0 || term.empty()) continue;
    if (term.error()) return tl::unexpected(*term.error());
    out.terms_.push_back({weight, std::move(term)});
  }
  return out;
}

std::int64_t PreferredNodeTerms::score(json::Slice labels, std::string_view node_name) const {
  return score(JsonLabels{labels}, node_name);
}

std::int64_t PreferredNodeTerms::score(const LabelLookup& labels,
                                       std::string_view node_name) const {
  std::int64_t sum = 0;
  for (const Weighted& w : terms_)
    if (w.term.matches(labels, node_name)) sum += w.weight;
  return sum;
}

}  // namespace berth::kube
