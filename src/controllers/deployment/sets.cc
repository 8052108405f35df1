// SPDX-License-Identifier: Apache-2.0
#include "controllers/deployment/sets.h"

#include <algorithm>
#include <cmath>
#include <map>

#include "kube/int_or_string.h"
#include "kube/label_selector.h"

namespace berth::controllers {

bool annotation::stays(std::string_view name) {
  for (const char* one : {kRevision, kHistory, kDesired, kMost, kRollback,
                          "kubectl.kubernetes.io/last-applied-configuration"})
    if (name == one) return true;
  return false;
}

std::optional<std::int64_t> count_annotation(const Object& object, const char* name) {
  const std::string text = object.annotation(name);
  if (text.empty() || text[0] == '-' || text[0] == '+') return std::nullopt;
  const auto value = kube::parse_decimal(text);
  return value && *value <= INT32_MAX ? value : std::nullopt;
}

Set read_set(const Object& object) {
  const json::Slice status = object.status();
  Set set{.object = &object,
          .size = object.member("spec")["replicas"].integer().value_or(1),
          .replicas = status["replicas"].integer().value_or(0),
          .ready = status["readyReplicas"].integer().value_or(0),
          .available = status["availableReplicas"].integer().value_or(0),
          .terminating = status["terminatingReplicas"].integer(),
          .synced = status["observedGeneration"].integer().value_or(0) > 0};
  set.wanted = set.size;
  const std::string revision = object.annotation(annotation::kRevision);
  if (!revision.empty()) {
    const auto value = kube::parse_decimal(revision);
    set.good_revision = value.has_value();
    set.revision = value.value_or(0);
  }
  return set;
}

bool older(const Set& a, const Set& b) {
  const WallTime at = a.object->created().value_or(WallTime{});
  const WallTime bt = b.object->created().value_or(WallTime{});
  return at == bt ? a.name() < b.name() : at < bt;
}

bool by_revision(const Set& a, const Set& b) {
  if (!a.good_revision || !b.good_revision || a.revision == b.revision) return older(a, b);
  return a.revision < b.revision;
}

Rollout::Rollout(const Object& deployment) {
  const json::Slice spec = deployment.member("spec");
  replicas = spec["replicas"].integer().value_or(1);
  rolling = !spec["strategy"]["type"].equals("Recreate");
  if (!rolling) return;
  const json::Slice how = spec["strategy"]["rollingUpdate"];
  const auto resolved = [&](const char* name, bool up) -> std::int64_t {
    const auto amount = kube::IntOrString::from_json(how[name]);
    if (!amount) return 0;  // k8s 1.36: validation has caught it
    return amount->scaled(replicas, up).value_or(0);
  };
  surge = resolved("maxSurge", true);
  unavailable = resolved("maxUnavailable", false);
  if (surge == 0 && unavailable == 0) unavailable = 1;
  unavailable = std::min(unavailable, replicas);
}

std::int64_t new_set_size(const Rollout& rollout, std::int64_t all, std::int64_t size) {
  if (!rollout.rolling) return rollout.replicas;
  if (all >= rollout.most()) return size;
  return size + std::min(rollout.most() - all, rollout.replicas - size);
}

namespace {

// How much of the change falls to a set.
std::int64_t share(const Rollout& rollout, const Set& set, std::int64_t now, std::int64_t left) {
  if (set.size == 0 || left == 0) return 0;
  std::int64_t part = 0;
  if (rollout.replicas == 0) {
    part = -set.size;
  } else {
    const std::int64_t before = count_annotation(*set.object, annotation::kMost).value_or(0) == 0
                                    ? now
                                    : *count_annotation(*set.object, annotation::kMost);
    if (before != 0)
      part = static_cast<std::int64_t>(std::llround(static_cast<double>(set.size * rollout.most()) /
                                                    static_cast<double>(before))) -
             set.size;
  }
  return left > 0 ? std::min(part, left) : std::max(part, left);
}

}  // namespace

void scale_proportionally(const Rollout& rollout, std::vector<Set*> active, std::int64_t now) {
  std::int64_t have = 0;
  for (const Set* set : active) have += set->size;
  const std::int64_t allowed = rollout.replicas > 0 ? rollout.most() : 0;
  const std::int64_t change = allowed - have;
  // The largest first; of equals the newer grow first and the older shrink first.
  std::stable_sort(active.begin(), active.end(), [&](const Set* a, const Set* b) {
    if (a->size != b->size) return a->size > b->size;
    return change > 0 ? older(*b, *a) : older(*a, *b);
  });
  std::int64_t given = 0;
  for (Set* set : active) {
    const std::int64_t part = share(rollout, *set, now, change - given);
    set->wanted = set->size + part;
    set->forced = true;
    given += part;
  }
  if (!active.empty() && change != 0)
    active[0]->wanted = std::max<std::int64_t>(0, active[0]->wanted + change - given);
}

bool shrink_old(const Rollout& rollout, std::vector<Set*> old, const Set& fresh, std::int64_t all) {
  const std::int64_t least = rollout.replicas - rollout.unavailable;
  // Pods of the new set that are not available yet must not cost old ones their place.
  std::int64_t room = all - least - (fresh.size - fresh.available);
  if (room <= 0) return false;
  std::sort(old.begin(), old.end(), [](const Set* a, const Set* b) { return older(*a, *b); });
  bool any = false;
  for (Set* set : old) {
    if (room <= 0) break;
    const std::int64_t unhealthy = std::min(room, set->wanted - set->available);
    if (set->wanted == 0 || unhealthy <= 0) continue;
    set->wanted -= unhealthy;
    room -= unhealthy;
    any = true;
  }
  std::int64_t available = fresh.available;
  for (const Set* set : old) available += set->available;
  std::int64_t spare = available - least;
  for (Set* set : old) {
    if (spare <= 0) break;
    const std::int64_t some = std::min(set->wanted, spare);
    if (some <= 0) continue;
    set->wanted -= some;
    spare -= some;
    any = true;
  }
  return any;
}

}  // namespace berth::controllers
