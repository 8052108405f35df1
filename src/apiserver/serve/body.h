// SPDX-License-Identifier: Apache-2.0
// What a client sends, read as a document of the kind that belongs there.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "apiserver/serve/call.h"
#include "json/value.h"

namespace berth::apiserver {

// Which kind belongs there. A row, or for what is posted to subresources a message alone.
struct Form {
  const KindRow* row = nullptr;
  kube::Kind kind;
  const json::Message* schema = nullptr;
  std::string also_version = "";  // of the same group, taken for the same: "v1beta1"

  static Form of(const KindRow& row) { return {.row = &row, .kind = row.kind}; }
  // Of a built-in message: ("policy/v1", "Eviction"). Without a schema for others.
  static Form of(std::string_view api_version, std::string_view kind);
};

// The request's body: brought into the form of the kind, with warnings for or refused because of
// what fieldValidation finds. The errors are the real server's.
Result<json::Value> read_body(Call&, const Form&, json::Arena&);

// The same for a document that a patch has made; `shown` is how the error calls it and
// `complaints` what was found in the patch itself.
Result<json::Value> read_patched(Call&, const Form&, json::Value document, std::string_view text,
                                 std::vector<std::string> complaints, bool from_strategic,
                                 const std::string& shown);

// Whether complaints are errors or warnings, or of no interest.
enum class Strictness : std::uint8_t { kIgnore, kWarn, kStrict };
Strictness strictness_of(const kube::Options&);

std::string_view bytes_of(const kube::ApiRequest&);
Result<Ok> check_size(const Call&);  // RequestEntityTooLarge

}  // namespace berth::apiserver
