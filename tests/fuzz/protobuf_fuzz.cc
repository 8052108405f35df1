// SPDX-License-Identifier: Apache-2.0
// Any bytes are refused or become good JSON that is not much larger than them.
#include <cstdint>
#include <string>
#include <string_view>

#include "base/check.h"
#include "json/cursor.h"
#include "kube/protobuf.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::string_view input(reinterpret_cast<const char*>(data), size);
  const berth::kube::ProtobufLimits limits{.max_depth = 30, .max_values = 10'000};
  // Most of what a search makes up would fail at the envelope; so it is also tried as the inside.
  const auto read = berth::kube::protobuf_to_json(input, berth::kube::kPod, limits);
  if (read) BERTH_CHECK(berth::json::check(*read).has_value(), *read);
  if (size > 127 || size == 0) return 0;
  static constexpr const char* kKinds[] = {"Pod", "Event", "Secret", "Node"};
  std::string body("k8s\0\x0a", 5);
  const std::string kind = kKinds[data[0] % 4];
  const std::string type = std::string("\x0a\x02v1\x12") + static_cast<char>(kind.size()) + kind;
  body += static_cast<char>(type.size()) + type + '\x12' + static_cast<char>(size);
  body += input;
  const auto inside = berth::kube::protobuf_to_json(body, {}, limits);
  if (inside) BERTH_CHECK(berth::json::check(*inside).has_value(), *inside);
  return 0;
}
