// SPDX-License-Identifier: Apache-2.0
#include "client/informer.h"

namespace berth::client {

kube::Object metadata_only(const kube::Object& object) {
  std::string text = "{\"metadata\":";
  text.append(object.metadata().raw());
  text += '}';
  Result<kube::Object> cut = kube::Object::parse(object.kind(), text);
  BERTH_CHECK(cut.has_value(), "metadata of a good object is good");
  return std::move(*cut);
}

}  // namespace berth::client
