// SPDX-License-Identifier: Apache-2.0
// Removes what nobody owns any more. The graph is the caches themselves: objects of every kind,
// with one index from owners to dependents. A key is an object, and each run answers for that
// object alone: may it stay, and what keeps it from going? An owner that the caches do not show is
// looked up on the server before anything is removed for its sake.
#include <algorithm>
#include <map>

#include <fmt/format.h>

#include "json/writer.h"
#include "runtime/controller.h"

namespace berth::controllers {
namespace {

using namespace runtime;  // NOLINT: a controller speaks its language
using kube::OwnerRef;
using kube::Propagation;

constexpr const char* kOwners = "owners";
constexpr const char* kForeground = "foregroundDeletion";
constexpr const char* kOrphan = "orphan";
constexpr Duration kRetry = 5s, kUnknownKind = 30s;

std::vector<std::string> owner_uids(const Object& object) {
  std::vector<std::string> uids;
  if (object.metadata()["ownerReferences"].size() > 0)
    for (OwnerRef& owner : object.owners()) uids.push_back(std::move(owner.uid));
  return uids;
}

// "deployments.apps/default", "web"
Key key_of(const kube::Kind& kind, std::string_view ns, std::string_view name) {
  return {fmt::format("{}.{}/{}", kind.plural, kind.group, ns), std::string(name)};
}
Key key_of(const Object& object) {
  return key_of(kube::kind_of(object.kind()), object.ns(), object.name());
}
const Object* find(const View& view, const Key& key) {
  const std::size_t slash = key.ns.find('/');
  const auto kind = view.followed(key.ns.substr(0, slash));
  return kind ? view.get(*kind, {key.ns.substr(slash + 1), key.name}) : nullptr;
}

bool has_finalizer(const Object& object, std::string_view name) {
  const std::vector<std::string> all = object.finalizers();
  return std::find(all.begin(), all.end(), name) != all.end();
}
// Waits until its dependents are gone.
bool foreground(const Object& object) {
  return object.deleting() && has_finalizer(object, kForeground);
}

// One run for one object.
class Run {
 public:
  Run(const View& view, const Object& item, WallTime now) : view_(view), item_(item), now_(now) {}

  Plan plan() {
    if (item_.deleting() && has_finalizer(item_, kOrphan)) {
      set_free();
    } else if (foreground(item_)) {
      if (!blocked()) remove_finalizer(kForeground);
    } else if (!item_.deleting() && item_.metadata()["ownerReferences"].size() > 0) {
      judge();
    }
    return std::move(plan_);
  }

 private:
  std::vector<const Object*> dependents() const { return view_.everywhere(kOwners, item_.uid()); }

  // All dependents first; the finalizer goes once there are none. A dependent that was overlooked
  // would be removed for want of its owner: caches that may not show what was there when the owner
  // was deleted are not believed.
  void set_free() {
    std::map<std::string, Object> all;  // by uid
    for (const Object* one : dependents()) all.emplace(one->uid(), *one);
    bool complete = true;
    for (const KindId kind : view_.followed()) {
      if (view_.seen(kind) >= item_.revision()) continue;
      if (!kube::kind_of(kind).namespaced && !item_.ns().empty()) continue;
      const std::string question = "all " + key_of(kube::kind_of(kind), "", "").ns;
      const Answer* answer = view_.answer(question);
      if (answer == nullptr) {
        kube::ApiRequest list;
        list.verb = kube::Verb::kList;
        list.kind = kind;
        list.ns = item_.ns();
        plan_.ask(question, std::move(list));
      } else if (answer->error && answer->error->reason != Reason::kNotFound) {
        plan_.again_at(now_ + kRetry);
      }
      complete &=
          answer != nullptr && (!answer->error || answer->error->reason == Reason::kNotFound);
      if (answer == nullptr) continue;
      for (const Object& one : answer->objects) {
        const auto owners = owner_uids(one);
        if (std::find(owners.begin(), owners.end(), item_.uid()) != owners.end())
          all.insert_or_assign(std::string(one.uid()), one);
      }
    }
    if (!complete) return;
    for (const auto& [uid, one] : all) keep_owners(one, {std::string(item_.uid())});
    if (all.empty()) remove_finalizer(kOrphan);
  }

  bool blocked() const {
    for (const Object* one : dependents())
      for (const OwnerRef& owner : one->owners())
        if (owner.uid == item_.uid() && owner.block_owner_deletion) return true;
    return false;
  }

  void remove_finalizer(std::string_view name) {
    json::Writer w;
    w.object().member("metadata").object().member("finalizers").array();
    for (const std::string& one : item_.finalizers())
      if (one != name) w.string(one);
    w.end().end().end();
    plan_.patch(item_, w.take());
  }

  // All owners but these.
  void keep_owners(const Object& object, const std::vector<std::string>& without) {
    json::Writer w;
    w.object().member("metadata").object().member("ownerReferences").array();
    for (const json::Slice one : object.metadata()["ownerReferences"].elements())
      if (std::find(without.begin(), without.end(), one["uid"].text()) == without.end())
        w.raw(one.raw());
    w.end().end().end();
    plan_.patch(object, w.take());
  }

  void unblock() {
    json::Writer w;
    w.object().member("metadata").object().member("ownerReferences").array();
    for (const json::Slice one : item_.metadata()["ownerReferences"].elements()) {
      w.object();
      for (auto at = one.members().begin(); at != nullptr; ++at)
        if ((*at).key != "blockOwnerDeletion") w.member((*at).key).raw((*at).value.raw());
      w.member("blockOwnerDeletion").boolean(false).end();
    }
    w.end().end().end();
    plan_.patch(item_, w.take());
  }

  enum class Standing { kSolid, kAbsent, kWaiting, kAsked, kUnclear };

  void judge() {
    std::vector<std::string> lost;
    std::size_t solid = 0, waiting = 0;
    bool asked = false, unclear = false;
    for (const OwnerRef& owner : item_.owners()) {
      const auto kind = view_.served(owner.api_version, owner.kind);
      // k8s 1.36: what has no namespace cannot belong to what has one; nothing is done about it.
      if (kind && item_.ns().empty() && kube::kind_of(*kind).namespaced) {
        plan_ = Plan().reason("its owner has a namespace and it has none");
        return;
      }
      switch (standing(owner, kind)) {
        case Standing::kSolid:
          ++solid;
          break;
        case Standing::kWaiting:
          ++waiting;
          lost.push_back(owner.uid);
          break;
        case Standing::kAbsent:
          lost.push_back(owner.uid);
          break;
        case Standing::kAsked:
          asked = true;
          break;
        case Standing::kUnclear:
          unclear = true;
      }
    }
    if (asked || unclear || lost.empty()) return;
    if (solid > 0) return keep_owners(item_, lost);
    if (waiting > 0 && !dependents().empty()) return go_after_dependents();
    const bool orphan = has_finalizer(item_, kOrphan);
    plan_.erase(item_, orphan                              ? Propagation::kOrphan
                       : has_finalizer(item_, kForeground) ? Propagation::kForeground
                                                           : Propagation::kBackground);
  }

  Standing standing(const OwnerRef& owner, std::optional<KindId> kind) {
    if (view_.gone(owner.uid)) return Standing::kAbsent;
    if (!kind) {
      // k8s 1.36: a kind that is not served may be served tomorrow.
      plan_.again_at(now_ + kUnknownKind);
      return Standing::kUnclear;
    }
    const std::string ns = kube::kind_of(*kind).namespaced ? std::string(item_.ns()) : "";
    const auto kept = view_.followed(
        fmt::format("{}.{}", kube::kind_of(*kind).plural, kube::kind_of(*kind).group));
    const Object* cached = kept ? view_.get(*kept, {ns, owner.name}) : nullptr;
    const bool seen = cached != nullptr && cached->uid() == owner.uid;
    if (seen && !foreground(*cached)) return Standing::kSolid;
    const Answer* answer = view_.answer("owner " + owner.uid);
    if (answer == nullptr) {
      kube::ApiRequest get;
      get.verb = kube::Verb::kGet;
      get.kind = *kind;
      get.ns = ns;
      get.name = owner.name;
      plan_.ask("owner " + owner.uid, std::move(get));
      return Standing::kAsked;
    }
    if (answer->error && answer->error->reason != Reason::kNotFound) {
      plan_.again_at(now_ + kRetry);
      return Standing::kUnclear;
    }
    if (answer->error || answer->objects.size() != 1 || answer->objects[0].uid() != owner.uid) {
      if (kept && !ns.empty()) report_elsewhere(owner, *kept, ns);
      return Standing::kAbsent;
    }
    if (foreground(answer->objects[0])) return Standing::kWaiting;
    // It is there, and no cache has shown it: it may come and go without a word.
    if (!seen) {
      const Duration age = now_ - item_.created().value_or(now_);
      plan_.again_at(now_ + std::clamp<Duration>(age, 1s, 15min));
    }
    return Standing::kSolid;
  }

  // Somebody took an owner of another namespace for one of this.
  void report_elsewhere(const OwnerRef& owner, KindId kind, const std::string& ns) {
    const auto all = view_.list(kind);
    if (std::none_of(all.begin(), all.end(),
                     [&](const Object* one) { return one->uid() == owner.uid && one->ns() != ns; }))
      return;
    plan_.event(
        item_, {.type = client::EventType::kWarning,
                .reason = "OwnerRefInvalidNamespace",
                .action = "Collect",
                .note = fmt::format("ownerRef [{}/{}, namespace: {}, name: {}, uid: {}] "
                                    "does not exist in namespace \"{}\"",
                                    owner.api_version, owner.kind, ns, owner.name, owner.uid, ns)});
  }

  void go_after_dependents() {
    const auto all = dependents();
    const std::vector<OwnerRef> owners = item_.owners();
    const bool blocks = std::any_of(owners.begin(), owners.end(),
                                    [](const OwnerRef& one) { return one.block_owner_deletion; });
    // It waits for a dependent that waits itself: perhaps for this very object.
    if (blocks &&
        std::any_of(all.begin(), all.end(), [](const Object* one) { return foreground(*one); }))
      return unblock();
    plan_.erase(item_, Propagation::kForeground);
  }

  const View& view_;
  const Object& item_;
  WallTime now_;
  Plan plan_;
};

void wake_owners(const View& view, const Object& object, std::vector<Key>& wake) {
  if (object.metadata()["ownerReferences"].size() == 0) return;
  for (const OwnerRef& owner : object.owners())
    if (const auto id = view.served(owner.api_version, owner.kind)) {
      const kube::Kind& kind = kube::kind_of(*id);
      wake.push_back(key_of(kind, kind.namespaced ? object.ns() : "", owner.name));
    }
}

void wake_related(const View& view, const Change& change, std::vector<Key>& wake) {
  const Object *before = change.before, *after = change.after;
  const auto wake_dependents = [&](const Object& owner) {
    for (const Object* one : view.everywhere(kOwners, owner.uid())) wake.push_back(key_of(*one));
  };
  if (after == nullptr) {
    wake_owners(view, *before, wake);
    return wake_dependents(*before);
  }
  const auto differ = [&](const char* member) {
    return before == nullptr || before->metadata()[member].raw() != after->metadata()[member].raw();
  };
  const bool owners = differ("ownerReferences");
  if (owners && before != nullptr) wake_owners(view, *before, wake);
  if (owners && after->metadata()["ownerReferences"].size() > 0) wake.push_back(key_of(*after));
  if (!after->deleting() || (!differ("deletionTimestamp") && !differ("finalizers"))) return;
  if (!foreground(*after) && !has_finalizer(*after, kOrphan)) return;
  wake.push_back(key_of(*after));
  if (foreground(*after)) wake_dependents(*after);
}

class GarbageCollector final : public Controller {
 public:
  Spec spec() const override {
    Spec spec("garbage-collector-controller");
    spec.follows_every_kind(&wake_related).index_everywhere(kOwners, &owner_uids);
    spec.any_kind({"get", "list", "watch", "patch", "delete"}).tells().keys_in_flight(20);
    return spec;
  }
  Plan reconcile(const View& view, const Key& key, WallTime now) const override {
    const Object* item = find(view, key);
    return item == nullptr ? Plan::done() : Run(view, *item, now).plan();
  }
};

}  // namespace

std::unique_ptr<Controller> make_garbage_collector() {
  return std::make_unique<GarbageCollector>();
}

}  // namespace berth::controllers
