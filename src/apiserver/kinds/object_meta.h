// SPDX-License-Identifier: Apache-2.0
// The rules that metadata obeys whatever the kind.
#pragma once

#include "apiserver/edit/peek.h"
#include "apiserver/kinds/findings.h"
#include "apiserver/kinds/kind_row.h"

namespace berth::apiserver {

void check_labels(Peek labels, const Path&, Findings&);
void check_annotations(Peek annotations, const Path&, Findings&);

// Of a document's own metadata. `names` tells how names look; the namespace is required or
// forbidden as the kind's scope says.
void check_metadata(Peek metadata, bool namespaced, NameRule names, const Path&, Findings&);
void check_metadata_update(Peek now, Peek before, const Path&, Findings&);
// Finalizers have a domain, or are among the few of old.
void check_finalizers(Peek finalizers, const Path&, Findings&);

// What any name must at least be to stand in a URL: RBAC's names are no more than that.
kube::Complaints check_path_segment(std::string_view);

}  // namespace berth::apiserver
