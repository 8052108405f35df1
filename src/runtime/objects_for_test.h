// SPDX-License-Identifier: Apache-2.0
// A view made by hand: for table tests of reconcile(), which is a function and needs no server.
#pragma once

#include <map>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include <fmt/format.h>

#include "base/check.h"
#include "runtime/controller.h"

namespace berth::runtime {

// Objects by kind and key, with the indexes that a controller declares. Thread-compatible.
class Objects final : public Lookup {
 public:
  explicit Objects(const Controller& controller) : controller_(controller) {}

  // Gets a uid ("uid-<name>") and a revision where it has none.
  const Object& add(KindId kind, std::string_view json) {
    auto parsed = Object::parse(kind, json);
    BERTH_CHECK(parsed.has_value(), json);
    if (parsed->uid().empty() || parsed->revision() == 0) {
      const json::Slice document{json};
      std::string text = fmt::format(R"({{"metadata":{{"uid":"uid-{}","resourceVersion":"{}")",
                                     parsed->name(), ++revision_);
      for (auto at = document["metadata"].members().begin(); at != nullptr; ++at)
        if ((*at).key != "resourceVersion")
          text += fmt::format(R"(,"{}":{})", (*at).key, (*at).value.raw());
      text += "}";
      for (auto at = document.members().begin(); at != nullptr; ++at)
        if ((*at).key != "metadata")
          text += fmt::format(R"(,"{}":{})", (*at).key, (*at).value.raw());
      parsed = Object::parse(kind, text + "}");
      BERTH_CHECK(parsed.has_value(), text);
    }
    return objects_[name_of(kind)].insert_or_assign(parsed->key(), *parsed).first->second;
  }
  void remove(KindId kind, const Key& key) { objects_[name_of(kind)].erase(key); }
  Plan reconcile(const Key& key, WallTime now = {}) const {
    return controller_.reconcile(View(*this, &memory), key, now);
  }

  // What such a run does, as text; those that begin with the verb.
  std::vector<std::string> actions(const Key& key, WallTime now, std::string_view verb = "") const {
    std::vector<std::string> found;
    const Plan made = reconcile(key, now);
    for (const Action& action : made.actions())
      if (std::string text = text_of(action); text.starts_with(verb))
        found.push_back(std::move(text));
    return found;
  }

  Memory memory;

  const Object* get(KindId kind, const Key& key) const override {
    const auto& all = of(kind);
    const auto found = all.find(key);
    return found == all.end() ? nullptr : &found->second;
  }
  std::vector<const Object*> list(KindId kind) const override {
    std::vector<const Object*> out;
    for (const auto& [key, object] : of(kind)) out.push_back(&object);
    return out;
  }
  std::vector<const Object*> list(KindId kind, std::string_view ns) const override {
    std::vector<const Object*> out;
    for (const auto& [key, object] : of(kind))
      if (key.ns == ns) out.push_back(&object);
    return out;
  }
  std::vector<const Object*> by_index(KindId kind, std::string_view index,
                                      std::string_view value) const override {
    std::vector<const Object*> out;
    const Spec spec = controller_.spec();
    for (const IndexSpec& one : spec.indexes()) {
      if (one.kind != kind || one.name != index) continue;
      for (const auto& [key, object] : of(kind))
        for (const std::string& filed : one.by(object))
          if (filed == value) out.push_back(&object);
      return out;
    }
    check_failed(__FILE__, __LINE__, "index", "no index of that name");
  }
  kube::Revision seen(KindId kind) const override {
    return behind.count(name_of(kind)) > 0 ? 0 : revision_;
  }
  std::set<std::string> behind;  // "secrets.": caches that are late
  std::vector<const Object*> everywhere(std::string_view index,
                                        std::string_view value) const override {
    std::vector<const Object*> out;
    const Spec spec = controller_.spec();
    for (const auto& [name, by] : spec.everywhere()) {
      if (name != index) continue;
      for (const auto& [resource, all] : objects_)
        for (const auto& [key, object] : all)
          for (const std::string& filed : by(object))
            if (filed == value) out.push_back(&object);
    }
    return out;
  }
  std::optional<KindId> served(std::string_view api_version, std::string_view kind) const override {
    return kube::find_kind(api_version, kind);
  }
  std::optional<KindId> followed(std::string_view resource) const override {
    const std::size_t dot = resource.find('.');
    return kube::find_resource(resource.substr(dot + 1), "v1", resource.substr(0, dot));
  }
  std::vector<KindId> followed() const override { return followed_kinds; }
  std::vector<KindId> followed_kinds;
  bool gone(std::string_view uid) const override { return gone_uids.count(std::string(uid)) > 0; }
  std::set<std::string> gone_uids;

 private:
  using All = std::map<Key, Object>;
  static std::string name_of(KindId kind) {
    return kube::kind_of(kind).plural + "." + kube::kind_of(kind).group;
  }
  const All& of(KindId kind) const {
    static const All none;
    const auto found = objects_.find(name_of(kind));
    return found == objects_.end() ? none : found->second;
  }

  const Controller& controller_;
  std::map<std::string, All> objects_;
  kube::Revision revision_ = 100;
};

}  // namespace berth::runtime
