// SPDX-License-Identifier: Apache-2.0
#include "lab/node_document.h"

#include <fmt/format.h>

#include "apiserver/kinds/core/resources_check.h"
#include "json/writer.h"
#include "json/yaml.h"
#include "kube/pod_view.h"
#include "kube/quantity.h"
#include "kube/time.h"

namespace berth::lab {
namespace {

constexpr std::string_view kVersion = "v1.36.4";

struct Said {
  std::string_view type, status, reason, message;
};

std::vector<Said> conditions_of(Health health) {
  const bool memory = health == Health::kMemoryPressure, disk = health == Health::kDiskPressure,
             pid = health == Health::kPidPressure;
  const auto said = [](std::string_view type, bool bad, std::string_view good_reason,
                       std::string_view good_message, std::string_view bad_reason,
                       std::string_view bad_message) -> Said {
    return bad ? Said{type, "True", bad_reason, bad_message}
               : Said{type, "False", good_reason, good_message};
  };
  std::vector<Said> all = {
      said("MemoryPressure", memory, "KubeletHasSufficientMemory",
           "kubelet has sufficient memory available", "KubeletHasInsufficientMemory",
           "kubelet has insufficient memory available"),
      said("DiskPressure", disk, "KubeletHasNoDiskPressure", "kubelet has no disk pressure",
           "KubeletHasDiskPressure", "kubelet has disk pressure"),
      said("PIDPressure", pid, "KubeletHasSufficientPID", "kubelet has sufficient PID available",
           "KubeletHasInsufficientPID", "kubelet has insufficient PID available")};
  if (health == Health::kNotReady)
    all.push_back({"Ready", "False", "KubeletNotReady", "container runtime is down"});
  else
    all.push_back({"Ready", "True", "KubeletReady", "kubelet is posting ready status"});
  return all;
}

void write_conditions(json::Writer& w, json::Slice before, Health health, WallTime now) {
  const std::string time = kube::time_text(now);
  w.member("conditions").array();
  for (const Said& said : conditions_of(health)) {
    const json::Slice was = kube::find_condition(before, said.type);
    w.object();
    w.member("lastHeartbeatTime").string(time);
    w.member("lastTransitionTime");
    if (was["status"].equals(said.status) && was["lastTransitionTime"])
      w.raw(was["lastTransitionTime"].raw());
    else
      w.string(time);
    w.member("message").string(said.message);
    w.member("reason").string(said.reason);
    w.member("status").string(said.status);
    w.member("type").string(said.type);
    w.end();
  }
  w.end();
}

void write_addresses(json::Writer& w, std::string_view address, std::string_view name) {
  w.member("addresses").array();
  w.object().member("address").string(address).member("type").string("InternalIP").end();
  w.object().member("address").string(name).member("type").string("Hostname").end();
  w.end();
}

void write_info(json::Writer& w, json::Slice before, std::string_view name,
                std::string_view architecture) {
  const auto member = [&](std::string_view key, std::string_view value) {
    const std::string kept = before[key].text();
    w.member(key).string(kept.empty() ? value : std::string_view(kept));
  };
  w.member("nodeInfo").object();
  member("architecture", architecture);
  member("bootID", fmt::format("boot-{}", name));
  member("containerRuntimeVersion", "containerd://2.2.0");
  member("kernelVersion", "6.12.0-lab");
  member("kubeProxyVersion", "");
  member("kubeletVersion", kVersion);
  member("machineID", fmt::format("machine-{}", name));
  member("operatingSystem", "linux");
  member("osImage", "Berth simulated node");
  member("systemUUID", fmt::format("system-{}", name));
  w.end();
}

Result<Ok> write_taints(json::Writer& w, const std::vector<std::string>& taints) {
  if (taints.empty()) return Ok{};
  w.member("taints").array();
  for (const std::string& text : taints) {
    const std::size_t colon = text.rfind(':');
    if (colon == std::string::npos)
      return invalid(
          fmt::format("the taint \"{}\" has no effect; write key=value:NoSchedule", text));
    const std::string_view pair = std::string_view(text).substr(0, colon);
    const std::size_t equals = pair.find('=');
    w.object();
    w.member("effect").string(std::string_view(text).substr(colon + 1));
    w.member("key").string(pair.substr(0, equals));
    if (equals != pair.npos) w.member("value").string(pair.substr(equals + 1));
    w.end();
  }
  w.end();
  return Ok{};
}

Result<std::map<std::string, std::string>> allocatable(const NodeTemplate& of) {
  std::map<std::string, std::string> out = of.capacity;
  for (auto& [name, amount] : out) {
    Result<kube::Quantity> whole = kube::Quantity::parse(amount);
    if (!whole) return invalid(fmt::format("capacity of {}: {}", name, whole.error().message));
    const auto less = of.reserved.find(name);
    if (less == of.reserved.end() || less->second.empty()) continue;
    const Result<kube::Quantity> taken = kube::Quantity::parse(less->second);
    if (!taken)
      return invalid(fmt::format("what is reserved of {}: {}", name, taken.error().message));
    *whole -= *taken;
    if (whole->sign() < 0)
      return invalid(
          fmt::format("more {} is reserved than there is: {} of {}", name, less->second, amount));
    amount = whole->text();
  }
  return out;
}

void write_map(json::Writer& w, std::string_view member,
               const std::map<std::string, std::string>& of) {
  w.member(member).object();
  for (const auto& [key, value] : of) w.member(key).string(value);
  w.end();
}

// What of extended resources is in one of two lists and not in the other.
std::vector<std::pair<std::string, json::Slice>> extended_beyond(json::Slice list,
                                                                 json::Slice other) {
  std::vector<std::pair<std::string, json::Slice>> out;
  for (const auto [key, value] : list.members())
    if (apiserver::is_extended_resource(key) && !other[key]) out.emplace_back(key, value);
  return out;
}

std::string name_of(const NodeTemplate& of, std::size_t number, std::size_t count) {
  const std::size_t width = std::to_string(count == 0 ? 0 : count - 1).size();
  const std::string digits = fmt::format("{:0{}}", number, width);
  const std::size_t place = of.name.find("{}");
  if (place == std::string::npos) return of.name + "-" + digits;
  return of.name.substr(0, place) + digits + of.name.substr(place + 2);
}

}  // namespace

bool is_complete(json::Slice status) {
  const json::Slice capacity = status["capacity"], left = status["allocatable"];
  return status["addresses"].size() > 0 && capacity.size() > 0 && left.size() > 0 &&
         !status["nodeInfo"]["kubeletVersion"].text().empty() &&
         extended_beyond(capacity, left).empty() && extended_beyond(left, capacity).empty();
}

std::string node_address(std::uint32_t number) {
  return fmt::format("172.{}.{}.{}", 16 + (number / 62'500) % 16, (number / 250) % 250,
                     number % 250 + 1);
}

std::string pod_range(std::uint32_t number) {
  return fmt::format("10.{}.{}.0/24", (number >> 8) & 255, number & 255);
}

Result<std::string> node_json(const NodeTemplate& of, std::size_t number, std::size_t count,
                              WallTime now) {
  const Result<std::map<std::string, std::string>> left = allocatable(of);
  if (!left) return tl::unexpected(left.error());
  const std::string name = name_of(of, number, count);
  std::map<std::string, std::string> labels = {{"kubernetes.io/hostname", name},
                                               {"kubernetes.io/os", "linux"},
                                               {"kubernetes.io/arch", of.architecture},
                                               {"beta.kubernetes.io/os", "linux"},
                                               {"beta.kubernetes.io/arch", of.architecture},
                                               {"topology.kubernetes.io/region", of.region}};
  if (!of.zones.empty()) labels["topology.kubernetes.io/zone"] = of.zones[number % of.zones.size()];
  for (const auto& [key, value] : of.labels) labels[key] = value;
  std::map<std::string, std::string> annotations = of.annotations;
  annotations.emplace("kwok.x-k8s.io/node", "fake");

  const auto id = static_cast<std::uint32_t>(number);
  json::Writer w;
  w.object().member("metadata").object();
  write_map(w, "annotations", annotations);
  write_map(w, "labels", labels);
  w.member("name").string(name);
  w.end();
  w.member("spec").object();
  w.member("podCIDR").string(pod_range(id));
  w.member("podCIDRs").array().string(pod_range(id)).end();
  w.member("providerID").string("berth://" + name);
  if (const Result<Ok> fine = write_taints(w, of.taints); !fine)
    return tl::unexpected(fine.error());
  w.end();
  w.member("status").object();
  write_addresses(w, node_address(id), name);
  write_map(w, "allocatable", *left);
  write_map(w, "capacity", of.capacity);
  write_conditions(w, {}, Health::kReady, now);
  w.member("daemonEndpoints").object().member("kubeletEndpoint").object();
  w.member("Port").integer(10250).end().end();
  if (!of.images.empty()) {
    w.member("images").array();
    for (const std::string& image : of.images)
      w.object()
          .member("names")
          .array()
          .string(image)
          .end()
          .member("sizeBytes")
          .integer(100 << 20)
          .end();
    w.end();
  }
  write_info(w, {}, name, of.architecture);
  w.end().end();
  return w.take();
}

Result<std::vector<kube::Object>> read_nodes(std::string_view text, std::string_view file_name) {
  const Result<std::vector<json::YamlDocument>> documents = json::yaml_to_json(text);
  if (!documents) return invalid(fmt::format("{}: {}", file_name, documents.error().message));
  std::vector<kube::Object> nodes;
  const auto add = [&](json::Slice document, std::size_t line) -> Result<Ok> {
    const auto wrong = [&](std::string_view what) {
      return invalid(fmt::format("{}:{}: {}", file_name, line, what));
    };
    if (!document["kind"].equals("Node") || !document["apiVersion"].equals("v1"))
      return wrong(fmt::format("a v1 Node is expected here, not {} {}",
                               document["apiVersion"].text(), document["kind"].text()));
    if (document["metadata"]["name"].text().empty()) return wrong("this node has no name");
    Result<kube::Object> node = kube::Object::parse(kube::kNode, document.raw());
    if (!node) return wrong(node.error().message);
    nodes.push_back(std::move(*node));
    return Ok{};
  };
  for (const json::YamlDocument& each : *documents) {
    const json::Slice document(each.json);
    if (!document["kind"].text().ends_with("List")) {
      if (const Result<Ok> fine = add(document, each.line); !fine)
        return tl::unexpected(fine.error());
      continue;
    }
    const bool typed = document["kind"].equals("NodeList");
    for (const json::Slice item : document["items"].elements()) {
      std::string whole(item.raw());
      if (typed && !item["kind"])  // items of a NodeList need not say what they are
        whole = R"({"kind":"Node","apiVersion":"v1",)" + whole.substr(whole.find('{') + 1);
      if (const Result<Ok> fine = add(json::Slice(whole), each.line); !fine)
        return tl::unexpected(fine.error());
    }
  }
  return nodes;
}

std::string node_status_patch(const kube::Object& node, std::uint32_t number, Health health,
                              WallTime now) {
  const json::Slice before = node.status();
  json::Writer w;
  w.object().member("status").object();
  if (before["addresses"].size() == 0) write_addresses(w, node_address(number), node.name());
  const json::Slice capacity = before["capacity"];
  const json::Slice left = before["allocatable"];
  if (capacity.size() == 0) {
    NodeTemplate usual;
    for (const auto& [name, amount] : extended_beyond(left, capacity))
      usual.capacity[name] = amount.text();
    write_map(w, "capacity", usual.capacity);
    if (left.size() == 0) write_map(w, "allocatable", usual.capacity);
  } else if (left.size() == 0) {
    w.member("allocatable").raw(capacity.raw());
  } else {
    const auto gained = extended_beyond(capacity, left), lost = extended_beyond(left, capacity);
    if (!gained.empty() || !lost.empty()) w.member("allocatable").object();
    for (const auto& [name, amount] : gained) w.member(name).raw(amount.raw());
    for (const auto& [name, amount] : lost) w.member(name).raw("null");
    if (!gained.empty() || !lost.empty()) w.end();
  }
  write_conditions(w, before, health, now);
  if (before["nodeInfo"]["kubeletVersion"].text().empty())
    write_info(w, before["nodeInfo"], node.name(), "amd64");
  w.end().end();
  return w.take();
}

}  // namespace berth::lab
