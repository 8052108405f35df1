// SPDX-License-Identifier: Apache-2.0
// The annotation in which `kubectl apply` keeps what it applied, and how an object goes over from
// that to server-side apply.
#pragma once

#include <optional>

#include "apiserver/apply/layout.h"
#include "apiserver/apply/managers.h"
#include "json/value.h"

namespace berth::apiserver {

// The fields that kubectl applied and that are still as it applied them. None: there is no
// annotation that could be read.
std::optional<FieldSet> last_applied_fields(const KindRow&, const json::Value& live, const Type&);

// Of an object that nobody has applied to on the server's side: makes kubectl the manager of what
// its annotation tells, in place of the one that manages everything.
void give_to_kubectl(const KindRow&, const json::Value& live, const Type&, Managers&);

// Where the annotation is, it tells what has been applied just now.
void renew_last_applied(json::Value& document, const json::Value& applied);

}  // namespace berth::apiserver
