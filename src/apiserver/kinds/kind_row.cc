// SPDX-License-Identifier: Apache-2.0
#include "apiserver/kinds/kind_row.h"

#include <algorithm>

#include <fmt/format.h>

#include "apiserver/edit/edit.h"
#include "apiserver/kinds/cells.h"
#include "apiserver/kinds/findings.h"
#include "base/check.h"
#include "base/lower.h"
#include "kube/schema.h"

namespace berth::apiserver {
namespace {

std::vector<std::string> split(std::string_view path) {
  std::vector<std::string> out;
  while (true) {
    const std::size_t dot = path.find('.');
    out.emplace_back(path.substr(0, dot));
    if (dot == std::string_view::npos) return out;
    path.remove_prefix(dot + 1);
  }
}

// Sets what is absent at the end of `steps`, in every element where a step ends in [].
void fill_below(json::Dict& at, std::span<const std::string> steps, const std::string& value,
                json::Arena& arena) {
  std::string_view step = steps.front();
  if (steps.size() == 1) {
    const json::Value* found = at.if_contains(bj(step));
    if (found == nullptr || found->is_null()) at[bj(step)] = json::parse_good(value, arena);
    return;
  }
  if (step.ends_with("[]")) {
    each_dict(at, step.substr(0, step.size() - 2),
              [&](json::Dict& each) { fill_below(each, steps.subspan(1), value, arena); });
  } else if (json::Dict* next = dict_in(at, step)) {
    fill_below(*next, steps.subspan(1), value, arena);
  }
}

std::string field_text(json::Slice value) {
  if (value.is_string()) return value.text();
  return value.present() && !value.is_null() ? std::string(value.raw()) : std::string();
}

}  // namespace

const Subresource* KindRow::subresource(std::string_view name) const {
  const auto found = std::find_if(subresources.begin(), subresources.end(),
                                  [&](const Subresource& s) { return s.name == name; });
  return found == subresources.end() ? nullptr : &*found;
}

Kind::Kind(std::string_view api_version, std::string_view kind, std::string_view plural) {
  const std::size_t slash = api_version.find('/');
  row_.kind.group = slash == std::string_view::npos ? "" : api_version.substr(0, slash);
  row_.kind.version = slash == std::string_view::npos ? api_version : api_version.substr(slash + 1);
  row_.kind.kind = kind;
  row_.kind.plural = plural;
  row_.singular = lower(kind);
  row_.verbs = {"create", "delete", "deletecollection", "get", "list", "patch", "update", "watch"};
  row_.name_rule = &kube::check_dns_subdomain;
}

Kind& Kind::cluster_scoped() {
  row_.kind.namespaced = false;
  return *this;
}
Kind& Kind::short_name(std::string_view name) {
  row_.short_names.emplace_back(name);
  return *this;
}
Kind& Kind::category(std::string_view name) {
  row_.categories.emplace_back(name);
  return *this;
}
Kind& Kind::singular(std::string_view name) {
  row_.singular = name;
  return *this;
}
Kind& Kind::only(std::vector<std::string_view> verbs) {
  row_.verbs = std::move(verbs);
  return *this;
}
Kind& Kind::without(std::string_view verb) {
  std::erase(row_.verbs, verb);
  return *this;
}
Kind& Kind::request() {
  row_.stored = false;
  return only({"create"});
}
Kind& Kind::named_by(NameRule rule) {
  row_.name_rule = rule;
  return *this;
}
Kind& Kind::status() {
  row_.has_status = true;
  return subresource(
      {.name = "status", .kind = row_.kind.kind, .verbs = {"get", "patch", "update"}});
}
Kind& Kind::scale() {
  return subresource({.name = "scale",
                      .kind = "Scale",
                      .group = "autoscaling",
                      .version = "v1",
                      .verbs = {"get", "patch", "update"}});
}
Kind& Kind::subresource(Subresource s) {
  row_.subresources.push_back(std::move(s));
  std::sort(row_.subresources.begin(), row_.subresources.end(),
            [](const Subresource& a, const Subresource& b) { return a.name < b.name; });
  return *this;
}
Kind& Kind::generation() {
  row_.counts_generation = true;
  return *this;
}
Kind& Kind::conditional_update() {
  row_.unconditional_update = false;
  return *this;
}
Kind& Kind::deprecated(std::string_view since, std::string_view instead) {
  row_.warning = fmt::format("{} {} is deprecated in {}+{}{}", row_.kind.api_version(),
                             row_.kind.kind, since, instead.empty() ? "" : "; use ", instead);
  return *this;
}
Kind& Kind::creates_on_update() {
  row_.create_on_update = true;
  return *this;
}

Kind& Kind::column(std::string_view name, Cell cell, std::string_view type) {
  row_.columns.push_back({.name = std::string(name), .type = std::string(type), .cell = cell});
  return *this;
}
Kind& Kind::wide(std::string_view name, Cell cell, std::string_view type) {
  column(name, std::move(cell), type);
  row_.columns.back().priority = 1;
  return *this;
}
Kind& Kind::format_last(std::string_view format) {
  row_.columns.back().format = format;
  return *this;
}
Kind& Kind::name_column() { return column("Name", text("metadata.name")).format_last("name"); }
Kind& Kind::age_column() { return column("Age", age()); }

Kind& Kind::selectable(std::string_view label) {
  return selectable(label, [path = std::string(label)](const kube::Object& object) {
    return field_text(look_up(object, path));
  });
}
Kind& Kind::selectable(std::string_view label,
                       std::function<std::string(const kube::Object&)> value) {
  row_.field_labels.push_back({std::string(label), std::move(value)});
  return *this;
}

Kind& Kind::fill(std::string_view path, std::string_view json) {
  return fill([steps = split(path), value = std::string(json)](Edit& edit) {
    const std::string_view top = steps.front();
    if (steps.size() > 1 && top == "metadata") {
      fill_below(edit.metadata(), std::span(steps).subspan(1), value, edit.arena());
    } else if (steps.size() > 1 && top == "status") {
      if (edit.status().is_object())
        fill_below(edit.status().as_object(), std::span(steps).subspan(1), value, edit.arena());
    } else {
      fill_below(edit.body(), steps, value, edit.arena());
    }
  });
}
Kind& Kind::fill(std::function<void(Edit&)> f) {
  row_.fill.push_back(std::move(f));
  return *this;
}
Kind& Kind::on_create(std::function<void(Edit&)> f) {
  row_.on_create.push_back(std::move(f));
  return *this;
}
Kind& Kind::on_update(std::function<void(Edit&)> f) {
  row_.on_update.push_back(std::move(f));
  return *this;
}
Kind& Kind::on_status_update(std::function<void(Edit&)> f) {
  row_.on_status_update.push_back(std::move(f));
  return *this;
}
Kind& Kind::check(std::function<void(Edit&, Findings&)> f) {
  row_.check_update.push_back(f);
  return check_create(std::move(f));
}
Kind& Kind::check_create(std::function<void(Edit&, Findings&)> f) {
  row_.check.push_back(std::move(f));
  return *this;
}
Kind& Kind::check_update(std::function<void(Edit&, Findings&)> f) {
  row_.check_update.push_back(std::move(f));
  return *this;
}
Kind& Kind::check_status(std::function<void(Edit&, Findings&)> f) {
  row_.check_status.push_back(std::move(f));
  return *this;
}

Kind& Kind::immutable(std::initializer_list<std::string_view> paths) {
  for (const std::string_view path : paths)
    check_update([steps = split(path)](Edit& edit, Findings& findings) {
      Peek now(edit.body()), before = edit.was_body();
      Path at;
      for (const std::string& step : steps) {
        now = now[step];
        before = before[step];
        at = at / step;
      }
      if (same(now, before)) return;
      const json::Value* value = now.value();
      findings.invalid(at, value == nullptr ? Shown::raw("null") : Shown::raw(json::print(*value)),
                       "field is immutable");
    });
  return *this;
}

Kind::operator KindRow() && {
  row_.id = kube::learn_kind(row_.kind);
  if (row_.schema == nullptr) row_.schema = kube::schema_of(row_.id);
  std::sort(row_.verbs.begin(), row_.verbs.end());
  return std::move(row_);
}

}  // namespace berth::apiserver
