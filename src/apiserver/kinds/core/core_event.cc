// SPDX-License-Identifier: Apache-2.0
#include "apiserver/edit/edit.h"
#include "apiserver/kinds/cells.h"
#include "apiserver/kinds/core/event_cells.h"
#include "apiserver/kinds/findings.h"

namespace berth::apiserver {
namespace {

std::string source(const kube::Object& event) {
  const std::string component = event.member("source")["component"].text();
  return component.empty() ? event.member("reportingComponent").text() : component;
}

// An event stands in the namespace of what it is about; "default" for what has none.
void check_event(Edit& edit, Findings& findings) {
  const std::string_view ns = Peek(edit.metadata())["namespace"].text();
  const std::string_view about = Peek(edit.body())["involvedObject"]["namespace"].text();
  if (about.empty() ? ns != "default" && ns != "kube-system" : about != ns)
    findings.invalid(Path("involvedObject") / "namespace", about, "does not match event.namespace");
}

}  // namespace

KindRow core_event() {
  Kind kind("v1", "Event", "events");
  kind.short_name("ev").creates_on_update();
  event_columns(kind);
  for (const std::string_view field :
       {"kind", "namespace", "name", "uid", "apiVersion", "resourceVersion", "fieldPath"})
    kind.selectable("involvedObject." + std::string(field));
  return kind.selectable("reason")
      .selectable("reportingComponent")
      .selectable("source", &source)
      .selectable("type")
      .check_create(&check_event);
}

}  // namespace berth::apiserver
