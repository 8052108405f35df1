// SPDX-License-Identifier: Apache-2.0
// Where the cluster of `berth up` is found, by others and by this process.
#pragma once

#include <filesystem>
#include <optional>
#include <string>

#include "base/result.h"
#include "cluster/identity.h"

namespace berth::cli {

struct UpAddress {
  std::string bound = "127.0.0.1";
  std::string advertised = {};  // "": as kube-apiserver chooses it

  Result<Ok> check() const;  // before all others
  std::string for_others() const;
  std::string for_ourselves() const;  // whatever others see of it
  // Good for whatever the cluster can be called by.
  Result<cluster::Identity> identity(const std::optional<std::filesystem::path>& data_dir) const;
};

}  // namespace berth::cli
