// SPDX-License-Identifier: Apache-2.0
// All objects of some kinds as they are now, from a cluster or from manifests, for a command that
// looks at them once. From a cluster by lists and not informers, so that what may not be read is an
// error and not a wait.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "base/result.h"
#include "client/connect.h"
#include "controllers/listed.h"
#include "kube/api.h"

namespace berth::cli {

struct Wanted {
  enum class Lack : std::uint8_t {
    kIsAnError,
    kIsFine,        // a cluster need not have the kind
    kIsNoQuestion,  // nor need it show the kind: the rest is worth saying
  };
  kube::KindId kind{};
  Lack lack = Lack::kIsAnError;
  kube::Options options = {};  // of the list; manifests are taken as they are
  bool only_here = false;      // in the namespace that is asked about, not in all
};

struct Listing {
  controllers::Listed objects;
  std::string ns;
  WallTime now{};  // files have none: an hour after the last of them was made
};

// Runs `look` with what there is, unless that cannot be had. Without files: of a cluster.
Result<int> look_at(const std::vector<std::string>& files, const client::ConnectOptions&,
                    std::vector<Wanted>, std::function<Result<int>(const Listing&)> look);

}  // namespace berth::cli
