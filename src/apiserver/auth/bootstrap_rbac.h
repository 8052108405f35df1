// SPDX-License-Identifier: Apache-2.0
// The roles and bindings that a cluster starts with, as kube-apiserver 1.36 makes them, so that
// stock components and their service accounts may do their work.
//
// A text in lines:
//   role NAME, or role NAMESPACE/NAME
//     label KEY=VALUE
//     aggregate KEY=VALUE            (takes over the rules of roles with this label)
//     VERBS GROUPS RESOURCES [NAMES] (lists with commas; group "core" is ""; verbs "read", "write"
//     VERBS url PATHS                 and "readwrite" stand for the usual three, five and eight)
//     to KIND:SUBJECT ...            (a binding of the role's own name)
//     bind NAME KIND:SUBJECT ...     (a binding of another name)
// A line that begins with four spaces goes on with the one before.
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace berth::apiserver {

extern const std::string_view kBootstrapRoles, kBootstrapControllerRoles;

// Manifests in JSON: first roles, then bindings. Roles that aggregate have their rules already.
std::vector<std::string> bootstrap_rbac();

}  // namespace berth::apiserver
