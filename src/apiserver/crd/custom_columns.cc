// SPDX-License-Identifier: Apache-2.0
#include "apiserver/crd/custom_columns.h"

#include "apiserver/crd/json_path.h"
#include "apiserver/kinds/cells.h"
#include "kube/time.h"

namespace berth::apiserver {
namespace {

// As Go prints a value of unknown type: JSON with its members in order.
void append_sorted(std::string& out, json::Slice value) {
  if (value.is_object()) {
    std::map<std::string, json::Slice> sorted;
    for (const auto [key, each] : value.members()) sorted.emplace(key, each);
    out += '{';
    for (const auto& [key, each] : sorted) {
      if (out.back() != '{') out += ',';
      json::append_quoted(out, key);
      out += ':';
      append_sorted(out, each);
    }
    out += '}';
  } else if (value.is_array()) {
    out += '[';
    bool comma = false;
    for (const json::Slice each : value.elements()) {
      if (comma) out += ',';
      comma = true;
      append_sorted(out, each);
    }
    out += ']';
  } else {
    out += value.raw();
  }
}

std::string shown_text(json::Slice value) {
  if (value.is_string()) return value.text();
  std::string out;
  append_sorted(out, value);
  return out;
}

void write_cell(const std::string& type, json::Slice value, WallTime now, json::Writer& w) {
  if (value.is_null()) {
    w.null();
  } else if (type == "string") {
    w.string(shown_text(value));
  } else if (type == "integer" && value.is_number()) {
    if (const auto whole = value.integer())
      w.integer(*whole);
    else
      w.integer(static_cast<std::int64_t>(value.number().value_or(0)));
  } else if (type == "number" && value.is_number()) {
    w.number(value.number().value_or(0));
  } else if (type == "boolean" && value.is_bool()) {
    w.boolean(value.boolean());
  } else if (type == "date" && value.is_string()) {
    if (kube::parse_time(value.text()))
      w.string(since(value, now));
    else
      w.string("<invalid>");
  } else {
    w.null();
  }
}

Column column(std::string_view name, const std::string& type, std::string_view format,
              std::int64_t priority, JsonPath path) {
  return {.name = std::string(name),
          .type = type,
          .format = std::string(format),
          .priority = static_cast<int>(priority),
          .cell = [path = std::move(path), type](const kube::Object& object, WallTime now,
                                                 json::Writer& w) {
            const std::vector<json::Slice> found = path.find(object);
            if (found.empty())
              w.null();
            else
              write_cell(type, found.front(), now, w);
          }};
}

}  // namespace

std::vector<Column> custom_columns(Peek columns) {
  std::vector<Column> out;
  out.push_back({.name = "Name", .format = "name", .cell = text("metadata.name")});
  if (columns.size() == 0) {
    out.push_back(column("Age", "date", "", 0, *JsonPath::parse(".metadata.creationTimestamp")));
    return out;
  }
  for (const json::Value& each : columns.elements()) {
    const Peek given(each);
    Result<JsonPath> path = JsonPath::parse(given["jsonPath"].text());
    // k8s 1.36: one that cannot be read ends the table.
    if (!path) break;
    out.push_back(column(given["name"].text(), std::string(given["type"].text()),
                         given["format"].text(), given["priority"].integer_or(0),
                         std::move(*path)));
    out.back().description = given["description"].text();
  }
  return out;
}

std::vector<FieldLabel> custom_labels(Peek selectable_fields) {
  std::vector<FieldLabel> out;
  for (const json::Value& each : selectable_fields.elements()) {
    const std::string_view text = Peek(each)["jsonPath"].text();
    Result<JsonPath> path = JsonPath::parse(text);
    if (!path) continue;
    out.push_back({std::string(text.substr(text.starts_with('.') ? 1 : 0)),
                   [path = std::move(*path)](const kube::Object& object) -> std::string {
                     const std::vector<json::Slice> found = path.find(object);
                     return found.empty() || found.front().is_null() ? ""
                                                                     : shown_text(found.front());
                   }});
  }
  return out;
}

}  // namespace berth::apiserver
