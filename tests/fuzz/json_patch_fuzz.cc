// SPDX-License-Identifier: Apache-2.0
// A document on the first line, a JSON patch after it; and the same bytes as a pointer.
#include "base/check.h"
#include "json/cursor.h"
#include "json/patch.h"
#include "json/writer.h"
#include "two_parts.h"

using namespace berth::json;

namespace {

void follow(std::string_view op, std::string_view pointer) {
  std::string patch = "[{\"op\":\"";
  patch.append(op).append("\",\"value\":1,\"from\":\"/a\",\"path\":");
  append_quoted(patch, pointer);
  const auto result = json_patch(R"({"a":{"b":[1,{"c":null}]},"~/":{}})", patch + "}]");
  if (result) BERTH_CHECK(check(*result).has_value());
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const auto [document, patch] = two_parts(data, size);
  const auto result = json_patch(document, patch);
  if (result) {
    BERTH_CHECK(check(*result).has_value());
    const auto same = json_patch(*result, R"([{"op":"test","path":"","value":)" + *result + "}]");
    BERTH_CHECK(same && *same == *result);
  }
  for (const char* op : {"add", "remove", "replace", "move", "copy", "test"})
    follow(op, std::string_view(reinterpret_cast<const char*>(data), size));
  return 0;
}
