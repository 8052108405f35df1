// SPDX-License-Identifier: Apache-2.0
// The cells of `kubectl get pods` that take more than a look-up.
#pragma once

#include <string>

#include "base/time.h"
#include "kube/object.h"

namespace berth::apiserver {

std::string pod_ready(const kube::Object&);   // "1/2"
std::string pod_status(const kube::Object&);  // "Running", "Init:0/1", "CrashLoopBackOff", …
std::string pod_restarts(const kube::Object&, WallTime now);  // "3 (5m ago)"
std::string pod_gates(const kube::Object&);                   // "0/1", "<none>"

}  // namespace berth::apiserver
