// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>

#include "json/yaml.h"
#include "lab/stages/stages.h"

namespace berth::lab {

// Reads one Stage. The first thing that is wrong ends it.
class StageReader {
 public:
  StageReader(std::string_view file_text, std::string_view file_name, std::size_t index)
      : text_(file_text), file_(file_name), index_(index) {}

  Result<Stages::Stage> read(json::Slice document) {
    Stages::Stage stage;
    stage.name = document["metadata"]["name"].text();
    const json::Slice spec = document["spec"];
    kind(spec["resourceRef"], stage);
    selector(spec, stage);
    weight(spec, stage);
    delay(spec["delay"], stage);
    if (spec["steps"]) {
      std::size_t i = 0;
      for (const json::Slice step : spec["steps"].elements())
        this->step(step, fmt::format("spec.steps[{}]", i++), stage);
    } else {
      next(spec["next"], stage);
    }
    if (error_) return tl::unexpected(std::move(*error_));
    return stage;
  }

 private:
  void wrong(std::string_view path, std::string_view why, std::size_t further = 0) {
    if (error_) return;
    const std::size_t line = json::yaml_line_of(text_, index_, path).value_or(1) + further;
    error_ = Error{.reason = Reason::kInvalid,
                   .message = fmt::format("{}:{}: {}: {}", file_, line, path, why)};
  }

  void kind(json::Slice ref, Stages::Stage& stage) {
    const std::string group = ref["apiGroup"].text(), kind = ref["kind"].text();
    if ((group.empty() || group == "v1") && kind == "Pod")
      stage.kind = kube::kPod;
    else if ((group.empty() || group == "v1") && kind == "Node")
      stage.kind = kube::kNode;
    else
      wrong("spec.resourceRef.kind",
            fmt::format("stages are understood for v1 Pod and Node, not for {} {}", group, kind));
  }

  void selector(json::Slice spec, Stages::Stage& stage) {
    const json::Slice selector = spec["selector"];
    stage.matches_nothing = !selector || selector.is_null();
    for (const auto [key, value] : selector["matchLabels"].members())
      stage.labels.emplace_back(key, value.text());
    for (const auto [key, value] : selector["matchAnnotations"].members())
      stage.annotations.emplace_back(key, value.text());
    std::size_t i = 0;
    for (const json::Slice each : selector["matchExpressions"].elements()) {
      const std::string path = fmt::format("spec.selector.matchExpressions[{}]", i++);
      if (each["cel"]) {
        wrong(path + ".cel",
              "CEL expressions are not understood; write a jq path with key and operator");
        continue;
      }
      requirement(each["jq"] ? each["jq"] : each, each["jq"] ? path + ".jq" : path, stage);
    }
  }

  void requirement(json::Slice from, const std::string& path, Stages::Stage& stage) {
    using Operator = Stages::Requirement::Operator;
    Result<Query> query = Query::parse(from["key"].text());
    if (!query) return wrong(path + ".key", query.error().message);
    Stages::Requirement made{.query = std::move(*query)};
    const std::string op = from["operator"].text();
    bool known = false;
    for (const auto& [name, value] : {std::pair{"In", Operator::kIn},
                                      {"NotIn", Operator::kNotIn},
                                      {"Exists", Operator::kExists},
                                      {"DoesNotExist", Operator::kDoesNotExist}})
      if (op == name) {
        made.op = value;
        known = true;
      }
    if (!known)
      return wrong(path + ".operator", fmt::format("operator \"{}\" is not supported", op));
    for (const json::Slice value : from["values"].elements()) made.values.push_back(value.text());
    const bool needs = made.op == Operator::kIn || made.op == Operator::kNotIn;
    if (needs == made.values.empty())
      return wrong(path + ".operator",
                   needs ? "In and NotIn need values" : "Exists and DoesNotExist take no values");
    stage.requirements.push_back(std::move(made));
  }

  std::optional<Query> expression(json::Slice from, const std::string& path) {
    if (!from || from.is_null()) return std::nullopt;
    std::string text = from["expressionFrom"].text(), at = path + ".expressionFrom";
    if (from["jq"]) {
      text = from["jq"]["expression"].text();
      at = path + ".jq.expression";
    } else if (from["cel"]) {
      wrong(path + ".cel", "CEL expressions are not understood; write a jq path");
      return std::nullopt;
    }
    Result<Query> query = Query::parse(text);
    if (query) return std::move(*query);
    wrong(at, query.error().message);
    return std::nullopt;
  }

  void weight(json::Slice spec, Stages::Stage& stage) {
    stage.weight.fixed = spec["weight"].integer().value_or(0);
    stage.weight.from = expression(spec["weightFrom"], "spec.weightFrom");
  }

  void delay(json::Slice delay, Stages::Stage& stage) {
    stage.delayed = delay && !delay.is_null();
    if (!stage.delayed) return;
    stage.delay.fixed = delay["durationMilliseconds"].integer().value_or(0);
    stage.delay.from = expression(delay["durationFrom"], "spec.delay.durationFrom");
    stage.jitter.fixed = delay["jitterDurationMilliseconds"].integer();
    stage.jitter.from = expression(delay["jitterDurationFrom"], "spec.delay.jitterDurationFrom");
  }

  void next(json::Slice next, Stages::Stage& stage) {
    Stages::Step& step = stage.steps.emplace_back();
    common(next, step);
    if (next["delete"].boolean()) {
      step.erase = true;
      return;
    }
    std::size_t i = 0;
    for (const json::Slice each : next["patches"].elements()) {
      patch(each, fmt::format("spec.next.patches[{}]", i++), stage.kind,
            stage.steps.emplace_back().patch);
    }
    if (const std::string text = next["statusTemplate"].text(); !text.empty()) {
      Stages::Patch made;
      made.root = "status";
      made.subresource = "status";
      if (const json::Slice sub = next["statusSubresource"]) made.subresource = sub.text();
      if (compile(text, "spec.next.statusTemplate", made.text))
        stage.steps.emplace_back().patch = std::move(made);
    }
    if (next["statusPatchAs"]) wrong("spec.next.statusPatchAs", "impersonation is not understood");
  }

  void step(json::Slice from, const std::string& path, Stages::Stage& stage) {
    Stages::Step& step = stage.steps.emplace_back();
    common(from, step);
    step.erase = from["delete"].boolean();
    if (from["apply"]) wrong(path + ".apply", "apply is not understood");
    if (const json::Slice each = from["patch"])
      patch(each, path + ".patch", stage.kind, step.patch);
  }

  void common(json::Slice from, Stages::Step& step) {
    if (const json::Slice event = from["event"]; event && !event.is_null())
      step.event = {event["type"].text(), event["reason"].text(), event["message"].text()};
    if (const json::Slice change = from["finalizers"]; change && !change.is_null()) {
      step.finalizers = Stages::Finalizers{};
      step.finalizers->empty = change["empty"].boolean();
      for (const json::Slice each : change["add"].elements())
        step.finalizers->add.push_back(each["value"].text());
      for (const json::Slice each : change["remove"].elements())
        step.finalizers->remove.push_back(each["value"].text());
    }
  }

  void patch(json::Slice from, const std::string& path, kube::KindId,
             std::optional<Stages::Patch>& into) {
    Stages::Patch made;
    made.subresource = from["subresource"].text();
    made.root = from["root"].text();
    const std::string type = from["type"].text();
    if (type == "json")
      made.type = kube::PatchType::kJson;
    else if (type == "merge")
      made.type = kube::PatchType::kMerge;
    else if (!type.empty() && type != "strategic")
      return wrong(path + ".type", fmt::format("patch type \"{}\" is not understood", type));
    if (from["impersonation"])
      return wrong(path + ".impersonation", "impersonation is not understood");
    if (compile(from["template"].text(), path + ".template", made.text)) into = std::move(made);
  }

  bool compile(const std::string& text, const std::string& path, Template& into) {
    Result<Template> made = Template::parse(text);
    if (made) {
      into = std::move(*made);
      return true;
    }
    // "line 3: …" counts from the line after the one on which the block begins.
    std::string_view message = made.error().message;
    std::size_t further = 0;
    if (message.starts_with("line ")) {
      message.remove_prefix(5);
      while (!message.empty() && message.front() >= '0' && message.front() <= '9') {
        further = further * 10 + static_cast<std::size_t>(message.front() - '0');
        message.remove_prefix(1);
      }
      message.remove_prefix(std::min<std::size_t>(2, message.size()));
    }
    wrong(path, message, text.find('\n') == text.npos ? 0 : further);
    return false;
  }

  std::string_view text_, file_;
  std::size_t index_;
  std::optional<Error> error_;
};

Result<Ok> Stages::add(std::string_view text, std::string_view file_name) {
  const Result<std::vector<json::YamlDocument>> documents = json::yaml_to_json(text);
  if (!documents) return invalid(fmt::format("{}: {}", file_name, documents.error().message));
  for (std::size_t i = 0; i < documents->size(); ++i) {
    const json::Slice document((*documents)[i].json);
    if (!document["kind"].equals("Stage") ||
        !document["apiVersion"].text().starts_with("kwok.x-k8s.io/"))
      continue;
    Result<Stage> stage = StageReader(text, file_name, i).read(document);
    if (!stage) return tl::unexpected(std::move(stage.error()));
    stages_.push_back(std::move(*stage));
    if (stages_.size() > 255) return invalid(fmt::format("{}: more than 255 stages", file_name));
  }
  return Ok{};
}

}  // namespace berth::lab
