// SPDX-License-Identifier: Apache-2.0
// Affinities of a pod: to other pods, and to nodes.
#include <algorithm>

#include <fmt/format.h>

#include "json/writer.h"
#include "scheduler/cache/pod_fields.h"

namespace berth::scheduler {
namespace {

constexpr std::string_view kRequired = "requiredDuringSchedulingIgnoredDuringExecution";
constexpr std::string_view kPreferred = "preferredDuringSchedulingIgnoredDuringExecution";

Result<AffinityTerm> term_of(json::Slice json) {
  AffinityTerm term;
  Result<kube::LabelSelector> selector = kube::LabelSelector::from_json(json["labelSelector"]);
  if (!selector) return tl::unexpected(std::move(selector.error()));
  term.selector = *std::move(selector);
  if (const json::Slice namespaces = json["namespaceSelector"]; stated(namespaces)) {
    Result<kube::LabelSelector> chosen = kube::LabelSelector::from_json(namespaces);
    if (!chosen) return tl::unexpected(std::move(chosen.error()));
    term.namespace_selector = *std::move(chosen);
  }
  for (const json::Slice name : json["namespaces"].elements())
    term.namespaces.push_back(name.text());
  term.own_namespace = term.namespaces.empty() && !term.namespace_selector;
  std::sort(term.namespaces.begin(), term.namespaces.end());
  term.namespaces.erase(std::unique(term.namespaces.begin(), term.namespaces.end()),
                        term.namespaces.end());
  term.topology_key = json["topologyKey"].text();
  return term;
}

// k8s 1.36: one bad term and none of its list counts.
std::vector<AffinityTerm> terms_of(json::Slice list, bool weighted, std::string_view name,
                                   std::vector<std::string>& errors) {
  std::vector<AffinityTerm> terms;
  for (const json::Slice json : list.elements()) {
    Result<AffinityTerm> term = term_of(weighted ? json["podAffinityTerm"] : json);
    if (!term) {
      errors.push_back(fmt::format("{}: {}", name, term.error().message));
      return {};
    }
    if (weighted) term->weight = static_cast<std::int32_t>(json["weight"].integer().value_or(0));
    terms.push_back(*std::move(term));
  }
  return terms;
}

void write_requirements(json::Writer& out, std::string_view name, json::Slice list) {
  out.member(name).array();
  for (const json::Slice one : list.elements()) {
    out.object().member("key").string(one["key"].text());
    out.member("operator").string(one["operator"].text()).member("values").array();
    for (const json::Slice value : one["values"].elements()) out.string(value.text());
    out.end().end();
  }
  out.end();
}

void write_term(json::Writer& out, json::Slice term) {
  out.object();
  write_requirements(out, "matchExpressions", term["matchExpressions"]);
  write_requirements(out, "matchFields", term["matchFields"]);
  out.end();
}

using Names = std::vector<std::string>;

// The names that one term allows; nullopt: it says nothing about names.
std::optional<Names> names_of_term(json::Slice term) {
  std::optional<Names> names;
  for (const json::Slice field : term["matchFields"].elements()) {
    if (!field["key"].equals("metadata.name") || !field["operator"].equals("In")) continue;
    Names listed;
    for (const json::Slice value : field["values"].elements()) listed.push_back(value.text());
    std::sort(listed.begin(), listed.end());
    if (!names) {
      names = std::move(listed);
      continue;
    }
    Names both;
    std::set_intersection(names->begin(), names->end(), listed.begin(), listed.end(),
                          std::back_inserter(both));
    names = std::move(both);
  }
  return names;
}

std::optional<Names> names_of(json::Slice terms) {
  if (terms.size() == 0) return std::nullopt;
  Names all;
  for (const json::Slice term : terms.elements()) {
    std::optional<Names> names = names_of_term(term);
    if (!names) return std::nullopt;
    all.insert(all.end(), names->begin(), names->end());
  }
  std::sort(all.begin(), all.end());
  all.erase(std::unique(all.begin(), all.end()), all.end());
  return all;
}

json::Slice preferred_of(const PodFields& fields) {
  return fields.affinity["nodeAffinity"][kPreferred];
}

}  // namespace

PodAffinity pod_affinity_of(json::Slice affinity) {
  PodAffinity out;
  const json::Slice near = affinity["podAffinity"], apart = affinity["podAntiAffinity"];
  out.stated = stated(near) || stated(apart);
  std::vector<std::string> errors;
  out.required = terms_of(near[kRequired], false, "requiredAffinityTerms", errors);
  out.required_anti = terms_of(apart[kRequired], false, "requiredAntiAffinityTerms", errors);
  out.preferred = terms_of(near[kPreferred], true, "preferredAffinityTerms", errors);
  out.preferred_anti = terms_of(apart[kPreferred], true, "preferredAntiAffinityTerms", errors);
  if (errors.size() == 1)
    out.error = errors[0];
  else if (!errors.empty())
    out.error = fmt::format("[{}]", fmt::join(errors, ", "));
  return out;
}

void node_affinity_of(const PodFields& fields, PodSpec& spec) {
  spec.has_node_selector = stated(fields.node_selector);
  spec.node_selector = Labels::from_json(fields.node_selector).pairs();
  const json::Slice required = fields.affinity["nodeAffinity"][kRequired];
  if (stated(required)) {
    spec.required_node_affinity = kube::NodeSelector::from_json(required);
    spec.named_nodes = names_of(required["nodeSelectorTerms"]);
  }
  const json::Slice preferred = preferred_of(fields);
  spec.has_preferred_node_affinity = stated(preferred);
  spec.preferred_node_affinity = kube::PreferredNodeTerms::from_json(preferred);

  if (spec.node_selector.empty() && !spec.required_node_affinity) return;
  json::Writer text;
  text.object();
  if (!spec.node_selector.empty()) {
    text.member("nodeSelector").object();
    for (const auto& [key, value] : spec.node_selector) text.member(key).string(value);
    text.end();
  }
  if (spec.required_node_affinity) {
    text.member("required").object().member("nodeSelectorTerms").array();
    for (const json::Slice term : required["nodeSelectorTerms"].elements()) write_term(text, term);
    text.end().end();
  }
  spec.node_affinity_text = text.end().take();
}

std::string preferred_text(const PodFields& fields) {
  json::Writer text;
  text.array();
  for (const json::Slice preferred : preferred_of(fields).elements()) {
    text.object().member("weight").integer(preferred["weight"].integer().value_or(0));
    write_term(text.member("preference"), preferred["preference"]);
    text.end();
  }
  return text.end().take();
}

}  // namespace berth::scheduler
