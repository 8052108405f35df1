// SPDX-License-Identifier: Apache-2.0
#include "apiserver/http/render.h"

#include <algorithm>

#include <fmt/format.h>

#include "apiserver/kinds/cells.h"
#include "base/check.h"
#include "json/writer.h"
#include "kube/status.h"

namespace berth::apiserver {
namespace {

using kube::Object;
using Type = kube::WatchEvent::Type;

std::string_view name_of(Type type) {
  switch (type) {
    case Type::kAdded:
      return "ADDED";
    case Type::kModified:
      return "MODIFIED";
    case Type::kDeleted:
      return "DELETED";
    case Type::kBookmark:
      return "BOOKMARK";
    case Type::kError:
      return "ERROR";
  }
  return "";
}

// k8s 1.36: what has no columns of its own is shown with these.
const std::vector<Column>& plain_columns() {
  static const std::vector<Column> columns = {
      {.name = "Name", .format = "name", .cell = text("metadata.name")},
      {.name = "Created At", .type = "date", .cell = text("metadata.creationTimestamp")},
  };
  return columns;
}

const std::vector<Column>& scale_columns() {
  static const std::vector<Column> columns = {
      {.name = "Name", .format = "name", .cell = text("metadata.name")},
      {.name = "Desired", .type = "integer", .cell = integer("spec.replicas")},
      {.name = "Available", .type = "integer", .cell = integer("status.replicas")},
      {.name = "Age", .cell = age()},
  };
  return columns;
}

// k8s 1.36: what Go calls the type inside of the server.
std::string go_type(const KindRow& row, bool list) {
  if (row.custom) return list ? "*unstructured.UnstructuredList" : "*unstructured.Unstructured";
  const std::string_view group = row.kind.group;
  const bool core = group.empty() || group == "events.k8s.io";
  return fmt::format("*{}.{}{}", core ? "core" : group.substr(0, group.find('.')), row.kind.kind,
                     list ? "List" : "");
}

std::string event_head(const kube::WatchEvent& event) {
  return fmt::format(R"({{"type":"{}","object":)", name_of(event.type));
}

Object bookmark_object(kube::KindId kind, const kube::WatchEvent& event) {
  const std::string metadata = fmt::format(
      R"({{"resourceVersion":"{}","creationTimestamp":null{}}})", event.revision,
      event.initial_events_end ? R"(,"annotations":{"k8s.io/initial-events-end":"true"})" : "");
  auto made = Object::assemble(kind, 0, {.metadata = metadata});
  BERTH_CHECK(made.has_value(), "a bookmark is an object");
  return std::move(*made);
}

}  // namespace

Result<Ok> Renderer::possible(bool list) const {
  if (list && wanted_.form == Form::kMetadata)
    return fail(Reason::kNotAcceptable,
                fmt::format("you requested PartialObjectMetadata, but the requested object is a "
                            "list ({})",
                            go_type(row_, true)));
  if (!list && wanted_.form == Form::kMetadataList)
    return fail(Reason::kNotAcceptable,
                fmt::format("you requested PartialObjectMetadataList, but the requested object is "
                            "not a list ({})",
                            go_type(row_, false)));
  return Ok{};
}

const std::vector<Column>& Renderer::columns_for(kube::KindId kind) const {
  static const kube::KindId kScale = kube::guess_kind("autoscaling/v1", "Scale");
  if (kind == kScale) return scale_columns();
  const KindRow* row = kind == row_.id ? &row_ : kinds_->find(kind);
  return row == nullptr || row->columns.empty() ? plain_columns() : row->columns;
}

void Renderer::whole(const Object& object, bool with_kind, std::string& out) const {
  const auto parts = object.json_parts();
  if (with_kind) {
    for (const std::string_view part : parts) out += part;
    return;
  }
  // Without the head, the first thing begins with a comma that has to go.
  out += '{';
  bool first = true;
  for (std::size_t i = 1; i < parts.size(); ++i) {
    std::string_view part = parts[i];
    if (part.empty()) continue;
    if (std::exchange(first, false) && part.starts_with(',')) part.remove_prefix(1);
    out += part;
  }
}

std::string Renderer::partial_head() const {
  return fmt::format(
      R"({{"kind":"PartialObjectMetadata","apiVersion":"meta.k8s.io/{}","metadata":)",
      wanted_.version);
}

void Renderer::partial(const Object& object, std::string& out) const {
  out += partial_head();
  out += object.metadata().raw();
  out += '}';
}

void Renderer::table_begin(kube::KindId kind, const ListMeta& meta, bool headers,
                           std::string& out) const {
  json::Writer w;
  w.object().member("kind").string("Table");
  w.member("apiVersion").string(fmt::format("meta.k8s.io/{}", wanted_.version));
  w.member("metadata").object();
  if (meta.revision != 0) w.member("resourceVersion").string(std::to_string(meta.revision));
  if (!meta.continue_token.empty()) w.member("continue").string(meta.continue_token);
  if (meta.remaining) w.member("remainingItemCount").integer(*meta.remaining);
  w.end().member("columnDefinitions");
  if (headers) {
    w.array();
    for (const Column& column : columns_for(kind)) {
      w.object().member("name").string(column.name).member("type").string(column.type);
      w.member("format").string(column.format).member("description");
      w.string(column.description);
      w.member("priority").integer(column.priority).end();
    }
    w.end();
  } else {
    w.null();
  }
  w.end();
  out += w.take();
  out.pop_back();
  out += R"(,"rows":[)";
}

void Renderer::row_head(const Object& object, WallTime now, std::string& out) const {
  json::Writer w;
  w.array();
  for (const Column& column : columns_for(object.kind())) column.cell(object, now, w);
  w.end();
  out += R"({"cells":)";
  out += w.text();
  out += R"(,"object":)";
}

Include Renderer::included(const Object& object) const {
  const bool marks_end = wanted_.include == Include::kNone &&
                         object.annotations()["k8s.io/initial-events-end"].present();
  return marks_end ? Include::kMetadata : wanted_.include;
}

void Renderer::table_row(const Object& object, WallTime now, std::string& out) const {
  row_head(object, now, out);
  switch (included(object)) {
    case Include::kObject:
      whole(object, true, out);
      break;
    case Include::kMetadata:
      partial(object, out);
      break;
    case Include::kNone:
      out += "null";
  }
  out += '}';
}

void Renderer::object(const Object& object, WallTime now, std::string& out) {
  switch (wanted_.form) {
    case Form::kWhole:
    case Form::kMetadataList:
      return whole(object, true, out);
    case Form::kMetadata:
      return partial(object, out);
    case Form::kTable:
      table_begin(object.kind(), {.revision = object.revision()}, !told_columns_, out);
      told_columns_ = true;
      table_row(object, now, out);
      out += "]}";
  }
}

void Renderer::list_begin(const kube::ObjectList& list, std::string& out) {
  if (wanted_.form == Form::kTable)
    return table_begin(row_.id,
                       {.revision = list.revision,
                        .continue_token = list.continue_token,
                        .remaining = list.remaining},
                       true, out);
  json::Writer w;
  const bool partial = wanted_.form == Form::kMetadataList;
  w.object().member("kind").string(partial ? "PartialObjectMetadataList" : row_.kind_of_lists());
  w.member("apiVersion")
      .string(partial ? fmt::format("meta.k8s.io/{}", wanted_.version) : row_.kind.api_version());
  w.member("metadata").object();
  if (list.revision != 0) w.member("resourceVersion").string(std::to_string(list.revision));
  if (!list.continue_token.empty()) w.member("continue").string(list.continue_token);
  if (list.remaining) w.member("remainingItemCount").integer(*list.remaining);
  w.end().end();
  out += w.take();
  out.pop_back();
  out += R"(,"items":[)";
}

void Renderer::item(const Object& object, bool first, WallTime now, std::string& out) {
  if (!first) out += ',';
  if (wanted_.form == Form::kTable) return table_row(object, now, out);
  if (wanted_.form == Form::kMetadataList) return partial(object, out);
  whole(object, row_.custom, out);
}

void Renderer::list_end(std::string& out) { out += "]}"; }

void Renderer::event(const kube::WatchEvent& event, WallTime now, std::string& out) {
  out += event_head(event);
  if (event.type == Type::kError)
    out += kube::status_json(event.error.value_or(Error{}));
  else
    object(event.type == Type::kBookmark ? bookmark_object(row_.id, event) : event.object, now,
           out);
  out += "}\n";
}

bool Renderer::event(const kube::WatchEvent& event, WallTime now, std::size_t most,
                     std::size_t& told, std::string& out) {
  const Object& object = event.object;
  const bool table = wanted_.form == Form::kTable;
  const bool shown = event.type != Type::kBookmark && event.type != Type::kError &&
                     !(table && included(object) == Include::kNone);
  std::size_t size = 0;
  if (shown)
    for (const std::string_view part : object.json_parts()) size += part.size();
  if (size <= most) {
    this->event(event, now, out);
    return true;
  }
  const bool partial =
      wanted_.form == Form::kMetadata || (table && included(object) == Include::kMetadata);
  std::string head = event_head(event);
  if (table) {
    table_begin(object.kind(), {.revision = object.revision()}, !told_columns_, head);
    row_head(object, now, head);
  }
  if (partial) head += partial_head();
  std::vector<std::string_view> parts{head};
  if (partial) {
    parts.insert(parts.end(), {object.metadata().raw(), "}"});
  } else {
    const auto all = object.json_parts();
    parts.insert(parts.end(), all.begin(), all.end());
  }
  parts.emplace_back(table ? "}]}}\n" : "}\n");
  std::size_t skip = told, left = most;
  for (std::string_view part : parts) {
    const std::size_t before = std::min(skip, part.size());
    skip -= before;
    part.remove_prefix(before);
    out += part.substr(0, left);
    told += std::min(left, part.size());
    if (part.size() > left) return false;
    left -= part.size();
  }
  told_columns_ = told_columns_ || table;
  return true;
}

}  // namespace berth::apiserver
