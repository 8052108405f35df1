// SPDX-License-Identifier: Apache-2.0
// Refusals in the real server's words.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "kube/kind.h"
#include "kube/object.h"

namespace berth::apiserver {

std::string resource_name(const kube::Kind&);  // "pods", "deployments.apps"

Error not_found(const kube::Kind&, std::string_view name);
Error already_exists(const kube::Kind&, std::string_view name);
Error conflict(const kube::Kind&, std::string_view name, std::string_view why);
Error modified(const kube::Kind&, std::string_view name);  // the usual conflict
// k8s 1.36: a precondition that the real storage finds violated, told in its words.
Error storage_conflict(const kube::Kind&, const kube::Key&, std::string_view why);
Error uid_mismatch(const kube::Kind&, const kube::Key&, std::string_view wanted,
                   std::string_view found);
Error bad_request(std::string message);
Error unknown_resource();
Error not_allowed();  // 405
// k8s 1.36: what is no API error is told with 500 and no reason.
Error plain_error(std::string message);
Error internal_error(std::string_view what);
// k8s 1.36: of a revision that is none a list says it is a bad request; others say it with 500.
Error unlike_a_list(Error);
// An Invalid about something that is not the request's resource: PatchOptions.meta.k8s.io.
Error invalid_about(std::string_view kind, std::string_view group, std::string_view name,
                    std::vector<Cause> causes);

// What a Status says its error is about, where the error itself does not say: the resource and
// name of the request for some reasons, the kind for Invalid, nothing for others.
void complete(Error&, const kube::Kind&, std::string_view name);

}  // namespace berth::apiserver
