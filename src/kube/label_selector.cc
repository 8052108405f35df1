// SPDX-License-Identifier: Apache-2.0
#include "kube/label_selector.h"

#include <algorithm>
#include <charconv>

#include <fmt/format.h>

#include "json/writer.h"
#include "kube/names.h"

namespace berth::kube {
namespace {

using Op = Requirement::Op;

bool is_space(char c) { return c == ' ' || c == '\t' || c == '\r' || c == '\n'; }
bool is_symbol(char c) { return std::string_view("=!(),><").find(c) != std::string_view::npos; }

struct Token {
  enum class Type { kEnd, kWord, kSymbol };
  Type type = Type::kEnd;
  std::string_view text;
  bool is(std::string_view symbol) const { return type == Type::kSymbol && text == symbol; }
  bool is_word() const { return type == Type::kWord; }
};

// k8s 1.36: a NUL byte ends the token it follows, and the text where a token would begin.
class Lexer {
 public:
  explicit Lexer(std::string_view text) : text_(text) {}

  Token next() {
    while (at_ < text_.size() && is_space(text_[at_])) ++at_;
    if (at_ >= text_.size()) return {};
    if (text_[at_] == '\0') return {};
    const std::size_t from = at_;
    if (is_symbol(text_[at_])) {
      // The longest of the symbols; "=!" and the like never are one.
      const std::string_view two = text_.substr(at_, 2);
      const bool longer = two == "==" || two == "!=";
      at_ += longer ? 2 : 1;
      const Token symbol{Token::Type::kSymbol, text_.substr(from, at_ - from)};
      skip_nul();
      return symbol;
    }
    while (at_ < text_.size() && text_[at_] != '\0' && !is_symbol(text_[at_]) &&
           !is_space(text_[at_]))
      ++at_;
    const std::string_view word = text_.substr(from, at_ - from);
    skip_nul();
    return {Token::Type::kWord, word};
  }

 private:
  void skip_nul() {
    if (at_ < text_.size() && text_[at_] == '\0') ++at_;
  }
  std::string_view text_;
  std::size_t at_ = 0;
};

class Parser {
 public:
  explicit Parser(std::string_view text) : lexer_(text), token_(lexer_.next()) {}

  Result<std::vector<Requirement>> parse() {
    std::vector<Requirement> out;
    while (true) {
      if (token_.type == Token::Type::kEnd) return out;
      if (!token_.is_word() && !token_.is("!"))
        return unexpected("!, identifier, or end of string");
      Result<Requirement> one = requirement();
      if (!one) return tl::unexpected(std::move(one.error()));
      out.push_back(std::move(*one));
      if (token_.type == Token::Type::kEnd) return out;
      if (!token_.is(",")) return unexpected("',' or end of string");
      take();
      if (!token_.is_word() && !token_.is("!")) return unexpected("identifier after ','");
    }
  }

 private:
  Token take() { return std::exchange(token_, lexer_.next()); }
  tl::unexpected<Error> unexpected(std::string_view expected) const {
    return invalid(fmt::format("found '{}', expected: {}", token_.text, expected));
  }
  bool ends_requirement() const { return token_.type == Token::Type::kEnd || token_.is(","); }

  Result<Requirement> requirement() {
    const bool negated = token_.is("!");
    if (negated) take();
    if (!token_.is_word()) return unexpected("identifier");
    std::string key(take().text);
    if (const Complaints why = check_qualified_name(key); !why.empty())
      return invalid(fmt::format("key: Invalid value: \"{}\": {}", key, joined(why)));
    if (negated) return Requirement::make(std::move(key), Op::kDoesNotExist, {});
    if (ends_requirement()) return Requirement::make(std::move(key), Op::kExists, {});
    const std::optional<Op> op = operator_of(token_);
    if (!op) return unexpected("in, notin, =, ==, !=, gt, lt");
    take();
    std::vector<std::string> values;
    if (*op == Op::kIn || *op == Op::kNotIn) {
      if (!token_.is("(")) return unexpected("'('");
      take();
      if (auto listed = list(values); !listed) return tl::unexpected(std::move(listed.error()));
      std::sort(values.begin(), values.end());
      values.erase(std::unique(values.begin(), values.end()), values.end());
    } else if (ends_requirement()) {
      values.emplace_back();
    } else if (token_.is_word()) {
      values.emplace_back(take().text);
    } else {
      return unexpected("identifier");
    }
    return Requirement::make(std::move(key), *op, std::move(values));
  }

  static std::optional<Op> operator_of(const Token& token) {
    constexpr std::pair<std::string_view, Op> kOps[] = {
        {"in", Op::kIn},           {"notin", Op::kNotIn},  {"=", Op::kEquals},
        {"==", Op::kDoubleEquals}, {"!=", Op::kNotEquals}, {">", Op::kGreater},
        {"<", Op::kLess}};
    for (const auto& [text, op] : kOps)
      if (token.text == text) return op;
    return std::nullopt;
  }

  // Up to and with the ')'. Every gap between two commas is the empty value, except a blank one
  // after a word: "(a,,b)" has it, "(a,b)" has not.
  Result<Ok> list(std::vector<std::string>& values) {
    if (token_.is(")")) {
      values.emplace_back();
      take();
      return Ok{};
    }
    while (true) {
      if (token_.is_word()) {
        values.emplace_back(take().text);
        if (token_.is(")")) break;
        if (!token_.is(",")) return unexpected("',' or ')'");
      } else if (token_.is(",")) {
        take();
        if (values.empty() || token_.is(",")) values.emplace_back();
        if (token_.is(")")) {
          values.emplace_back();
          break;
        }
      } else {
        return unexpected("',', ')' or identifier");
      }
    }
    take();
    return Ok{};
  }

  Lexer lexer_;
  Token token_;
};

// A list of values as Go prints it in an error.
std::string json_list(const std::vector<std::string>& values) {
  if (values.empty()) return "null";
  std::string out;
  for (const std::string& value : values) {
    out += out.empty() ? '[' : ',';
    json::append_quoted(out, value);
  }
  return out + ']';
}

// All that is wrong with a requirement, in Kubernetes' words.
std::vector<std::string> problems(const std::string& key, Op op,
                                  const std::vector<std::string>& values) {
  std::vector<std::string> out;
  const auto add = [&out](std::string_view field, std::string_view value, std::string_view why) {
    out.push_back(fmt::format("{}: Invalid value: {}: {}", field, value, why));
  };
  if (const Complaints why = check_qualified_name(key); !why.empty())
    add("key", json::quoted(key), joined(why));
  switch (op) {
    case Op::kIn:
    case Op::kNotIn:
      if (values.empty())
        add("values", json_list(values), "for 'in', 'notin' operators, values set can't be empty");
      break;
    case Op::kEquals:
    case Op::kDoubleEquals:
    case Op::kNotEquals:
      if (values.size() != 1)
        add("values", json_list(values), "exact-match compatibility requires one single value");
      break;
    case Op::kExists:
    case Op::kDoesNotExist:
      if (!values.empty())
        add("values", json_list(values), "values set must be empty for exists and does not exist");
      break;
    case Op::kGreater:
    case Op::kLess:
      if (values.size() != 1)
        add("values", json_list(values), "for 'Gt', 'Lt' operators, exactly one value is required");
      for (std::size_t i = 0; i < values.size(); ++i)
        if (!parse_decimal(values[i]))
          add(fmt::format("values[{}]", i), json::quoted(values[i]),
              "for 'Gt', 'Lt' operators, the value must be an integer");
      break;
  }
  for (std::size_t i = 0; i < values.size(); ++i)
    if (const Complaints why = check_label_value(values[i]); !why.empty())
      add(fmt::format("values[{}][{}]", i, key), json::quoted(values[i]), joined(why));
  return out;
}

}  // namespace

std::optional<std::int64_t> parse_decimal(std::string_view text) {
  if (text.size() > 1 && text[0] == '+' && text[1] != '-') text.remove_prefix(1);
  std::int64_t value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc() || end != text.data() + text.size()) return std::nullopt;
  return value;
}

Result<Requirement> Requirement::make(std::string key, Op op, std::vector<std::string> values) {
  if (std::vector<std::string> wrong = problems(key, op, values); !wrong.empty())
    return invalid(wrong.size() == 1 ? std::move(wrong[0])
                                     : fmt::format("[{}]", fmt::join(wrong, ", ")));
  Requirement r;
  r.key_ = std::move(key);
  r.op_ = op;
  r.values_ = std::move(values);
  return r;
}

Requirement Requirement::exactly(std::string key, std::string value) {
  Requirement r;
  r.key_ = std::move(key);
  r.op_ = Op::kEquals;
  r.values_.push_back(std::move(value));
  return r;
}

bool Requirement::matches(std::optional<std::string_view> value) const {
  const auto listed = [&] {
    return std::find(values_.begin(), values_.end(), *value) != values_.end();
  };
  switch (op_) {
    case Op::kEquals:
    case Op::kDoubleEquals:
    case Op::kIn:
      return value && listed();
    case Op::kNotEquals:
    case Op::kNotIn:
      return !value || !listed();
    case Op::kExists:
      return value.has_value();
    case Op::kDoesNotExist:
      return !value;
    case Op::kGreater:
    case Op::kLess: {
      const auto have = value ? parse_decimal(*value) : std::nullopt;
      if (!have) return false;
      const std::int64_t than = *parse_decimal(values_[0]);
      return op_ == Op::kGreater ? *have > than : *have < than;
    }
  }
  return false;
}

std::string Requirement::text() const {
  std::vector<std::string> sorted = values_;
  std::sort(sorted.begin(), sorted.end());
  const std::string list = fmt::format("{}", fmt::join(sorted, ","));
  switch (op_) {
    case Op::kEquals:
      return key_ + "=" + list;
    case Op::kDoubleEquals:
      return key_ + "==" + list;
    case Op::kNotEquals:
      return key_ + "!=" + list;
    case Op::kIn:
      return key_ + " in (" + list + ")";
    case Op::kNotIn:
      return key_ + " notin (" + list + ")";
    case Op::kExists:
      return key_;
    case Op::kDoesNotExist:
      return "!" + key_;
    case Op::kGreater:
      return key_ + ">" + list;
    case Op::kLess:
      return key_ + "<" + list;
  }
  return {};
}

LabelSelector LabelSelector::nothing() {
  LabelSelector s;
  s.nothing_ = true;
  return s;
}

Result<LabelSelector> LabelSelector::parse(std::string_view text) {
  Result<std::vector<Requirement>> parsed = Parser(text).parse();
  if (!parsed)
    return invalid(fmt::format("invalid label selector \"{}\": {}", text, parsed.error().message));
  LabelSelector s;
  s.requirements_ = std::move(*parsed);
  s.sort();
  return s;
}

Result<LabelSelector> LabelSelector::from_json(json::Slice selector) {
  if (!selector.present() || selector.is_null()) return nothing();
  LabelSelector s;
  const auto add = [&s](Result<Requirement> r) -> std::optional<Error> {
    if (!r) return std::move(r.error());
    s.requirements_.push_back(std::move(*r));
    return std::nullopt;
  };
  LabelMap match;  // of equal keys the last counts, as in Go
  for (auto [key, value] : selector["matchLabels"].members())
    match[std::string(key)] = value.text();
  for (auto& [key, value] : match)
    if (auto error = add(Requirement::make(key, Op::kEquals, {value})))
      return tl::unexpected(std::move(*error));
  for (const json::Slice expression : selector["matchExpressions"].elements()) {
    const std::string name = expression["operator"].text();
    Op op = Op::kIn;
    if (name == "NotIn")
      op = Op::kNotIn;
    else if (name == "Exists")
      op = Op::kExists;
    else if (name == "DoesNotExist")
      op = Op::kDoesNotExist;
    else if (name != "In")
      return invalid(fmt::format("\"{}\" is not a valid label selector operator", name));
    std::vector<std::string> values;
    for (const json::Slice value : expression["values"].elements()) values.push_back(value.text());
    if (auto error = add(Requirement::make(expression["key"].text(), op, std::move(values))))
      return tl::unexpected(std::move(*error));
  }
  s.sort();
  return s;
}

LabelSelector LabelSelector::from_labels(json::Slice labels) {
  LabelSelector s;
  LabelMap match;
  for (auto [key, value] : labels.members()) match[std::string(key)] = value.text();
  for (auto& [key, value] : match) s.requirements_.push_back(Requirement::exactly(key, value));
  return s;
}

LabelSelector LabelSelector::with(std::vector<Requirement> more) const {
  LabelSelector s = *this;
  if (nothing_) return s;
  for (Requirement& r : more) s.requirements_.push_back(std::move(r));
  s.sort();
  return s;
}

void LabelSelector::sort() {
  // k8s 1.36: sorted by key alone. Go's sort keeps the order of equal keys up to 12 elements.
  std::stable_sort(requirements_.begin(), requirements_.end(),
                   [](const Requirement& a, const Requirement& b) { return a.key() < b.key(); });
}

bool LabelSelector::matches(json::Slice labels) const {
  std::string scratch;
  return matches([&](std::string_view key) {
    const json::Slice value = labels[key];
    return value ? std::optional(value.text(scratch)) : std::nullopt;
  });
}

bool LabelSelector::matches(const LabelMap& labels) const {
  return matches([&](std::string_view key) {
    const auto at = labels.find(key);
    return at != labels.end() ? std::optional<std::string_view>(at->second) : std::nullopt;
  });
}

bool LabelSelector::matches(const LabelLookup& labels) const {
  if (nothing_) return false;
  return std::all_of(requirements_.begin(), requirements_.end(),
                     [&](const Requirement& r) { return r.matches(labels(r.key())); });
}

std::string LabelSelector::text() const {
  std::string out;
  for (const Requirement& r : requirements_) {
    if (!out.empty()) out += ',';
    out += r.text();
  }
  return out;
}

}  // namespace berth::kube
