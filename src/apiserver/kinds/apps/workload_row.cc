// SPDX-License-Identifier: Apache-2.0
#include "apiserver/kinds/apps/workload_row.h"

#include <fmt/format.h>

#include "apiserver/kinds/apps/workload_check.h"
#include "apiserver/kinds/cells.h"
#include "apiserver/kinds/rules.h"

namespace berth::apiserver {

Cell ready_of_wanted() {
  return shown([](const kube::Object& object) {
    return fmt::format("{}/{}", object.status()["readyReplicas"].integer().value_or(0),
                       object.member("spec")["replicas"].integer().value_or(0));
  });
}

Kind& wide_template_columns(Kind& kind) {
  return kind.wide("Containers", names_of_containers("spec.template.spec"))
      .wide("Images", images_of_containers("spec.template.spec"));
}

void check_replicated_template(Peek spec, const Path& spec_path, Findings& findings) {
  check_restarting_template(spec, "ReplicaSet", spec_path, findings);
}

Shown go_struct(std::initializer_list<std::pair<std::string_view, Peek>> fields) {
  std::string out = "{";
  for (const auto& [name, value] : fields)
    out += fmt::format("{}\"{}\":{}", out.size() > 1 ? "," : "", name, as_shown(value).text());
  return Shown::raw(out + "}");
}

}  // namespace berth::apiserver
