// SPDX-License-Identifier: Apache-2.0
#include "apiserver/apply/managers.h"

#include <algorithm>
#include <tuple>
#include <vector>

#include <fmt/format.h>

#include "json/writer.h"

namespace berth::apiserver {

std::string Manager::id() const {
  json::Writer w;
  w.object();
  if (!name.empty()) w.member("manager").string(name);
  w.member("operation").string(applies ? "Apply" : "Update");
  if (!applies && !api_version.empty()) w.member("apiVersion").string(api_version);
  if (!subresource.empty()) w.member("subresource").string(subresource);
  w.end();
  return w.take();
}

std::string Manager::shown() const {
  std::string out = json::quoted(name);
  if (!subresource.empty()) out += " with subresource " + json::quoted(subresource);
  if (!applies) out += " using " + api_version;
  return out;
}

Result<Manager> read_manager(Peek entry, std::size_t index) {
  const std::string_view operation = entry["operation"].text();
  if (operation != "Apply" && operation != "Update")
    return invalid("operation must be `Apply` or `Update`");
  if (entry["apiVersion"].text().empty()) return invalid("apiVersion must not be empty");
  const std::string_view type = entry["fieldsType"].text();
  if (type.empty())
    return invalid(fmt::format("missing fieldsType in managed fields entry {}", index));
  if (type != "FieldsV1")
    return invalid(
        fmt::format("invalid fieldsType \"{}\" in managed fields entry {}", type, index));
  Manager manager{.name = std::string(entry["manager"].text()),
                  .applies = operation == "Apply",
                  .api_version = std::string(entry["apiVersion"].text()),
                  .subresource = std::string(entry["subresource"].text()),
                  .time = std::string(entry["time"].text())};
  if (const json::Value* fields = entry["fieldsV1"].value()) {
    Result<FieldSet> set = FieldSet::parse(*fields);
    if (!set) return tl::unexpected(set.error());
    manager.fields = std::move(*set);
  }
  return manager;
}

Result<Managers> read_managers(Peek managed_fields) {
  Managers out;
  std::size_t i = 0;
  for (const json::Value& each : managed_fields.elements()) {
    Result<Manager> manager = read_manager(each, i++);
    if (!manager) return tl::unexpected(std::move(manager.error()));
    std::string id = manager->id();
    out.insert_or_assign(std::move(id), std::move(*manager));
  }
  return out;
}

void sort_entries(json::List& entries) {
  const auto rank = [](const json::Value& value) {
    const Peek entry(value);
    return std::tuple(entry["operation"].text(), entry["time"].text(), entry["manager"].text(),
                      entry["apiVersion"].text(), entry["subresource"].text());
  };
  std::stable_sort(entries.begin(), entries.end(),
                   [&](const json::Value& a, const json::Value& b) { return rank(a) < rank(b); });
}

json::Value write_manager(const Manager& manager, std::string_view fields, json::Arena& arena) {
  json::Dict entry(arena.storage());
  if (!manager.name.empty()) entry["manager"] = manager.name;
  entry["operation"] = manager.applies ? "Apply" : "Update";
  entry["apiVersion"] = manager.api_version;
  if (!manager.time.empty()) entry["time"] = manager.time;
  entry["fieldsType"] = "FieldsV1";
  entry["fieldsV1"] = json::parse_good(fields, arena);
  if (!manager.subresource.empty()) entry["subresource"] = manager.subresource;
  return entry;
}

json::Value write_managers(const Managers& managers, json::Arena& arena) {
  if (managers.empty()) return json::Value(nullptr, arena.storage());
  json::List list(arena.storage());
  for (const auto& [id, manager] : managers)
    list.push_back(write_manager(manager, manager.fields.json(), arena));
  sort_entries(list);
  return list;
}

void merge_oldest(Managers& managers) {
  std::vector<std::pair<std::string, std::string>> updaters;  // time, id
  for (const auto& [id, manager] : managers)
    if (!manager.applies) updaters.emplace_back(manager.time, id);
  if (updaters.size() <= kMostUpdaters) return;
  std::sort(updaters.begin(), updaters.end());
  std::size_t count = updaters.size();
  std::map<std::string, std::string> first_of;  // by version: the id
  for (const auto& [time, id] : updaters) {
    if (count <= kMostUpdaters) return;
    const Manager old = managers.at(id);
    const auto [first, fresh] = first_of.emplace(old.api_version, id);
    if (fresh) continue;
    Manager bucket{.name = "ancient-changes", .api_version = old.api_version};
    const std::string bucket_id = bucket.id();
    if (!managers.contains(bucket_id)) {
      const auto taken = managers.extract(first->second);
      if (taken) bucket.fields = taken.mapped().fields;
      managers.emplace(bucket_id, bucket);
    }
    Manager& into = managers.at(bucket_id);
    into.fields = old.fields | into.fields;
    // The one merged in is the more recent.
    into.time = old.time;
    if (id != bucket_id) managers.erase(id);
    --count;
  }
}

}  // namespace berth::apiserver
