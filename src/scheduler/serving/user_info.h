// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <map>
#include <string>
#include <vector>

namespace berth::scheduler {

// Who sent a request, as Kubernetes describes users.
struct UserInfo {
  std::string name = {}, uid = {};
  std::vector<std::string> groups = {};
  std::map<std::string, std::vector<std::string>> extra = {};
  friend bool operator==(const UserInfo&, const UserInfo&) = default;
};

}  // namespace berth::scheduler
