// SPDX-License-Identifier: Apache-2.0
// What clients can learn about the kinds before they send anything: /openapi/v2 and /openapi/v3,
// made from the kinds' rows. kubectl explains and validates with it.
#pragma once

#include <map>
#include <memory>
#include <string>
#include <string_view>

#include "apiserver/kinds/registry.h"
#include "kube/api.h"

namespace berth::apiserver {

// Loop-confined to the API server's. A document is made when it is first asked for and kept until
// the kinds in it change.
class OpenApi {
 public:
  explicit OpenApi(const KindRegistry& kinds) : registry_(kinds) {}

  // Answers everything below /openapi/; to be registered as that page.
  Result<kube::ApiReply> answer(const kube::ApiRequest&);

 private:
  struct Part {                     // one version of a group
    std::uint64_t fingerprint = 0;  // of its rows now
    std::uint64_t made_of = 0;      // and when the text was made
    std::string text = {};
  };
  void look_again();  // where the kinds have changed
  Result<kube::ApiReply> v2(std::string_view accept);
  std::string v3_index() const;
  const std::string& v3_part(const std::string& path, Part&);

  const KindRegistry& registry_;
  std::shared_ptr<const Kinds> kinds_;              // that the rest is about
  std::map<std::string, Part, std::less<>> parts_;  // "apis/apps/v1"
  std::string v2_json_, v2_protobuf_;
};

}  // namespace berth::apiserver
