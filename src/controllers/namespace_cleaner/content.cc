// SPDX-License-Identifier: Apache-2.0
#include "controllers/namespace_cleaner/content.h"

#include <algorithm>

#include <fmt/format.h>

#include "controllers/pods.h"
#include "kube/time.h"

namespace berth::controllers::namespaces {
namespace {

constexpr std::int64_t kFinalizerEstimate = 15;  // k8s 1.36: seconds that a finalizer may take

struct ConditionText {
  const char *type, *ok_reason, *ok_message;
};
constexpr ConditionText kConditions[] = {
    {"NamespaceDeletionDiscoveryFailure", "ResourcesDiscovered",
     "All resources successfully discovered"},
    {"NamespaceDeletionGroupVersionParsingFailure", "ParsedGroupVersions",
     "All legacy kube types successfully parsed"},
    {"NamespaceDeletionContentFailure", "ContentDeleted",
     "All content successfully deleted, may be waiting on finalization"},
    {"NamespaceContentRemaining", "ContentRemoved", "All content successfully removed"},
    {"NamespaceFinalizersRemaining", "ContentHasNoFinalizers",
     "All content-preserving finalizers finished"},
};

std::int64_t longest_grace(const std::vector<kube::Object>& pods) {
  std::int64_t longest = 0;
  for (const kube::Object& pod : pods)
    if (!pod_ended(pod))
      longest = std::max(longest,
                         pod.member("spec")["terminationGracePeriodSeconds"].integer().value_or(0));
  return longest;
}

bool not_served(const Error& error) {
  return error.reason == Reason::kMethodNotAllowed || error.reason == Reason::kNotFound;
}

}  // namespace

std::string stale_message(const std::vector<std::string>& group_versions) {
  std::string list;
  for (const std::string& one : group_versions)
    list +=
        fmt::format("{}{}: stale GroupVersion discovery: {}", list.empty() ? "" : ", ", one, one);
  return fmt::format(
      "Discovery failed for some groups, {} failing: unable to retrieve the complete list of "
      "server APIs: {}",
      group_versions.size(), list);
}

std::size_t Content::judge(kube::KindId id, const runtime::Answer* erased,
                           const runtime::Answer* left, const runtime::Answer* before) {
  const kube::Kind& kind = kube::kind_of(id);
  std::int64_t estimate = 0;
  if (before != nullptr) {
    if (before->error) {
      failed(before->error->message);
      return 0;
    }
    estimate = longest_grace(before->objects);
    if (now_ - deleted_ >= std::chrono::seconds(estimate)) estimate = 0;
  }
  for (const runtime::Answer* answer : {erased, left}) {
    if (answer == nullptr || !answer->error || not_served(*answer->error)) continue;
    estimate_ = std::max(estimate_, estimate);
    failed(answer->error->message);
    return 0;
  }
  if (left == nullptr || left->error) {
    estimate_ = std::max(estimate_, estimate);
    return 0;
  }
  const std::size_t count = left->objects.size();
  if (count == 0) return 0;
  left_[fmt::format("{}.{}", kind.plural, kind.group)] = count;
  bool kept = false;
  for (const kube::Object& object : left->objects)
    for (const std::string& finalizer : object.finalizers()) {
      ++finalizers_[finalizer];
      kept = true;
    }
  if (estimate == 0 && kept) estimate = kFinalizerEstimate;
  estimate_ = std::max(estimate_, estimate);
  if (estimate == 0)
    failed(fmt::format("unexpected items still remain in namespace: {} for gvr: {}/{}, Resource={}",
                       ns_, kind.group, kind.version, kind.plural));
  return count;
}

std::optional<Content::Finding> Content::finding(std::string_view type) const {
  const auto list = [](const std::map<std::string, std::size_t>& counts, const char* words) {
    std::vector<std::string> texts;
    for (const auto& [name, count] : counts)
      texts.push_back(fmt::format(fmt::runtime(words), name, count));
    std::sort(texts.begin(), texts.end());
    return fmt::format("{}", fmt::join(texts, ", "));
  };
  if (type == "NamespaceDeletionDiscoveryFailure" && discovery_error_)
    return Finding{"DiscoveryFailed", *discovery_error_};
  if (type == "NamespaceDeletionContentFailure" && !errors_.empty()) {
    std::vector<std::string> errors = errors_;
    std::sort(errors.begin(), errors.end());
    return Finding{"ContentDeletionFailed",
                   fmt::format("Failed to delete all resource types, {} remaining: {}",
                               errors.size(), fmt::join(errors, ", "))};
  }
  if (type == "NamespaceContentRemaining" && totalled_ && !left_.empty())
    return Finding{"SomeResourcesRemain",
                   "Some resources are remaining: " + list(left_, "{} has {} resource instances")};
  if (type == "NamespaceFinalizersRemaining" && totalled_ && !finalizers_.empty())
    return Finding{"SomeFinalizersRemain",
                   "Some content in the namespace has finalizers remaining: " +
                       list(finalizers_, "{} in {} resource instances")};
  return std::nullopt;
}

void Content::write(Conditions& conditions) const {
  for (const auto& [type, ok_reason, ok_message] : kConditions) {
    const std::optional<Finding> found = finding(type);
    Condition next{.type = type,
                   .status = found ? "True" : "False",
                   .reason = found ? found->reason : ok_reason,
                   .message = found ? found->message : ok_message,
                   .last_transition = kube::time_text(now_)};
    const Condition* before = conditions.find(type);
    if (before != nullptr && before->status == next.status)
      next.last_transition = before->last_transition;
    conditions.put_in_place(std::move(next));
  }
}

}  // namespace berth::controllers::namespaces
