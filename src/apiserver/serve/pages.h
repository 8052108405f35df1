// SPDX-License-Identifier: Apache-2.0
// Paths that are no resources: health, version, metrics, discovery and what others add.
#pragma once

#include "apiserver/serve/call.h"

namespace berth::apiserver {

void add_pages(Core&);
void serve_page(const CallPtr&);

// Discovery, by Accept: the whole in one document, or piece by piece. `path` is below /api or
// /apis; nothing where there is no such thing.
std::optional<kube::ApiReply> discovery(Core&, std::string_view path, std::string_view accept);

// exec, attach and the like lead nowhere: there are no kubelets to connect to.
void refuse_connection(Call&);

}  // namespace berth::apiserver
