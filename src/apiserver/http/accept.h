// SPDX-License-Identifier: Apache-2.0
// In which form a client wants its answer.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "apiserver/http/query.h"
#include "base/result.h"

namespace berth::apiserver {

enum class Form : std::uint8_t { kWhole, kTable, kMetadata, kMetadataList };
enum class Include : std::uint8_t { kMetadata, kNone, kObject };  // in the rows of a table

struct Wanted {
  Form form = Form::kWhole;
  std::string_view version = "v1";  // of meta.k8s.io, for all but kWhole
  Include include = Include::kMetadata;
  bool yaml = false;
  bool pretty = false;
};

// Whether it should be indented: as the query says, else for what people use.
bool wants_pretty(const Query&, std::string_view user_agent);

// What the answer is of, which decides what can be given and how it is said that it cannot.
struct Asked {
  bool watch = false;
  bool collection = false;  // listed or watched
  bool custom = false;
};

// The first of what an Accept header lists that can be given, or NotAcceptable.
Result<Wanted> negotiate(std::string_view accept, const Query&, std::string_view user_agent,
                         const Asked&);

}  // namespace berth::apiserver
