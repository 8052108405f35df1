// SPDX-License-Identifier: Apache-2.0
#include "apiserver/kinds/extensions/pattern.h"

#include <fmt/format.h>
#include <re2/re2.h>

namespace berth::apiserver {
namespace {

// Go's names of the errors that RE2 shares with it.
std::string_view go_words(re2::RE2::ErrorCode code) {
  switch (code) {
    case re2::RE2::ErrorBadEscape:
      return "invalid escape sequence";
    case re2::RE2::ErrorBadCharClass:
      return "invalid character class";
    case re2::RE2::ErrorBadCharRange:
      return "invalid character class range";
    case re2::RE2::ErrorMissingBracket:
      return "missing closing ]";
    case re2::RE2::ErrorMissingParen:
      return "missing closing )";
    case re2::RE2::ErrorUnexpectedParen:
      return "unexpected )";
    case re2::RE2::ErrorTrailingBackslash:
      return "trailing backslash at end of expression";
    case re2::RE2::ErrorRepeatArgument:
      return "missing argument to repetition operator";
    case re2::RE2::ErrorRepeatSize:
      return "invalid repeat count";
    case re2::RE2::ErrorRepeatOp:
      return "invalid nested repetition operator";
    case re2::RE2::ErrorBadPerlOp:
      return "invalid or unsupported Perl syntax";
    case re2::RE2::ErrorBadUTF8:
      return "invalid UTF-8";
    case re2::RE2::ErrorBadNamedCapture:
      return "invalid named capture";
    case re2::RE2::ErrorPatternTooLarge:
      return "expression too large";
    default:
      return "internal error";
  }
}

}  // namespace

Result<Pattern> Pattern::compile(std::string_view text) {
  re2::RE2::Options options;
  options.set_log_errors(false);
  options.set_max_mem(std::int64_t{4} << 20);
  auto re = std::make_shared<const re2::RE2>(re2::StringPiece(text.data(), text.size()), options);
  if (re->ok()) return Pattern(std::move(re));
  std::string part = re->error_arg();
  if (re->error_code() == re2::RE2::ErrorTrailingBackslash) part.clear();
  if (re->error_code() == re2::RE2::ErrorMissingParen ||
      re->error_code() == re2::RE2::ErrorUnexpectedParen)
    part = text;
  std::string message = fmt::format("error parsing regexp: {}", go_words(re->error_code()));
  if (re->error_code() != re2::RE2::ErrorTrailingBackslash)
    message += fmt::format(": `{}`", part);
  else
    message += ": ``";
  return invalid(std::move(message));
}

bool Pattern::found_in(std::string_view text) const {
  return re2::RE2::PartialMatch(re2::StringPiece(text.data(), text.size()), *re_);
}

const std::string& Pattern::text() const { return re_->pattern(); }
std::size_t Pattern::size() const { return static_cast<std::size_t>(re_->ProgramSize()); }

}  // namespace berth::apiserver
