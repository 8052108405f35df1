// SPDX-License-Identifier: Apache-2.0
// A server around one object, as far as sequences of applies and updates need one, and what is
// compared of its answers.
#pragma once

#include <algorithm>
#include <string>

#include <fmt/format.h>

#include "apiserver/apply/apply.h"
#include "apiserver/kinds/strategy.h"
#include "json/patch.h"
#include "json/slice.h"
#include "kube/time.h"
#include "sorted.h"

namespace berth::apiserver {

inline const WallTime kNow = *kube::parse_time("2026-01-01T00:00:00Z");

class Bench {
 public:
  explicit Bench(const KindRow& row) : row_(row) {}

  struct Answer {
    int code;
    std::string text;  // the object, or a Status' message, reason and causes
  };

  Answer step(json::Slice step) {
    const Result<kube::Object> done = take(step);
    if (!done) {
      std::string text =
          "message: " + done.error().message.substr(0, done.error().message.find("\n\n"));
      for (const Cause& cause : done.error().causes)
        text += fmt::format("\ncause: {} | {} | {}", cause.reason, cause.message, cause.field);
      return {http_code_of(done.error().reason), text};
    }
    const bool born = !live_.valid();
    live_ = *done;
    return {born ? 201 : 200, comparable()};
  }

 private:
  Result<kube::Object> take(json::Slice step) {
    const std::string op = step["op"].text(), sub = step["sub"].text();
    const ManagerNote note{step["manager"].text(), sub, kNow, true};
    json::Arena arena;
    if (op == "apply") {
      Edit edit =
          live_.valid()
              ? Edit(live_, arena)
              : Edit(row_.id, json::parse_good(R"({"metadata":{"name":"x"}})", arena), arena);
      const auto applied = apply_patch(row_, edit, json::parse_good(step["body"].raw(), arena),
                                       note, step["force"].boolean());
      if (!applied) return tl::unexpected(applied.error());
      return finish(edit, sub);
    }
    std::string text(step["body"].raw());
    if (op != "create") {
      const Result<std::string> patched =
          op == "json"        ? json::json_patch(live_.json(), text)
          : op == "strategic" ? json::strategic_merge_patch(live_.json(), text, *row_.schema)
                              : json::merge_patch(live_.json(), text);
      if (!patched) return tl::unexpected(patched.error());
      text = *patched;
    }
    json::Value document = json::parse_good(text, arena);
    if (const auto decoded = decode(row_, document); !decoded)
      return tl::unexpected(decoded.error());
    Edit edit = live_.valid() ? Edit(live_, arena) : Edit(row_.id, json::Dict(), arena);
    edit.replace(std::move(document));
    fill(row_, edit);
    note_update(row_, edit, note);
    return finish(edit, sub);
  }

  Result<kube::Object> finish(Edit& edit, const std::string& sub) {
    Findings findings;
    if (!live_.valid()) {
      const auto begun = begin_create(row_, edit,
                                      {.ns = row_.kind.namespaced ? "default" : "",
                                       .uid = "11111111-2222-3333-4444-555555555555",
                                       .name_suffix = "abcde",
                                       .now = kNow});
      if (!begun) return tl::unexpected(begun.error());
      findings = check_create(row_, edit);
    } else if (sub == "status") {
      begin_status_update(row_, edit);
      findings = check_status_update(row_, edit);
    } else {
      begin_update(row_, edit);
      findings = check_update(row_, edit);
    }
    if (!findings.empty()) return tl::unexpected(findings.error(row_.kind, "x"));
    if (live_.valid() && !edit.changed()) return live_;
    return std::move(edit).commit(++revision_);
  }

  std::string comparable() const {
    json::Arena arena;
    json::Value value = json::parse_good(live_.json(), arena);
    json::Dict& metadata = *dict_in(value.as_object(), "metadata");
    for (const std::string_view field : {"uid", "resourceVersion", "creationTimestamp"})
      json::erase(metadata, field);
    json::Value& managed = metadata["managedFields"];
    if (!managed.is_array()) managed.emplace_array();
    for (json::Value& entry : managed.as_array())
      entry.as_object()["time"] = entry.as_object().contains("time");
    std::sort(managed.as_array().begin(), managed.as_array().end(),
              [](const json::Value& a, const json::Value& b) { return order(a) < order(b); });
    if (row_.id == kube::kService)
      for (const std::string_view field : {"clusterIP", "clusterIPs"})
        json::erase(*dict_in(value.as_object(), "spec"), field);
    const std::string text = json::print(value);
    return sorted(json::Slice(text));
  }
  static std::string order(const json::Value& entry) {
    const Peek peek(entry);
    return fmt::format("{} {} {}", peek["operation"].text(), peek["manager"].text(),
                       peek["subresource"].text());
  }

  const KindRow& row_;
  kube::Object live_;
  kube::Revision revision_ = 1;
};

inline std::string told(json::Slice status) {
  // Without the listing of differences between two Go structs.
  const std::string message = status["message"].text();
  std::string text = "message: " + message.substr(0, message.find("\n@@"));
  for (const json::Slice cause : status["details"]["causes"].elements())
    text += fmt::format("\ncause: {} | {} | {}", cause["reason"].text(),
                        cause["message"].text().substr(0, cause["message"].text().find("\n@@")),
                        cause["field"].text());
  return text;
}

// The first step that goes otherwise than recorded, or "".
inline std::string replay(const KindRow& row, json::Slice line) {
  Bench bench(row);
  int number = 0;
  for (const json::Slice step : line["steps"].elements()) {
    ++number;
    const Bench::Answer ours = bench.step(step);
    const std::int64_t code = step["code"].integer().value_or(0);
    const std::string real = code < 300 ? sorted(step["result"]) : told(step["result"]);
    if (ours.code == code && ours.text == real) continue;
    return fmt::format("step {}\n    ours {} {}\n    real {} {}", number, ours.code, ours.text,
                       code, real);
  }
  return "";
}

}  // namespace berth::apiserver
