// SPDX-License-Identifier: Apache-2.0
// Bringing a custom object into the form its schema gives it: what is unknown goes, defaults come,
// and the metadata of objects inside it is metadata.
#pragma once

#include <string>
#include <vector>

#include "apiserver/kinds/extensions/structural.h"
#include "apiserver/kinds/findings.h"

namespace berth::apiserver {

// Takes out what the schema does not know and gives the paths, sorted. At the top kind, apiVersion
// and metadata are known.
std::vector<std::string> prune(json::Value&, const Structural&, bool top);

// Takes out nulls where null is not allowed and there is no default to put in their place.
void prune_nulls(json::Value&, const Structural&);

void fill_presets(json::Value&, const Structural&);

// Types of apiVersion, kind and metadata of objects inside the document; gives unknown fields of
// their metadata. The error is a finding's text.
Result<std::vector<std::string>> coerce_embedded(json::Value&, const Structural&, bool top);

// What apiVersion, kind and metadata of objects inside the document must be.
void check_embedded(const json::Value&, const Structural&, const std::string& at, Findings&);

// Elements of sets and of lists with keys are unique.
void check_lists(const json::Value&, const Structural&, const std::string& at, Findings&);

}  // namespace berth::apiserver
