// SPDX-License-Identifier: Apache-2.0
// Columns that the workload kinds share.
#pragma once

#include <initializer_list>
#include <utility>

#include "apiserver/edit/peek.h"
#include "apiserver/kinds/findings.h"
#include "apiserver/kinds/kind_row.h"

namespace berth::apiserver {

Cell ready_of_wanted();              // "2/3"
Kind& wide_template_columns(Kind&);  // Containers, Images
// Selector and template as Deployments and ReplicaSets want them.
void check_replicated_template(Peek spec, const Path& spec_path, Findings&);
// A struct as Go's encoder prints it when it has no JSON names: absent is null, texts are never so.
Shown go_struct(std::initializer_list<std::pair<std::string_view, Peek>>);

}  // namespace berth::apiserver
