// SPDX-License-Identifier: Apache-2.0
#include "cli/capacity_report.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <map>
#include <set>

#include <fmt/format.h>

#include "json/writer.h"
#include "kube/node_view.h"
#include "kube/pod_requests.h"
#include "kube/pod_view.h"

namespace berth::cli {

using kube::Quantity;
using kube::ResourceList;

namespace {

constexpr std::string_view kPodsResource = "pods";

// Puts in front of an error which object it is about, and where that stands.
tl::unexpected<Error> about(const kube::Object& object, const PlaceOf& place, Error error) {
  const std::string where = place(object, error.causes.empty() ? "" : error.causes.front().field);
  error.message =
      fmt::format("{}{}{} {}: {}", where, where.empty() ? "" : ": ",
                  kube::kind_of(object.kind()).kind, object.key().text(), error.message);
  return tl::unexpected(std::move(error));
}

double amount_of(const ResourceList& list, std::string_view name) {
  const auto at = list.find(name);
  return at == list.end() ? 0 : static_cast<double>(at->second.milli_value()) / 1000;
}

// Bytes as people say them: 61.5Gi. Other resources as plain numbers: 15.9.
std::string human(std::string_view resource, double amount) {
  static constexpr std::array<const char*, 6> kUnits{"", "Ki", "Mi", "Gi", "Ti", "Pi"};
  std::size_t unit = 0;
  const bool bytes =
      resource == "memory" || resource == "ephemeral-storage" || resource.starts_with("hugepages-");
  while (bytes && std::abs(amount) >= 1024 && unit + 1 < kUnits.size()) {
    amount /= 1024;
    ++unit;
  }
  std::string text = fmt::format("{:.1f}", amount);
  if (text.ends_with(".0")) text.resize(text.size() - 2);
  return text + kUnits[unit];
}

// Resources worth a column: cpu and memory always, then whatever else any node has.
std::vector<std::string> columns_of(const CapacityReport& report) {
  std::set<std::string> others;
  for (const NodeCapacity& node : report.nodes)
    for (const auto& [name, amount] : node.allocatable)
      if (name != "cpu" && name != "memory" && name != kPodsResource && !amount.is_zero())
        others.insert(name);
  std::vector<std::string> columns{"cpu", "memory"};
  columns.insert(columns.end(), others.begin(), others.end());
  return columns;
}

std::string bar(double used, double total, bool open) {
  constexpr int kCells = 10;
  if (total <= 0) return std::string(kCells, ' ');
  const int filled = std::clamp(static_cast<int>(std::lround(used / total * kCells)), 0, kCells);
  std::string out;
  for (int i = 0; i < kCells; ++i) out += i < filled ? "█" : open ? "░" : "·";
  return out;
}

// Cells hold UTF-8; columns are as wide as their widest cell.
class Table {
 public:
  void row(std::vector<std::string> cells) { rows_.push_back(std::move(cells)); }
  void print(std::ostream& out) const {
    std::vector<std::size_t> width;
    for (const auto& cells : rows_) {
      width.resize(std::max(width.size(), cells.size()));
      for (std::size_t i = 0; i < cells.size(); ++i)
        width[i] = std::max(width[i], columns(cells[i]));
    }
    for (const auto& cells : rows_) {
      std::string line;
      for (std::size_t i = 0; i < cells.size(); ++i)
        line += cells[i] +
                std::string(i + 1 < cells.size() ? width[i] - columns(cells[i]) + 3 : 0, ' ');
      out << line.substr(0, line.find_last_not_of(' ') + 1) << "\n";
    }
  }

 private:
  static std::size_t columns(std::string_view text) {
    return static_cast<std::size_t>(std::count_if(text.begin(), text.end(), [](char c) {
      return (static_cast<unsigned char>(c) & 0xC0) != 0x80;
    }));
  }
  std::vector<std::vector<std::string>> rows_;
};

std::string list_text(const ResourceList& list) {
  std::vector<std::string> parts;
  for (const auto& [name, amount] : list)
    if (!amount.is_zero())
      parts.push_back(fmt::format("{} {}", human(name, amount_of(list, name)), name));
  return fmt::format("{}", fmt::join(parts, ", "));
}

void write_list(json::Writer& w, std::string_view key, const ResourceList& list) {
  w.member(key).object();
  for (const auto& [name, amount] : list) w.member(name).string(amount.text());
  w.end();
}

}  // namespace

Result<CapacityReport> capacity_report(std::span<const kube::Object> nodes,
                                       std::span<const kube::Object> pods, bool manifests,
                                       const PlaceOf& place) {
  CapacityReport report;
  std::map<std::string, NodeCapacity, std::less<>> by_name;
  for (const kube::Object& object : nodes) {
    const kube::NodeView node(object);
    Result<ResourceList> allocatable = node.allocatable();
    if (!allocatable) return about(object, place, std::move(allocatable.error()));
    NodeCapacity& row = by_name[std::string(object.name())];
    row.name = object.name();
    row.state = !node.ready() ? "not ready" : node.unschedulable() ? "cordoned" : "ready";
    row.open = row.state == "ready";
    row.allocatable = *std::move(allocatable);
  }
  for (const kube::Object& object : pods) {
    const kube::PodView pod(object);
    if (pod.finished()) continue;
    Result<ResourceList> requests =
        kube::pod_requests(object, {.limits_imply_requests = manifests});
    if (!requests) return about(object, place, std::move(requests.error()));
    if (!pod.assigned()) {
      ++report.pending;
      add(report.pending_requests, *requests);
    } else if (const auto node = by_name.find(pod.node_name()); node == by_name.end()) {
      report.strays.push_back(object.key().text());
    } else {
      ++node->second.pods;
      add(node->second.requested, *requests);
    }
  }
  for (auto& [name, node] : by_name) {
    if (node.open) {
      add(report.allocatable, node.allocatable);
      add(report.requested, node.requested);
    }
    report.nodes.push_back(std::move(node));
  }
  return report;
}

void print_capacity(const CapacityReport& report, Context& context) {
  const std::vector<std::string> columns = columns_of(report);
  Table table;
  std::vector<std::string> head{"NODE", "STATE", "PODS"};
  for (const std::string& name : columns) head.push_back(name + " free of all");
  table.row(std::move(head));
  const auto cell = [](const std::string& name, const ResourceList& all, const ResourceList& asked,
                       bool open) {
    const double total = amount_of(all, name), used = amount_of(asked, name);
    if (total <= 0 && used <= 0) return std::string("-");
    return fmt::format("{} {} of {}", bar(used, total, open), human(name, total - used),
                       human(name, total));
  };
  for (const NodeCapacity& node : report.nodes) {
    std::vector<std::string> cells{
        node.name, node.state,
        fmt::format("{} of {}", node.pods,
                    human(kPodsResource, amount_of(node.allocatable, kPodsResource)))};
    for (const std::string& name : columns)
      cells.push_back(cell(name, node.allocatable, node.requested, node.open));
    table.row(std::move(cells));
  }
  const auto open = std::count_if(report.nodes.begin(), report.nodes.end(),
                                  [](const NodeCapacity& n) { return n.open; });
  std::int64_t pods = 0;
  for (const NodeCapacity& node : report.nodes) pods += node.open ? node.pods : 0;
  std::vector<std::string> sum{
      fmt::format("{} open nodes", open), "",
      fmt::format("{} of {}", pods,
                  human(kPodsResource, amount_of(report.allocatable, kPodsResource)))};
  for (const std::string& name : columns)
    sum.push_back(cell(name, report.allocatable, report.requested, true));
  table.row(std::move(sum));
  table.print(context.out);

  if (report.pending > 0)
    context.out << fmt::format(
        "\n{} pods wait for a node; together they ask for {}\n", report.pending,
        report.pending_requests.empty() ? "nothing" : list_text(report.pending_requests));
  if (!report.strays.empty())
    context.out << fmt::format("\n{} pods are on nodes that do not exist: {}\n",
                               report.strays.size(), fmt::join(report.strays, ", "));
}

std::string capacity_json(const CapacityReport& report) {
  json::Writer w;
  w.object().member("nodes").array();
  for (const NodeCapacity& node : report.nodes) {
    w.object()
        .member("name")
        .string(node.name)
        .member("state")
        .string(node.state)
        .member("pods")
        .integer(node.pods);
    write_list(w, "allocatable", node.allocatable);
    write_list(w, "requested", node.requested);
    w.end();
  }
  w.end().member("open").object();
  write_list(w, "allocatable", report.allocatable);
  write_list(w, "requested", report.requested);
  w.end().member("pending").object().member("pods").integer(report.pending);
  write_list(w, "requested", report.pending_requests);
  w.end().member("podsOnMissingNodes").array();
  for (const std::string& key : report.strays) w.string(key);
  return w.end().end().take() + "\n";
}

}  // namespace berth::cli
