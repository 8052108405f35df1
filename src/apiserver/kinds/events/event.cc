// SPDX-License-Identifier: Apache-2.0
#include "apiserver/kinds/cells.h"
#include "apiserver/kinds/core/event_cells.h"
#include "apiserver/kinds/events/event_forms.h"

namespace berth::apiserver {

KindRow event() {
  Kind kind("events.k8s.io/v1", "Event", "events");
  kind.short_name("ev").creates_on_update();
  event_columns(kind);
  for (const std::string_view field :
       {"kind", "namespace", "name", "uid", "apiVersion", "resourceVersion", "fieldPath"})
    kind.selectable("regarding." + std::string(field));
  KindRow row =
      kind.selectable("reason")
          .selectable("reportingController")
          .selectable("type")
          .check([](Edit& edit, Findings& findings) { check_event(edit, kNewerNames, findings); })
          .check_create(&check_new_event)
          .check_update(&check_event_update);
  store_as_core(row);
  return row;
}

}  // namespace berth::apiserver
