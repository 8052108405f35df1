// SPDX-License-Identifier: Apache-2.0
#include "apiserver/kinds/resource/device_requests.h"

namespace berth::apiserver {
namespace {

void fill_request(json::Dict& request) {
  set_default(request, "allocationMode", "ExactCount");
  if (Peek(request)["allocationMode"].is("ExactCount") && Peek(request)["count"].integer_or(0) == 0)
    request["count"] = 1;
  each_dict(request, "tolerations",
            [](json::Dict& toleration) { set_default(toleration, "operator", "Equal"); });
}

}  // namespace

void fill_devices(Edit& edit) {
  json::Dict* spec = dict_in(edit.body(), "spec");
  if (spec != nullptr && Peek(*spec)["spec"]) spec = dict_in(*spec, "spec");
  json::Dict* devices = spec == nullptr ? nullptr : dict_in(*spec, "devices");
  if (devices == nullptr) return;
  each_dict(*devices, "requests", [](json::Dict& request) {
    if (json::Dict* exactly = dict_in(request, "exactly")) fill_request(*exactly);
    each_dict(request, "firstAvailable", fill_request);
  });
}

}  // namespace berth::apiserver
