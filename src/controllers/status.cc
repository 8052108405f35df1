// SPDX-License-Identifier: Apache-2.0
#include "controllers/status.h"

#include <algorithm>

#include "json/writer.h"
#include "kube/time.h"

namespace berth::controllers {

StatusDraft::StatusDraft(json::Slice before) {
  for (auto at = before.members().begin(); at != nullptr; ++at)
    members_.emplace_back((*at).key, (*at).value.raw());
}

StatusDraft& StatusDraft::raw(std::string_view name, std::string json) {
  const auto at = std::find_if(members_.begin(), members_.end(),
                               [&](const auto& member) { return member.first == name; });
  if (json.empty()) {
    if (at != members_.end()) members_.erase(at);
  } else if (at != members_.end()) {
    at->second = std::move(json);
  } else {
    members_.emplace_back(name, std::move(json));
  }
  return *this;
}

StatusDraft& StatusDraft::number(std::string_view name, std::int64_t value) {
  return raw(name, std::to_string(value));
}
StatusDraft& StatusDraft::count(std::string_view name, std::int64_t value) {
  return raw(name, value == 0 ? "" : std::to_string(value));
}
StatusDraft& StatusDraft::text(std::string_view name, std::string_view value) {
  std::string quoted;
  if (!value.empty()) json::append_quoted(quoted, value);
  return raw(name, std::move(quoted));
}

json::Slice StatusDraft::operator[](std::string_view name) const {
  for (const auto& [key, value] : members_)
    if (key == name) return json::Slice(value);
  return {};
}

std::string StatusDraft::json() const {
  json::Writer w;
  w.object();
  for (const auto& [name, value] : members_) w.member(name).raw(value);
  w.end();
  return w.take();
}

Conditions::Conditions(json::Slice list) {
  for (const json::Slice one : list.elements())
    all_.push_back({.type = one["type"].text(),
                    .status = one["status"].text(),
                    .reason = one["reason"].text(),
                    .message = one["message"].text(),
                    .last_transition = one["lastTransitionTime"].text(),
                    .last_update = one["lastUpdateTime"].text(),
                    .last_probe = one["lastProbeTime"].text(),
                    .observed_generation = one["observedGeneration"].integer()});
}

const Condition* Conditions::find(std::string_view type) const {
  for (const Condition& one : all_)
    if (one.type == type) return &one;
  return nullptr;
}

bool Conditions::holds(std::string_view type) const {
  const Condition* found = find(type);
  return found != nullptr && found->status == "True";
}

void Conditions::put(Condition condition) {
  remove(condition.type);
  all_.push_back(std::move(condition));
}

void Conditions::put_in_place(Condition condition) {
  for (Condition& one : all_)
    if (one.type == condition.type) {
      one = std::move(condition);
      return;
    }
  all_.push_back(std::move(condition));
}

void Conditions::set(std::string_view type, bool holds, std::string_view reason,
                     std::string message, WallTime now, std::int64_t generation) {
  Condition next{.type = std::string(type),
                 .status = holds ? "True" : "False",
                 .reason = std::string(reason),
                 .message = std::move(message),
                 .last_transition = kube::time_text(now),
                 .observed_generation = generation};
  const Condition* before = find(type);
  if (before != nullptr && before->status == next.status)
    next.last_transition = before->last_transition;
  put_in_place(std::move(next));
}

bool Conditions::remove(std::string_view type) {
  return std::erase_if(all_, [&](const Condition& one) { return one.type == type; }) > 0;
}

std::string Conditions::json() const {
  if (all_.empty()) return "";
  json::Writer w;
  w.array();
  for (const Condition& one : all_) {
    w.object().member("type").string(one.type).member("status").string(one.status);
    const auto text = [&](std::string_view name, const std::string& value) {
      if (!value.empty()) w.member(name).string(value);
    };
    text("lastProbeTime", one.last_probe);
    text("lastUpdateTime", one.last_update);
    text("lastTransitionTime", one.last_transition);
    if (one.observed_generation) w.member("observedGeneration").integer(*one.observed_generation);
    text("reason", one.reason);
    // metav1.Condition, which alone has a generation, always has a message.
    if (one.observed_generation)
      w.member("message").string(one.message);
    else
      text("message", one.message);
    w.end();
  }
  w.end();
  return w.take();
}

}  // namespace berth::controllers
