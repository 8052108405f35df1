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

Result<Managers> read_managers(Peek managed_fields) {
  Managers out;
  std::size_t i = 0;
  for (const json::Value& each : managed_fields.elements()) {
    const Peek entry(each);
    const std::string_view operation = entry["operation"].text();
    if (operation != "Apply" && operation != "Update")
      return invalid("operation must be `Apply` or `Update`");
    if (entry["apiVersion"].text().empty()) return invalid("apiVersion must not be empty");
    const std::string_view type = entry["fieldsType"].text();
    if (type.empty())
      return invalid(fmt::format("missing fieldsType in managed fields entry {}", i));
    if (type != "FieldsV1")
      return invalid(fmt::format("invalid fieldsType \"{}\" in managed fields entry {}", type, i));
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
    std::string id = manager.id();
    out.insert_or_assign(std::move(id), std::move(manager));
    ++i;
  }
  return out;
}

json::Value write_managers(const Managers& managers, boost::json::storage_ptr storage) {
  if (managers.empty()) return json::Value(nullptr, storage);
  std::vector<const Manager*> sorted;
  for (const auto& [id, manager] : managers) sorted.push_back(&manager);
  std::stable_sort(sorted.begin(), sorted.end(), [](const Manager* a, const Manager* b) {
    return std::tuple(!a->applies, std::string_view(a->time), std::string_view(a->name),
                      std::string_view(a->api_version), std::string_view(a->subresource)) <
           std::tuple(!b->applies, std::string_view(b->time), std::string_view(b->name),
                      std::string_view(b->api_version), std::string_view(b->subresource));
  });
  json::List list(storage);
  for (const Manager* manager : sorted) {
    json::Dict entry(storage);
    if (!manager->name.empty()) entry["manager"] = manager->name;
    entry["operation"] = manager->applies ? "Apply" : "Update";
    entry["apiVersion"] = manager->api_version;
    if (!manager->time.empty()) entry["time"] = manager->time;
    entry["fieldsType"] = "FieldsV1";
    json::Arena arena;
    entry["fieldsV1"] = json::Value(json::parse_good(manager->fields.json(), arena), storage);
    if (!manager->subresource.empty()) entry["subresource"] = manager->subresource;
    list.push_back(std::move(entry));
  }
  return list;
}

void merge_oldest(Managers& managers) {
  constexpr std::size_t kMost = 10;
  std::vector<std::pair<std::string, std::string>> updaters;  // time, id
  for (const auto& [id, manager] : managers)
    if (!manager.applies) updaters.emplace_back(manager.time, id);
  if (updaters.size() <= kMost) return;
  std::sort(updaters.begin(), updaters.end());
  std::size_t count = updaters.size();
  std::map<std::string, std::string> first_of;  // by version: the id
  for (const auto& [time, id] : updaters) {
    if (count <= kMost) return;
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
