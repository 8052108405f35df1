// SPDX-License-Identifier: Apache-2.0
// What the suite reads of a Namespace, by name.
#pragma once

#include "kube/object.h"

namespace berth::kube {

// A view with a handle of its own: valid as long as it lives. Thread-compatible.
class NamespaceView {
 public:
  explicit NamespaceView(Object ns) : namespace_(std::move(ns)) {}

  const Object& object() const { return namespace_; }
  bool terminating() const { return namespace_.status()["phase"].equals("Terminating"); }
  json::Slice finalizers() const { return namespace_.member("spec")["finalizers"]; }

 private:
  Object namespace_;
};

}  // namespace berth::kube
