// SPDX-License-Identifier: Apache-2.0
// Any target, method, headers and body are refused or become a request whose parts hold together.
#include <cstdint>
#include <string>
#include <string_view>

#include "apiserver/http/request.h"
#include "apiserver/http/target.h"
#include "base/check.h"
#include "json/cursor.h"
#include "net/http_codec.h"

using namespace berth;

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  static const apiserver::KindRegistry registry;
  static const auto kinds = registry.now();
  std::string_view in(reinterpret_cast<const char*>(data), size);
  const net::HttpLimits bounds;
  net::HttpDecoder decoder(net::HttpSide::kRequest, bounds, 1 << 16);
  net::HttpRequest http;
  while (!in.empty()) {
    const auto step = decoder.step(in, http.body);
    if (!step) return 0;
    if (*step == net::HttpDecoder::Step::kEnd) break;
  }
  http.method = decoder.head().method;
  http.target = decoder.head().target;
  http.headers = decoder.head().headers;
  if (http.method.empty() || http.target.empty()) return 0;
  const auto read = apiserver::read_request(std::move(http), {}, kinds, {});
  if (!read) {
    BERTH_CHECK(http_code_of(read.error().reason) >= 400, read.error().message);
    return 0;
  }
  const kube::ApiRequest& request = read->request;
  BERTH_CHECK((read->row == nullptr) == (request.verb == kube::Verb::kRaw));
  if (read->row == nullptr) return 0;
  for (const std::string& part : {request.ns, request.name, request.subresource})
    BERTH_CHECK(part.find('/') == std::string::npos && part != "." && part != "..", part);
  BERTH_CHECK(request.ns.empty() || read->row->kind.namespaced);
  BERTH_CHECK(request.name.empty() || request.verb != kube::Verb::kList);
  return 0;
}
