// SPDX-License-Identifier: Apache-2.0
#include "apiserver/edit/edit.h"
#include "apiserver/kinds/cells.h"
#include "apiserver/kinds/findings.h"
#include "base/lower.h"

namespace berth::apiserver {

namespace {

std::string controller(const kube::Object& object) {
  const std::optional<kube::OwnerRef> owner = object.controller();
  if (!owner) return "<none>";
  std::string kind = owner->kind;
  if (const std::size_t slash = owner->api_version.find('/'); slash != std::string::npos)
    kind += "." + owner->api_version.substr(0, slash);
  return lower(kind) + "/" + owner->name;
}

}  // namespace

KindRow controller_revision() {
  return Kind("apps/v1", "ControllerRevision", "controllerrevisions")
      .name_column()
      .column("Controller", shown(&controller))
      .column("Revision", integer("revision"))
      .age_column()
      .check([](Edit& edit, Findings& findings) {
        if (!Peek(edit.body())["data"]) findings.required(Path("data"), "data is mandatory");
      });
}

}  // namespace berth::apiserver
