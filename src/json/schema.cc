// SPDX-License-Identifier: Apache-2.0
#include "json/schema.h"

#include <algorithm>

namespace berth::json {

const Field* Message::find(std::string_view json_name) const {
  const auto at = std::lower_bound(fields.begin(), fields.end(), json_name,
                                   [](const Field& f, std::string_view n) { return f.name < n; });
  return at != fields.end() && at->name == json_name ? &*at : nullptr;
}

}  // namespace berth::json
