// SPDX-License-Identifier: Apache-2.0
// Brings a document that came from outside into the form that its schema gives it, as decoding into
// Kubernetes' types and encoding again would: unknown fields go, amounts and times get their usual
// spelling, what is empty is left out where the types leave it out and written where they write it.
#pragma once

#include <string>
#include <vector>

#include "base/result.h"
#include "json/schema.h"
#include "json/value.h"

namespace berth::apiserver {

struct Conformed {
  // Paths of fields that the schema does not know, in document order: "spec.containers[0].foo".
  // They are gone from the document.
  std::vector<std::string> unknown;
};

// The error is the decoder's own text: "json: cannot unmarshal string into Go struct field
// PodSpec.spec.containers of type []v1.Container". kind and apiVersion at the top are left alone.
Result<Conformed> conform(json::Value& document, const json::Message&);

// What an absent struct of this type looks like when it is written.
json::Value zero_of(const json::Message&, json::Arena&);

}  // namespace berth::apiserver
