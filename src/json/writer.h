// SPDX-License-Identifier: Apache-2.0
// Builds JSON as text, in the order written. Commas and quotes are its business; closing what was
// opened is checked.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

namespace berth::json {

// Thread-compatible.
//   Writer w;
//   w.object().member("metadata").object().member("name").string("web").end().end();
class Writer {
 public:
  Writer& object();                      // {
  Writer& array();                       // [
  Writer& end();                         // whichever is open
  Writer& member(std::string_view key);  // then exactly one value
  Writer& string(std::string_view);      // escaped as Go's encoder does without HTML escaping
  Writer& integer(std::int64_t);
  Writer& number(
      double);  // shortest form that reads back the same, as Go prints it; not finite: null
  Writer& boolean(bool);
  Writer& null();
  Writer& raw(std::string_view good_json);  // a value as it stands

  const std::string& text() const;  // everything must be closed
  std::string take();
  bool complete() const;

 private:
  void before_value();
  std::string out_;
  std::string open_;  // a stack of '{' and '['
  bool comma_ = false;
  bool after_key_ = false;
};

void append_quoted(std::string& out, std::string_view text);
void append_double(std::string& out, double);
std::string quoted(std::string_view text);  // for messages: quotes around it, one line

}  // namespace berth::json
