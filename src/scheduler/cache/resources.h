// SPDX-License-Identifier: Apache-2.0
// Amounts as kube-scheduler counts them: whole millicores and bytes, and a list for what is neither
// cpu, memory nor ephemeral storage.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "kube/resource_list.h"

namespace berth::scheduler {

// A value.
struct Resources {
  std::int64_t millicores = 0;
  std::int64_t memory = 0;  // bytes, as disk
  std::int64_t disk = 0;    // ephemeral-storage
  // Extended resources, hugepages and the like, by name. An entry may be 0: "asked for none" is not
  // "did not ask".
  std::vector<std::pair<std::string, std::int64_t>> scalars;

  static Resources from(const kube::ResourceList&);  // names that are no resource are left out

  std::int64_t scalar(std::string_view name) const;
  std::int64_t of(std::string_view name) const;  // cpu in millicores, or any other name
  bool nothing() const { return millicores == 0 && memory == 0 && disk == 0 && scalars.empty(); }
  friend bool operator==(const Resources&, const Resources&) = default;
};

bool is_extended_resource(std::string_view name);  // vendor.example/gpu
bool is_scalar_resource(std::string_view name);    // that, hugepages-*, attachable-volumes-*, …

}  // namespace berth::scheduler
