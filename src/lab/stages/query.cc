// SPDX-License-Identifier: Apache-2.0
#include "lab/stages/query.h"

#include <cctype>
#include <charconv>

#include <fmt/format.h>

#include "json/writer.h"

namespace berth::lab {

class QueryParser {
 public:
  explicit QueryParser(std::string_view text) : text_(text) {}

  Result<Query> parse() {
    Query query;
    if (!pipe(query.steps_)) return refused();
    skip();
    if (at_ != text_.size()) {
      wrong("\"" + std::string(text_.substr(at_)) + "\" is outside of the jq that is understood");
      return refused();
    }
    return query;
  }

 private:
  using Steps = std::vector<Query::Step>;
  using Step = Query::Step;

  tl::unexpected<Error> refused() const {
    return invalid(fmt::format("{} in the jq expression \"{}\"", why_, text_));
  }
  bool wrong(std::string why) {
    if (why_.empty()) why_ = std::move(why);
    return false;
  }
  void skip() {
    while (at_ < text_.size() && std::isspace(static_cast<unsigned char>(text_[at_]))) ++at_;
  }
  bool take(std::string_view word) {
    skip();
    if (text_.substr(at_, word.size()) != word) return false;
    at_ += word.size();
    return true;
  }
  bool take_word(std::string_view word) {
    skip();
    const std::size_t after = at_ + word.size();
    if (text_.substr(at_, word.size()) != word ||
        (after < text_.size() && part_of_name(text_[after])))
      return false;
    at_ = after;
    return true;
  }
  static bool part_of_name(char c) {
    return std::isalnum(static_cast<unsigned char>(c)) || c == '_';
  }

  bool pipe(Steps& into) {
    do {
      if (!term(into)) return false;
    } while (take("|"));
    return true;
  }

  bool term(Steps& into) {
    skip();
    if (take_word("select")) {
      auto condition = std::make_shared<Query::Condition>();
      if (!take("(")) return wrong("select is followed by (");
      if (!this->condition(*condition)) return false;
      if (!take(")")) return wrong("a ) is missing");
      into.push_back({.type = Step::Type::kSelect, .condition = std::move(condition)});
      return true;
    }
    if (at_ >= text_.size() || text_[at_] != '.')
      return wrong(fmt::format("\"{}\" is outside of the jq that is understood",
                               text_.substr(at_, text_.find_first_of(" |)", at_) - at_)));
    return path(into);
  }

  bool path(Steps& into) {
    bool dot = false;
    for (;;) {
      if (at_ < text_.size() && text_[at_] == '.') {
        ++at_;
        dot = true;
        if (at_ < text_.size() && (part_of_name(text_[at_]))) {
          const std::size_t from = at_;
          while (at_ < text_.size() && part_of_name(text_[at_])) ++at_;
          into.push_back({.name = std::string(text_.substr(from, at_ - from))});
        } else if (at_ < text_.size() && text_[at_] == '"') {
          if (!member(into)) return false;
        }
        // Else it stands alone, or before a bracket: .[]
      } else if (at_ < text_.size() && text_[at_] == '[') {
        ++at_;
        if (!bracket(into)) return false;
      } else if (at_ < text_.size() && text_[at_] == '?' && !into.empty()) {
        ++at_;
        into.back().forgiving = true;
      } else {
        return dot || wrong("a path begins with .");
      }
    }
  }

  bool member(Steps& into) {
    std::string name;
    if (!quoted(name)) return false;
    into.push_back({.name = std::move(name)});
    return true;
  }

  bool bracket(Steps& into) {
    skip();
    if (take("]")) {
      into.push_back({.type = Step::Type::kEach});
      return true;
    }
    if (at_ < text_.size() && text_[at_] == '"') {
      if (!member(into)) return false;
    } else {
      std::int64_t element = 0;
      const auto [end, error] =
          std::from_chars(text_.data() + at_, text_.data() + text_.size(), element);
      if (error != std::errc()) return wrong("brackets hold a string, a number or nothing");
      at_ = static_cast<std::size_t>(end - text_.data());
      into.push_back({.type = Step::Type::kElement, .element = element});
    }
    return take("]") || wrong("a ] is missing");
  }

  bool quoted(std::string& out) {
    const std::size_t from = at_++;
    while (at_ < text_.size() && text_[at_] != '"') at_ += text_[at_] == '\\' ? 2 : 1;
    if (at_ >= text_.size()) return wrong("a \" is missing");
    ++at_;
    if (text_.substr(from, at_ - from).find("\\(") != std::string_view::npos)
      return wrong("\\( is outside of the jq that is understood");
    out = json::Slice(text_.substr(from, at_ - from)).text();
    return true;
  }

  bool condition(Query::Condition& into) {
    into.any_of_all.emplace_back();
    for (;;) {
      Query::Comparison comparison;
      if (!compare(comparison)) return false;
      into.any_of_all.back().push_back(std::move(comparison));
      if (take_word("and")) continue;
      if (!take_word("or")) return true;
      into.any_of_all.emplace_back();
    }
  }

  bool compare(Query::Comparison& into) {
    if (!operand(into.left)) return false;
    if (take("=="))
      into.type = Query::Comparison::Type::kEqual;
    else if (take("!="))
      into.type = Query::Comparison::Type::kUnequal;
    else
      return true;
    return operand(into.right);
  }

  bool operand(Query::Operand& into) {
    skip();
    if (at_ < text_.size() && text_[at_] == '"') {
      std::string text;
      if (!quoted(text)) return false;
      json::append_quoted(into.literal, text);
      return true;
    }
    for (const std::string_view word : {"true", "false", "null"})
      if (take_word(word)) {
        into.literal = word;
        return true;
      }
    std::int64_t number = 0;
    const auto [end, error] =
        std::from_chars(text_.data() + at_, text_.data() + text_.size(), number);
    if (error == std::errc()) {
      at_ = static_cast<std::size_t>(end - text_.data());
      into.literal = std::to_string(number);
      return true;
    }
    if (at_ >= text_.size() || text_[at_] != '.') return wrong("a path or a literal is compared");
    return path(into.path);
  }

  std::string_view text_;
  std::size_t at_ = 0;
  std::string why_;
};

namespace {

const json::Slice kNull("null");

bool same_value(json::Slice a, json::Slice b) {
  if (a.is_string() || b.is_string()) return a.is_string() && b.is_string() && a.text() == b.text();
  if (a.is_number() && b.is_number()) return a.number() == b.number();
  return a.raw() == b.raw();
}

bool truthy(json::Slice value) { return value && !value.is_null() && value.raw() != "false"; }

}  // namespace

Result<Query> Query::parse(std::string_view text) { return QueryParser(text).parse(); }

bool Query::holds(const Condition& condition, json::Slice value, bool& good) {
  const auto read = [&](const Operand& operand) -> json::Slice {
    if (!operand.literal.empty()) return json::Slice(operand.literal);
    std::vector<json::Slice> results = {value};
    if (!run_steps(operand.path, results)) good = false;
    return results.empty() ? kNull : results.front();
  };
  for (const std::vector<Comparison>& all : condition.any_of_all) {
    bool every = true;
    for (const Comparison& each : all) {
      const json::Slice left = read(each.left);
      if (each.type == Comparison::Type::kTrue)
        every = every && truthy(left);
      else
        every =
            every && same_value(left, read(each.right)) == (each.type == Comparison::Type::kEqual);
    }
    if (every) return true;
  }
  return false;
}

bool Query::run_steps(const std::vector<Step>& steps, std::vector<json::Slice>& values) {
  for (const Step& step : steps) {
    std::vector<json::Slice> next;
    for (const json::Slice value : values) {
      const bool null = !value || value.is_null();
      switch (step.type) {
        case Step::Type::kMember: {
          if (!null && !value.is_object()) {
            if (step.forgiving) break;
            return false;
          }
          const json::Slice found = null ? json::Slice() : value[step.name];
          next.push_back(found ? found : kNull);
          break;
        }
        case Step::Type::kElement: {
          if (!null && !value.is_array()) {
            if (step.forgiving) break;
            return false;
          }
          const auto size = static_cast<std::int64_t>(value.size());
          const std::int64_t at = step.element < 0 ? size + step.element : step.element;
          next.push_back(at >= 0 && at < size ? value[static_cast<std::size_t>(at)] : kNull);
          break;
        }
        case Step::Type::kEach:
          if (value.is_array()) {
            for (const json::Slice each : value.elements()) next.push_back(each);
          } else if (value.is_object()) {
            for (const auto [key, each] : value.members()) next.push_back(each);
          } else if (!step.forgiving) {
            return false;
          }
          break;
        case Step::Type::kSelect: {
          bool good = true;
          if (holds(*step.condition, value, good)) next.push_back(value);
          if (!good) return false;
          break;
        }
      }
    }
    values = std::move(next);
  }
  return true;
}

std::vector<json::Slice> Query::run(json::Slice document) const {
  std::vector<json::Slice> values = {document};
  if (!run_steps(steps_, values)) return {};
  std::erase_if(values, [](json::Slice value) { return !value || value.is_null(); });
  return values;
}

}  // namespace berth::lab
