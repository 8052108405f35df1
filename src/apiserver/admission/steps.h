// SPDX-License-Identifier: Apache-2.0
// The built-in admission steps, each as kube-apiserver's plugin of that name, and their order.
#pragma once

#include <memory>
#include <vector>

#include "apiserver/admission/admission.h"
#include "apiserver/auth/auth.h"
#include "apiserver/store/store.h"
#include "base/random.h"

namespace berth::apiserver {

using Step = std::unique_ptr<AdmissionStep>;

// Each looks at the store, which outlives it.
Step namespace_lifecycle(const Store&);
Step service_account(const Store&, Random);
Step priority(const Store&);
Step default_toleration_seconds();

// Those that kube-apiserver has on by default, in its order.
std::vector<Step> default_steps(Store&, Authorizer&, Random);

}  // namespace berth::apiserver
