// SPDX-License-Identifier: Apache-2.0
// A pull parser over JSON bytes: one pass, no tree, no allocation. Strict (RFC 8259, UTF-8
// checked), bounded in depth.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "base/result.h"
#include "json/limits.h"

namespace berth::json {

enum class Type : unsigned char { kNull, kBool, kNumber, kString, kArray, kObject };

// Walks a document value by value. After an error every call answers false and error() tells what
// and where. Thread-compatible. The bytes must outlive the cursor and every view it hands out.
//
//   Cursor c(bytes);
//   c.enter_object();
//   for (std::string_view key; c.next_key(key);)
//     if (key_is(key, "name")) name = c.string(scratch); else c.skip();
//   if (!c.finish()) return c.error();
//
// A member that comes twice is handed out twice; Go's decoder lets the last one win.
class Cursor {
 public:
  explicit Cursor(std::string_view bytes, const Limits& = {});

  Type peek();          // type of the value that comes next; kNull after an error
  bool enter_object();  // at '{'
  bool next_key(std::string_view& raw_key);  // the key's bytes between the quotes, escapes
                                             // untouched; false at '}' (consumed) or on error
  bool enter_array();                        // at '['
  bool next_element();                       // false at ']' (consumed) or on error
  std::string_view string(
      std::string& scratch);  // unescaped; points into the bytes when there was nothing to unescape
  std::string_view raw_string();  // between the quotes, escapes untouched
  bool boolean();
  bool null();                // consumes a null if one comes next
  std::string_view number();  // its text, checked against the grammar
  std::string_view skip();    // any value, checked; returns its bytes
  bool finish();              // only white space may follow

  bool ok() const { return problem_ == nullptr; }
  std::size_t offset() const { return static_cast<std::size_t>(at_ - begin_); }
  Error error() const;  // BadRequest: "line 3, column 14: expected ',' or '}'"

 private:
  bool fail(const char* problem);
  bool fail_at(const char* place, const char* problem);
  void skip_space();
  bool enter(char bracket, const char* problem);
  bool next(char bracket, const char* problem);
  bool word(std::string_view text, const char* problem);
  bool scan_string(std::string_view& raw, bool& escaped);
  const char* scan_odd(const char* p, bool& escaped);
  bool scan_number();
  bool scan_value();
  bool scan_members(char close);

  const char* begin_;
  const char* at_;
  const char* end_;
  const char* problem_ = nullptr;  // a string that never dies
  const char* problem_at_ = nullptr;
  unsigned depth_ = 0;
  unsigned max_depth_;
  bool first_ = false;  // an object or array was just entered
};

// Is a raw key, as next_key() gives it, this name? Cheap unless the key has escapes.
bool key_is(std::string_view raw_key, std::string_view name);
// Turns the bytes between two quotes into text. A lone surrogate becomes U+FFFD, as in Go.
std::string unescape(std::string_view raw);
// Is all of `bytes` one JSON document within the limits? The error names line and column.
Result<Ok> check(std::string_view bytes, const Limits& = {});

}  // namespace berth::json
