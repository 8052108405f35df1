// SPDX-License-Identifier: Apache-2.0
#include "controllers/listed.h"

#include <algorithm>

#include "controllers/slot_sight.h"
#include "kube/ours/ours.h"

namespace berth::controllers {

using kube::Key;
using kube::Object;

void Listed::add(const Object& object) {
  objects_[object.kind()].insert_or_assign(object.key(), object);
}
const Object* Listed::get(kube::KindId kind, const Key& key) const {
  const auto all = objects_.find(kind);
  if (all == objects_.end()) return nullptr;
  const auto found = all->second.find(key);
  return found == all->second.end() ? nullptr : &found->second;
}
std::vector<const Object*> Listed::list(kube::KindId kind) const {
  std::vector<const Object*> found;
  if (const auto all = objects_.find(kind); all != objects_.end())
    for (const auto& [key, object] : all->second) found.push_back(&object);
  return found;
}
std::vector<const Object*> Listed::list(kube::KindId kind, std::string_view ns) const {
  std::vector<const Object*> found = list(kind);
  std::erase_if(found, [&](const Object* one) { return one->ns() != ns; });
  return found;
}
std::vector<const Object*> Listed::by_index(kube::KindId kind, std::string_view index,
                                            std::string_view value) const {
  const kube::SlotKinds& kinds = kube::thesis_kinds();
  const auto filed = [&](const Object& object) -> std::vector<std::string> {
    if (kind == kube::kPod) return testbed_of_pod(object);
    if (kind == kinds.batch_job)
      return index == kByClaim ? claim_of_job(object) : order_of_job(object);
    return index == kByJob ? jobs_of_scheduling(object) : testbed_of_scheduling(object);
  };
  std::vector<const Object*> found = list(kind);
  std::erase_if(found, [&](const Object* one) {
    const std::vector<std::string> values = filed(*one);
    return std::find(values.begin(), values.end(), value) == values.end();
  });
  return found;
}

}  // namespace berth::controllers
