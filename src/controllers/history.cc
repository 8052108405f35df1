// SPDX-License-Identifier: Apache-2.0
#include "controllers/history.h"

#include <algorithm>
#include <map>

#include <fmt/format.h>

#include "controllers/pod_template.h"
#include "controllers/pods.h"
#include "json/writer.h"

namespace berth::controllers {
namespace {

using kube::Object;
using runtime::Key;

constexpr const char* kHash = "controller.kubernetes.io/hash";
constexpr std::size_t kLongestPrefix = 223;

// As Go's encoder writes a map: members by name, and what HTML could mistake escaped.
std::string go_text(json::Slice value) {
  if (value.is_array()) {
    std::string out = "[";
    for (const json::Slice one : value.elements())
      out += (out.size() > 1 ? "," : "") + go_text(one);
    return out + "]";
  }
  if (value.is_object()) {
    std::map<std::string, std::string> members;
    for (auto at = value.members().begin(); at != nullptr; ++at)
      members[std::string((*at).key)] = go_text((*at).value);
    json::Writer w;
    w.object();
    for (const auto& [name, text] : members) w.member(name).raw(text);
    w.end();
    return w.take();
  }
  if (!value.is_string()) return std::string(value.raw());
  std::string quoted, out;
  json::append_quoted(quoted, value.text());
  for (const char c : quoted) {
    if (c == '<' || c == '>' || c == '&')
      out += fmt::format("\\u{:04x}", static_cast<unsigned>(c));
    else
      out += c;
  }
  return out;
}

std::uint32_t fnv32(std::string_view text) {
  std::uint32_t hash = 2166136261u;
  for (const char c : text) hash = (hash * 16777619u) ^ static_cast<unsigned char>(c);
  return hash;
}

}  // namespace

std::string revision_data(json::Slice pod_template) {
  json::Writer w;
  w.object().member("spec").object().member("template").object();
  w.member("$patch").string("replace");
  for (auto at = pod_template.members().begin(); at != nullptr; ++at)
    if ((*at).key != "$patch") w.member((*at).key).raw((*at).value.raw());
  w.end().end().end();
  const std::string text = w.take();
  return go_text(json::Slice(std::string_view(text)));
}

std::string revision_hash(std::string_view data, std::int64_t collisions) {
  return safe_hash(fnv32(fmt::format("{}{}", data, collisions)));
}

std::string revision_name(std::string_view owner, std::string_view hash) {
  return fmt::format("{}-{}", owner.substr(0, kLongestPrefix), hash);
}

std::string revision_template(const Object& revision) {
  const json::Slice kept = revision.member("data")["spec"]["template"];
  json::Writer w;
  w.object();
  for (auto at = kept.members().begin(); at != nullptr; ++at)
    if ((*at).key != "$patch") w.member((*at).key).raw((*at).value.raw());
  w.end();
  return w.take();
}

bool same_revision(const Object& revision, std::string_view data) {
  return go_text(revision.member("data")) == data;
}

bool alike_revision(const Object& revision, std::string_view data) {
  return canonical(revision.member("data")) == canonical(json::Slice(data));
}

std::int64_t revision_number(const Object& revision) {
  return revision.member("revision").integer().value_or(0);
}

void sort_revisions(std::vector<const Object*>& revisions) {
  std::stable_sort(revisions.begin(), revisions.end(), [](const Object* a, const Object* b) {
    const std::int64_t first = revision_number(*a), second = revision_number(*b);
    if (first != second) return first < second;
    return a->created() == b->created() ? a->name() < b->name() : a->created() < b->created();
  });
}

std::string revision_json(const Object& owner, std::string_view data, std::int64_t number,
                          std::int64_t collisions) {
  const std::string hash = revision_hash(data, collisions);
  json::Writer w;
  w.object().member("apiVersion").string("apps/v1").member("kind").string("ControllerRevision");
  w.member("metadata").object().member("name").string(revision_name(owner.name(), hash));
  w.member("namespace").string(owner.ns()).member("labels").object();
  const json::Slice labels = owner.member("spec")["template"]["metadata"]["labels"];
  for (auto at = labels.members().begin(); at != nullptr; ++at)
    if ((*at).key != kHash) w.member((*at).key).raw((*at).value.raw());
  w.member(kHash).string(hash).end();
  if (owner.annotations().size() > 0) w.member("annotations").raw(owner.annotations().raw());
  w.member("ownerReferences").array().raw(controller_ref(owner)).end().end();
  w.member("data").raw(data).member("revision").integer(number).end();
  return w.take();
}

Present present_revision(const runtime::View& view, runtime::Plan& plan, const Object& owner,
                         const std::vector<const Object*>& revisions, std::int64_t collisions) {
  const std::string data = revision_data(owner.member("spec")["template"]);
  const std::int64_t next = revisions.empty() ? 1 : revision_number(*revisions.back()) + 1;
  if (!revisions.empty() && same_revision(*revisions.back(), data)) return {revisions.back()};
  for (auto at = revisions.rbegin(); at != revisions.rend(); ++at) {
    if (!same_revision(**at, data)) continue;
    plan.patch(**at, fmt::format(R"({{"revision":{}}})", next));  // back to an older template
    return {};
  }
  // Another version of the server may write the same template in another way.
  if (!revisions.empty() && alike_revision(*revisions.back(), data)) return {revisions.back()};
  const Key key{std::string(owner.ns()),
                revision_name(owner.name(), revision_hash(data, collisions))};
  if (const Object* there = view.get(kube::kControllerRevision, key)) {
    // k8s 1.36: one with the same data will do, whoever owns it.
    if (same_revision(*there, data)) return {there};
    return {nullptr, true};
  }
  plan.create(kube::kControllerRevision, key, revision_json(owner, data, next, collisions));
  return {};
}

}  // namespace berth::controllers
