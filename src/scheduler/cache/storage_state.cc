// SPDX-License-Identifier: Apache-2.0
#include "scheduler/cache/storage_state.h"

#include <algorithm>

#include <fmt/format.h>

#include "kube/kind.h"

namespace berth::scheduler {
namespace {

// The text of an error from kube-scheduler's assume cache.
template <class T>
Result<Ok> check_in_sync(const T& stored, const T& assumed, std::string_view resource,
                         const std::string& key) {
  if (!stored) return fail(Reason::kNotFound, fmt::format("{} \"{}\" not found", resource, key));
  if (stored->revision != assumed->revision)
    return fail(Reason::kConflict, fmt::format("\"{}\" is out of sync (stored: {}, assume: {})",
                                               key, stored->revision, assumed->revision));
  return Ok{};
}

}  // namespace

void StorageState::put(const kube::Object& object) {
  ++epoch_;
  const kube::KindId kind = object.kind();
  if (kind == kube::kPersistentVolume) {
    put_volume(Volume::compile(object));
  } else if (kind == kube::kPersistentVolumeClaim) {
    put_claim(object.key().text(), Claim::compile(object));
  } else if (kind == kube::kStorageClass) {
    StorageClassPtr& known = classes_[std::string(object.name())];
    StorageClassPtr now = StorageClass::compile(object);
    if (!known || known->provisioner != now->provisioner) log_all();
    known = std::move(now);
  } else if (kind == kube::kCsiNode) {
    csi_nodes_.insert_or_assign(std::string(object.name()), CsiNode::compile(object));
  } else if (kind == kube::kCsiDriver) {
    drivers_.insert_or_assign(std::string(object.name()),
                              object.member("spec")["storageCapacity"].boolean());
  } else if (kind == kube::kCsiStorageCapacity) {
    capacities_.insert_or_assign(object.key().text(), CsiCapacity::compile(object));
  } else if (kind == kube::kVolumeAttachment) {
    forget_attachment(object.name());
    const json::Slice spec = object.member("spec");
    Attachment made{std::string(object.name()), spec["nodeName"].text(), spec["attacher"].text(),
                    spec["source"]["persistentVolumeName"].text()};
    log("@" + made.node);
    use_volume(made.volume, "@" + made.node, true);
    attachments_[made.node].push_back(made);
    std::string name = made.name;
    attachments_by_name_.insert_or_assign(std::move(name), std::move(made));
  }
}

void StorageState::remove(const kube::Object& object) {
  ++epoch_;
  const kube::KindId kind = object.kind();
  // As put() names them, also where a cluster-scoped one states a namespace.
  const std::string key =
      kube::kind_of(kind).namespaced ? object.key().text() : std::string(object.name());
  if (kind == kube::kPersistentVolume) {
    if (const VolumePtr gone = volume(key)) log_users_of(gone.get(), nullptr);
    forget_volume(key);
    assumed_volumes_.erase(key);
  } else if (kind == kube::kPersistentVolumeClaim) {
    put_claim(key, nullptr);
  } else if (kind == kube::kStorageClass) {
    log_all();
    classes_.erase(key);
  } else if (kind == kube::kCsiNode) {
    csi_nodes_.erase(key);
  } else if (kind == kube::kCsiDriver) {
    drivers_.erase(key);
  } else if (kind == kube::kCsiStorageCapacity) {
    capacities_.erase(key);
  } else if (kind == kube::kVolumeAttachment) {
    forget_attachment(key);
  }
}

void StorageState::put_volume(VolumePtr volume) {
  log_users_of(this->volume(volume->name).get(), volume.get());
  forget_volume(volume->name);
  const auto assumed = assumed_volumes_.find(volume->name);
  if (assumed != assumed_volumes_.end() && assumed->second->revision != volume->revision)
    assumed_volumes_.erase(assumed);
  by_class_[volume->class_name].insert_or_assign(volume->name, volume);
  volumes_.insert_or_assign(volume->name, std::move(volume));
}

void StorageState::put_claim(std::string key, ClaimPtr claim) {
  const ClaimPtr before = this->claim(key);
  if (!before || !claim || before->volume_name != claim->volume_name ||
      before->class_name != claim->class_name || before->controller_uid != claim->controller_uid)
    log(key);
  if (before) use_volume(before->volume_name, key, false);
  if (claim) use_volume(claim->volume_name, key, true);
  const auto assumed = assumed_claims_.find(key);
  if (assumed != assumed_claims_.end() && (!claim || assumed->second->revision != claim->revision))
    assumed_claims_.erase(assumed);
  if (claim)
    claims_.insert_or_assign(std::move(key), std::move(claim));
  else
    claims_.erase(key);
}

void StorageState::use_volume(const std::string& name, const std::string& user, bool uses) {
  if (name.empty()) return;
  std::vector<std::string>& users = volume_users_[name];
  if (uses)
    users.push_back(user);
  else  // one of them: a volume may be attached to a node twice
    users.erase(std::find(users.begin(), users.end(), user));
  if (users.empty()) volume_users_.erase(name);
}

void StorageState::log(const std::string& key) {
  constexpr std::size_t kKeep = 4096;
  if (attach_log_.keys.size() >= kKeep) {
    attach_log_.begin = attach_log_.end();
    attach_log_.keys.clear();
  }
  attach_log_.keys.push_back(key);
}

void StorageState::log_users_of(const Volume* before, const Volume* after) {
  if (before != nullptr && after != nullptr && before->native_csi == after->native_csi &&
      before->in_tree == after->in_tree && before->driver == after->driver &&
      before->handle == after->handle)
    return;
  const auto users = volume_users_.find((after != nullptr ? after : before)->name);
  if (users == volume_users_.end()) return;
  for (const std::string& key : users->second) log(key);
}

void StorageState::log_all() {
  attach_log_.begin = attach_log_.end() + 1;
  attach_log_.keys.clear();
}

void StorageState::forget_volume(std::string_view name) {
  const auto found = volumes_.find(name);
  if (found == volumes_.end()) return;
  const auto of_class = by_class_.find(found->second->class_name);
  of_class->second.erase(found->first);
  if (of_class->second.empty()) by_class_.erase(of_class);
  volumes_.erase(found);
}

void StorageState::forget_attachment(std::string_view name) {
  const auto found = attachments_by_name_.find(name);
  if (found == attachments_by_name_.end()) return;
  const Attachment gone = std::move(found->second);
  attachments_by_name_.erase(found);
  log("@" + gone.node);
  use_volume(gone.volume, "@" + gone.node, false);
  const auto on_node = attachments_.find(gone.node);
  std::erase_if(on_node->second, [&gone](const Attachment& a) { return a.name == gone.name; });
  if (on_node->second.empty()) attachments_.erase(on_node);
}

bool StorageState::tracks_capacity(std::string_view driver) const { return find(drivers_, driver); }

std::vector<const CsiCapacity*> StorageState::capacities_of(std::string_view class_name) const {
  std::vector<const CsiCapacity*> out;
  for (const auto& [key, capacity] : capacities_)
    if (capacity.class_name == class_name) out.push_back(&capacity);
  return out;
}

const std::vector<Attachment>& StorageState::attachments_on(std::string_view node) const {
  static const std::vector<Attachment> kNone;
  const auto found = attachments_.find(node);
  return found == attachments_.end() ? kNone : found->second;
}

const VolumePtr& StorageState::latest_volume(std::string_view name) const {
  const VolumePtr& assumed = find(assumed_volumes_, name);
  return assumed ? assumed : volume(name);
}

const ClaimPtr& StorageState::latest_claim(std::string_view key) const {
  const ClaimPtr& assumed = find(assumed_claims_, key);
  return assumed ? assumed : claim(key);
}

std::vector<VolumePtr> StorageState::latest_of_class(std::string_view class_name) const {
  std::vector<VolumePtr> out;
  const auto found = by_class_.find(class_name);
  if (found == by_class_.end()) return out;
  out.reserve(found->second.size());
  for (const auto& [name, volume] : found->second) {
    const VolumePtr& assumed = find(assumed_volumes_, name);
    out.push_back(assumed ? assumed : volume);
  }
  return out;
}

Result<Ok> StorageState::assume(VolumePtr volume) {
  Result<Ok> checked =
      check_in_sync(this->volume(volume->name), volume, "persistentvolumes", volume->name);
  if (!checked) return checked;
  ++epoch_;
  std::string name = volume->name;
  assumed_volumes_.insert_or_assign(std::move(name), std::move(volume));
  return Ok{};
}

Result<Ok> StorageState::assume(ClaimPtr claim) {
  std::string key = claim->key();
  Result<Ok> checked = check_in_sync(this->claim(key), claim, "persistentvolumeclaims", key);
  if (!checked) return checked;
  ++epoch_;
  assumed_claims_.insert_or_assign(std::move(key), std::move(claim));
  return Ok{};
}

void StorageState::restore(const Volume& volume) {
  const auto found = assumed_volumes_.find(volume.name);
  if (found == assumed_volumes_.end() || found->second->revision != volume.revision) return;
  ++epoch_;
  assumed_volumes_.erase(found);
}

void StorageState::restore(const Claim& claim) {
  const auto found = assumed_claims_.find(claim.key());
  if (found == assumed_claims_.end() || found->second->revision != claim.revision) return;
  ++epoch_;
  assumed_claims_.erase(found);
}

}  // namespace berth::scheduler
