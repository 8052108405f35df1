// SPDX-License-Identifier: Apache-2.0
#include "controllers/persistent_volume/matching.h"

#include <algorithm>
#include <map>
#include <set>

#include "json/writer.h"
#include "kube/label_selector.h"
#include "kube/quantity.h"

namespace berth::controllers {
namespace {

using kube::Object;
using kube::Quantity;

std::set<std::string> access_modes(const Object& object) {
  std::set<std::string> out;
  for (const json::Slice one : object.member("spec")["accessModes"].elements())
    out.insert(one.text());
  return out;
}

std::string volume_mode(const Object& object) {
  const json::Slice mode = object.member("spec")["volumeMode"];
  return mode.is_string() ? mode.text() : "Filesystem";
}

Quantity capacity_of(const Object& volume) {
  return Quantity::from_json(volume.member("spec")["capacity"]["storage"]).value_or(Quantity());
}
Quantity request_of(const Object& claim) {
  return Quantity::from_json(claim.member("spec")["resources"]["requests"]["storage"])
      .value_or(Quantity());
}

std::string attributes_class(const Object& object) {
  return object.member("spec")["volumeAttributesClassName"].text();
}

const Object* smallest(const Object& claim, const std::vector<const Object*>& volumes, bool delayed,
                       const kube::LabelSelector* selector) {
  const Quantity wanted = request_of(claim);
  const Object* best = nullptr;
  Quantity best_size;
  for (const Object* volume : volumes) {
    const auto ref = claim_ref(*volume);
    const Quantity size = capacity_of(*volume);
    if ((ref && !ref->of(claim)) || size < wanted || !same_volume_mode(*volume, claim) ||
        attributes_class(*volume) != attributes_class(claim) || volume->deleting())
      continue;
    if (ref) return volume;  // reserved for it
    if (delayed || !volume->status()["phase"].equals("Available") ||
        (selector != nullptr && !selector->matches(volume->labels())) ||
        class_of_volume(*volume) != class_of_claim(claim).value_or(""))
      continue;
    if (best != nullptr && best_size <= size) continue;
    best = volume;
    best_size = size;
  }
  return best;
}

}  // namespace

bool has_annotation(const Object& object, std::string_view key) {
  return object.annotations()[key].present();
}

std::optional<std::string> class_of_claim(const Object& claim) {
  if (has_annotation(claim, volume_annotation::kBetaClass))
    return claim.annotation(volume_annotation::kBetaClass);
  const json::Slice name = claim.member("spec")["storageClassName"];
  return name.is_string() ? std::optional(name.text()) : std::nullopt;
}

std::string class_of_volume(const Object& volume) {
  if (has_annotation(volume, volume_annotation::kBetaClass))
    return volume.annotation(volume_annotation::kBetaClass);
  return volume.member("spec")["storageClassName"].text();
}

std::optional<ClaimRef> claim_ref(const Object& volume) {
  const json::Slice ref = volume.member("spec")["claimRef"];
  if (!ref.is_object()) return std::nullopt;
  return ClaimRef{ref["namespace"].text(), ref["name"].text(), ref["uid"].text()};
}

std::string claim_ref_json(const Object& claim) {
  json::Writer w;
  w.object().member("apiVersion").string("v1").member("kind").string("PersistentVolumeClaim");
  w.member("namespace").string(claim.ns()).member("name").string(claim.name());
  w.member("uid").string(claim.uid());
  w.member("resourceVersion").string(std::to_string(claim.revision())).end();
  return w.take();
}

bool same_volume_mode(const Object& volume, const Object& claim) {
  return volume_mode(volume) == volume_mode(claim);
}

std::string why_unfit(const Object& volume, const Object& claim) {
  if (volume.deleting()) return "the volume is marked for deletion " + json::quoted(volume.name());
  if (capacity_of(volume).value() < request_of(claim).value()) return "requested PV is too small";
  if (class_of_volume(volume) != class_of_claim(claim).value_or(""))
    return "storageClassName does not match";
  if (attributes_class(volume) != attributes_class(claim))
    return "volumeAttributesClassName does not match";
  if (!same_volume_mode(volume, claim)) return "incompatible volumeMode";
  const auto has = access_modes(volume), wants = access_modes(claim);
  if (!std::includes(has.begin(), has.end(), wants.begin(), wants.end()))
    return "incompatible accessMode";
  return "";
}

Result<const Object*> best_match(const Object& claim, const std::vector<const Object*>& volumes,
                                 bool delayed) {
  const json::Slice given = claim.member("spec")["selector"];
  kube::LabelSelector selector;
  if (given.is_object()) {
    auto read = kube::LabelSelector::from_json(given);
    if (!read) return tl::unexpected(read.error());
    selector = std::move(*read);
  }
  const std::set<std::string> wanted = access_modes(claim);
  std::map<std::pair<std::size_t, std::set<std::string>>, std::vector<const Object*>> by_modes;
  for (const Object* volume : volumes) {
    std::set<std::string> has = access_modes(*volume);
    if (!std::includes(has.begin(), has.end(), wanted.begin(), wanted.end())) continue;
    const std::size_t count = has.size();
    by_modes[{count, std::move(has)}].push_back(volume);
  }
  for (const auto& [modes, some] : by_modes)
    if (const Object* found =
            smallest(claim, some, delayed, given.is_object() ? &selector : nullptr))
      return found;
  return nullptr;
}

}  // namespace berth::controllers
