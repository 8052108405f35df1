// SPDX-License-Identifier: Apache-2.0
// Volumes that are made when a claim asks for one. There is no storage behind them: the provisioner
// "berth.dev/simulated" makes the object a CSI driver's provisioner would make.
#pragma once

#include <string>
#include <string_view>

#include "kube/object.h"

namespace berth::controllers {

inline constexpr std::string_view kSimulated = "berth.dev/simulated";
// Keeps a provisioned volume until the storage behind it is gone, as external provisioners do.
inline constexpr std::string_view kProvisionerFinalizer =
    "external-provisioner.volume.kubernetes.io/finalizer";

std::string provisioned_name(const kube::Object& claim);
// `node`: where the scheduler wants its first pod; null: anywhere that the class allows.
std::string provisioned_json(const kube::Object& claim, const kube::Object& storage_class,
                             const kube::Object* node);

bool waits_for_consumer(const kube::Object& storage_class);
bool is_default_class(const kube::Object& storage_class);

}  // namespace berth::controllers
