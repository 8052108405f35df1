// SPDX-License-Identifier: Apache-2.0
#pragma once

namespace berth::cli {

inline constexpr char kVersion[] = BERTH_VERSION;
inline constexpr char kKubernetesVersion[] = "v1.36";  // whose behaviour Berth follows

}  // namespace berth::cli
