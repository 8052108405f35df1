// SPDX-License-Identifier: Apache-2.0
// Volumes, claims and what describes where they can be used.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "kube/object.h"
#include "scheduler/cache/storage_objects.h"
#include "scheduler/cache/string_map.h"

namespace berth::scheduler {

// What may have changed about the volumes that drivers attach, in order: claims ("ns/name") and
// nodes whose attachments changed ("@node").
struct AttachLog {
  std::uint64_t begin = 0;  // of what is still known; who has read less must look at all anew
  std::vector<std::string> keys;
  std::uint64_t end() const { return begin + keys.size(); }
};

// Loop-confined; a value. Objects as the API server has them, and assumed changes on top: what
// Reserve decided and PreBind is about to write. An assumed object stands as long as the API
// server's is of the revision that it was made from.
class StorageState {
 public:
  // Any of PersistentVolume, PersistentVolumeClaim, StorageClass, CSINode, CSIDriver,
  // CSIStorageCapacity, VolumeAttachment; other kinds are ignored.
  void put(const kube::Object&);
  void remove(const kube::Object&);
  std::uint64_t epoch() const { return epoch_; }  // moves with every change, assumed ones too

  // As the API server has them; null where it has none.
  const VolumePtr& volume(std::string_view name) const { return find(volumes_, name); }
  const ClaimPtr& claim(std::string_view key) const { return find(claims_, key); }  // "ns/name"
  const StorageClassPtr& storage_class(std::string_view name) const { return find(classes_, name); }
  const CsiNodePtr& csi_node(std::string_view node) const { return find(csi_nodes_, node); }
  bool tracks_capacity(std::string_view driver) const;  // a CSIDriver that says so
  std::vector<const CsiCapacity*> capacities_of(std::string_view class_name) const;
  const std::vector<Attachment>& attachments_on(std::string_view node) const;
  const AttachLog& attach_log() const { return attach_log_; }

  // With what is assumed.
  const VolumePtr& latest_volume(std::string_view name) const;
  const ClaimPtr& latest_claim(std::string_view key) const;
  std::vector<VolumePtr> latest_of_class(std::string_view class_name) const;  // by name

  // Fails where the API server's object is not of the same revision (any more).
  Result<Ok> assume(VolumePtr);
  Result<Ok> assume(ClaimPtr);
  void restore(const Volume&);  // does nothing where that revision is not assumed
  void restore(const Claim&);
  std::size_t assumed() const { return assumed_volumes_.size() + assumed_claims_.size(); }

 private:
  template <class T>
  static const T& find(const StringMap<T>& in, std::string_view key) {
    static const T kNone{};
    const auto found = in.find(key);
    return found == in.end() ? kNone : found->second;
  }
  void put_volume(VolumePtr);
  void put_claim(std::string key, ClaimPtr);  // null: it is gone
  void forget_volume(std::string_view name);
  void use_volume(const std::string& name, const std::string& user, bool uses);
  void log(const std::string& key);
  void log_users_of(const Volume* before, const Volume* after);
  void log_all();
  void forget_attachment(std::string_view name);

  std::uint64_t epoch_ = 0;
  AttachLog attach_log_;
  StringMap<std::vector<std::string>> volume_users_;  // keys of the log, by volume
  StringMap<VolumePtr> volumes_, assumed_volumes_;
  std::map<std::string, std::map<std::string, VolumePtr>, std::less<>> by_class_;
  StringMap<ClaimPtr> claims_, assumed_claims_;
  StringMap<StorageClassPtr> classes_;
  StringMap<CsiNodePtr> csi_nodes_;
  StringMap<bool> drivers_;                                     // whether they track capacity
  std::map<std::string, CsiCapacity, std::less<>> capacities_;  // by "ns/name"
  StringMap<std::vector<Attachment>> attachments_;              // by node
  StringMap<Attachment> attachments_by_name_;
};

}  // namespace berth::scheduler
