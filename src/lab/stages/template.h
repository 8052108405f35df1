// SPDX-License-Identifier: Apache-2.0
// The part of Go's text/template that Stage files write statuses with: fields, variables, range,
// if, with, pipelines, and the functions that KWOK's own stages use. Compiled once; what is outside
// is refused then, with its line.
#pragma once

#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "base/time.h"
#include "json/slice.h"

namespace berth::lab {

// What the functions of a template know.
struct TemplateFacts {
  WallTime now{}, start{};
  std::string node_name = {};                                 // of the node, or of the pod's node
  std::function<std::string(std::string_view)> node_ip = {};  // by the node's name; "": not known
  std::function<std::string()> pod_ip = {};
};

// Immutable, thread-safe.
class Template {
 public:
  struct Node;

  // An error's message begins with the line within the text: "line 3: …".
  static Result<Template> parse(std::string_view text);
  Result<std::string> render(json::Slice document, const TemplateFacts&) const;

 private:
  std::shared_ptr<const std::vector<Node>> nodes_;
};

}  // namespace berth::lab
