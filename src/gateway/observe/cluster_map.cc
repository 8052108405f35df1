// SPDX-License-Identifier: Apache-2.0
#include "gateway/observe/cluster_map.h"

#include <algorithm>
#include <numeric>

#include "json/writer.h"

namespace berth::gateway {

void ClusterMap::take(const MapChange& change) {
  any_ = true;
  if (!change.whole) {
    for (const MapRow& row : change.rows) {
      rows_[row.row] = row;
      dirty_.push_back(row.row);
    }
    return;
  }
  layout_ = change.layout;
  names_ = change.names;
  labels_ = change.labels;
  rows_ = change.rows;
  used_.assign(names_.size(), std::nullopt);
  whole_ = true;
  measured(std::move(usage_));
}

void ClusterMap::measured(std::map<std::string, Usage> used) {
  usage_ = std::move(used);
  measures_ = !usage_.empty();
  for (std::uint32_t row = 0; row < names_.size(); ++row) {
    const auto found = usage_.find(names_[row]);
    const std::optional<Usage> now =
        found == usage_.end() ? std::nullopt : std::optional(found->second);
    if (now != used_[row]) dirty_.push_back(row);
    used_[row] = now;
  }
}

void ClusterMap::write_columns(json::Writer& out, const std::vector<std::uint32_t>& rows) const {
  out.member("columns").object();
  const auto column = [&](std::string_view name, auto value) {
    out.member(name).array();
    for (const std::uint32_t row : rows) out.integer(value(rows_[row]));
    out.end();
  };
  column("cpu", [](const MapRow& row) { return row.cpu; });
  column("cpuAsked", [](const MapRow& row) { return row.cpu_asked; });
  column("memory", [](const MapRow& row) { return row.memory; });
  column("memoryAsked", [](const MapRow& row) { return row.memory_asked; });
  column("pods", [](const MapRow& row) { return row.pods; });
  column("podsThere", [](const MapRow& row) { return row.pods_there; });
  column("gpu", [](const MapRow& row) { return row.gpu; });
  column("gpuAsked", [](const MapRow& row) { return row.gpu_asked; });
  column("state", [](const MapRow& row) { return row.state; });
  if (measures_) {
    out.member("cpuUsed").array();
    for (const std::uint32_t row : rows) out.integer(used_[row] ? used_[row]->cpu : -1);
    out.end().member("memoryUsed").array();
    for (const std::uint32_t row : rows) out.integer(used_[row] ? used_[row]->memory : -1);
    out.end();
  }
  out.end();
}

std::string ClusterMap::snapshot_json() const {
  // Values get their numbers in order of first use.
  struct Column {
    std::vector<std::string_view> values;
    std::map<std::string_view, std::int64_t> number;
    std::vector<std::int64_t> of;
  };
  std::map<std::string_view, Column> columns;
  for (std::size_t row = 0; row < labels_.size(); ++row)
    for (const auto& [key, value] : labels_[row]->pairs()) {
      Column& column = columns[key];
      if (column.values.size() > kMostValues) continue;
      const auto [found, fresh] =
          column.number.emplace(value, static_cast<std::int64_t>(column.values.size()));
      if (fresh) column.values.push_back(value);
      column.of.resize(labels_.size(), -1);
      column.of[row] = found->second;
    }
  json::Writer out;
  out.object().member("layout").integer(static_cast<std::int64_t>(layout_));
  out.member("names").array();
  for (const std::string& name : names_) out.string(name);
  out.end().member("labels").object();
  for (const auto& [key, column] : columns) {
    if (column.values.size() > kMostValues || column.values.size() == labels_.size()) {
      const bool zone = key == "topology.kubernetes.io/zone";
      if (!zone) continue;
    }
    out.member(key).object().member("values").array();
    for (const std::string_view value : column.values) out.string(value);
    out.end().member("of").array();
    for (const std::int64_t of : column.of) out.integer(of);
    out.end().end();
  }
  out.end();
  std::vector<std::uint32_t> all(rows_.size());
  std::iota(all.begin(), all.end(), 0u);
  write_columns(out, all);
  out.end();
  return out.take();
}

std::string ClusterMap::rows_json(const std::vector<std::uint32_t>& rows) const {
  json::Writer out;
  out.object().member("layout").integer(static_cast<std::int64_t>(layout_));
  out.member("rows").array();
  for (const std::uint32_t row : rows) out.integer(row);
  out.end();
  write_columns(out, rows);
  out.end();
  return out.take();
}

std::optional<std::pair<std::string, std::string>> ClusterMap::changes() {
  std::vector<std::uint32_t> rows = std::exchange(dirty_, {});
  if (std::exchange(whole_, false)) return std::pair(std::string("map"), snapshot_json());
  if (rows.empty()) return std::nullopt;
  std::sort(rows.begin(), rows.end());
  rows.erase(std::unique(rows.begin(), rows.end()), rows.end());
  return std::pair(std::string("rows"), rows_json(rows));
}

}  // namespace berth::gateway
