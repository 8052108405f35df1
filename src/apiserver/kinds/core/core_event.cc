// SPDX-License-Identifier: Apache-2.0
#include "apiserver/kinds/cells.h"
#include "apiserver/kinds/core/event_cells.h"
#include "apiserver/kinds/events/event_forms.h"
#include "apiserver/kinds/object_meta.h"

namespace berth::apiserver {
namespace {

std::string source(const kube::Object& event) {
  const std::string component = event.member("source")["component"].text();
  return component.empty() ? event.member("reportingComponent").text() : component;
}

}  // namespace

KindRow core_event() {
  Kind kind("v1", "Event", "events");
  // k8s 1.36: the old Event takes any name that a path can hold.
  kind.short_name("ev").creates_on_update().named_by(&check_path_segment);
  event_columns(kind);
  for (const std::string_view field :
       {"kind", "namespace", "name", "uid", "apiVersion", "resourceVersion", "fieldPath"})
    kind.selectable("involvedObject." + std::string(field));
  return kind.selectable("reason")
      .selectable("reportingComponent")
      .selectable("source", &source)
      .selectable("type")
      .check([](Edit& edit, Findings& findings) { check_event(edit, kCoreNames, findings); });
}

}  // namespace berth::apiserver
