// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <charconv>
#include <cmath>
#include <optional>

#include <fmt/format.h>

#include "kube/cel/lexer.h"
#include "kube/cel/syntax.h"

namespace berth::cel {
namespace {

constexpr int kMostNesting = 100, kMostDepth = 250;
constexpr std::size_t kMostNodes = 20'000;
constexpr std::string_view kReserved[] = {
    "as",  "break", "const",   "continue",  "else",   "for", "function", "if",   "import",
    "let", "loop",  "package", "namespace", "return", "var", "void",     "while"};
constexpr std::string_view kLoops[] = {"all", "exists", "exists_one", "existsOne", "map", "filter"};

template <class List>
bool has(const List& list, std::string_view word) {
  return std::find(std::begin(list), std::end(list), word) != std::end(list);
}

// Null: something was wrong, and `problem` says what.
class Parser {
 public:
  Parser(std::string_view text, std::vector<Token> tokens)
      : text_(text), tokens_(std::move(tokens)) {}

  Result<ExprPtr> whole() {
    ExprPtr out = expression();
    if (out != nullptr && now().kind != Token::Kind::kEnd) out = unexpected_token();
    if (out == nullptr)
      return tl::unexpected(Error{.reason = Reason::kInvalid, .message = problem_});
    return out;
  }

 private:
  const Token& now() const { return tokens_[at_]; }
  const Token& ahead() const { return tokens_[std::min(at_ + 1, tokens_.size() - 1)]; }
  bool is(std::string_view mark) const {
    return now().kind == Token::Kind::kMark && now().text == mark;
  }
  bool take(std::string_view mark) {
    if (!is(mark)) return false;
    ++at_;
    return true;
  }
  ExprPtr wrong(std::size_t at, std::string_view what) {
    if (problem_.empty()) problem_ = complaint(text_, at, what);
    return nullptr;
  }
  ExprPtr unexpected_token() {
    return wrong(now().at, now().kind == Token::Kind::kEnd
                               ? "Syntax error: mismatched input '<EOF>'"
                               : fmt::format("Syntax error: extraneous input '{}'", now().text));
  }
  ExprPtr made(Expr::Kind kind, std::size_t at, std::string name, std::vector<ExprPtr> args,
               bool method = false) {
    int depth = 0;
    for (const ExprPtr& each : args) {
      if (each == nullptr) return nullptr;
      depth = std::max(depth, each->depth + 1);
    }
    if (depth > kMostDepth)
      return wrong(at, fmt::format("expression recursion limit exceeded: {}", kMostDepth));
    if (++nodes_ > kMostNodes) return wrong(at, "the expression is too large");
    auto out = std::make_unique<Expr>();
    out->kind = kind;
    out->at = at;
    out->name = std::move(name);
    out->args = std::move(args);
    out->method = method;
    out->depth = depth;
    return out;
  }
  template <class... Args>
  ExprPtr call(std::size_t at, std::string name, Args... args) {
    std::vector<ExprPtr> all;
    (all.push_back(std::move(args)), ...);
    return made(Expr::Kind::kCall, at, std::move(name), std::move(all));
  }

  ExprPtr expression() {
    if (++nesting_ > kMostNesting) {
      --nesting_;
      return wrong(now().at, fmt::format("expression recursion limit exceeded: {}", kMostNesting));
    }
    ExprPtr out = conditional();
    --nesting_;
    return out;
  }

  ExprPtr conditional() {
    ExprPtr condition = either();
    const std::size_t at = now().at;
    if (condition == nullptr || !take("?")) return condition;
    if (is(".") || is("[")) {
      // `a ? .5 : b` is a number, and was one token.
    }
    ExprPtr yes = either();
    if (yes == nullptr) return nullptr;
    if (!take(":")) return unexpected_token();
    ExprPtr no = expression();
    return call(at, "_?_:_", std::move(condition), std::move(yes), std::move(no));
  }

  // Chains of && and || are one node: their order does not matter, and they may be long.
  ExprPtr chain(std::string_view mark, ExprPtr (Parser::*part)()) {
    const std::size_t at = now().at;
    ExprPtr first = (this->*part)();
    if (first == nullptr || !is(mark)) return first;
    std::vector<ExprPtr> all;
    all.push_back(std::move(first));
    while (take(mark)) {
      all.push_back((this->*part)());
      if (all.back() == nullptr) return nullptr;
    }
    return made(Expr::Kind::kCall, at, fmt::format("_{}_", mark), std::move(all));
  }
  ExprPtr either() { return chain("||", &Parser::both); }
  ExprPtr both() { return chain("&&", &Parser::relation); }

  ExprPtr left_to_right(std::initializer_list<std::string_view> marks, ExprPtr (Parser::*part)()) {
    ExprPtr left = (this->*part)();
    while (left != nullptr) {
      const std::size_t at = now().at;
      std::optional<std::string_view> found;
      for (const std::string_view mark : marks)
        if (is(mark)) found = mark;
      const bool in =
          marks.begin()[0] == "<" && now().kind == Token::Kind::kName && now().text == "in";
      if (in) found = "in";
      if (!found) return left;
      ++at_;
      ExprPtr right = (this->*part)();
      left = call(at, in ? "@in" : fmt::format("_{}_", *found), std::move(left), std::move(right));
    }
    return left;
  }
  ExprPtr relation() { return left_to_right({"<", "<=", ">", ">=", "==", "!="}, &Parser::sum); }
  ExprPtr sum() { return left_to_right({"+", "-"}, &Parser::product); }
  ExprPtr product() { return left_to_right({"*", "/", "%"}, &Parser::unary); }

  ExprPtr unary() {
    const std::size_t at = now().at;
    if (is("!") || is("-")) {
      const std::string mark(now().text);
      std::size_t times = 0;
      while (is(mark)) {
        if (mark == "-" && ahead().kind == Token::Kind::kLiteral &&
            ahead().value.kind() == Kind::kNull)
          break;
        ++times;
        ++at_;
      }
      ExprPtr out = member();
      if (times % 2 == 0) return out;
      return call(at, mark == "!" ? "!_" : "-_", std::move(out));
    }
    return member();
  }

  std::optional<std::vector<ExprPtr>> arguments(std::string_view end) {
    std::vector<ExprPtr> out;
    if (take(end)) return out;
    do {
      if (is(end) && end != ")") break;  // a trailing comma
      out.push_back(expression());
      if (out.back() == nullptr) return std::nullopt;
    } while (take(","));
    if (!take(end)) {
      unexpected_token();
      return std::nullopt;
    }
    return out;
  }

  ExprPtr member() {
    ExprPtr out = primary();
    while (out != nullptr) {
      const std::size_t at = now().at;
      if (take(".")) {
        if (is("?")) return wrong(at, "optional values are not supported by this server");
        if (now().kind != Token::Kind::kName) return unexpected_token();
        std::string name(now().text);
        ++at_;
        if (!is("(")) {
          std::vector<ExprPtr> of;
          of.push_back(std::move(out));
          out = made(Expr::Kind::kSelect, at, std::move(name), std::move(of));
          continue;
        }
        const std::size_t open = now().at;
        ++at_;
        auto args = arguments(")");
        if (!args) return nullptr;
        out = has(kLoops, name) ? loop(std::move(out), std::move(name), std::move(*args), open)
                                : method(std::move(out), std::move(name), std::move(*args), open);
      } else if (take("[")) {
        if (is("?")) return wrong(at, "optional values are not supported by this server");
        ExprPtr index = expression();
        if (index == nullptr) return nullptr;
        if (!take("]")) return unexpected_token();
        out = call(at, "_[_]", std::move(out), std::move(index));
      } else if (is("{")) {
        return wrong(at, "making messages is not supported by this server");
      } else {
        return out;
      }
    }
    return out;
  }

  ExprPtr method(ExprPtr target, std::string name, std::vector<ExprPtr> args, std::size_t at) {
    args.insert(args.begin(), std::move(target));
    return made(Expr::Kind::kCall, at, std::move(name), std::move(args), true);
  }

  ExprPtr loop(ExprPtr range, std::string name, std::vector<ExprPtr> args, std::size_t at) {
    if (name == "existsOne") name = "exists_one";
    const bool filtered = name == "map" && args.size() == 3;
    if (args.size() != 2 && !filtered)
      return wrong(at, fmt::format("'{}' takes a variable and an expression", name));
    if (args[0]->kind != Expr::Kind::kName)
      return wrong(args[0]->at, "argument must be a simple name");
    std::string variable = args[0]->name;
    std::vector<ExprPtr> parts;
    parts.push_back(std::move(range));
    parts.push_back(std::move(args.back()));
    if (filtered) parts.push_back(std::move(args[1]));
    ExprPtr out = made(Expr::Kind::kLoop, at, std::move(name), std::move(parts));
    if (out != nullptr) out->variable = std::move(variable);
    return out;
  }

  ExprPtr primary() {
    const Token token = now();
    if (take("(")) {
      ExprPtr out = expression();
      if (out != nullptr && !take(")")) return unexpected_token();
      return out;
    }
    if (take("[")) {
      if (is("?")) return wrong(token.at, "optional values are not supported by this server");
      auto elements = arguments("]");
      return elements ? made(Expr::Kind::kList, token.at, "", std::move(*elements)) : nullptr;
    }
    if (take("{")) return map(token.at);
    if (is("-") || token.kind == Token::Kind::kLiteral) return literal();
    if (token.kind != Token::Kind::kName) return unexpected_token();
    ++at_;
    if (token.text == "true" || token.text == "false")
      return literal_of(token.at, Value::boolean(token.text == "true"));
    if (token.text == "null") return literal_of(token.at, Value());
    if (token.text == "in" || has(kReserved, token.text))
      return wrong(token.at, fmt::format("reserved identifier: {}", token.text));
    if (!is("(")) return made(Expr::Kind::kName, token.at, std::string(token.text), {});
    const std::size_t open = now().at;
    ++at_;
    auto args = arguments(")");
    if (!args) return nullptr;
    if (token.text != "has")
      return made(Expr::Kind::kCall, open, std::string(token.text), std::move(*args));
    if (args->size() != 1 || (*args)[0]->kind != Expr::Kind::kSelect)
      return wrong(open, "invalid argument to has() macro");
    (*args)[0]->kind = Expr::Kind::kHas;
    return std::move((*args)[0]);
  }

  ExprPtr map(std::size_t at) {
    std::vector<ExprPtr> entries;
    while (!take("}")) {
      entries.push_back(expression());
      if (entries.back() == nullptr) return nullptr;
      if (!take(":")) return unexpected_token();
      entries.push_back(expression());
      if (entries.back() == nullptr) return nullptr;
      if (!take(",") && !is("}")) return unexpected_token();
    }
    return made(Expr::Kind::kMap, at, "", std::move(entries));
  }

  ExprPtr literal_of(std::size_t at, Value value) {
    ExprPtr out = made(Expr::Kind::kLiteral, at, "", {});
    if (out != nullptr) out->literal = std::move(value);
    return out;
  }

  ExprPtr literal() {
    const std::size_t at = now().at;
    const bool negative = take("-");
    const Token token = now();
    if (token.kind != Token::Kind::kLiteral) return unexpected_token();
    ++at_;
    if (token.value.kind() == Kind::kString) return literal_of(at, token.value);
    std::string_view digits = token.text;
    const bool without_sign = digits.back() == 'u' || digits.back() == 'U';
    if (without_sign) digits.remove_suffix(1);
    const bool hex = digits.starts_with("0x") || digits.starts_with("0X");
    if (!hex && digits.find_first_of(".eE") != std::string_view::npos) {
      double number = 0;
      const auto read = std::from_chars(digits.data(), digits.data() + digits.size(), number);
      if (read.ec != std::errc() || without_sign || !std::isfinite(number))
        return wrong(at, "invalid double literal");
      return literal_of(at, Value::number(negative ? -number : number));
    }
    if (hex) digits.remove_prefix(2);
    std::uint64_t number = 0;
    const auto read =
        std::from_chars(digits.data(), digits.data() + digits.size(), number, hex ? 16 : 10);
    if (without_sign && !negative && read.ec == std::errc())
      return literal_of(at, Value::unsigned_integer(number));
    constexpr std::uint64_t kMost = std::uint64_t{1} << 63;
    if (read.ec != std::errc() || without_sign || number > kMost || (number == kMost && !negative))
      return wrong(at, without_sign ? "invalid uint literal" : "invalid int literal");
    return literal_of(at,
                      Value::integer(static_cast<std::int64_t>(negative ? 0 - number : number)));
  }

  std::string_view text_;
  std::vector<Token> tokens_;
  std::size_t at_ = 0, nodes_ = 0;
  int nesting_ = 0;
  std::string problem_;
};

}  // namespace

std::string complaint(std::string_view text, std::size_t at, std::string_view what) {
  at = std::min(at, text.size());
  const std::string_view before = text.substr(0, at);
  const auto line = std::count(before.begin(), before.end(), '\n') + 1;
  const std::size_t start =
      before.rfind('\n') == std::string_view::npos ? 0 : before.rfind('\n') + 1;
  const std::size_t end = std::min(text.find('\n', at), text.size());
  constexpr std::size_t kMostShown = 1'000;
  const std::size_t column = at - start;
  std::string out = fmt::format("ERROR: <input>:{}:{}: {}", line, column + 1, what);
  if (end - start <= kMostShown)
    out +=
        fmt::format("\n | {}\n | {}^", text.substr(start, end - start), std::string(column, '.'));
  return out;
}

Result<ExprPtr> parse_expression(std::string_view text) {
  auto tokens = tokens_of(text);
  if (!tokens) return tl::unexpected(tokens.error());
  return Parser(text, std::move(*tokens)).whole();
}

}  // namespace berth::cel
