// SPDX-License-Identifier: Apache-2.0
#include "apiserver/store/selector.h"

#include "base/check.h"

namespace berth::apiserver {

bool Selector::matches(const kube::Object& object) const {
  if (!labels.everything() && !labels.matches(object.labels())) return false;
  if (fields.everything()) return true;
  return fields.matches([this, &object](std::string_view field) -> std::string {
    if (field == "metadata.name") return std::string(object.name());
    if (field == "metadata.namespace") return std::string(object.ns());
    BERTH_CHECK(static_cast<bool>(read), "a selector on fields of a kind knows how to read them");
    return read(object, field);
  });
}

}  // namespace berth::apiserver
