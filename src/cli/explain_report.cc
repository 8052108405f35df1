// SPDX-License-Identifier: Apache-2.0
#include "cli/explain_report.h"

#include <algorithm>
#include <map>

#include <fmt/format.h>

#include "cli/score_table.h"
#include "cli/wrap.h"

namespace berth::cli {
namespace {

using scheduler::Decision;
using scheduler::Judgement;
using scheduler::Pod;
using scheduler::PodPtr;

constexpr std::size_t kNodesShown = 12;  // of those that fit
constexpr std::size_t kLinesShown = 2;   // of names in a group of refused nodes

std::string count(std::size_t n, std::string_view thing) {
  return fmt::format("{} {}{}", n, thing, n == 1 ? "" : "s");
}

class Report {
 public:
  Report(const Judgement& judgement, const Pod& seen, const ReportOptions& options,
         std::ostream& out)
      : judgement_(judgement),
        decision_(judgement.decision()),
        seen_(seen),
        options_(options),
        columns_(static_cast<std::size_t>(std::max(options.columns, 60))),
        out_(out) {}

  void print() {
    paragraph(standing());
    paragraph(verdict());
    if (judgement_.outcome() == Judgement::Outcome::kFits) {
      out_ << '\n';
      print_scores(judgement_, options_.all_nodes ? decision_.feasible.size() : kNodesShown,
                   seen_.node_name, columns_, out_);
    }
    if (judgement_.outcome() == Judgement::Outcome::kFits ||
        judgement_.outcome() == Judgement::Outcome::kFitsNowhere)
      refusals();
    if (judgement_.outcome() != Judgement::Outcome::kFits) failure();
  }

 private:
  void paragraph(const std::string& text) { wrap(text, 0, columns_, out_); }

  std::string standing() const {
    std::string text = fmt::format("Pod {} (priority {}, scheduler {}) ", seen_.text(),
                                   seen_.priority(), seen_.spec->scheduler_name);
    if (seen_.finished)
      text += seen_.assigned() ? fmt::format("has ended on {}.", seen_.node_name) : "has ended.";
    else if (seen_.assigned())
      text += fmt::format("is on {}.", seen_.node_name);
    else if (!seen_.spec->gates.empty())
      text += fmt::format("is held back by its scheduling gates: {}.",
                          fmt::join(seen_.spec->gates, ", "));
    else
      text += "waits for a node.";
    if (seen_.deleting) text += " It is being deleted.";
    return text;
  }

  std::size_t tied() const {
    const auto best = std::max_element(decision_.totals.begin(), decision_.totals.end());
    return static_cast<std::size_t>(
        std::count(decision_.totals.begin(), decision_.totals.end(), *best));
  }
  std::optional<std::size_t> place_of(std::string_view node) const {
    for (std::size_t i = 0; i < decision_.feasible.size(); ++i)
      if (judgement_.node_name(decision_.feasible[i]) == node) return i;
    return std::nullopt;
  }
  std::optional<std::int64_t> total_of(std::string_view node) const {
    const auto place = place_of(node);
    return place ? std::optional(decision_.totals[*place]) : std::nullopt;
  }

  std::string verdict() const {
    const std::size_t all = judgement_.cluster().size();
    const bool placed = seen_.assigned();
    const bool gated = !placed && !seen_.spec->gates.empty();
    const std::string_view if_not = placed  ? "If it were to be placed now, it would "
                                    : gated ? "Without them it would "
                                            : "It would ";
    switch (judgement_.outcome()) {
      case Judgement::Outcome::kFailed:
        return fmt::format("{}not be placed: a plugin failed.", if_not);
      case Judgement::Outcome::kRefusedAsWhole:
        return fmt::format("{}not be placed: it is refused before any node is looked at{}.", if_not,
                           by_plugin(decision_.status.plugin));
      case Judgement::Outcome::kFitsNowhere:
        return fmt::format(
            "{}fit on {}.", if_not,
            all == 1 ? "no node; there is one" : fmt::format("none of the {} nodes", all));
      case Judgement::Outcome::kFits:
        break;
    }
    const std::string& chosen = judgement_.chosen();
    const std::size_t fit = decision_.feasible.size();
    if (placed && chosen == seen_.node_name)
      return fmt::format("{} is still the choice: {}.", chosen, how_chosen(fit, all));
    std::string text = fmt::format("{}go to {}: {}.", if_not, chosen, how_chosen(fit, all));
    if (placed) text += ' ' + about_own_node();
    return text;
  }

  std::string how_chosen(std::size_t fit, std::size_t all) const {
    if (judgement_.promised())
      return "the node that preemption has promised to it (status.nominatedNodeName)";
    if (all == 1) return "it is the only node";
    if (fit == 1) return fmt::format("it fits on no other of {}", count(all, "node"));
    std::string best =
        fmt::format("the best of {} that fit, of {} in all", count(fit, "node"), all);
    if (tied() == 1) return best;
    return fmt::format("{}; {} share that total, and where the search begins decides between them",
                       best, tied());
  }

  // Why the node that the pod is on is not the choice any more.
  std::string about_own_node() const {
    const std::string& node = seen_.node_name;
    if (const auto total = total_of(node)) {
      const std::int64_t best = total_of(judgement_.chosen()).value_or(0);
      if (*total == best) return fmt::format("{} is just as good.", node);
      return fmt::format("{} still fits, with {} points less.", node, best - *total);
    }
    const auto row = judgement_.cluster().row_of(node);
    if (!row) return fmt::format("{} does not exist any more.", node);
    return fmt::format("{} would be refused{}.", node,
                       by_plugin(decision_.diagnosis.status(*row).plugin));
  }

  std::string by_plugin(scheduler::PluginId id) const {
    const std::string_view name = judgement_.profile().plugin_name(id);
    return name.empty() ? std::string() : fmt::format(" by {}", name);
  }

  void refusals() const {
    struct Group {
      std::string plugin, reasons;
      std::vector<std::string_view> nodes;
    };
    std::map<std::pair<std::string, std::string>, std::size_t> known;
    std::vector<Group> groups;
    std::vector<bool> fits(judgement_.cluster().size());
    for (const std::uint32_t row : decision_.feasible) fits[row] = true;
    std::size_t refused = 0;
    for (std::uint32_t row = 0; row < fits.size(); ++row) {
      if (fits[row]) continue;
      ++refused;
      const scheduler::Status& status = decision_.diagnosis.status(row);
      std::string plugin(judgement_.profile().plugin_name(status.plugin));
      if (plugin.empty()) plugin = "PreFilter";
      std::string reasons = status.message();
      if (reasons.empty()) reasons = "it is not one of the nodes that the pod may be on";
      const auto [at, fresh] = known.try_emplace({plugin, reasons}, groups.size());
      if (fresh) groups.push_back({std::move(plugin), std::move(reasons), {}});
      groups[at->second].nodes.push_back(judgement_.node_name(row));
    }
    if (refused == 0) return;
    std::stable_sort(groups.begin(), groups.end(), [](const Group& a, const Group& b) {
      return a.nodes.size() > b.nodes.size();
    });
    out_ << fmt::format("\nRefused on {} of {}:\n", refused, count(fits.size(), "node"));
    for (Group& group : groups) {
      wrap(fmt::format("{} x {}: {}", group.nodes.size(), group.plugin, group.reasons), 2, columns_,
           out_);
      std::sort(group.nodes.begin(), group.nodes.end());
      names(group.nodes);
    }
  }

  // As many names as fit in a few lines.
  void names(const std::vector<std::string_view>& nodes) const {
    constexpr std::size_t kIndent = 6, kMore = 16;
    std::size_t room =
        options_.all_nodes ? std::string::npos : kLinesShown * (columns_ - kIndent - 4) - kMore;
    std::string text;
    std::size_t shown = 0;
    for (const std::string_view node : nodes) {
      if (shown > 0 && text.size() + node.size() + 2 > room) break;
      text += fmt::format("{}{}", shown == 0 ? "" : ", ", node);
      ++shown;
    }
    if (shown < nodes.size()) text += fmt::format(", and {} more", nodes.size() - shown);
    wrap(text, kIndent, columns_, out_);
  }

  void failure() const {
    out_ << "\nThe scheduler would say:\n";
    wrap(judgement_.scheduling_failure(), 2, columns_, out_);
    const auto& preemption = judgement_.preemption();
    if (!preemption || preemption->refused) return;
    out_ << '\n';
    if (preemption->candidates.empty()) {
      out_ << "Preemption would not help: no eviction makes room for it.\n";
      return;
    }
    const auto& best = preemption->candidates[preemption->best.front()];
    wrap(fmt::format("Preemption would evict {} from {}{}:", count(best.victims.size(), "pod"),
                     best.node, others(*preemption)),
         0, columns_, out_);
    for (const PodPtr& victim : best.victims)
      out_ << fmt::format("  {} (priority {})\n", victim->text(), victim->priority());
    if (best.budget_violations > 0)
      out_ << fmt::format("  {} of them against a PodDisruptionBudget\n", best.budget_violations);
  }

  static std::string others(const Judgement::Preemption& preemption) {
    const std::size_t all = preemption.candidates.size(), best = preemption.best.size();
    if (all == 1) return "";
    if (best == 1) return fmt::format(", the best of {} nodes where that helps", all);
    return fmt::format(", one of {} equally good of {} nodes where that helps", best, all);
  }

  const Judgement& judgement_;
  const Decision& decision_;
  const Pod& seen_;
  const ReportOptions& options_;
  std::size_t columns_;
  std::ostream& out_;
};

}  // namespace

void print_explanation(const Judgement& judgement, const Pod& seen, const ReportOptions& options,
                       std::ostream& out) {
  Report(judgement, seen, options, out).print();
}

}  // namespace berth::cli
