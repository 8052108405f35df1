// SPDX-License-Identifier: Apache-2.0
// Nodes that a pod asks for or prefers by their labels and names, and those that the configuration
// asks for on behalf of all pods (addedAffinity). The cluster keeps the answer of every selector
// for every node, so a decision only looks them up.
#include <algorithm>

#include <fmt/format.h>

#include "base/check.h"
#include "json/slice.h"
#include "scheduler/cache/cluster_state.h"
#include "scheduler/framework/plugin.h"
#include "scheduler/plugins/row_kernel.h"

namespace berth::scheduler {
namespace {

struct Preference {
  std::int64_t weight;
  std::shared_ptr<const NodeMatch> nodes;
};

struct Part final : ShapePart {
  std::shared_ptr<const NodeMatch> required, added;  // null: any node
  std::vector<Preference> preferred;                 // the pod's and the added ones
};

bool has_required(const PodSpec& spec) {
  return spec.has_node_selector || spec.required_node_affinity.has_value();
}

// Terms that cannot be read are an error only when nothing else decides.
Result<bool> required_match(const PodSpec& spec, const Node& node) {
  const auto has = [&](const auto& pair) { return node.labels->find(pair.first) == pair.second; };
  if (!std::all_of(spec.node_selector.begin(), spec.node_selector.end(), has)) return false;
  if (!spec.required_node_affinity) return true;
  return spec.required_node_affinity->matches(LabelsLookup{*node.labels}, node.name);
}

class NodeAffinity final : public Filter, public Score {
 public:
  explicit NodeAffinity(const PluginContext& context)
      : Plugin(context),
        not_enforced_(
            context.reasons.id(context.id, Code::kUnresolvable,
                               {"node(s) didn't match scheduler-enforced node affinity"})),
        not_asked_(context.reasons.id(context.id, Code::kUnresolvable,
                                      {"node(s) didn't match Pod's node affinity/selector"})) {
    const auto* args = std::get_if<NodeAffinityArgs>(&context.args);
    if (args == nullptr || args->added_affinity.empty()) return;
    const json::Slice added(args->added_affinity);
    if (const json::Slice terms = added["requiredDuringSchedulingIgnoredDuringExecution"];
        terms.is_object()) {
      added_text_ = terms.raw();
      added_required_ = std::make_shared<kube::NodeSelector>(kube::NodeSelector::from_json(terms));
    }
    if (const json::Slice terms = added["preferredDuringSchedulingIgnoredDuringExecution"];
        terms.size() != 0) {
      added_preferred_text_ = terms.raw();
      auto read = kube::PreferredNodeTerms::from_json(terms);
      BERTH_CHECK(read.has_value(), "addedAffinity was validated when it was configured");
      added_preferred_ = std::make_shared<kube::PreferredNodeTerms>(std::move(*read));
    }
  }

  std::unique_ptr<ShapePart> compile(const Pod& pod, ClusterState& cluster) const override {
    auto part = std::make_unique<Part>();
    if (has_required(*pod.spec))
      part->required =
          cluster.node_match(pod.spec->node_affinity_text, [spec = pod.spec](const Node& node) {
            return required_match(*spec, node).value_or(false);
          });
    if (added_required_)
      part->added = cluster.node_match("added " + added_text_,
                                       [selector = added_required_](const Node& node) {
                                         return matches(*selector, *node.labels, node.name);
                                       });
    if (added_preferred_)
      prefer(*part, cluster, "added " + added_preferred_text_, *added_preferred_, added_preferred_);
    // Equal specs are one object, and the part keeps it: its address is as good as its text.
    if (pod.spec->preferred_node_affinity)
      prefer(*part, cluster, fmt::format("{}", fmt::ptr(pod.spec.get())),
             *pod.spec->preferred_node_affinity, pod.spec);
    return part;
  }

  PreFilterResult prepare(Cycle& cycle) const override {
    const PodSpec& spec = *cycle.shape.spec;
    if (!has_required(spec) && !added_required_) return PreFilterResult::skip();
    if (!spec.named_nodes) return {};
    if (spec.named_nodes->empty()) return {Status::unresolvable("pod affinity terms conflict")};
    return {{}, spec.named_nodes};
  }

  Reach reach(const Shape&) const override { return Reach::kObject; }
  Status filter(const Cycle& cycle, const Rows& rows, RowSet& keep,
                Rejections* why) const override {
    const Part& part = cycle.part<Part>(slot());
    for (const auto& [match, reason] :
         {std::pair(part.added.get(), not_enforced_), {part.required.get(), not_asked_}})
      if (match != nullptr)
        reject_rows(keep, why, reason,
                    [&rows, m = match](std::uint32_t row) { return !m->has(rows.node[row]); });
    return {};
  }

  Status prepare_score(Cycle& cycle, const FeasibleSummary&) const override {
    const PodSpec& spec = *cycle.shape.spec;
    if (!spec.preferred_node_affinity)
      return Status::error(spec.preferred_node_affinity.error().message);
    if (!spec.has_preferred_node_affinity && !added_preferred_) return Status::skip();
    return {};
  }
  Reach score_reach(const Shape&) const override { return Reach::kObject; }
  Status score(const Cycle& cycle, const Rows& rows, const RowSet& of,
               std::span<std::int64_t> raw) const override {
    const Part& part = cycle.part<Part>(slot());
    std::int64_t* out = raw.data();
    for_each_run(of, [&](std::uint32_t begin, std::uint32_t end) {
      std::fill(out + begin, out + end, 0);
      for (const Preference& preference : part.preferred)
        for (std::uint32_t row = begin; row < end; ++row)
          out[row] += preference.nodes->has(rows.node[row]) ? preference.weight : 0;
    });
    return {};
  }
  Normalize normalization() const override { return Normalize::kDefault; }

  std::optional<std::vector<EventInterest>> events() const override {
    return {{{{EventResource::kNode, action::kAdd | action::kUpdateNodeLabel},
              [added = added_required_](const Pod& pod, const Change& change, const ClusterState&) {
                const Node& now = *change.node_after;
                if (added && !matches(*added, *now.labels, now.name)) return Hint::kSkip;
                const Result<bool> fits = required_match(*pod.spec, now);
                if (!fits) return Hint::kQueue;
                if (!*fits) return Hint::kSkip;
                if (!change.node_before) return Hint::kQueue;
                const Result<bool> did = required_match(*pod.spec, *change.node_before);
                return did && *did ? Hint::kSkip : Hint::kQueue;
              }}}};
  }

 private:
  // `owner` keeps the terms alive.
  static void prefer(Part& part, ClusterState& cluster, const std::string& text,
                     const kube::PreferredNodeTerms& terms,
                     const std::shared_ptr<const void>& owner) {
    for (std::size_t i = 0; i < terms.terms().size(); ++i) {
      const auto& [weight, term] = terms.terms()[i];
      part.preferred.push_back(
          {weight, cluster.node_match(fmt::format("preferred {} {}", i, text),
                                      [owner, &term = term](const Node& node) {
                                        return term.matches(LabelsLookup{*node.labels}, node.name);
                                      })});
    }
  }

  ReasonId not_enforced_, not_asked_;
  std::string added_text_, added_preferred_text_;
  std::shared_ptr<const kube::NodeSelector> added_required_;
  std::shared_ptr<const kube::PreferredNodeTerms> added_preferred_;
};

}  // namespace

std::unique_ptr<Plugin> make_node_affinity(const PluginContext& context) {
  return std::make_unique<NodeAffinity>(context);
}

}  // namespace berth::scheduler
