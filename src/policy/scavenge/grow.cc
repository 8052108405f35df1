// SPDX-License-Identifier: Apache-2.0
#include "policy/scavenge/grow.h"

#include <algorithm>
#include <map>
#include <string_view>

#include "policy/scavenge/resources.h"

namespace berth::scavenge {
namespace {

constexpr std::string_view kResources[] = {"cpu", "memory"};  // nothing else can be resized

std::int64_t amount_in(const kube::ResourceList& list, std::string_view resource) {
  const auto found = list.find(resource);
  return found == list.end() ? 0 : amount_of(resource, found->second);
}

// What is there of a resource, and taken of it.
struct Part {
  std::int64_t whole = 0, used = 0;
  bool has_room(std::int64_t more, int percent) const {
    return more == 0 || saturating_add(used, more) <= scaled(whole, percent, 100);
  }
};

class Growth {
 public:
  Growth(const AdmitQuestion& question, int threshold_percent)
      : scope_(question.rules.scope), percent_(threshold_percent) {
    for (const NodeRoom& node : question.nodes)
      for (const std::string_view resource : kResources) {
        const Part part{amount_in(node.allocatable, resource), amount_in(node.used, resource)};
        nodes_[{node.name, resource}] = part;
        Part& all = cluster_[resource];
        all.whole = saturating_add(all.whole, part.whole);
        all.used = saturating_add(all.used, part.used);
      }
  }

  bool grow(const SmallJob& job) {
    const std::size_t before = taken_.size();
    for (const SmallMember& member : job.members)
      for (const std::string_view resource : kResources)
        if (!take(member.node, resource, amount_in(member.more, resource))) {
          for (; taken_.size() > before; taken_.pop_back())
            taken_.back().first->used -= taken_.back().second;
          return false;
        }
    return true;
  }

 private:
  bool take(const std::string& node, std::string_view resource, std::int64_t more) {
    const auto found = nodes_.find({node, resource});
    if (found == nodes_.end()) return false;
    Part& here = found->second;
    Part& all = cluster_[resource];
    if (!here.has_room(more, scope_ == ThresholdScope::kCluster ? 100 : percent_)) return false;
    if (scope_ != ThresholdScope::kNode && !all.has_room(more, percent_)) return false;
    for (Part* part : {&here, &all}) {
      part->used += more;
      taken_.emplace_back(part, more);
    }
    return true;
  }

  ThresholdScope scope_;
  int percent_;
  std::map<std::string_view, Part> cluster_;
  std::map<std::pair<std::string, std::string_view>, Part> nodes_;
  std::vector<std::pair<Part*, std::int64_t>> taken_;  // to be given back
};

}  // namespace

std::vector<std::string> grow(const AdmitQuestion& question, int threshold_percent,
                              std::span<const SmallJob> jobs) {
  std::vector<std::string> uids;
  const bool somebody_waits =
      !question.in_flight.empty() || (question.rules.respect_pending && !question.pending.empty());
  if (jobs.empty() || somebody_waits) return uids;
  Growth growth(question, threshold_percent);
  for (const SmallJob& job : jobs)
    if (growth.grow(job)) uids.push_back(job.uid);
  return uids;
}

}  // namespace berth::scavenge
