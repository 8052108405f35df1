// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <cctype>
#include <charconv>

#include <fmt/format.h>

#include "json/slice.h"
#include "lab/stages/template_nodes.h"

namespace berth::lab {
namespace {

using Node = Template::Node;

struct Token {
  enum class Type : std::uint8_t {
    kEnd,
    kName,      // range, Quote
    kField,     // .a (text: a), or a lone dot (text: "")
    kVariable,  // $x (text: x)
    kText,
    kInteger,
    kPunctuation,  // | ( ) := = ,
  };
  Type type = Type::kEnd;
  std::string text = {};
  bool glued = false;  // no white space before it
};

bool part_of_name(char c) { return std::isalnum(static_cast<unsigned char>(c)) || c == '_'; }

class Parser {
 public:
  explicit Parser(std::string_view text) : text_(text) {}

  Result<std::vector<Node>> parse() {
    std::vector<Node> nodes;
    std::string end;
    if (!block(nodes, end, 0)) return refused();
    if (!end.empty()) {
      wrong(fmt::format("{{{{ {} }}}} closes nothing", end));
      return refused();
    }
    return nodes;
  }

 private:
  tl::unexpected<Error> refused() const {
    return invalid(fmt::format("line {}: {}", wrong_line_, why_));
  }
  bool wrong(std::string why) {
    if (why_.empty()) {
      why_ = std::move(why);
      wrong_line_ = 1 + std::count(text_.begin(),
                                   text_.begin() +
                                       static_cast<std::ptrdiff_t>(std::min(action_, text_.size())),
                                   '\n');
    }
    return false;
  }

  // Nodes up to an {{ else … }} or {{ end }}, which is left in `end`, or to the end of the text.
  bool block(std::vector<Node>& into, std::string& end, int depth) {
    if (depth > 50) return wrong("nested too deeply");
    for (;;) {
      const std::size_t open = text_.find("{{", at_);
      std::string_view words = text_.substr(at_, open == text_.npos ? open : open - at_);
      if (trim_next_)
        words.remove_prefix(std::min(words.size(), words.find_first_not_of(" \t\r\n")));
      trim_next_ = false;
      std::string_view rest = open == text_.npos ? std::string_view() : text_.substr(open + 2);
      const bool trims = rest.starts_with("- ") || rest.starts_with("-\n");
      if (trims) words = words.substr(0, words.find_last_not_of(" \t\r\n") + 1);
      if (!words.empty()) into.push_back({.text = std::string(words)});
      if (open == text_.npos) {
        at_ = text_.size();
        return true;
      }
      action_ = open;
      at_ = open + 2 + (trims ? 1 : 0);
      if (!read_action()) return false;
      if (tokens_.empty()) continue;  // a comment
      if (is_name("end") || is_name("else")) {
        end = tokens_.front().text;
        if (end == "end" && tokens_.size() > 1) return wrong("end stands alone");
        return true;
      }
      Node node;
      if (!action(node, depth)) return false;
      into.push_back(std::move(node));
    }
  }

  bool is_name(std::string_view name) const {
    return next_ < tokens_.size() && tokens_[next_].type == Token::Type::kName &&
           tokens_[next_].text == name;
  }

  bool action(Node& node, int depth) {
    for (const auto& [name, type] : {std::pair{"if", Node::Type::kIf},
                                     {"range", Node::Type::kRange},
                                     {"with", Node::Type::kWith}}) {
      if (!is_name(name)) continue;
      ++next_;
      node.type = type;
      return branch(node, depth);
    }
    for (const std::string_view name : {"define", "template", "block", "break", "continue"})
      if (is_name(name))
        return wrong(
            fmt::format("{{{{ {} }}}} is outside of the templates that are understood", name));
    node.type = Node::Type::kValue;
    return pipeline(node.pipeline) && all_read();
  }

  bool branch(Node& node, int depth) {
    const std::size_t opened = action_;
    if (!pipeline(node.pipeline) || !all_read()) return false;
    std::string end;
    if (!block(node.then, end, depth + 1)) return false;
    if (end == "else") {
      next_ = 1;
      if (next_ < tokens_.size()) {  // else if …: a branch of its own, which shares the end
        Node inner;
        if (is_name("if"))
          inner.type = Node::Type::kIf;
        else if (is_name("with") && node.type == Node::Type::kWith)
          inner.type = Node::Type::kWith;
        else
          return wrong("else is followed by nothing or by if");
        ++next_;
        if (!branch(inner, depth + 1)) return false;
        node.otherwise.push_back(std::move(inner));
        return true;
      }
      if (!block(node.otherwise, end, depth + 1)) return false;
    }
    if (end == "end") return true;
    action_ = opened;
    return wrong("its {{ end }} is missing");
  }

  bool all_read() {
    if (next_ == tokens_.size()) return true;
    return wrong(fmt::format("\"{}\" is not expected here", tokens_[next_].text));
  }

  // The tokens of one action, and its end.
  bool read_action() {
    tokens_.clear();
    next_ = 0;
    bool glued = false;
    for (;;) {
      if (at_ >= text_.size()) return wrong("}} is missing");
      const char c = text_[at_];
      if (std::isspace(static_cast<unsigned char>(c))) {
        ++at_;
        glued = false;
        continue;
      }
      if (text_.substr(at_, 2) == "}}") {
        at_ += 2;
        return true;
      }
      if (text_.substr(at_, 3) == "-}}") {
        at_ += 3;
        trim_next_ = true;
        return true;
      }
      if (text_.substr(at_, 2) == "/*") {
        const std::size_t close = text_.find("*/", at_);
        if (close == text_.npos) return wrong("*/ is missing");
        at_ = close + 2;
        continue;
      }
      Token token;
      token.glued = glued;
      if (!read_token(token)) return false;
      tokens_.push_back(std::move(token));
      glued = true;
    }
  }

  bool read_token(Token& token) {
    const char c = text_[at_];
    const auto name = [&] {
      const std::size_t from = at_;
      while (at_ < text_.size() && part_of_name(text_[at_])) ++at_;
      return std::string(text_.substr(from, at_ - from));
    };
    if (c == '"') {
      const std::size_t from = at_++;
      while (at_ < text_.size() && text_[at_] != '"') at_ += text_[at_] == '\\' ? 2 : 1;
      if (at_ >= text_.size()) return wrong("a \" is missing");
      ++at_;
      token.type = Token::Type::kText;
      token.text = json::Slice(text_.substr(from, at_ - from)).text();
    } else if (c == '`') {
      const std::size_t close = text_.find('`', at_ + 1);
      if (close == text_.npos) return wrong("a ` is missing");
      token.type = Token::Type::kText;
      token.text = std::string(text_.substr(at_ + 1, close - at_ - 1));
      at_ = close + 1;
    } else if (c == '.') {
      ++at_;
      token.type = Token::Type::kField;
      token.text = name();
    } else if (c == '$') {
      ++at_;
      token.type = Token::Type::kVariable;
      token.text = name();
    } else if (std::isdigit(static_cast<unsigned char>(c)) || c == '-') {
      std::int64_t number = 0;
      const auto [end, error] =
          std::from_chars(text_.data() + at_, text_.data() + text_.size(), number);
      const auto after = static_cast<std::size_t>(end - text_.data());
      if (error != std::errc() ||
          (after < text_.size() && (part_of_name(text_[after]) || text_[after] == '.')))
        return wrong("only whole numbers are understood");
      at_ = after;
      token.type = Token::Type::kInteger;
      token.text = std::to_string(number);
    } else if (part_of_name(c)) {
      token.type = Token::Type::kName;
      token.text = name();
    } else if (text_.substr(at_, 2) == ":=") {
      token.type = Token::Type::kPunctuation;
      token.text = ":=";
      at_ += 2;
    } else if (std::string_view("|()=,").find(c) != std::string_view::npos) {
      token.type = Token::Type::kPunctuation;
      token.text = std::string(1, c);
      ++at_;
    } else {
      return wrong(fmt::format("\"{}\" is outside of the templates that are understood", c));
    }
    return true;
  }

  bool punctuation(std::string_view text, std::size_t ahead = 0) const {
    return next_ + ahead < tokens_.size() &&
           tokens_[next_ + ahead].type == Token::Type::kPunctuation &&
           tokens_[next_ + ahead].text == text;
  }
  bool variable(std::size_t ahead) const {
    return next_ + ahead < tokens_.size() && tokens_[next_ + ahead].type == Token::Type::kVariable;
  }

  bool pipeline(Pipeline& into) {
    if (variable(0) && (punctuation(":=", 1) || punctuation("=", 1))) {
      into.variables = {tokens_[next_].text};
      into.declares = punctuation(":=", 1);
      next_ += 2;
    } else if (variable(0) && punctuation(",", 1) && variable(2) &&
               (punctuation(":=", 3) || punctuation("=", 3))) {
      into.variables = {tokens_[next_].text, tokens_[next_ + 2].text};
      into.declares = punctuation(":=", 3);
      next_ += 4;
    }
    do {
      Call call;
      if (!this->call(call)) return false;
      into.calls.push_back(std::move(call));
    } while (punctuation("|") && ++next_ > 0);
    for (std::size_t i = 1; i < into.calls.size(); ++i)
      if (into.calls[i].function.empty()) return wrong("what follows | is a function");
    return true;
  }

  bool call(Call& into) {
    if (next_ < tokens_.size() && tokens_[next_].type == Token::Type::kName &&
        !literal_name(tokens_[next_].text)) {
      into.function = tokens_[next_].text;
      if (!known_function(into.function))
        return wrong(fmt::format("the function {} is outside of the templates that are understood",
                                 into.function));
      ++next_;
    }
    while (next_ < tokens_.size() && !punctuation("|") && !punctuation(")")) {
      Argument made;
      if (!argument(made)) return false;
      into.arguments.push_back(std::move(made));
    }
    if (into.function.empty() && into.arguments.empty()) return wrong("a value is missing");
    if (into.function.empty() && into.arguments.size() > 1)
      return wrong("only functions take arguments");
    return true;
  }

  static bool literal_name(std::string_view name) {
    return name == "true" || name == "false" || name == "nil";
  }

  bool argument(Argument& into) {
    const Token& token = tokens_[next_++];
    switch (token.type) {
      case Token::Type::kText:
        into.type = Argument::Type::kText;
        into.text = token.text;
        return true;
      case Token::Type::kInteger:
        into.type = Argument::Type::kInteger;
        into.integer = std::stoll(token.text);
        return true;
      case Token::Type::kName:
        if (token.text == "nil") {
          into.type = Argument::Type::kNil;
        } else if (literal_name(token.text)) {
          into.type = Argument::Type::kBool;
          into.integer = token.text == "true" ? 1 : 0;
        } else if (known_function(token.text)) {
          into.type = Argument::Type::kFunction;
          into.text = token.text;
        } else {
          return wrong(fmt::format(
              "the function {} is outside of the templates that are understood", token.text));
        }
        return true;
      case Token::Type::kField:
        if (token.text.empty()) {
          into.type = Argument::Type::kDot;
          return true;
        }
        into.type = Argument::Type::kField;
        into.fields.push_back(token.text);
        return fields(into);
      case Token::Type::kVariable:
        into.type = Argument::Type::kVariable;
        into.text = token.text;
        return fields(into);
      case Token::Type::kPunctuation:
        if (token.text == "(") {
          auto group = std::make_shared<Pipeline>();
          if (!pipeline(*group)) return false;
          if (!punctuation(")")) return wrong("a ) is missing");
          ++next_;
          into.type = Argument::Type::kGroup;
          into.group = std::move(group);
          return fields(into);
        }
        break;
      default:
        break;
    }
    return wrong(fmt::format("\"{}\" is not expected here", token.text));
  }

  bool fields(Argument& into) {
    while (next_ < tokens_.size() && tokens_[next_].type == Token::Type::kField &&
           tokens_[next_].glued) {
      if (tokens_[next_].text.empty()) return wrong("a field's name is missing");
      into.fields.push_back(tokens_[next_++].text);
    }
    return true;
  }

  std::string_view text_;
  std::size_t at_ = 0, action_ = 0, next_ = 0;
  bool trim_next_ = false;
  std::vector<Token> tokens_;
  std::string why_;
  std::ptrdiff_t wrong_line_ = 1;
};

}  // namespace

Result<Template> Template::parse(std::string_view text) {
  Result<std::vector<Node>> nodes = Parser(text).parse();
  if (!nodes) return tl::unexpected(nodes.error());
  Template made;
  made.nodes_ = std::make_shared<const std::vector<Node>>(std::move(*nodes));
  return made;
}

}  // namespace berth::lab
