// SPDX-License-Identifier: Apache-2.0
// Which objects a reader wants: labels and fields. Which fields a kind has is the kind's business.
#pragma once

#include <functional>
#include <string>
#include <string_view>

#include "kube/field_selector.h"
#include "kube/label_selector.h"
#include "kube/object.h"

namespace berth::apiserver {

// A field's value, "" where there is none. metadata.name and metadata.namespace need none.
using FieldReader = std::function<std::string(const kube::Object&, std::string_view field)>;

// Immutable once made; thread-safe if its reader is.
struct Selector {
  kube::LabelSelector labels = {};
  kube::FieldSelector fields = {};
  FieldReader read = {};

  bool everything() const { return labels.everything() && fields.everything(); }
  bool matches(const kube::Object&) const;
};

}  // namespace berth::apiserver
