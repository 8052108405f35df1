// SPDX-License-Identifier: Apache-2.0
// ControllerRevisions: the templates that a StatefulSet or DaemonSet had, kept as patches that
// bring them back. Data and names are byte for byte those of kube-controller-manager, so either
// goes on where the other stopped.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "json/slice.h"
#include "kube/object.h"
#include "runtime/controller.h"

namespace berth::controllers {

// The patch that a revision keeps of a pod template.
std::string revision_data(json::Slice pod_template);
std::string revision_hash(std::string_view data, std::int64_t collisions);
std::string revision_name(std::string_view owner, std::string_view hash);
// The template in a revision.
std::string revision_template(const kube::Object& revision);

// Do they mean the same? `alike` forgives what is empty.
bool same_revision(const kube::Object& revision, std::string_view data);
bool alike_revision(const kube::Object& revision, std::string_view data);

std::int64_t revision_number(const kube::Object& revision);
void sort_revisions(std::vector<const kube::Object*>&);  // the newest last

std::string revision_json(const kube::Object& owner, std::string_view data, std::int64_t number,
                          std::int64_t collisions);

// The revision of an owner's present template.
struct Present {
  const kube::Object* revision = nullptr;  // null: the plan makes it, or another name is needed
  bool collided = false;  // another revision has its name: count the collision, then look again
};
// `revisions` are the owner's, sorted. Creates one, or moves an old one to the front, where that is
// needed.
Present present_revision(const runtime::View&, runtime::Plan&, const kube::Object& owner,
                         const std::vector<const kube::Object*>& revisions,
                         std::int64_t collisions);

}  // namespace berth::controllers
