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
//   for (auto object = c.object(); std::optional<std::string_view> key = object.next();)
//     if (*key == "name") name = c.string(scratch); else c.skip();
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

  bool ok() const { return error_.empty(); }
  std::size_t offset() const { return static_cast<std::size_t>(at_ - begin_); }
  Error error() const;  // BadRequest: "line 3, column 14: expected ',' or '}'"

 private:
  const char* begin_;
  const char* at_;
  const char* end_;
  unsigned depth_ = 0;
  unsigned max_depth_;
  std::string error_;
  // The json folder completes this class; nothing outside relies on what is private.
};

// Turns the bytes between two quotes into text.
std::string unescape(std::string_view raw);
// Is all of `bytes` one JSON document within the limits? The error names line and column.
Result<Ok> check(std::string_view bytes, const Limits& = {});

}  // namespace berth::json
