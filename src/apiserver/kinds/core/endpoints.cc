// SPDX-License-Identifier: Apache-2.0
#include "apiserver/kinds/cells.h"

namespace berth::apiserver {

namespace {

std::string addresses(const kube::Object& object) {
  constexpr std::size_t kMost = 3;
  const json::Slice subsets = object.member("subsets");
  if (subsets.size() == 0) return "<none>";
  std::string out;
  std::size_t listed = 0, all = 0;
  const auto add = [&](json::Slice address, json::Slice port) {
    ++all;
    if (listed == kMost) return;
    std::string ip = address["ip"].text();
    if (port && ip.find(':') != std::string::npos) ip = "[" + ip + "]";
    if (listed++ > 0) out += ',';
    out += ip;
    if (port) out += ":" + std::to_string(port["port"].integer().value_or(0));
  };
  for (const json::Slice subset : subsets.elements()) {
    if (subset["ports"].size() == 0)
      for (const json::Slice address : subset["addresses"].elements()) add(address, {});
    for (const json::Slice port : subset["ports"].elements())
      for (const json::Slice address : subset["addresses"].elements()) add(address, port);
  }
  if (all > kMost) out += " + " + std::to_string(all - kMost) + " more...";
  return out;
}

}  // namespace

KindRow endpoints() {
  return Kind("v1", "Endpoints", "endpoints")
      .short_name("ep")
      .creates_on_update()
      .deprecated("v1.33", "discovery.k8s.io/v1 EndpointSlice")
      .name_column()
      .column("Endpoints", shown(&addresses))
      .age_column()
      .fill("subsets[].ports[].protocol", R"("TCP")");
}

}  // namespace berth::apiserver
