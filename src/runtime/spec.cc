// SPDX-License-Identifier: Apache-2.0
#include "runtime/spec.h"

#include <algorithm>
#include <map>
#include <set>
#include <utility>

#include "base/check.h"
#include "json/writer.h"

namespace berth::runtime {
namespace {

constexpr std::string_view kVerbOrder[] = {"get",    "list",  "watch",  "create",
                                           "update", "patch", "delete", "deletecollection"};

void wake_owners(const Object& object, KindId kind, bool controller_only, std::vector<Key>& wake) {
  const kube::Kind& wanted = kube::kind_of(kind);
  for (const kube::OwnerRef& owner : object.owners()) {
    if (controller_only && !owner.controller) continue;
    // As client-go's controllers do, any version of the group will do.
    const std::string group = owner.api_version.find('/') == std::string::npos
                                  ? ""
                                  : owner.api_version.substr(0, owner.api_version.find('/'));
    if (owner.kind != wanted.kind || group != wanted.group) continue;
    wake.push_back({wanted.namespaced ? std::string(object.ns()) : "", owner.name});
  }
}

}  // namespace

Mapping each_state(StateMapping one) {
  return [one = std::move(one)](const View& view, const Change& change, std::vector<Key>& wake) {
    if (change.before != nullptr) one(view, *change.before, wake);
    if (change.after != nullptr) one(view, *change.after, wake);
  };
}

Mapping self() {
  return [](const View&, const Change& change, std::vector<Key>& wake) {
    wake.push_back((change.after != nullptr ? change.after : change.before)->key());
  };
}

Mapping same_name() { return self(); }

Mapping owner_of(KindId kind) {
  return each_state([kind](const View&, const Object& object, std::vector<Key>& wake) {
    wake_owners(object, kind, true, wake);
  });
}

Mapping any_owner_of(KindId kind) {
  return each_state([kind](const View&, const Object& object, std::vector<Key>& wake) {
    wake_owners(object, kind, false, wake);
  });
}

Mapping by_index(KindId of, std::string index) {
  return [of, index = std::move(index)](const View& view, const Change& change,
                                        std::vector<Key>& wake) {
    const Object& object = change.after != nullptr ? *change.after : *change.before;
    for (const Object* filed : view.by_index(of, index, object.key().text()))
      wake.push_back(filed->key());
  };
}

std::vector<std::string> controller_uid(const Object& object) {
  const auto owner = object.controller();
  if (!owner) return {};
  return {owner->uid};
}

Spec& Spec::reconciles(KindId kind, Mapping mapping) {
  kind_ = kind;
  return watches(kind, std::move(mapping));
}

Spec& Spec::watches(KindId kind, Mapping mapping, Duration batched) {
  watches_.push_back({kind, std::move(mapping), client::Keep::kDocument, batched});
  return *this;
}

Spec& Spec::reads(KindId kind, client::Keep keep) {
  watches_.push_back({kind, nullptr, keep});
  return *this;
}

Spec& Spec::watches_if_served(KindId kind, Mapping mapping) {
  watches_.push_back({.kind = kind, .mapping = std::move(mapping), .if_served = true});
  // Whoever waits for a kind is told by its definition.
  return reads(kube::kCustomResourceDefinition, client::Keep::kMetadata);
}

Spec& Spec::index(KindId kind, std::string_view name, IndexBy by) {
  indexes_.push_back({kind, std::string(name), by});
  return *this;
}

Spec& Spec::follows_every_kind(Mapping mapping) {
  follows_ = std::move(mapping);
  return *this;
}
Spec& Spec::index_everywhere(std::string_view name, IndexBy by) {
  everywhere_.emplace_back(name, by);
  return *this;
}

Spec& Spec::woken_from_outside(OutsideSource source) {
  outside_ = std::move(source);
  return *this;
}

Spec& Spec::creates(KindId kind) {
  calls_.push_back({"create", kind});
  return *this;
}
Spec& Spec::patches(KindId kind) { return patches_part(kind, ""); }
Spec& Spec::patches_status(KindId kind) { return patches_part(kind, "status"); }
Spec& Spec::patches_part(KindId kind, std::string subresource) {
  calls_.push_back({"patch", kind, std::move(subresource)});
  return *this;
}
Spec& Spec::updates_part(KindId kind, std::string subresource) {
  calls_.push_back({"update", kind, std::move(subresource)});
  return *this;
}
Spec& Spec::any_kind(std::vector<std::string> verbs) {
  any_kind_ = std::move(verbs);
  return *this;
}
Spec& Spec::erases(KindId kind) {
  calls_.push_back({"delete", kind});
  return *this;
}
Spec& Spec::evicts() {
  calls_.push_back({"create", kube::kPod, "eviction"});
  return *this;
}
Spec& Spec::tells() {
  creates(kube::kEvent);
  return patches(kube::kEvent);
}
Spec& Spec::asks(KindId kind) {
  calls_.push_back({"get", kind});
  calls_.push_back({"list", kind});
  return *this;
}
Spec& Spec::asks_any_scale() {
  asks_scales_ = true;
  return reads(kube::kCustomResourceDefinition, client::Keep::kMetadata);
}
Spec& Spec::posts(std::string path) {
  posts_.push_back(std::move(path));
  return *this;
}
Spec& Spec::prefers(std::function<int(const View&, const Key&)> priority) {
  prefers_ = std::move(priority);
  return *this;
}
Spec& Spec::keys_in_flight(unsigned most) {
  BERTH_CHECK(most > 0, "a controller with no key in flight does nothing");
  in_flight_ = most;
  return *this;
}

bool Spec::allows(const Action& action) const {
  const auto declared = [this](std::string_view verb, KindId kind, std::string_view part) {
    if (part.empty() && std::find(any_kind_.begin(), any_kind_.end(), verb) != any_kind_.end())
      return true;
    return std::any_of(calls_.begin(), calls_.end(), [&](const CallSpec& call) {
      return call.verb == verb && call.kind == kind && call.subresource == part;
    });
  };
  if (const auto* create = std::get_if<CreateAction>(&action))
    return declared("create", create->target.kind, "");
  if (const auto* patch = std::get_if<PatchAction>(&action))
    return declared("patch", patch->target.kind, patch->subresource);
  if (const auto* update = std::get_if<UpdateAction>(&action))
    return declared("update", update->target.kind, update->subresource);
  if (const auto* all = std::get_if<EraseAllAction>(&action))
    return declared("deletecollection", all->kind, "");
  if (const auto* erase = std::get_if<EraseAction>(&action))
    return declared("delete", erase->target.kind, "");
  if (std::holds_alternative<EvictAction>(action))
    return declared("create", kube::kPod, "eviction");
  if (std::holds_alternative<EventAction>(action)) return declared("create", kube::kEvent, "");
  if (const auto* post = std::get_if<PostAction>(&action))
    return std::any_of(posts_.begin(), posts_.end(),
                       [&](const std::string& path) { return post->path.starts_with(path); });
  const auto* read = std::get_if<kube::ApiRequest>(&std::get<AskAction>(action).question);
  if (read != nullptr && read->subresource == "scale") return asks_scales_;
  // k8s 1.36: what is served is told to everyone who has a name (system:discovery).
  return read == nullptr || read->verb == kube::Verb::kRaw || declared("get", read->kind, "") ||
         std::any_of(watches_.begin(), watches_.end(),
                     [&](const WatchSpec& watch) { return watch.kind == read->kind; });
}

std::string rules_json(const std::vector<Spec>& specs) {
  std::map<std::pair<std::string, std::string>, std::set<std::string>> verbs;  // group, resource
  const auto grant = [&](KindId id, const std::string& part, const char* verb) {
    const kube::Kind& kind = kube::kind_of(id);
    verbs[{kind.group, part.empty() ? kind.plural : kind.plural + "/" + part}].insert(verb);
  };
  for (const Spec& spec : specs) {
    if (!spec.any_kind().empty())
      verbs[{"*", "*"}].insert(spec.any_kind().begin(), spec.any_kind().end());
    if (spec.asks_scales()) verbs[{"*", "*/scale"}].insert("get");
    if (spec.follows()) verbs[{"*", "*"}].insert({"get", "list", "watch"});
    for (const WatchSpec& watch : spec.watched())
      for (const char* verb : {"get", "list", "watch"}) grant(watch.kind, "", verb);
    for (const CallSpec& call : spec.calls()) {
      grant(call.kind, call.subresource, call.verb.c_str());
      if (call.kind != kube::kEvent) grant(call.kind, "", "get");  // an answer that was lost
    }
  }
  json::Writer w;
  w.array();
  for (const auto& [what, allowed] : verbs) {
    w.object().member("apiGroups").array().string(what.first).end();
    w.member("resources").array().string(what.second).end();
    w.member("verbs").array();
    for (const std::string_view verb : kVerbOrder)
      if (allowed.count(std::string(verb)) > 0) w.string(verb);
    w.end().end();
  }
  w.end();
  return w.take();
}

}  // namespace berth::runtime
