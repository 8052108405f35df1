// SPDX-License-Identifier: Apache-2.0
// Where an object stands among those of its kind: "namespace/name", or "name" for what has no
// namespace. Compared as that text, as etcd does: "a-b/x" comes before "a/x".
#pragma once

#include <string>
#include <string_view>

#include "kube/object.h"

namespace berth::apiserver {

// A view of a kube::Key.
struct KeyRef {
  std::string_view ns, name;

  KeyRef(std::string_view in, std::string_view called) : ns(in), name(called) {}
  KeyRef(const kube::Key& key)  // NOLINT(google-explicit-constructor): a view of it
      : ns(key.ns), name(key.name) {}
  explicit KeyRef(const kube::Object& object) : ns(object.ns()), name(object.name()) {}
  std::string text() const {
    std::string out;
    out.reserve(ns.size() + name.size() + 1);
    if (!ns.empty()) (out += ns) += '/';
    return out += name;
  }
};

}  // namespace berth::apiserver
