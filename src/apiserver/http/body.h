// SPDX-License-Identifier: Apache-2.0
// What a request carries, as JSON whatever it came as.
#pragma once

#include <string>
#include <string_view>

#include "apiserver/http/limits.h"
#include "apiserver/kinds/kind_row.h"
#include "base/metrics.h"
#include "kube/api.h"
#include "net/http.h"

namespace berth::apiserver {

// Of create and update: JSON, YAML or protobuf. JSON is passed on as it is; the server reads it.
Result<kube::Body> read_document(net::HttpRequest&, const KindRow&, const DoorLimits&);
// Of delete: the same, holding DeleteOptions; often there is none.
Result<kube::Body> read_delete_body(net::HttpRequest&, const DoorLimits&);
// Of patch. Which types there are depends on the kind.
Result<kube::PatchType> patch_type_of(const net::Headers&, const KindRow&);
Result<kube::Body> read_patch(net::HttpRequest&, kube::PatchType, const DoorLimits&);

// How many bodies came as what, whether they could be read or not. Thread-safe.
class BodyCounts {
 public:
  explicit BodyCounts(Metrics&);
  void count(const net::HttpRequest&) const;

 private:
  explicit BodyCounts(const Labelled<Counter>&);
  Counter json_, yaml_, protobuf_, patch_, other_;
};

}  // namespace berth::apiserver
