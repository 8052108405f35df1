// SPDX-License-Identifier: Apache-2.0
#include "apiserver/edit/edit.h"
#include "apiserver/kinds/cells.h"
#include "apiserver/kinds/core/pod_check.h"
#include "apiserver/kinds/core/pod_fill.h"

namespace berth::apiserver {

KindRow pod_template() {
  return Kind("v1", "PodTemplate", "podtemplates")
      .generation()
      .name_column()
      .column("Containers", names_of_containers("template.spec"))
      .column("Images", images_of_containers("template.spec"))
      .column("Pod Labels", labels("template.metadata.labels"))
      .fill([](Edit& edit) {
        if (json::Dict* pods = dict_in(edit.body(), "template")) fill_pod_template(*pods);
      })
      .check([](Edit& edit, Findings& findings) {
        check_pod_template(Peek(edit.body())["template"], Path("template"), findings);
      });
}

}  // namespace berth::apiserver
