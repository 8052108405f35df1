// SPDX-License-Identifier: Apache-2.0
// What workload controllers say about pods, in one place: which count, which are ready, how one is
// made from a template, and how it is named.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/time.h"
#include "json/slice.h"
#include "kube/object.h"

namespace berth::controllers {

using kube::Key;
using kube::Object;

bool pod_ended(const Object& pod);        // Succeeded or Failed
bool pod_active(const Object& pod);       // neither ended nor being deleted
bool pod_terminating(const Object& pod);  // being deleted, and not ended yet
bool pod_ready(const Object& pod);
std::optional<WallTime> ready_since(const Object& pod);  // where it is ready and says since when
bool pod_available(const Object& pod, Duration min_ready, WallTime now);
// When it will be, if it stays ready; nothing where it is, or where nobody can tell.
std::optional<WallTime> available_at(const Object& pod, Duration min_ready, WallTime now);

// {"apiVersion":…,"controller":true,"blockOwnerDeletion":true}
std::string controller_ref(const Object& owner);

struct PodParts {
  Key key;
  json::Slice pod_template;
  std::string owner;                                             // controller_ref()
  std::vector<std::pair<std::string, std::string>> labels = {};  // on top of the template's
  std::vector<std::pair<std::string, std::string>> annotations = {};
  std::vector<std::string> finalizers = {};
  std::string spec = {};    // instead of the template's
  std::string prefix = {};  // generateName, where it is not the owner's name and a dash
};
std::string pod_json(const PodParts&);

// "web-" of "web": what names of its pods begin with.
std::string pod_prefix(std::string_view owner);
// Five characters as Kubernetes draws them, but of this seed.
std::string name_suffix(std::string_view seed);
// 32 bits as Kubernetes writes them where people look: no vowels, no bad words.
std::string safe_hash(std::uint32_t);
std::uint32_t fnv32a(std::string_view);

// Names for `count` new pods of an owner. They follow from the owner's version and from what is
// there, so a plan that is made again names the same pods, and yet a later pod has a name of its
// own.
std::vector<std::string> new_pod_names(const Object& owner, std::size_t count,
                                       const std::vector<const Object*>& existing);

}  // namespace berth::controllers
