// SPDX-License-Identifier: Apache-2.0
#include "apiserver/apply/field_set.h"

#include <algorithm>
#include <charconv>

#include <fmt/format.h>

#include "apiserver/edit/peek.h"
#include "json/writer.h"

namespace berth::apiserver {

KeyValue KeyValue::of(const json::Value& value) {
  KeyValue out;
  if (value.is_int64()) {
    out.kind = Kind::kNumber;
    out.whole = true;
    out.integer = value.get_int64();
    out.number = static_cast<double>(out.integer);
  } else if (value.is_double()) {
    out.kind = Kind::kNumber;
    out.number = value.get_double();
  } else if (value.is_string()) {
    out.kind = Kind::kText;
    out.text = sv(value.get_string());
  } else if (value.is_bool()) {
    out.kind = Kind::kBool;
    out.integer = value.get_bool() ? 1 : 0;
  } else {
    out.text = json::print(value);
  }
  return out;
}

std::string KeyValue::json() const {
  std::string out;
  switch (kind) {
    case Kind::kNumber:
      if (whole) return std::to_string(integer);
      json::append_double(out, number);
      return out;
    case Kind::kText:
      json::append_quoted(out, text);
      return out;
    case Kind::kBool:
      return integer != 0 ? "true" : "false";
    case Kind::kOther:
      break;
  }
  return text;
}

std::string KeyValue::shown() const { return json(); }

std::weak_ordering KeyValue::operator<=>(const KeyValue& other) const {
  if (kind != other.kind) return kind <=> other.kind;
  switch (kind) {
    case Kind::kNumber:
      if (whole && other.whole) return integer <=> other.integer;
      if (number < other.number) return std::weak_ordering::less;
      return number > other.number ? std::weak_ordering::greater : std::weak_ordering::equivalent;
    case Kind::kBool:
      return integer <=> other.integer;
    default:
      return text <=> other.text;
  }
}

PathElement PathElement::value(const json::Value& v) {
  return {.kind = Kind::kValue, .parts = {{"", KeyValue::of(v)}}};
}

Result<PathElement> PathElement::parse(std::string_view text) {
  if (text.size() < 2) return invalid("key must be 2 characters long:");
  if (text[1] != ':') return invalid(fmt::format("missing colon: {}", text));
  const std::string_view rest = text.substr(2);
  if (text[0] == 'f') return field(rest);
  if (text[0] == 'i') {
    PathElement out{.kind = Kind::kIndex};
    const auto read = std::from_chars(rest.data(), rest.data() + rest.size(), out.index);
    if (read.ec != std::errc() || read.ptr != rest.data() + rest.size())
      return invalid(fmt::format("not an index: {}", text));
    return out;
  }
  if (text[0] != 'k' && text[0] != 'v') return fail(Reason::kUnknown, "unknown path element type");
  json::Arena arena;
  const Result<json::Value> read = json::parse(rest, arena);
  if (!read) return tl::unexpected(read.error());
  if (text[0] == 'v') return value(*read);
  if (!read->is_object()) return invalid(fmt::format("not an object: {}", text));
  PathElement out{.kind = Kind::kKey};
  for (const auto& member : read->get_object())
    out.parts.emplace_back(sv(member.key()), KeyValue::of(member.value()));
  std::stable_sort(out.parts.begin(), out.parts.end(),
                   [](const auto& a, const auto& b) { return a.first < b.first; });
  return out;
}

std::string PathElement::text() const {
  switch (kind) {
    case Kind::kField:
      return "f:" + name;
    case Kind::kValue:
      return "v:" + parts.front().second.json();
    case Kind::kIndex:
      return fmt::format("i:{}", index);
    case Kind::kKey:
      break;
  }
  std::string out = "k:{";
  for (const auto& [key, value] : parts) {
    if (out.back() != '{') out += ',';
    json::append_quoted(out, key);
    out += ':';
    out += value.json();
  }
  out += '}';
  return out;
}

std::string PathElement::shown() const {
  switch (kind) {
    case Kind::kField:
      return "." + name;
    case Kind::kValue:
      return fmt::format("[={}]", parts.front().second.shown());
    case Kind::kIndex:
      return fmt::format("[{}]", index);
    case Kind::kKey:
      break;
  }
  std::string out = "[";
  for (const auto& [key, value] : parts) {
    if (out.back() != '[') out += ',';
    out += fmt::format("{}={}", key, value.shown());
  }
  out += ']';
  return out;
}

std::weak_ordering PathElement::operator<=>(const PathElement& other) const {
  if (kind != other.kind) return kind <=> other.kind;
  switch (kind) {
    case Kind::kField:
      return name <=> other.name;
    case Kind::kIndex:
      return index <=> other.index;
    default:
      break;
  }
  for (std::size_t i = 0; i < parts.size() && i < other.parts.size(); ++i) {
    if (const auto names = parts[i].first <=> other.parts[i].first; names != 0) return names;
    if (const auto values = parts[i].second <=> other.parts[i].second; values != 0) return values;
  }
  return parts.size() <=> other.parts.size();
}

FieldSet::FieldSet() = default;
FieldSet::FieldSet(const FieldSet&) = default;
FieldSet::FieldSet(FieldSet&&) noexcept = default;
FieldSet& FieldSet::operator=(const FieldSet&) = default;
FieldSet& FieldSet::operator=(FieldSet&&) noexcept = default;
FieldSet::~FieldSet() = default;

Result<FieldSet> FieldSet::parse(const json::Value& fields) {
  FieldSet out;
  if (fields.is_null()) return out;
  if (!fields.is_object()) return invalid("fieldsV1 is no object");
  for (const auto& member : fields.get_object()) {
    const std::string_view key = sv(member.key());
    if (key == ".") continue;
    Result<PathElement> element = PathElement::parse(key);
    if (!element) {
      if (element.error().reason == Reason::kUnknown) continue;
      return tl::unexpected(element.error());
    }
    Result<FieldSet> below = parse(member.value());
    if (!below) return below;
    const Peek value(member.value());
    Node& node = out.nodes_[std::move(*element)];
    // A node with nothing below it is a member, whether it says so or not.
    node.member = below->empty() || value.members().contains(".");
    node.below = std::move(*below);
  }
  return out;
}

void FieldSet::append_json(std::string& out) const {
  out += '{';
  bool comma = false;
  for (const auto& [element, node] : nodes_) {
    if (comma) out += ',';
    comma = true;
    json::append_quoted(out, element.text());
    out += ':';
    if (node.below.empty()) {
      out += "{}";
      continue;
    }
    const std::size_t from = out.size();
    node.below.append_json(out);
    if (node.member) out.replace(from, 1, "{\".\":{},");
  }
  out += '}';
}

std::string FieldSet::json() const {
  std::string out;
  append_json(out);
  return out;
}

std::size_t FieldSet::size() const {
  std::size_t out = 0;
  for (const auto& [element, node] : nodes_) out += (node.member ? 1 : 0) + node.below.size();
  return out;
}

FieldSet::Node& FieldSet::node(const PathElement& element) { return nodes_[element]; }

void FieldSet::insert(FieldPath path) {
  if (path.empty()) return;
  FieldSet* at = this;
  for (const PathElement& element : path.first(path.size() - 1)) at = &at->nodes_[element].below;
  at->nodes_[path.back()].member = true;
}

bool FieldSet::has(const PathElement& element) const {
  const auto found = nodes_.find(element);
  return found != nodes_.end() && found->second.member;
}

bool FieldSet::has(FieldPath path) const {
  const FieldSet* at = this;
  if (path.empty()) return false;
  for (const PathElement& element : path.first(path.size() - 1)) {
    at = at->below(element);
    if (at == nullptr) return false;
  }
  return at->has(path.back());
}

const FieldSet* FieldSet::below(const PathElement& element) const {
  const auto found = nodes_.find(element);
  return found == nodes_.end() || found->second.below.empty() ? nullptr : &found->second.below;
}

FieldSet operator|(FieldSet a, const FieldSet& b) {
  for (const auto& [element, node] : b.nodes_) {
    FieldSet::Node& mine = a.nodes_[element];
    mine.member |= node.member;
    mine.below = mine.below.empty() ? node.below : std::move(mine.below) | node.below;
  }
  return a;
}

FieldSet operator&(const FieldSet& a, const FieldSet& b) {
  FieldSet out;
  for (const auto& [element, node] : a.nodes_) {
    const auto found = b.nodes_.find(element);
    if (found == b.nodes_.end()) continue;
    FieldSet::Node both{node.member && found->second.member, node.below & found->second.below};
    if (both.member || !both.below.empty()) out.nodes_.emplace(element, std::move(both));
  }
  return out;
}

FieldSet operator-(const FieldSet& a, const FieldSet& b) {
  FieldSet out = a;
  out -= b;
  return out;
}

FieldSet& FieldSet::operator-=(const FieldSet& other) {
  for (const auto& [element, node] : other.nodes_) {
    const auto found = nodes_.find(element);
    if (found == nodes_.end()) continue;
    Node& mine = found->second;
    mine.member &= !node.member;
    mine.below -= node.below;
    if (!mine.member && mine.below.empty()) nodes_.erase(found);
  }
  return *this;
}

bool operator==(const FieldSet& a, const FieldSet& b) {
  return std::equal(a.nodes_.begin(), a.nodes_.end(), b.nodes_.begin(), b.nodes_.end(),
                    [](const auto& x, const auto& y) {
                      return x.first == y.first && x.second.member == y.second.member &&
                             x.second.below == y.second.below;
                    });
}

FieldSet FieldSet::without_trees(const FieldSet& other) const {
  FieldSet out;
  for (const auto& [element, node] : nodes_) {
    const auto found = other.nodes_.find(element);
    if (found == other.nodes_.end()) {
      out.nodes_.emplace(element, node);
      continue;
    }
    if (found->second.member) continue;
    Node rest{node.member, node.below.without_trees(found->second.below)};
    if (rest.member || !rest.below.empty()) out.nodes_.emplace(element, std::move(rest));
  }
  return out;
}

void FieldSet::each(const std::function<void(FieldPath)>& visit) const {
  std::vector<PathElement> path;
  walk(path, visit);
}

void FieldSet::walk(std::vector<PathElement>& path,
                    const std::function<void(FieldPath)>& visit) const {
  for (const auto& [element, node] : nodes_) {
    if (!node.member) continue;
    path.push_back(element);
    visit(path);
    path.pop_back();
  }
  for (const auto& [element, node] : nodes_) {
    if (node.below.empty()) continue;
    path.push_back(element);
    node.below.walk(path, visit);
    path.pop_back();
  }
}

std::string shown(FieldPath path) {
  std::string out;
  for (const PathElement& element : path) out += element.shown();
  return out;
}

}  // namespace berth::apiserver
