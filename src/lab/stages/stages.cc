// SPDX-License-Identifier: Apache-2.0
#include "lab/stages/stages.h"

#include <algorithm>
#include <charconv>

#include <fmt/format.h>

#include "json/writer.h"
#include "json/yaml.h"
#include "kube/time.h"

namespace berth::lab {
namespace {

bool listed(json::Slice value, const std::vector<std::string>& values) {
  std::string text;
  if (value.is_string())
    text = value.text();
  else if (value.is_bool() || value.is_number())
    text = std::string(value.raw());
  else
    return false;
  return std::find(values.begin(), values.end(), text) != values.end();
}

std::string_view media_type(kube::PatchType type) {
  switch (type) {
    case kube::PatchType::kJson:
      return "application/json-patch+json";
    case kube::PatchType::kMerge:
      return "application/merge-patch+json";
    default:
      return "application/strategic-merge-patch+json";
  }
}

kube::ApiRequest request_for(const kube::Object& object, kube::Verb verb) {
  kube::ApiRequest request;
  request.verb = verb;
  request.kind = object.kind();
  request.ns = std::string(object.ns());
  request.name = std::string(object.name());
  return request;
}

kube::ApiRequest patch_request(const kube::Object& object, kube::PatchType type, std::string body) {
  kube::ApiRequest request = request_for(object, kube::Verb::kPatch);
  request.options.patch_type = type;
  request.body.bytes = std::make_shared<const std::string>(std::move(body));
  request.body.media_type = std::string(media_type(type));
  return request;
}

// A patch of what stands below one member.
std::string below(std::string_view root, std::string_view patch, kube::PatchType type) {
  json::Writer w;
  if (type != kube::PatchType::kJson) {
    w.object().member(root).raw(patch).end();
    return w.take();
  }
  w.array();
  for (const json::Slice operation : json::Slice(patch).elements()) {
    w.object();
    for (const auto [key, value] : operation.members()) {
      w.member(key);
      if (key == "path" || key == "from")
        w.string(fmt::format("/{}{}", root, value.text()));
      else
        w.raw(value.raw());
    }
    w.end();
  }
  w.end();
  return w.take();
}

// k8s 1.36: events of things without a namespace are kept in "default".
kube::ApiRequest event_request(const kube::Object& object, std::string_view type,
                               std::string_view reason, std::string_view message, WallTime now) {
  const std::string ns(object.ns().empty() ? "default" : object.ns());
  const std::string time = kube::time_text(now);
  json::Writer w;
  w.object();
  w.member("metadata").object();
  w.member("name").string(fmt::format("{}.{:x}", object.name(), now.unix_nanos));
  w.member("namespace").string(ns).end();
  w.member("involvedObject").object();
  w.member("kind").string(kube::kind_of(object.kind()).kind);
  w.member("apiVersion").string("v1");
  if (!object.ns().empty()) w.member("namespace").string(object.ns());
  w.member("name").string(object.name());
  w.member("uid").string(object.uid()).end();
  w.member("reason").string(reason).member("message").string(message).member("type").string(type);
  w.member("source").object().member("component").string("berth-lab").end();
  w.member("firstTimestamp").string(time).member("lastTimestamp").string(time);
  w.member("count").integer(1);
  w.end();
  kube::ApiRequest request;
  request.verb = kube::Verb::kCreate;
  request.kind = kube::kCoreEvent;
  request.ns = ns;
  request.body.bytes = std::make_shared<const std::string>(w.take());
  return request;
}

}  // namespace

bool Stages::about(kube::KindId kind) const {
  return std::any_of(stages_.begin(), stages_.end(),
                     [&](const Stage& stage) { return stage.kind == kind; });
}

bool Stages::matches(const Stage& stage, const kube::Object& object, json::Slice document) const {
  if (stage.matches_nothing) return false;
  for (const auto& [key, value] : stage.labels)
    if (!object.labels()[key].equals(value)) return false;
  for (const auto& [key, value] : stage.annotations)
    if (!object.annotations()[key].equals(value)) return false;
  for (const Requirement& each : stage.requirements) {
    const std::vector<json::Slice> found = each.query.run(document);
    const bool in = std::any_of(found.begin(), found.end(),
                                [&](json::Slice value) { return listed(value, each.values); });
    bool holds = false;
    switch (each.op) {
      case Requirement::Operator::kIn:
        holds = in;
        break;
      case Requirement::Operator::kNotIn:
        holds = !in;
        break;
      case Requirement::Operator::kExists:
        holds = !found.empty();
        break;
      case Requirement::Operator::kDoesNotExist:
        holds = found.empty();
        break;
    }
    if (!holds) return false;
  }
  return true;
}

std::optional<Stages::Choice> Stages::choose(const kube::Object& object, WallTime now,
                                             Random chance) const {
  const std::string text = object.json();
  const json::Slice document(text);
  std::vector<std::pair<std::size_t, std::int64_t>> candidates;  // stage, weight
  std::int64_t total = 0;
  for (std::size_t i = 0; i < stages_.size(); ++i) {
    const Stage& stage = stages_[i];
    if (stage.kind != object.kind() || !matches(stage, object, document)) continue;
    std::int64_t weight = *stage.weight.fixed;
    if (stage.weight.from) {
      const std::vector<json::Slice> found = stage.weight.from->run(document);
      if (!found.empty()) {
        if (const auto number = found[0].integer()) weight = *number;
        const std::string stated = found[0].text();
        std::int64_t parsed = 0;
        if (std::from_chars(stated.data(), stated.data() + stated.size(), parsed).ec == std::errc())
          weight = parsed;
      }
    }
    candidates.emplace_back(i, weight);
    total += std::max<std::int64_t>(weight, 0);
  }
  if (candidates.empty()) return std::nullopt;
  std::size_t chosen = candidates.front().first;
  if (candidates.size() > 1) {
    if (total == 0) {
      chosen = candidates[chance.below(candidates.size())].first;
    } else {
      auto off = static_cast<std::int64_t>(chance.below(static_cast<std::uint64_t>(total)));
      for (const auto& [stage, weight] : candidates) {
        if (weight <= 0) continue;
        off -= weight;
        chosen = stage;
        if (off < 0) break;
      }
    }
  }
  const Stage& stage = stages_[chosen];
  if (!stage.delayed) return Choice{chosen, {}};
  // A text is a time to wait for or a duration; what is neither leaves the fixed amount.
  const auto read = [&](const Amount& amount) -> std::optional<Duration> {
    if (amount.from) {
      const std::vector<json::Slice> found = amount.from->run(document);
      if (!found.empty() && found[0].is_string()) {
        const std::string stated = found[0].text();
        if (stated.empty()) return std::nullopt;
        if (const auto time = kube::parse_time(stated)) return *time - now;
        if (const auto duration = kube::parse_duration(stated)) return *duration;
      }
    }
    if (!amount.fixed) return std::nullopt;
    return std::chrono::milliseconds(std::min<std::int64_t>(*amount.fixed, kNoLimit / 1ms));
  };
  const std::optional<Duration> delay = read(stage.delay);
  if (!delay) return Choice{chosen, {}};
  Duration drawn = *delay;
  if (const std::optional<Duration> jitter = read(stage.jitter)) {
    if (*jitter <= *delay)
      drawn = *jitter;
    else
      drawn += Duration(static_cast<std::int64_t>(
          chance.below(static_cast<std::uint64_t>((*jitter - *delay).count()))));
  }
  return Choice{chosen, std::max(drawn, Duration{})};
}

Result<std::vector<kube::ApiRequest>> Stages::requests(std::size_t which,
                                                       const kube::Object& object,
                                                       const TemplateFacts& facts) const {
  const Stage& stage = stages_[which];
  const std::string text = object.json();
  std::vector<kube::ApiRequest> all;
  bool erased = false;
  for (const Step& step : stage.steps) {
    if (step.event)
      all.push_back(event_request(object, step.event->type, step.event->reason, step.event->message,
                                  facts.now));
    if (erased) continue;
    if (step.finalizers) {
      std::vector<std::string> kept;
      if (!step.finalizers->empty) kept = object.finalizers();
      for (const std::string& gone : step.finalizers->remove) std::erase(kept, gone);
      for (const std::string& more : step.finalizers->add)
        if (std::find(kept.begin(), kept.end(), more) == kept.end()) kept.push_back(more);
      json::Writer w;
      w.object().member("metadata").object();
      w.member("uid").string(object.uid()).member("finalizers").array();
      for (const std::string& each : kept) w.string(each);
      w.end().end().end();
      if (kept != object.finalizers())
        all.push_back(patch_request(object, kube::PatchType::kMerge, w.take()));
    }
    if (step.erase) {
      erased = true;
      kube::ApiRequest request = request_for(object, kube::Verb::kDelete);
      request.options.grace_period_seconds = 0;
      request.options.precondition_uid = std::string(object.uid());
      all.push_back(std::move(request));
      continue;
    }
    if (!step.patch) continue;
    const auto wrong = [&](std::string_view why) {
      return invalid(fmt::format("stage {}: {}", stage.name, why));
    };
    const Result<std::string> rendered = step.patch->text.render(json::Slice(text), facts);
    if (!rendered) return wrong(rendered.error().message);
    Result<std::string> json = json::yaml_document_to_json(*rendered);
    if (!json) return wrong(json.error().message);
    if (!step.patch->root.empty()) json = below(step.patch->root, *json, step.patch->type);
    kube::ApiRequest request = patch_request(object, step.patch->type, std::move(*json));
    request.subresource = step.patch->subresource;
    all.push_back(std::move(request));
  }
  return all;
}

}  // namespace berth::lab
