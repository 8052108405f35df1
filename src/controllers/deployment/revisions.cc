// SPDX-License-Identifier: Apache-2.0
#include "controllers/deployment/revisions.h"

#include "json/writer.h"
#include "kube/label_selector.h"

namespace berth::controllers {
namespace {

constexpr std::size_t kLongestHistory = 2000;  // k8s 1.36: about 100 revisions

void remember(Annotations& annotations, const std::string& revision) {
  std::string& history = annotations[annotation::kHistory];
  if (history.empty()) {
    history = revision;
    return;
  }
  std::string shortened = history;
  while (!shortened.empty() && shortened.size() + 1 + revision.size() > kLongestHistory) {
    const std::size_t comma = shortened.find(',');
    shortened = comma == shortened.npos ? "" : shortened.substr(comma + 1);
  }
  history = shortened.empty() ? revision : shortened + "," + revision;
}

}  // namespace

Annotations annotations_of(const Object& object) {
  Annotations all;
  const json::Slice slice = object.annotations();
  for (auto at = slice.members().begin(); at != nullptr; ++at)
    all[std::string((*at).key)] = (*at).value.text();
  return all;
}

Annotations new_set_annotations(const Object& deployment, const Annotations& has, bool exists,
                                std::int64_t next_revision, const Rollout& rollout) {
  Annotations annotations = has;
  for (const auto& [name, value] : annotations_of(deployment))
    if (!annotation::stays(name)) annotations[name] = value;
  const auto found = has.find(annotation::kRevision);
  const std::string before = found == has.end() ? "" : found->second;
  const auto number = before.empty() ? 0 : kube::parse_decimal(before);
  if (!number) return annotations;
  if (*number < next_revision) {
    annotations[annotation::kRevision] = std::to_string(next_revision);
    // It served before: this is a way back, and the old number is remembered.
    if (found != has.end()) remember(annotations, before);
  }
  if (!exists) {
    annotations[annotation::kDesired] = std::to_string(rollout.replicas);
    annotations[annotation::kMost] = std::to_string(rollout.most());
  }
  return annotations;
}

Annotations rolled_back_annotations(const Object& deployment, const Object& set) {
  Annotations annotations;
  for (const auto& [name, value] : annotations_of(deployment))
    if (annotation::stays(name) && name != annotation::kRollback) annotations[name] = value;
  for (const auto& [name, value] : annotations_of(set))
    if (!annotation::stays(name)) annotations[name] = value;
  return annotations;
}

std::int64_t last_revision(const std::vector<Set>& sets) {
  std::int64_t highest = 0, second = 0;
  for (const Set& set : sets) {
    if (!set.good_revision) continue;
    if (set.revision >= highest) {
      second = highest;
      highest = set.revision;
    } else if (set.revision > second) {
      second = set.revision;
    }
  }
  return second;
}

std::string annotations_json(const Annotations& annotations) {
  json::Writer w;
  w.object();
  for (const auto& [name, value] : annotations) w.member(name).string(value);
  w.end();
  return w.take();
}

std::string annotations_patch(const Annotations& from, const Annotations& to) {
  json::Writer w;
  w.object();
  bool any = false;
  for (const auto& [name, value] : to) {
    const auto found = from.find(name);
    if (found != from.end() && found->second == value) continue;
    w.member(name).string(value);
    any = true;
  }
  w.end();
  return any ? w.take() : "";
}

}  // namespace berth::controllers
