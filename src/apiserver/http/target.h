// SPDX-License-Identifier: Apache-2.0
// What a path names: a collection, an object, a subresource of one, or none of these.
#pragma once

#include <string>
#include <string_view>

#include "apiserver/kinds/registry.h"

namespace berth::apiserver {

struct Target {
  const KindRow* row = nullptr;  // null: no resource; then the server looks for a page
  std::string ns = {}, name = {}, subresource = {};
  bool watched = false;  // the old form: /api/v1/watch/pods
  // Null row: it stands below a group that is served, so what is missing is a resource.
  bool below_group = false;
  std::string mistake = {};  // why the name can be none; then nothing else counts
};

// `path` is decoded. `kinds` outlives what is given back.
Target find_target(const Kinds& kinds, std::string_view path);

}  // namespace berth::apiserver
