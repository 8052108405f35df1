// SPDX-License-Identifier: Apache-2.0
#include "script.h"

#include <array>
#include <cstdlib>

#include <fmt/format.h>

#include "json/patch.h"
#include "json/yaml.h"
#include "matcher.h"

namespace berth::conformance {
namespace {

std::string_view word(std::string_view& rest) {
  while (rest.starts_with(' ')) rest.remove_prefix(1);
  const std::size_t end = std::min(rest.find(' '), rest.size());
  const std::string_view found = rest.substr(0, end);
  rest.remove_prefix(end);
  while (rest.starts_with(' ')) rest.remove_prefix(1);
  return found;
}

bool is_method(std::string_view text) {
  constexpr std::array<std::string_view, 7> kMethods = {"GET",    "POST",    "PUT", "PATCH",
                                                        "DELETE", "OPTIONS", "HEAD"};
  return std::find(kMethods.begin(), kMethods.end(), text) != kMethods.end();
}

bool begins_step(std::string_view line) {
  std::string_view rest = line;
  const std::string_view first = word(rest);
  if (is_method(first) || first == "UNTIL" || first == "WATCH" || first == "EVENT" ||
      first == "END")
    return true;
  return first.size() > 1 && first.back() == 'x' &&
         first.find_first_not_of("0123456789") == first.size() - 1;
}

class Parser {
 public:
  explicit Parser(std::string_view text) : rest_(text) { advance(); }

  Result<std::vector<Check>> checks() {
    std::vector<Check> all;
    while (has_line_) {
      if (line_.starts_with("== ")) {
        all.push_back({.title = std::string(line_.substr(3)), .line = number_, .steps = {}});
        advance();
      } else if (line_.empty() || line_.starts_with('#')) {
        advance();
      } else if (all.empty() || !begins_step(line_)) {
        return problem("a check (== title) or a step is expected");
      } else if (auto made = step(); made) {
        all.back().steps.push_back(std::move(*made));
      } else {
        return tl::unexpected(made.error());
      }
    }
    return all;
  }

 private:
  tl::unexpected<Error> problem(std::string_view what) const {
    return fail(Reason::kInvalid, fmt::format("line {}: {}", number_, what));
  }

  void advance() {
    has_line_ = !rest_.empty();
    const std::size_t end = std::min(rest_.find('\n'), rest_.size());
    line_ = rest_.substr(0, end);
    rest_.remove_prefix(std::min(end + 1, rest_.size()));
    ++number_;
  }

  std::string block() {  // lines up to the next thing that is not YAML
    std::string text;
    while (has_line_ && !line_.starts_with("=>") && !line_.starts_with("== ") &&
           !begins_step(line_)) {
      if (!line_.starts_with('#')) text += std::string(line_) + "\n";
      advance();
    }
    while (text.ends_with("\n\n")) text.pop_back();
    return text == "\n" ? "" : text;
  }

  void headers(std::string_view mark, std::vector<std::pair<std::string, std::string>>& into) {
    for (; has_line_ && line_.starts_with(mark); advance()) {
      const std::string_view header = line_.substr(2);
      const std::size_t colon = std::min(header.find(':'), header.size());
      std::string_view value = header.substr(std::min(colon + 1, header.size()));
      while (value.starts_with(' ')) value.remove_prefix(1);
      into.emplace_back(header.substr(0, colon), value);
    }
  }

  Result<Step> step() {
    Step step;
    step.line = number_;
    std::string_view rest = line_;
    std::string_view first = word(rest);
    if (first == "EVENT" || first == "END") {
      step.does = first == "END" ? Step::Does::kEnd : Step::Does::kEvent;
      step.stream = word(rest);
      step.event = rest;
      advance();
      step.expected = block();
      return step;
    }
    if (first == "UNTIL") {
      step.until = true;
      first = word(rest);
    }
    if (first == "WATCH") {
      step.does = Step::Does::kWatch;
      step.stream = word(rest);
      first = "GET";
    }
    if (first.ends_with('x')) {
      step.times = std::atoi(std::string(first).c_str());
      first = word(rest);
    }
    if (!is_method(first)) return problem("not a method: " + std::string(first));
    step.method = first;
    if (first == "PATCH") step.patch = word(rest);
    step.path = rest;
    advance();
    headers("> ", step.headers);
    step.body = block();
    if (step.does == Step::Does::kWatch && !(has_line_ && line_.starts_with("=>"))) {
      step.code = 200;
      return step;
    }
    return expectation(std::move(step));
  }

  Result<Step> expectation(Step step) {
    if (!has_line_ || !line_.starts_with("=> ")) return problem("=> CODE is expected");
    std::string_view rest = line_.substr(3);
    const std::string_view code = word(rest);
    step.record = code == "?";
    step.code = std::atoi(std::string(code).c_str());
    if (!step.record && step.code == 0) return problem("=> CODE is expected");
    if (rest.starts_with('"') && rest.ends_with('"') && rest.size() > 1) {
      step.text = rest.substr(1, rest.size() - 2);
    } else if (!rest.empty()) {
      const std::size_t end = std::min(rest.find(' '), rest.size());
      step.reason = rest.substr(0, end);
      step.message = rest.substr(std::min(end + 1, rest.size()));  // it may begin with a space
    }
    advance();
    headers("< ", step.reply_headers);
    step.expected = block();
    return step;
  }

  std::string_view rest_, line_;
  std::size_t number_ = 0;
  bool has_line_ = true;
};

}  // namespace

Result<std::vector<Check>> parse_checks(std::string_view text) { return Parser(text).checks(); }

Result<Templates> parse_templates(std::string_view text) {
  // "pod NAME" on a line of its own, then indented YAML.
  Templates all;
  Template* current = nullptr;
  while (!text.empty()) {
    const std::size_t end = std::min(text.find('\n'), text.size());
    std::string_view line = text.substr(0, end);
    text.remove_prefix(std::min(end + 1, text.size()));
    if (line.empty() || line.starts_with('#')) continue;
    if (line.starts_with(' ')) {
      if (current == nullptr) return fail(Reason::kInvalid, "templates: a name is expected");
      current->yaml += std::string(line.substr(2)) + "\n";
    } else {
      const std::string name(word(line));
      current = &all[name];
      current->parameter = line;
    }
  }
  return all;
}

Result<std::string> body_json(std::string_view body, const Templates& templates) {
  if (!body.starts_with('@')) return json::yaml_document_to_json(body);
  const std::size_t end = std::min(body.find('\n'), body.size());
  std::string_view line = body.substr(1, end - 1);
  const std::string_view more = body.substr(std::min(end + 1, body.size()));
  const std::string name(word(line));
  const auto found = templates.find(name);
  if (found == templates.end()) return fail(Reason::kInvalid, "no template " + name);
  auto made = json::yaml_document_to_json(
      filled(found->second.yaml, {{found->second.parameter, std::string(line)}}));
  if (!made || more.empty()) return made;
  auto patch = json::yaml_document_to_json(more);
  if (!patch) return patch;
  return json::merge_patch(*made, *patch);
}

}  // namespace berth::conformance
