// SPDX-License-Identifier: Apache-2.0
// Kubernetes' protobuf bodies, which newer clients send for built-in kinds, as JSON text by the
// schema tables. Only in this direction: every client takes JSON back.
#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <string_view>

#include "base/result.h"
#include "kube/kind.h"

namespace berth::kube {

// What a body may cost before it is refused.
struct ProtobufLimits {
  std::size_t max_bytes = std::size_t{3} << 20;
  unsigned max_depth = 100;          // of messages, and of the JSON in them
  std::size_t max_values = 500'000;  // tags read, whatever they hold
};

// Does it begin as such a body does?
bool is_protobuf(std::string_view body);

// The document as Go's types would write it: kind and apiVersion first, then the fields by name,
// without what is empty where the types leave that out. Unknown numbers are passed over, as Go
// does. A body that does not say what it is counts as `otherwise`. BadRequest with the decoder's
// reason alone.
Result<std::string> protobuf_to_json(std::string_view body, std::optional<KindId> otherwise = {},
                                     const ProtobufLimits& = {});

}  // namespace berth::kube
