// SPDX-License-Identifier: Apache-2.0
// Which volume suits which claim, and who is bound to whom.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "kube/object.h"

namespace berth::controllers {

namespace volume_annotation {
inline constexpr const char* kBindCompleted = "pv.kubernetes.io/bind-completed";
inline constexpr const char* kBoundByController = "pv.kubernetes.io/bound-by-controller";
inline constexpr const char* kSelectedNode = "volume.kubernetes.io/selected-node";
inline constexpr const char* kProvisionedBy = "pv.kubernetes.io/provisioned-by";
inline constexpr const char* kProvisioner = "volume.kubernetes.io/storage-provisioner";
inline constexpr const char* kBetaProvisioner = "volume.beta.kubernetes.io/storage-provisioner";
inline constexpr const char* kBetaClass = "volume.beta.kubernetes.io/storage-class";
}  // namespace volume_annotation

bool has_annotation(const kube::Object&, std::string_view key);  // even an empty one

std::optional<std::string> class_of_claim(const kube::Object& claim);  // none: it has not said
std::string class_of_volume(const kube::Object& volume);

// A volume's claimRef; its uid is "" where somebody has only reserved the volume.
struct ClaimRef {
  std::string ns, name, uid;
  bool of(const kube::Object& claim) const {
    return name == claim.name() && ns == claim.ns() && (uid.empty() || uid == claim.uid());
  }
};
std::optional<ClaimRef> claim_ref(const kube::Object& volume);
std::string claim_ref_json(const kube::Object& claim);

bool same_volume_mode(const kube::Object& volume, const kube::Object& claim);
// What keeps a claim from the volume that it asked for; "" when nothing does.
std::string why_unfit(const kube::Object& volume, const kube::Object& claim);
// The smallest that fits, of those with the fewest access modes; one that is reserved for the claim
// goes before. `delayed`: only a reserved one. Null: none.
Result<const kube::Object*> best_match(const kube::Object& claim,
                                       const std::vector<const kube::Object*>& volumes,
                                       bool delayed);

}  // namespace berth::controllers
