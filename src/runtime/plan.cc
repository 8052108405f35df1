// SPDX-License-Identifier: Apache-2.0
#include "runtime/plan.h"

#include <algorithm>
#include <utility>

#include <fmt/format.h>

#include "base/check.h"
#include "json/patch.h"
#include "json/writer.h"
#include "kube/time.h"

namespace berth::runtime {
namespace {

template <class... Fs>
struct Overloaded : Fs... {
  using Fs::operator()...;
};
template <class... Fs>
Overloaded(Fs...) -> Overloaded<Fs...>;

std::string place(const Target& target) {
  return fmt::format("{} {}", kube::kind_of(target.kind).plural, target.key.text());
}

}  // namespace

Target target_of(const Object& object) {
  return {object.kind(), object.key(), std::string(object.uid()), object.revision()};
}

std::string text_of(const Action& action) {
  return std::visit(
      Overloaded{
          [](const CreateAction& a) { return "create " + place(a.target); },
          [](const PatchAction& a) {
            return fmt::format("patch {}{}{}: {}", place(a.target),
                               a.subresource.empty() ? "" : "/", a.subresource, a.patch);
          },
          [](const UpdateAction& a) {
            return fmt::format("update {}/{}: {}", place(a.target), a.subresource, a.json);
          },
          [](const EraseAction& a) { return "erase " + place(a.target); },
          [](const EraseAllAction& a) {
            return fmt::format("erase all {} in {}", kube::kind_of(a.kind).plural, a.ns);
          },
          [](const EvictAction& a) { return "evict " + place(a.target); },
          [](const EventAction& a) {
            return fmt::format("event {}: {}", a.note.reason, a.note.note);
          },
          [](const AskAction& a) { return "ask " + a.name; },
          [](const PostAction& a) { return "post " + a.path; },
      },
      action);
}

const Target* target_of(const Action& action) {
  return std::visit(Overloaded{
                        [](const EventAction&) -> const Target* { return nullptr; },
                        [](const AskAction&) -> const Target* { return nullptr; },
                        [](const PostAction&) -> const Target* { return nullptr; },
                        [](const EraseAllAction&) -> const Target* { return nullptr; },
                        [](const auto& a) -> const Target* { return &a.target; },
                    },
                    action);
}

Plan& Plan::add(Action action) {
  actions_.push_back(std::move(action));
  return *this;
}

Plan& Plan::create(KindId kind, const Key& key, std::string json) {
  return add(CreateAction{{kind, key}, std::move(json)});
}

Plan& Plan::patch(const Object& object, std::string patch, Pin pin, kube::PatchType type) {
  return add(PatchAction{target_of(object), std::move(patch), "", type, pin});
}

Plan& Plan::patch_status(const Object& object, std::string patch, Pin pin) {
  return add(
      PatchAction{target_of(object), std::move(patch), "status", kube::PatchType::kMerge, pin});
}

Plan& Plan::set_status(const Object& object, std::string_view status) {
  const std::string before = object.status() ? std::string(object.status().raw()) : "{}";
  const Result<std::string> change = json::merge_patch_between(before, status);
  BERTH_CHECK(change.has_value(), "a status that a controller made is good JSON");
  if (*change == "{}") return *this;
  return patch_status(object, fmt::format(R"({{"status":{}}})", *change));
}

Plan& Plan::erase(const Object& object, kube::Propagation propagation, Pin pin,
                  std::optional<std::int64_t> grace_seconds) {
  return add(EraseAction{target_of(object), propagation, grace_seconds, pin});
}

Plan& Plan::update_part(const Object& object, std::string subresource, std::string json) {
  return add(UpdateAction{target_of(object), std::move(json), std::move(subresource)});
}

Plan& Plan::erase_all(std::string name, KindId kind, std::string ns) {
  return add(EraseAllAction{std::move(name), kind, std::move(ns)});
}

Plan& Plan::evict(const Object& pod, std::optional<std::int64_t> grace_seconds) {
  return add(EvictAction{target_of(pod), grace_seconds});
}

Plan& Plan::event(const Object& regarding, client::EventNote note) {
  return add(EventAction{client::ref_of(regarding), std::move(note)});
}

Plan& Plan::ask(std::string name, kube::ApiRequest read) {
  BERTH_CHECK(read.verb == kube::Verb::kGet || read.verb == kube::Verb::kList ||
                  (read.verb == kube::Verb::kRaw && read.raw_method == "GET"),
              "only reads are asked; writes are actions");
  return add(AskAction{std::move(name), std::move(read)});
}

Plan& Plan::ask(std::string name, std::string question) {
  return add(AskAction{std::move(name), std::move(question)});
}

Plan& Plan::again_at(WallTime when) {
  again_ = again_ ? std::min(*again_, when) : when;
  return *this;
}

Plan& Plan::reason(std::string why) {
  why_ = std::move(why);
  return *this;
}

Plan& Plan::remember(std::string what) {
  remembered_ = std::move(what);
  return *this;
}

std::string Plan::text() const {
  std::string out;
  for (const Action& action : actions_) out += text_of(action) + "\n";
  if (again_) out += fmt::format("again at {}\n", kube::time_text(*again_));
  return out;
}

}  // namespace berth::runtime
