// SPDX-License-Identifier: Apache-2.0
// Where the next page of a list begins, as kube-apiserver writes it: clients keep such tokens, and
// some look into them.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "base/result.h"

namespace berth::apiserver {

struct ContinueToken {
  std::int64_t revision = 0;  // of all pages; below 0: the newest, whatever the pages before had
  std::string
      start;  // the first key of the page, below the list's own place: "name" in a namespace

  std::string text() const;  // base64url without padding of {"v":"meta.k8s.io/v1","rv":…,"start":…}
  // BadRequest with the real server's words.
  static Result<ContinueToken> parse(std::string_view);
};

}  // namespace berth::apiserver
