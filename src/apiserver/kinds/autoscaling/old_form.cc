// SPDX-License-Identifier: Apache-2.0
#include "apiserver/kinds/autoscaling/old_form.h"

#include "apiserver/edit/conform.h"
#include "apiserver/edit/edit.h"
#include "json/writer.h"
#include "kube/kind.h"
#include "kube/quantity.h"
#include "kube/schema.h"

namespace berth::apiserver {
namespace {

using json::Dict;
using json::List;
using json::Value;

constexpr std::string_view kMetrics = "autoscaling.alpha.kubernetes.io/metrics";
constexpr std::string_view kCurrentMetrics = "autoscaling.alpha.kubernetes.io/current-metrics";
constexpr std::string_view kConditions = "autoscaling.alpha.kubernetes.io/conditions";
constexpr std::string_view kBehavior = "autoscaling.alpha.kubernetes.io/behavior";
constexpr std::string_view kCarried[] = {kMetrics,
                                         kCurrentMetrics,
                                         kConditions,
                                         kBehavior,
                                         "autoscaling.alpha.kubernetes.io/scale-down-tolerance",
                                         "autoscaling.alpha.kubernetes.io/scale-up-tolerance"};

void copy(Dict& to, std::string_view key, Peek from) {
  if (from) to[bj(key)] = *from.value();
}
// For what the old form writes even when there is none.
void copy_amount(Dict& to, std::string_view key, Peek from) {
  to[bj(key)] = from ? *from.value() : Value("0");
}

bool is_zero(Peek amount) {
  const auto read = kube::Quantity::parse(amount.text());
  return !amount || (read && *read == kube::Quantity());
}

// A metric, or what was measured of one: the same shape with other words.
struct Words {
  bool status;
  std::string_view value() const { return status ? "currentValue" : "targetValue"; }
  std::string_view average() const { return status ? "currentAverageValue" : "targetAverageValue"; }
  std::string_view utilization() const {
    return status ? "currentAverageUtilization" : "targetAverageUtilization";
  }
  std::string_view amounts() const { return status ? "current" : "target"; }
};

Dict old_metric(Peek metric, Words words) {
  Dict out;
  copy(out, "type", metric["type"]);
  const auto optional_unless_status = [&](Dict& to, std::string_view key, Peek from) {
    words.status ? copy_amount(to, key, from) : copy(to, key, from);
  };
  if (const Peek object = metric["object"]) {
    Dict& to = out["object"].emplace_object();
    const Peek amounts = object[words.amounts()];
    copy(to, "target", object["describedObject"]);
    copy(to, "metricName", object["metric"]["name"]);
    copy_amount(to, words.value(), amounts["value"]);
    copy(to, "selector", object["metric"]["selector"]);
    copy(to, "averageValue", amounts["averageValue"]);
  }
  if (const Peek pods = metric["pods"]) {
    Dict& to = out["pods"].emplace_object();
    copy(to, "metricName", pods["metric"]["name"]);
    copy_amount(to, words.average(), pods[words.amounts()]["averageValue"]);
    copy(to, "selector", pods["metric"]["selector"]);
  }
  for (const std::string_view kind : {"resource", "containerResource"})
    if (const Peek resource = metric[kind]) {
      Dict& to = out[bj(kind)].emplace_object();
      const Peek amounts = resource[words.amounts()];
      copy(to, "name", resource["name"]);
      copy(to, words.utilization(), amounts["averageUtilization"]);
      optional_unless_status(to, words.average(), amounts["averageValue"]);
      copy(to, "container", resource["container"]);
    }
  if (const Peek external = metric["external"]) {
    Dict& to = out["external"].emplace_object();
    const Peek amounts = external[words.amounts()];
    copy(to, "metricName", external["metric"]["name"]);
    copy(to, "metricSelector", external["metric"]["selector"]);
    optional_unless_status(to, words.value(), amounts["value"]);
    copy(to, words.average(), amounts["averageValue"]);
  }
  return out;
}

void write_metric_name(Dict& to, Peek name, Peek selector) {
  Dict& metric = to["metric"].emplace_object();
  copy(metric, "name", name);
  copy(metric, "selector", selector);
}

Dict new_metric(Peek metric, Words words) {
  Dict out;
  copy(out, "type", metric["type"]);
  const auto amounts_of = [&](Dict& to, std::string_view type) -> Dict& {
    Dict& amounts = to[bj(words.amounts())].emplace_object();
    if (!words.status) amounts["type"] = bj(type);
    return amounts;
  };
  if (const Peek object = metric["object"]) {
    Dict& to = out["object"].emplace_object();
    copy(to, "describedObject", object["target"]);
    const Peek average = object["averageValue"], value = object[words.value()];
    Dict& amounts = amounts_of(to, average ? "AverageValue" : "Value");
    // The old form cannot leave it out, so a zero beside an average is none.
    if (words.status || !average || !is_zero(value)) copy_amount(amounts, "value", value);
    copy(amounts, "averageValue", average);
    write_metric_name(to, object["metricName"], object["selector"]);
  }
  if (const Peek pods = metric["pods"]) {
    Dict& to = out["pods"].emplace_object();
    copy_amount(amounts_of(to, "AverageValue"), "averageValue", pods[words.average()]);
    write_metric_name(to, pods["metricName"], pods["selector"]);
  }
  for (const std::string_view kind : {"resource", "containerResource"})
    if (const Peek resource = metric[kind]) {
      Dict& to = out[bj(kind)].emplace_object();
      const Peek used = resource[words.utilization()];
      copy(to, "name", resource["name"]);
      Dict& amounts = amounts_of(to, used ? "Utilization" : "AverageValue");
      words.status ? copy_amount(amounts, "averageValue", resource[words.average()])
                   : copy(amounts, "averageValue", resource[words.average()]);
      copy(amounts, "averageUtilization", used);
      copy(to, "container", resource["container"]);
    }
  if (const Peek external = metric["external"]) {
    Dict& to = out["external"].emplace_object();
    const Peek value = external[words.value()];
    Dict& amounts = amounts_of(to, value ? "Value" : "AverageValue");
    words.status ? copy_amount(amounts, "value", value) : copy(amounts, "value", value);
    copy(amounts, "averageValue", external[words.average()]);
    write_metric_name(to, external["metricName"], external["metricSelector"]);
  }
  return out;
}

// k8s 1.36: the behavior is carried under the names that Go's own fields have.
Value respelled(const Value& value, bool for_go) {
  if (value.is_array()) {
    List out;
    for (const Value& each : value.get_array()) out.push_back(respelled(each, for_go));
    return out;
  }
  if (!value.is_object()) return value;
  Dict out;
  for (const auto& member : value.get_object()) {
    std::string key(sv(member.key()));
    if (!key.empty()) {
      const char first = key.front();
      if (for_go && first >= 'a' && first <= 'z') key.front() = static_cast<char>(first - 32);
      if (!for_go && first >= 'A' && first <= 'Z') key.front() = static_cast<char>(first + 32);
    }
    if (!member.value().is_null()) out[key] = respelled(member.value(), for_go);
  }
  return out;
}

bool is_cpu_share(Peek metric, std::string_view amounts) {
  return metric["type"].is("Resource") && metric["resource"]["name"].is("cpu") &&
         metric["resource"][amounts]["averageUtilization"];
}

Value cpu_metric(const Value& percent) {
  return {
      {"type", "Resource"},
      {"resource",
       {{"name", "cpu"}, {"target", {{"type", "Utilization"}, {"averageUtilization", percent}}}}}};
}

void drop_carried(Dict& document) {
  Dict* metadata = dict_in(document, "metadata");
  Dict* annotations = metadata == nullptr ? nullptr : dict_in(*metadata, "annotations");
  if (annotations == nullptr) return;
  for (const std::string_view key : kCarried) json::erase(*annotations, key);
  if (annotations->empty()) json::erase(*metadata, "annotations");
}

Value take(Dict& from, std::string_view key) {
  Value* found = from.if_contains(bj(key));
  if (found == nullptr) return nullptr;
  Value out = std::move(*found);
  json::erase(from, key);
  return out;
}

void conform_to(Dict& document, kube::KindId kind) {
  Value whole(std::move(document));
  // Made by the functions above of what was good before; what is not stays as it is.
  const Result<Conformed> done = conform(whole, *kube::schema_of(kind));
  static_cast<void>(done);
  document = std::move(whole.as_object());
}

kube::KindId old_kind() {
  static const kube::KindId id =
      *kube::find_resource("autoscaling", "v1", "horizontalpodautoscalers");
  return id;
}

// What an annotation carries; absent where it is no JSON of the wanted sort.
std::optional<Value> carried(Peek annotations, std::string_view key, bool list) {
  if (!annotations[key]) return std::nullopt;
  json::Arena arena;
  Result<Value> read = json::parse(annotations[key].text(), arena);
  if (!read || (list ? !read->is_array() : !read->is_object())) return std::nullopt;
  return Value(*read, boost::json::storage_ptr());
}

}  // namespace

Result<kube::Object> autoscaler_in_old_form(const kube::Object& stored) {
  json::Arena arena;
  Value document = json::parse_good(stored.json(), arena);
  Dict& members = document.as_object();
  for (const std::string_view head : {"kind", "apiVersion"}) json::erase(members, head);
  drop_carried(members);
  const auto annotate = [&](std::string_view key, const Value& value) {
    make_dict(make_dict(members, "metadata"), "annotations")[bj(key)] = json::print(value);
  };
  if (Dict* spec = dict_in(members, "spec")) {
    const Value metrics = take(*spec, "metrics"), behavior = take(*spec, "behavior");
    List others;
    for (const Value& each : Peek(metrics).elements()) {
      if (!is_cpu_share(each, "target"))
        others.push_back(old_metric(each, {.status = false}));
      else if (!spec->contains("targetCPUUtilizationPercentage"))
        copy(*spec, "targetCPUUtilizationPercentage",
             Peek(each)["resource"]["target"]["averageUtilization"]);
    }
    if (!others.empty()) annotate(kMetrics, others);
    if (behavior.is_object()) annotate(kBehavior, respelled(behavior, true));
  }
  if (Dict* status = dict_in(members, "status")) {
    const Value metrics = take(*status, "currentMetrics"), conditions = take(*status, "conditions");
    List measured;
    for (const Value& each : Peek(metrics).elements()) {
      measured.push_back(old_metric(each, {.status = true}));
      if (is_cpu_share(each, "current"))
        copy(*status, "currentCPUUtilizationPercentage",
             Peek(each)["resource"]["current"]["averageUtilization"]);
    }
    if (!measured.empty()) annotate(kCurrentMetrics, measured);
    if (Peek(conditions).size() > 0) annotate(kConditions, conditions);
  }
  conform_to(members, old_kind());
  return Edit(old_kind(), std::move(document), arena).commit(0);
}

void autoscaler_from_old_form(Dict& document) {
  const Peek annotations = Peek(document)["metadata"]["annotations"];
  const auto behavior = carried(annotations, kBehavior, false);
  const auto others = carried(annotations, kMetrics, true);
  const auto measured = carried(annotations, kCurrentMetrics, true);
  const auto conditions = carried(annotations, kConditions, true);
  drop_carried(document);

  Dict& spec = make_dict(document, "spec");
  List metrics;
  if (others)
    for (const Value& each : others->get_array())
      metrics.push_back(new_metric(each, {.status = false}));
  if (const Value percent = take(spec, "targetCPUUtilizationPercentage"); !percent.is_null())
    metrics.push_back(cpu_metric(percent));
  if (metrics.empty()) metrics.push_back(cpu_metric(80));
  spec["metrics"] = metrics;
  if (behavior && Peek(*behavior).size() > 0) spec["behavior"] = respelled(*behavior, false);

  if (Dict* status = dict_in(document, "status")) {
    const Value percent = take(*status, "currentCPUUtilizationPercentage");
    List found;
    if (measured)
      for (const Value& each : measured->get_array())
        found.push_back(new_metric(each, {.status = true}));
    else if (!percent.is_null())
      found.push_back(
          {{"type", "Resource"},
           {"resource", {{"name", "cpu"}, {"current", {{"averageUtilization", percent}}}}}});
    if (!found.empty()) (*status)["currentMetrics"] = found;
    if (conditions) (*status)["conditions"] = *conditions;
  }
  conform_to(document, kube::kHorizontalPodAutoscaler);
}

Result<kube::Object> autoscaler_as_stored(const kube::Object& old) {
  json::Arena arena;
  Value document = json::parse_good(old.json(), arena);
  for (const std::string_view head : {"kind", "apiVersion"})
    json::erase(document.as_object(), head);
  autoscaler_from_old_form(document.as_object());
  return Edit(kube::kHorizontalPodAutoscaler, std::move(document), arena).commit(0);
}

}  // namespace berth::apiserver
