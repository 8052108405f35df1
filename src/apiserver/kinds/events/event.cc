// SPDX-License-Identifier: Apache-2.0
#include "apiserver/kinds/cells.h"
#include "apiserver/kinds/core/event_cells.h"

namespace berth::apiserver {

KindRow event() {
  Kind kind("events.k8s.io/v1", "Event", "events");
  kind.short_name("ev").creates_on_update();
  event_columns(kind);
  for (const std::string_view field :
       {"kind", "namespace", "name", "uid", "apiVersion", "resourceVersion", "fieldPath"})
    kind.selectable("regarding." + std::string(field));
  return kind.selectable("reason").selectable("reportingController").selectable("type");
}

}  // namespace berth::apiserver
