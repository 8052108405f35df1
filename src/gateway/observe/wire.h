// SPDX-License-Identifier: Apache-2.0
// How the values of this folder look in JSON. The page's types are in ui/src/api/types.ts; goldens
// in ui/fixtures hold the two together.
#pragma once

#include <span>
#include <string>

#include "base/time.h"
#include "gateway/observe/records.h"
#include "json/writer.h"

namespace berth::gateway {

inline std::int64_t millis(WallTime at) { return at.unix_nanos / 1'000'000; }

void write_decision(json::Writer&, const DecisionRecord&);
std::string decisions_json(std::span<const DecisionRecord>);

}  // namespace berth::gateway
