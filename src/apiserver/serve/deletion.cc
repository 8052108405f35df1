// SPDX-License-Identifier: Apache-2.0
#include "apiserver/serve/deletion.h"

#include <algorithm>
#include <array>

#include <fmt/format.h>

#include "apiserver/edit/edit.h"
#include "apiserver/kinds/extensions/definition_status.h"
#include "kube/time.h"

namespace berth::apiserver {
namespace {

using kube::Propagation;

constexpr std::string_view kOrphan = "orphan", kForeground = "foregroundDeletion";

bool one_of_kinds(kube::KindId id, std::initializer_list<kube::KindId> kinds) {
  return std::find(kinds.begin(), kinds.end(), id) != kinds.end();
}

bool has(const std::vector<std::string>& list, std::string_view word) {
  return std::find(list.begin(), list.end(), word) != list.end();
}

// The garbage collector's finalizers, as the wish, the object or the kind has it, in this order.
std::vector<std::string> finalizers_for(const KindRow& row, const kube::Object& old,
                                        const DeleteWish& wish) {
  const std::vector<std::string> had = old.finalizers();
  std::vector<std::string> out;
  for (const std::string& each : had)
    if (each != kOrphan && each != kForeground) out.push_back(each);
  // k8s 1.36: events never have dependents.
  if (one_of_kinds(row.id, {kube::kCoreEvent, kube::kEvent})) return had;
  bool orphan = false, foreground = false;
  if (wish.orphan_dependents) {
    orphan = *wish.orphan_dependents;
    // k8s 1.36: false means in the foreground for namespaces alone.
    foreground = row.id == kube::kNamespace && !orphan;
  } else if (wish.propagation != Propagation::kUnset) {
    orphan = wish.propagation == Propagation::kOrphan;
    foreground = wish.propagation == Propagation::kForeground;
  } else if (has(had, kOrphan) || has(had, kForeground)) {
    orphan = has(had, kOrphan);
    foreground = !orphan;
  } else {
    orphan = orphans_by_default(row);
  }
  if (orphan) out.emplace_back(kOrphan);
  if (foreground) out.emplace_back(kForeground);
  return out;
}

bool same_set(std::vector<std::string> a, std::vector<std::string> b) {
  std::sort(a.begin(), a.end());
  std::sort(b.begin(), b.end());
  return a == b;
}

void set_finalizers(Edit& edit, const std::vector<std::string>& wanted) {
  if (wanted.empty()) return json::erase(edit.metadata(), "finalizers");
  json::Value& list = edit.metadata()["finalizers"];
  list.emplace_array();
  for (const std::string& each : wanted) list.get_array().emplace_back(bj(each));
}

void count(Edit& edit) {
  if (const std::int64_t was = edit.from().generation(); was > 0)
    edit.metadata()["generation"] = was + 1;
}

// k8s 1.36: the time a pod gets to end.
std::int64_t pod_grace(const kube::Object& pod, const DeleteWish& wish) {
  const json::Slice spec = pod.member("spec");
  std::int64_t period =
      wish.grace_seconds.value_or(spec["terminationGracePeriodSeconds"].integer().value_or(0));
  if (spec["nodeName"].text().empty()) period = 0;
  const json::Slice phase = pod.status()["phase"];
  if (phase.equals("Succeeded") || phase.equals("Failed")) period = 0;
  return period < 0 ? 1 : period;
}

// A grace may be longer than any clock goes.
std::chrono::seconds graces(std::int64_t seconds) {
  constexpr std::int64_t kCentury = 100LL * 365 * 24 * 3600;
  return std::chrono::seconds(std::min(seconds, kCentury));
}

struct Grace {
  bool graceful = false, pending = false;
  std::int64_t seconds = 0;
};

// What graceful deletion does to a pod; nothing for other kinds.
Grace apply_grace(const KindRow& row, Edit& edit, const DeleteWish& wish, WallTime now) {
  const kube::Object& old = edit.from();
  if (row.id != kube::kPod) return {};
  const std::optional<std::int64_t> had = old.metadata()["deletionGracePeriodSeconds"].integer();
  if (old.deleting()) {
    if (!had || *had == 0) return {};
    const std::int64_t left = std::max<std::int64_t>(*had, 1);
    if (!wish.grace_seconds) return {.pending = true};
    std::int64_t wanted = *wish.grace_seconds < 0 ? 1 : *wish.grace_seconds;
    if (wanted >= left) return {.pending = true};  // it may only be shortened
    WallTime at = *old.deleted() - graces(left) + graces(wanted);
    if (at < now) {
      at = now;
      // Still graceful: somebody else deletes it in the end.
      if (wanted != 0) wanted = 1;
    }
    edit.metadata()["deletionTimestamp"] = kube::time_text(at);
    edit.metadata()["deletionGracePeriodSeconds"] = wanted;
    return {.graceful = true, .seconds = wanted};
  }
  const std::int64_t seconds = pod_grace(old, wish);
  edit.metadata()["deletionTimestamp"] = kube::time_text(now + graces(seconds));
  edit.metadata()["deletionGracePeriodSeconds"] = seconds;
  count(edit);
  return {.graceful = true, .seconds = seconds};
}

Verdict judge_namespace(const KindRow& row, const kube::Object& old, const DeleteWish& wish,
                        WallTime now, Edit edit) {
  const std::vector<std::string> finalizers = finalizers_for(row, old, wish);
  edit.metadata()["deletionTimestamp"] = kube::time_text(now);
  if (!edit.status().is_object()) edit.status().emplace_object();
  edit.status().get_object()["phase"] = "Terminating";
  if (!same_set(finalizers, old.finalizers())) set_finalizers(edit, finalizers);
  return {Fate::kMark, std::move(edit)};
}

}  // namespace

bool shows_deleted(const KindRow& row) {
  return one_of_kinds(
      row.id, {kube::kPod, kube::kService, kube::kPersistentVolumeClaim, kube::kPersistentVolume,
               kube::kServiceAccount, kube::kResourceQuota, kube::kNamespace, kube::kPodTemplate,
               kube::kResourceClaim, kube::kResourceClaimTemplate, kube::kResourceSlice,
               kube::kDeviceClass, kube::kCsiDriver, kube::kCsiNode, kube::kStorageClass,
               kube::kVolumeAttachment, kube::kVolumeAttributesClass});
}

bool orphans_by_default(const KindRow& row) {
  return one_of_kinds(row.id, {kube::kJob, kube::kReplicationController});
}

Result<Ok> check_preconditions(const kube::Kind& kind, const kube::Object& old,
                               const DeleteWish& wish) {
  if (kind.group.empty() && kind.kind == "Namespace" && wish.uid && *wish.uid != old.uid())
    return tl::unexpected(
        conflict(kind, old.name(),
                 fmt::format("Precondition failed: UID in precondition: {}, UID in object meta: {}",
                             *wish.uid, old.uid())));
  // k8s 1.36: told of the kind, not of the resource.
  kube::Kind told = kind;
  told.plural = kind.kind;
  if (wish.uid && *wish.uid != old.uid())
    return tl::unexpected(conflict(
        told, old.name(),
        fmt::format("the UID in the precondition ({}) does not match the UID in record ({}). The "
                    "object might have been deleted and then recreated",
                    *wish.uid, old.uid())));
  if (wish.revision && *wish.revision != std::to_string(old.revision()))
    return tl::unexpected(
        conflict(told, old.name(),
                 fmt::format("the ResourceVersion in the precondition ({}) does not match the "
                             "ResourceVersion in record ({}). The object might have been modified",
                             *wish.revision, old.revision())));
  return Ok{};
}

Verdict judge(const KindRow& row, const kube::Object& old, const DeleteWish& wish, WallTime now,
              json::Arena& arena) {
  Edit edit(old, arena);
  if (row.id == kube::kNamespace) {
    if (!old.deleting()) return judge_namespace(row, old, wish, now, std::move(edit));
    if (old.member("spec")["finalizers"].size() > 0) return {Fate::kPending, {}};
  }
  if (row.id == kube::kCustomResourceDefinition && !old.deleting()) {
    begin_deletion(edit, now);
    return {Fate::kMark, std::move(edit)};
  }
  const Grace grace = apply_grace(row, edit, wish, now);
  if (grace.pending) return {Fate::kPending, {}};
  const std::vector<std::string> finalizers = finalizers_for(row, old, wish);
  if (!same_set(finalizers, old.finalizers())) set_finalizers(edit, finalizers);
  if (!grace.graceful) {
    if (finalizers.empty()) return {Fate::kRemove, {}};
    if (!old.deleting()) count(edit);
    if (!old.deleting() || *old.deleted() > now)
      edit.metadata()["deletionTimestamp"] = kube::time_text(now);
    edit.metadata()["deletionGracePeriodSeconds"] = 0;
    return {Fate::kMark, std::move(edit)};
  }
  const bool stays = !finalizers.empty() || grace.seconds > 0;
  return {stays ? Fate::kMark : Fate::kMarkAndRemove, std::move(edit)};
}

void erase(Core& core, const KindRow& row, const kube::Object& old, const DeleteWish& wish,
           Done<Erased> done) {
  const Borrowed arena(core);
  Verdict verdict = judge(row, old, wish, core.wall(), *arena);
  const bool removes = verdict.fate == Fate::kRemove || verdict.fate == Fate::kMarkAndRemove;
  const kube::Key key = old.key();
  if (verdict.fate == Fate::kPending) return done(Erased{old, false});
  if (wish.dry_run) {
    Result<kube::Object> marked = verdict.marked ? std::move(*verdict.marked).commit(old.revision())
                                                 : Result<kube::Object>(old);
    if (!marked) return done(tl::unexpected(std::move(marked.error())));
    return done(Erased{std::move(*marked), removes});
  }
  const Duration limit = core.options.request_limit;
  if (verdict.marked && verdict.marked->changed()) {
    // What is removed next is answered then.
    Done<Committed> marked =
        removes ? core.scope.done<Committed>(limit, [](const Result<Committed>&) {})
                : core.scope.done<Committed>(
                      limit, [done = std::move(done)](Result<Committed> written) mutable {
                        if (!written) return done(tl::unexpected(std::move(written.error())));
                        done(Erased{std::move(written->object), false});
                      });
    core.store.write({.kind = old.kind(),
                      .key = key,
                      .expect = Write::Expect::kPresent,
                      .uid = std::string(old.uid()),
                      .revision = old.revision(),
                      .next =
                          [&verdict](kube::Revision revision) {
                            return std::move(*verdict.marked).commit(revision);
                          }},
                     std::move(marked));
    if (!removes) return;
  } else if (!removes) {
    return done(Erased{old, false});
  }
  core.store.write({.kind = old.kind(), .key = key, .uid = std::string(old.uid())},
                   core.scope.done<Committed>(
                       limit, [done = std::move(done)](Result<Committed> written) mutable {
                         if (!written) return done(tl::unexpected(std::move(written.error())));
                         done(Erased{std::move(written->object), true});
                       }));
}

}  // namespace berth::apiserver
