// SPDX-License-Identifier: Apache-2.0
#include "scheduler/serving/resource_metrics.h"

#include <array>
#include <charconv>
#include <string_view>
#include <utility>

#include <fmt/format.h>

#include "kube/pod_requests.h"
#include "kube/pod_view.h"

namespace berth::scheduler {
namespace {

std::string_view unit_of(std::string_view resource) {
  if (resource == "cpu") return "cores";
  if (resource == "memory" || resource == "storage" || resource == "ephemeral-storage" ||
      resource.starts_with("hugepages-"))
    return "bytes";
  return resource.starts_with("attachable-volumes-") ? "integer" : "";
}

double as_double(const kube::Quantity& amount) {
  using kube::Quantity;
  const auto value = [&](std::int32_t scale) { return amount.scaled_value(scale); };
  constexpr auto kFormat = Quantity::Format::kDecimalSI;
  if (Quantity::of(value(0)) == amount) return static_cast<double>(value(0));
  if (Quantity::of(value(-3), kFormat, -3) == amount) return static_cast<double>(value(-3)) * 1e-3;
  return static_cast<double>(value(-9)) * 1e-9;
}

// As Go prints a sample: 0.25, 4, 1.34217728e+08.
void append_sample(std::string& out, double value) {
  std::array<char, 32> buffer;
  const auto shortest = std::to_chars(buffer.data(), buffer.data() + buffer.size(), value,
                                      std::chars_format::scientific);
  const std::string_view text(buffer.data(), shortest.ptr);
  int exponent = 0;
  std::string_view digits = text.substr(text.find('e') + 1);
  if (digits.starts_with('+')) digits.remove_prefix(1);
  std::from_chars(digits.data(), digits.data() + digits.size(), exponent);
  if (exponent < -4 || exponent >= 6) {
    out += text;
    return;
  }
  const auto fixed =
      std::to_chars(buffer.data(), buffer.data() + buffer.size(), value, std::chars_format::fixed);
  out.append(buffer.data(), fixed.ptr);
}

void append_label(std::string& out, std::string_view name, std::string_view value) {
  if (out.back() != '{') out += ',';
  out += name;
  out += "=\"";
  for (const char c : value) {
    if (c == '\n') {
      out += "\\n";
    } else {
      if (c == '"' || c == '\\') out += '\\';
      out += c;
    }
  }
  out += '"';
}

void append_all(std::string& out, std::string_view family, const PodResources& pod,
                const kube::ResourceList& list) {
  for (const auto& [resource, amount] : list) {
    if (amount.is_zero()) continue;
    out += family;
    out += '{';
    append_label(out, "namespace", pod.ns);
    append_label(out, "node", pod.node);
    append_label(out, "pod", pod.name);
    append_label(out, "priority", pod.priority);
    append_label(out, "resource", resource);
    append_label(out, "scheduler", pod.scheduler);
    append_label(out, "unit", unit_of(resource));
    out += "} ";
    append_sample(out, as_double(amount));
    out += '\n';
  }
}

constexpr std::string_view kRequest = "kube_pod_resource_request",
                           kLimit = "kube_pod_resource_limit";

std::string family(std::string_view name, std::string_view help, std::string samples) {
  if (samples.empty()) return {};
  return fmt::format("# HELP {0} {1}\n# TYPE {0} gauge\n{2}", name, help, samples);
}

}  // namespace

Result<Ok> ResourceMetrics::add(const kube::Object& object) {
  const kube::PodView pod(object);
  if (pod.assigned() && pod.finished()) return Ok{};
  auto requests = kube::pod_requests(object, {.use_status = false, .pod_level_resize = false});
  if (!requests) return tl::unexpected(std::move(requests.error()));
  auto limits = kube::pod_limits(object);
  if (!limits) return tl::unexpected(std::move(limits.error()));
  const auto priority = pod.spec()["priority"].integer();
  add(PodResources{.ns = std::string(object.ns()),
                   .name = std::string(object.name()),
                   .node = pod.node_name(),
                   .scheduler = pod.spec()["schedulerName"].text(),
                   .priority = priority ? std::to_string(*priority) : "",
                   .requests = std::move(*requests),
                   .limits = std::move(*limits)});
  return Ok{};
}

void ResourceMetrics::add(const PodResources& pod) {
  append_all(requests_, kRequest, pod, pod.requests);
  append_all(limits_, kLimit, pod, pod.limits);
}

std::string ResourceMetrics::take() {
  std::string out =
      family(kLimit, "What pods may use at most, as the scheduler and the kubelet understand it",
             std::exchange(limits_, {}));
  out += family(kRequest, "What pods ask for, as the scheduler and the kubelet understand it",
                std::exchange(requests_, {}));
  return out;
}

}  // namespace berth::scheduler
