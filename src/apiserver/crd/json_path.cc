// SPDX-License-Identifier: Apache-2.0
#include "apiserver/crd/json_path.h"

#include <charconv>

#include <fmt/format.h>

#include "json/writer.h"

namespace berth::apiserver {
namespace {

std::string_view trimmed(std::string_view text) {
  while (text.starts_with(' ')) text.remove_prefix(1);
  while (text.ends_with(' ')) text.remove_suffix(1);
  return text;
}

std::optional<std::int64_t> number(std::string_view text) {
  std::int64_t out = 0;
  const auto read = std::from_chars(text.data(), text.data() + text.size(), out);
  if (read.ec != std::errc() || read.ptr != text.data() + text.size()) return std::nullopt;
  return out;
}

// A name up to the next step; a backslash lets the dot belong to it.
std::string name_at(std::string_view& path) {
  std::string out;
  while (!path.empty() && path[0] != '.' && path[0] != '[') {
    if (path[0] == '\\' && path.size() > 1) path.remove_prefix(1);
    out += path[0];
    path.remove_prefix(1);
  }
  return out;
}

// The bracket that closes the one at the beginning.
std::size_t closing(std::string_view path) {
  int depth = 0;
  char quote = 0;
  for (std::size_t i = 0; i < path.size(); ++i) {
    const char c = path[i];
    if (quote != 0) {
      if (c == quote) quote = 0;
    } else if (c == '\'' || c == '"') {
      quote = c;
    } else if (c == '[') {
      ++depth;
    } else if (c == ']' && --depth == 0) {
      return i;
    }
  }
  return std::string_view::npos;
}

std::optional<std::string> quoted_word(std::string_view text) {
  if (text.size() < 2 || (text[0] != '\'' && text[0] != '"') || text.back() != text[0])
    return std::nullopt;
  std::string out;
  text = text.substr(1, text.size() - 2);
  for (std::size_t i = 0; i < text.size(); ++i) {
    if (text[i] == '\\' && i + 1 < text.size()) ++i;
    out += text[i];
  }
  return out;
}

}  // namespace

Result<JsonPath::Step> JsonPath::parse_brackets(std::string_view inside) {
  inside = trimmed(inside);
  if (inside == "*") return All{};
  if (const auto word = quoted_word(inside)) return Field{*word};
  if (inside.starts_with("?(") && inside.ends_with(')')) {
    std::string_view test = trimmed(inside.substr(2, inside.size() - 3));
    Filter filter;
    for (const std::string_view op : {"==", "!=", "<=", ">=", "<", ">"}) {
      const std::size_t at = test.find(op);
      if (at == std::string_view::npos) continue;
      filter.op = op;
      const std::string_view right = trimmed(test.substr(at + op.size()));
      if (const auto word = quoted_word(right))
        filter.right = json::quoted(*word);
      else
        filter.right = right;
      test = trimmed(test.substr(0, at));
      break;
    }
    if (!test.starts_with('@')) return invalid("a filter begins with @");
    test.remove_prefix(1);
    while (!test.empty()) {
      if (test[0] == '[') {
        const std::size_t end = closing(test);
        const auto word =
            end == std::string_view::npos ? std::nullopt : quoted_word(test.substr(1, end - 1));
        if (!word) return invalid("a filter compares fields");
        filter.left.push_back(*word);
        test.remove_prefix(end + 1);
        continue;
      }
      if (test[0] != '.') return invalid("a filter compares fields");
      test.remove_prefix(1);
      filter.left.push_back(name_at(test));
    }
    return filter;
  }
  Range range;
  const std::size_t colon = inside.find(':');
  if (colon == std::string_view::npos) {
    range.from = number(inside);
    range.single = true;
    if (!range.from) return invalid("neither an index nor a name");
    return range;
  }
  std::string_view to = inside.substr(colon + 1);
  if (const std::size_t second = to.find(':'); second != std::string_view::npos) {
    const auto step = number(trimmed(to.substr(second + 1)));
    if (!step || *step <= 0) return invalid("a step is positive");
    range.step = *step;
    to = to.substr(0, second);
  }
  range.from = number(trimmed(inside.substr(0, colon)));
  range.to = number(trimmed(to));
  return range;
}

Result<JsonPath> JsonPath::parse(std::string_view path) {
  constexpr std::size_t kMostSteps = 100;
  JsonPath out;
  while (!path.empty()) {
    if (out.steps_.size() >= kMostSteps) return invalid("too many steps");
    if (path.starts_with("..")) {
      path.remove_prefix(2);
      out.steps_.emplace_back(Deep{name_at(path)});
    } else if (path[0] == '.') {
      path.remove_prefix(1);
      if (path.empty() || path[0] == '[') continue;
      std::string name = name_at(path);
      if (name == "*")
        out.steps_.emplace_back(All{});
      else
        out.steps_.emplace_back(Field{std::move(name)});
    } else if (path[0] == '[') {
      const std::size_t end = closing(path);
      if (end == std::string_view::npos) return invalid("unterminated array");
      Result<Step> step = parse_brackets(path.substr(1, end - 1));
      if (!step) return tl::unexpected(step.error());
      out.steps_.push_back(std::move(*step));
      path.remove_prefix(end + 1);
    } else {
      return invalid(fmt::format("unrecognized character: {}", path[0]));
    }
  }
  return out;
}

bool JsonPath::holds(json::Slice element, const Filter& filter) {
  json::Slice left = element;
  for (const std::string& name : filter.left) left = left[name];
  if (!left.present()) return false;
  if (filter.op.empty()) return true;
  const json::Slice right(filter.right);
  const auto compared = [&]() -> std::optional<int> {
    if (left.is_string() && right.is_string()) {
      const int order = left.text().compare(right.text());
      return order < 0 ? -1 : order > 0 ? 1 : 0;
    }
    const auto a = left.number(), b = right.number();
    if (a && b) return *a < *b ? -1 : *a > *b ? 1 : 0;
    if (left.is_bool() && right.is_bool()) return left.raw() == right.raw() ? 0 : 1;
    return std::nullopt;
  }();
  if (!compared) return false;
  if (filter.op == "==") return *compared == 0;
  if (filter.op == "!=") return *compared != 0;
  if (filter.op == "<") return *compared < 0;
  if (filter.op == "<=") return *compared <= 0;
  if (filter.op == ">") return *compared > 0;
  return *compared >= 0;
}

void JsonPath::take(json::Slice value, const Step& step, std::vector<json::Slice>& out) {
  if (const auto* field = std::get_if<Field>(&step)) {
    if (const json::Slice found = value[field->name]) out.push_back(found);
  } else if (const auto* range = std::get_if<Range>(&step)) {
    if (!value.is_array()) return;
    const auto size = static_cast<std::int64_t>(value.size());
    const auto place = [&](std::int64_t at) { return at < 0 ? at + size : at; };
    if (range->single) {
      const std::int64_t at = place(*range->from);
      if (at >= 0 && at < size) out.push_back(value[static_cast<std::size_t>(at)]);
      return;
    }
    const std::int64_t from = place(range->from.value_or(0)), to = place(range->to.value_or(size));
    std::int64_t i = 0;
    for (const json::Slice each : value.elements()) {
      if (i >= from && i < to && (i - from) % range->step == 0) out.push_back(each);
      ++i;
    }
  } else if (const auto* filter = std::get_if<Filter>(&step)) {
    for (const json::Slice each : value.elements())
      if (holds(each, *filter)) out.push_back(each);
  } else if (const auto* deep = std::get_if<Deep>(&step)) {
    if (value.is_object()) {
      if (const json::Slice found = value[deep->name]) out.push_back(found);
      for (const auto [key, each] : value.members()) take(each, step, out);
    }
    for (const json::Slice each : value.elements()) take(each, step, out);
  } else {
    for (const auto [key, each] : value.members()) out.push_back(each);
    for (const json::Slice each : value.elements()) out.push_back(each);
  }
}

std::vector<json::Slice> JsonPath::find(const kube::Object& object) const {
  if (steps_.empty()) return {};
  std::vector<json::Slice> now;
  if (const auto* first = std::get_if<Field>(&steps_.front())) {
    const json::Slice found = first->name == "metadata" ? object.metadata()
                              : first->name == "status" ? object.status()
                                                        : object.member(first->name);
    if (found) now.push_back(found);
  } else {
    for (const json::Slice part : {object.metadata(), object.body(), object.status()})
      if (part) take(part, steps_.front(), now);
  }
  for (std::size_t i = 1; i < steps_.size(); ++i) {
    std::vector<json::Slice> next;
    for (const json::Slice value : now) take(value, steps_[i], next);
    now = std::move(next);
  }
  return now;
}

}  // namespace berth::apiserver
