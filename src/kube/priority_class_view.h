// SPDX-License-Identifier: Apache-2.0
// What the suite reads of a PriorityClass, by name.
#pragma once

#include <cstdint>
#include <string>

#include "kube/object.h"

namespace berth::kube {

// A view with a handle of its own: valid as long as it lives. Thread-compatible.
class PriorityClassView {
 public:
  explicit PriorityClassView(Object priority_class) : class_(std::move(priority_class)) {}

  const Object& object() const { return class_; }
  std::int32_t value() const {
    return static_cast<std::int32_t>(class_.member("value").integer().value_or(0));
  }
  bool global_default() const { return class_.member("globalDefault").boolean(); }
  bool never_preempts() const { return class_.member("preemptionPolicy").equals("Never"); }
  std::string description() const { return class_.member("description").text(); }

 private:
  Object class_;
};

}  // namespace berth::kube
