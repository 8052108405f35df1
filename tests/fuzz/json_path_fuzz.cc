// SPDX-License-Identifier: Apache-2.0
// Paths from a CRD, looked up in an object: neither breaks anything.
#include <cstdint>
#include <string_view>

#include "apiserver/crd/json_path.h"
#include "two_parts.h"

using namespace berth;

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const auto [path, document] = two_parts(data, size);
  const Result<apiserver::JsonPath> parsed = apiserver::JsonPath::parse(path);
  if (!parsed) return 0;
  const Result<kube::Object> object = kube::Object::parse(kube::kConfigMap, document);
  if (object) parsed->find(*object);
  return 0;
}
