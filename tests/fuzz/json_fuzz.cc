// SPDX-License-Identifier: Apache-2.0
// Cursor, Slice and Value must agree on every text, and what is printed must read back as the same.
#include "base/check.h"
#include "json/cursor.h"
#include "json/slice.h"
#include "json/value.h"
#include "json/writer.h"

using namespace berth::json;

namespace {

void agree(Slice slice, const Value& value) {
  switch (value.kind()) {
    case boost::json::kind::null:
      BERTH_CHECK(slice.is_null());
      break;
    case boost::json::kind::bool_:
      BERTH_CHECK(slice.is_bool() && slice.boolean() == value.get_bool());
      break;
    case boost::json::kind::int64:
      BERTH_CHECK(slice.integer() == value.get_int64());
      break;
    case boost::json::kind::double_:
      BERTH_CHECK(slice.number() == value.get_double());
      break;
    case boost::json::kind::string:
      BERTH_CHECK(slice.text() == std::string_view(value.get_string()));
      BERTH_CHECK(slice.equals(std::string_view(value.get_string())));
      break;
    case boost::json::kind::array: {
      std::size_t i = 0;
      for (const Slice element : slice.elements()) agree(element, value.get_array().at(i++));
      BERTH_CHECK(i == value.get_array().size() && i == slice.size());
      break;
    }
    case boost::json::kind::object:
      BERTH_CHECK(slice.is_object() && slice.size() >= value.get_object().size());
      for (const auto& member : value.get_object())
        agree(slice[std::string_view(member.key())], member.value());
      break;
    default:
      BERTH_CHECK(false, "a kind that parse() never makes");
  }
}

// On bad bytes a slice may answer anything, but it must answer.
void look_around(Slice slice, int depth) {
  std::string scratch;
  slice.text(scratch);
  slice.integer();
  slice.number();
  slice["a"];
  slice[1];
  if (depth == 0) return;
  for (const auto [key, value] : slice.members()) look_around(value, depth - 1);
  for (const Slice element : slice.elements()) look_around(element, depth - 1);
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::string_view text(reinterpret_cast<const char*>(data), size);
  const bool good = check(text).has_value();
  Arena arena;
  const auto value = parse(text, arena);
  BERTH_CHECK(good || !value);
  if (value) {
    agree(Slice(text), *value);
    // 1.0 prints as 1, which is another kind of number: from then on nothing changes.
    const Value plain = parse_good(print(*value), arena);
    BERTH_CHECK(equal(parse_good(print(plain), arena), plain));
  }
  look_around(Slice(text), 3);

  std::string quoted;
  append_quoted(quoted, text);
  BERTH_CHECK(check(quoted).has_value());
  const std::string plain = Slice(quoted).text();
  std::string twice;
  append_quoted(twice, plain);
  BERTH_CHECK(Slice(twice).text() == plain);
  return 0;
}
