// SPDX-License-Identifier: Apache-2.0
#include "controllers/batchjob/application.h"

#include <algorithm>
#include <charconv>
#include <string_view>

#include <fmt/format.h>

#include "json/writer.h"

namespace berth::controllers {
namespace {

using json::Slice;
using json::Writer;

std::string object_json(const std::map<std::string, std::string>& members) {
  Writer w;
  w.object();
  for (const auto& [name, value] : members) w.member(name).string(value);
  return w.end().take();
}

// What "${name}" stands for, as JSON; null is nothing, and leaves what the user wrote.
using Variables = std::map<std::string, std::string, std::less<>>;

// Lays one document over another: maps member by member, lists element by element, null takes away.
// Written straight to text: neither side is ever a tree.
class Overlay {
 public:
  explicit Overlay(const Variables* variables) : variables_(variables) {}  // null: texts are texts

  std::string over(Slice base, Slice layer) const {
    Writer w;
    write(w, base, layer);
    return w.take();
  }

 private:
  void write(Writer& w, Slice base, Slice layer) const {
    if (layer.is_object()) {
      write_object(w, base, layer);
    } else if (layer.is_array()) {
      w.array();
      std::size_t index = 0;
      for (const Slice element : layer.elements())
        write(w, base.is_array() ? base[index++] : Slice(), element);
      for (; index > 0 && index < base.size(); ++index) w.raw(base[index].raw());
      w.end();
    } else if (layer.is_string() && variables_ != nullptr) {
      write_text(w, base, layer.text());
    } else {
      w.raw(layer.raw());
    }
  }

  void write_object(Writer& w, Slice base, Slice layer) const {
    w.object();
    if (base.is_object())
      for (const auto [name, value] : base.members())
        if (!layer[name]) w.member(name).raw(value.raw());
    for (const auto [name, value] : layer.members()) {
      const Slice users = base.is_object() ? base[name] : Slice();
      if (value.is_null()) continue;
      if (whole_variable(value) == "null") {
        if (users.present()) w.member(name).raw(users.raw());
        continue;
      }
      w.member(name);
      write(w, users, value);
    }
    w.end();
  }

  // The JSON that a text as a whole stands for; "" where it is no variable.
  std::string_view whole_variable(Slice value) const {
    if (variables_ == nullptr || !value.is_string()) return {};
    const std::string text = value.text();
    if (!text.starts_with("${") || text.find('}') != text.size() - 1) return {};
    const auto found = variables_->find(std::string_view(text).substr(2, text.size() - 3));
    return found == variables_->end() ? std::string_view() : std::string_view(found->second);
  }

  void write_text(Writer& w, Slice base, const std::string& text) const {
    const std::string quoted = json::quoted(text);
    if (const std::string_view json = whole_variable(Slice(quoted)); !json.empty()) {
      // Labels, annotations and resources join the user's; everything else takes its place.
      const bool joins = text == "${labels}" || text == "${annotations}" || text == "${resources}";
      if (joins)
        Overlay(nullptr).write(w, base, Slice(json));
      else
        w.raw(json);
      return;
    }
    std::string out;
    for (std::size_t at = 0; at < text.size();) {
      const std::size_t begin = text.find("${", at);
      const std::size_t end = begin == text.npos ? begin : text.find('}', begin);
      if (end == text.npos) {
        out += text.substr(at);
        break;
      }
      out += text.substr(at, begin - at);
      const auto found =
          variables_->find(std::string_view(text).substr(begin + 2, end - begin - 2));
      if (found != variables_->end()) {
        const Slice value(found->second);
        out += value.is_string() ? value.text() : std::string(value.raw());
      }
      at = end + 1;
    }
    w.string(out);
  }

  const Variables* variables_;
};

bool grows(const JobKind& kind, const ApplicationOrder& order) {
  return order.most_slots > order.slots && kind.elastic != Elastic::kRestart;
}

// To the nodes of its slots; to all of the Testbed's where it may get others while it runs.
std::string affinity_json(const ApplicationOrder& order, bool anywhere) {
  if (order.node_values.empty()) return "{}";
  Writer w;
  w.object().member("nodeAffinity").object();
  w.member("requiredDuringSchedulingIgnoredDuringExecution").object();
  w.member("nodeSelectorTerms").array().object().member("matchExpressions").array().object();
  w.member("key").string(order.node_label);
  if (anywhere) {
    w.member("operator").string("Exists");
  } else {
    w.member("operator").string("In").member("values").array();
    for (const std::string& value : order.node_values) w.string(value);
    w.end();
  }
  return w.end().end().end().end().end().end().end().take();
}

std::string resources_json(const ApplicationOrder& order) {
  Writer w;
  w.object();
  for (const char* side : {"requests", "limits"}) {
    w.member(side).object();
    for (const auto& [name, amount] : order.slot_size) w.member(name).string(amount.text());
    w.end();
  }
  return w.end().take();
}

Variables variables_of(const JobKind& kind, const ApplicationOrder& order) {
  const auto amount = [&](const char* name) {
    const auto found = order.slot_size.find(name);
    return found == order.slot_size.end() ? kube::Quantity() : found->second;
  };
  const auto text_or_null = [](const std::string& text) {
    return text.empty() ? "null" : json::quoted(text);
  };
  // Rounded down: up, and the executor would not fit its slot.
  const std::int64_t mebibytes = amount("memory").value() >> 20;
  return {
      {"name", json::quoted(order.name)},
      {"slots", std::to_string(order.slots)},
      {"mostSlots", std::to_string(std::max(order.most_slots, order.slots))},
      {"cpu", json::quoted(amount("cpu").text())},
      {"wholeCores", std::to_string(std::max<std::int64_t>(1, amount("cpu").milli_value() / 1000))},
      {"mebibytes", std::to_string(mebibytes)},
      {"labels", object_json(order.labels)},
      {"annotations", object_json(order.annotations)},
      {"affinity", affinity_json(order, grows(kind, order))},
      {"resources", resources_json(order)},
      {"scheduler", text_or_null(order.scheduler)},
      {"priorityClass", text_or_null(order.priority_class)}};
}

// {"a":{"b":value}} for the path "a.b".
std::string nested(std::string_view path, std::string_view value) {
  const std::size_t dot = path.find('.');
  if (dot == path.npos) return fmt::format("{{{}:{}}}", json::quoted(path), value);
  return fmt::format("{{{}:{}}}", json::quoted(path.substr(0, dot)),
                     nested(path.substr(dot + 1), value));
}

// The user's part where the kind wants it, with members that go by another name there moved.
std::string placed(const JobKind& kind, Slice part) {
  std::string moved = "{}";
  Writer rest;
  rest.object();
  for (const auto [name, value] : part.members()) {
    const auto rename = std::find_if(kind.rename.begin(), kind.rename.end(),
                                     [&, key = name](const auto& row) { return row.first == key; });
    if (rename == kind.rename.end())
      rest.member(name).raw(value.raw());
    else
      moved = Overlay(nullptr).over(Slice(moved), Slice(nested(rename->second, value.raw())));
  }
  rest.end();
  const std::string both = Overlay(nullptr).over(Slice(rest.text()), Slice(moved));
  return nested(kind.into, both);
}

// Every value at a path: one, or all members where it ends in ".*".
std::vector<Slice> values_at(Slice from, std::string_view path) {
  while (!path.empty()) {
    const std::size_t dot = path.find('.');
    std::string_view step = path.substr(0, dot);
    path = dot == path.npos ? std::string_view() : path.substr(dot + 1);
    if (step == "*") {
      std::vector<Slice> all;
      for (const auto [_, value] : from.members()) all.push_back(value);
      return all.empty() ? std::vector<Slice>(1) : all;
    }
    const std::size_t bracket = step.find('[');
    from = from[step.substr(0, bracket)];
    if (bracket == step.npos) continue;
    const std::string_view type = step.substr(bracket + 1, step.size() - bracket - 2);
    Slice found;
    for (const Slice element : from.elements())
      if (element["type"].equals(type)) found = element;
    from = found;
  }
  return {from};
}

bool holds(const Where& where, Slice application) {
  return std::all_of(where.begin(), where.end(), [&](const auto& wanted) {
    const auto& accepted = wanted.second;
    const auto values = values_at(application, wanted.first);
    return std::all_of(values.begin(), values.end(), [&](const Slice& value) {
      return std::find(accepted.begin(), accepted.end(), value.text()) != accepted.end();
    });
  });
}
bool holds(const StateRule& rule, Slice application, const ExecutorsSeen& executors) {
  if (rule.executors == ExecutorsMust::kRun &&
      (executors.wanted == 0 || executors.running < executors.wanted))
    return false;
  if (rule.executors == ExecutorsMust::kBeGone && executors.live > 0) return false;
  return holds(rule.where, application);
}

}  // namespace

bool came_late(const kube::Object& application, std::int64_t closed_run, std::int64_t run,
               std::int64_t attempt) {
  const auto number = [&](std::string_view annotation) {
    const std::string text = application.annotation(annotation);
    std::int64_t value = 0;
    std::from_chars(text.data(), text.data() + text.size(), value);
    return value;
  };
  const std::int64_t of_run = number(kRunAnnotation), of_attempt = number(kAttemptAnnotation);
  if (of_run <= 0 || of_attempt <= 0) return false;  // it says nothing of the kind
  return of_run <= closed_run || (of_run == run && of_attempt < attempt);
}

Result<std::string> application_json(const JobKind& kind, Slice users_part,
                                     const ApplicationOrder& order) {
  if (!users_part.is_object())
    return invalid(fmt::format("spec.{}: must be a map with what {} takes", kind.from, kind.kind));
  for (const char* needed : {"cpu", "memory"})
    if (!order.slot_size.contains(needed))
      return invalid(fmt::format("the Testbed's slots have no {}: set spec.resourcesPerSlot.{}",
                                 needed, needed));
  if (order.slot_size.at("memory").value() < (std::int64_t{1} << 20))
    return invalid(
        "the Testbed's slots have less than 1Mi of memory: set spec.resourcesPerSlot.memory");

  const Variables variables = variables_of(kind, order);
  const Overlay overlay(&variables);
  std::string body = overlay.over(Slice(placed(kind, users_part)), Slice(kind.application));
  if (grows(kind, order) && !kind.dynamic.empty())
    body = overlay.over(Slice(body), Slice(kind.dynamic));
  for (const Variant& each : kind.variants)
    if (!each.application.empty() && holds(each.where, Slice(body)))
      body = overlay.over(Slice(body), Slice(each.application));

  Writer w;
  w.object().member("apiVersion").string(kind.api_version).member("kind").string(kind.kind);
  w.member("metadata")
      .object()
      .member("name")
      .string(order.name)
      .member("namespace")
      .string(order.ns);
  w.member("labels")
      .raw(object_json(order.labels))
      .member("annotations")
      .raw(object_json(order.annotations));
  w.member("ownerReferences").array().raw(order.owner).end().end();
  for (const auto [name, value] : Slice(body).members()) w.member(name).raw(value.raw());
  return w.end().take();
}

std::optional<std::string> resize_patch(const JobKind& kind, Slice application,
                                        const ApplicationOrder& order) {
  if (kind.resize.empty()) return std::nullopt;
  const Variables variables = variables_of(kind, order);
  const Overlay overlay(&variables);
  std::string patch = overlay.over(Slice(), Slice(kind.resize));
  for (const Variant& each : kind.variants)
    if (!each.resize.empty() && holds(each.where, application))
      patch = overlay.over(Slice(patch), Slice(each.resize));
  return patch;
}

std::optional<std::vector<std::string>> kept_to(Slice document, std::string_view label) {
  if (document.is_object()) {
    if (document["key"].equals(label) && document["operator"].equals("In")) {
      std::vector<std::string> values;
      for (const Slice value : document["values"].elements()) values.push_back(value.text());
      return values;
    }
    for (const auto [name, value] : document.members())
      if (auto found = kept_to(value, label)) return found;
  } else if (document.is_array()) {
    for (const Slice element : document.elements())
      if (auto found = kept_to(element, label)) return found;
  }
  return std::nullopt;
}

std::map<std::string, std::string> executor_labels(const JobKind& kind, const std::string& name) {
  const Variables variables = {{"name", json::quoted(name)}};
  const std::string filled = Overlay(&variables).over(Slice(), Slice(kind.executors));
  std::map<std::string, std::string> labels;
  for (const auto [key, value] : Slice(filled).members())
    labels.emplace(std::string(key), value.text());
  return labels;
}

ApplicationReport report_of(const JobKind& kind, Slice application,
                            const ExecutorsSeen& executors) {
  ApplicationReport report;
  for (const std::string& path : kind.message) {
    const Slice said = values_at(application, path).front();
    report.message = said.is_string() || !said ? said.text() : std::string(said.raw());
    if (!report.message.empty()) break;
  }
  const auto rule =
      std::find_if(kind.states.begin(), kind.states.end(),
                   [&](const StateRule& each) { return holds(each, application, executors); });
  if (rule != kind.states.end()) report.state = rule->state;
  return report;
}

}  // namespace berth::controllers
