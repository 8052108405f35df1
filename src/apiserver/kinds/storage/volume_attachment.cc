// SPDX-License-Identifier: Apache-2.0
#include "apiserver/kinds/cells.h"

namespace berth::apiserver {

KindRow volume_attachment() {
  return Kind("storage.k8s.io/v1", "VolumeAttachment", "volumeattachments")
      .cluster_scoped()
      .conditional_update()
      .status()
      .name_column()
      .column("Attacher", text("spec.attacher"))
      .format_last("name")
      .column("PV", text("spec.source.persistentVolumeName"))
      .column("Node", text("spec.nodeName"))
      .column("Attached", boolean("status.attached"), "boolean")
      .age_column();
}

}  // namespace berth::apiserver
