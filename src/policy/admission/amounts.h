// SPDX-License-Identifier: Apache-2.0
// Requests and limits as a user wrote them, with every amount that cannot be meant.
#pragma once

#include <map>
#include <string>

#include "json/slice.h"
#include "kube/quantity.h"
#include "policy/admission/findings.h"

namespace berth::admission {

using AmountList = std::map<std::string, kube::Quantity, std::less<>>;

struct Amounts {
  AmountList requests, limits;
  // What is asked for: a limit alone is a request, too. Null: nothing.
  const kube::Quantity* request_of(std::string_view resource) const;
};

// Those that can be read; the others are found wrong.
AmountList read_amounts(json::Slice list, const At&, Findings&);
// Requests must lie within limits, and be the same for what cannot be shared.
Amounts check_resources(json::Slice resources, const At&, Findings&);

}  // namespace berth::admission
