// SPDX-License-Identifier: Apache-2.0
#include "apiserver/kinds/autoscaling/old_form.h"
#include "apiserver/kinds/cells.h"

namespace berth::apiserver {

namespace {

constexpr std::string_view kUnknown = "<unknown>";

std::string amount(json::Slice value) { return value ? value.text() : std::string("0"); }

// "cpu: 40%/80%": what is measured against what is wanted.
std::string metric_text(json::Slice wanted, json::Slice measured) {
  const std::string type = wanted["type"].text();
  const auto pick = [&](std::string_view key) { return std::pair(wanted[key], measured[key]); };
  if (type == "External" || type == "Object") {
    const auto [want, have] = pick(type == "External" ? "external" : "object");
    const json::Slice target = want["target"], current = have["current"];
    if (const json::Slice average = target["averageValue"])
      return (current["averageValue"] ? amount(current["averageValue"]) : std::string(kUnknown)) +
             "/" + amount(average) + " (avg)";
    return (have ? amount(current["value"]) : std::string(kUnknown)) + "/" +
           amount(target["value"]);
  }
  if (type == "Pods") {
    const auto [want, have] = pick("pods");
    return (have ? amount(have["current"]["averageValue"]) : std::string(kUnknown)) + "/" +
           amount(want["target"]["averageValue"]);
  }
  if (type == "Resource" || type == "ContainerResource") {
    const auto [want, have] = pick(type == "Resource" ? "resource" : "containerResource");
    const json::Slice target = want["target"], current = have["current"];
    const std::string name = want["name"].text() + ": ";
    if (const json::Slice average = target["averageValue"])
      return name + (have ? amount(current["averageValue"]) : std::string(kUnknown)) + "/" +
             amount(average);
    const auto percent = [](json::Slice number, std::string_view otherwise) {
      return number ? std::string(number.raw()) + "%" : std::string(otherwise);
    };
    return name + percent(current["averageUtilization"], kUnknown) + "/" +
           percent(target["averageUtilization"], "<auto>");
  }
  return "<unknown type>";
}

std::string targets(const kube::Object& object) {
  constexpr std::size_t kMost = 2;
  const json::Slice metrics = look_up(object, "spec.metrics");
  if (metrics.size() == 0) return "<none>";
  const json::Slice measured = look_up(object, "status.currentMetrics");
  std::string out;
  std::size_t i = 0;
  for (const json::Slice metric : metrics.elements()) {
    if (i < kMost) out += (i == 0 ? "" : ", ") + metric_text(metric, measured[i]);
    ++i;
  }
  if (i > kMost) out += " + " + std::to_string(i - kMost) + " more...";
  return out;
}

std::string reference(const kube::Object& object) {
  const json::Slice ref = look_up(object, "spec.scaleTargetRef");
  return ref["kind"].text() + "/" + ref["name"].text();
}

std::string min_pods(const kube::Object& object) {
  const json::Slice replicas = look_up(object, "spec.minReplicas");
  return replicas ? std::string(replicas.raw()) : "<unset>";
}

// Both versions show the same: what the stored one says.
Cell of_stored(Cell cell) {
  return [cell = std::move(cell)](const kube::Object& old, WallTime now, json::Writer& w) {
    const Result<kube::Object> stored = autoscaler_as_stored(old);
    cell(stored ? *stored : old, now, w);
  };
}

Kind autoscaler(std::string_view api_version) {
  return Kind(api_version, "HorizontalPodAutoscaler", "horizontalpodautoscalers")
      .short_name("hpa")
      .category("all")
      .status()
      .name_column()
      .column("Reference", shown(&reference))
      .column("Targets", shown(&targets))
      .column("MinPods", shown(&min_pods))
      .column("MaxPods", integer("spec.maxReplicas"))
      .column("Replicas", integer("status.currentReplicas"))
      .age_column()
      .fill("spec.minReplicas", "1");
}

}  // namespace

KindRow horizontal_pod_autoscaler() {
  return autoscaler("autoscaling/v2")
      .fill("spec.metrics", R"([{"type":"Resource","resource":{"name":"cpu","target":)"
                            R"({"type":"Utilization","averageUtilization":80}}}])");
}

KindRow old_horizontal_pod_autoscaler() {
  KindRow row = autoscaler("autoscaling/v1");
  for (Column& column : row.columns) column.cell = of_stored(std::move(column.cell));
  row.stored_as = kube::kHorizontalPodAutoscaler;
  row.from_stored = &autoscaler_in_old_form;
  row.to_stored = &autoscaler_from_old_form;
  return row;
}

}  // namespace berth::apiserver
