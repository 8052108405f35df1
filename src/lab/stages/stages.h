// SPDX-License-Identifier: Apache-2.0
// KWOK's Stage files: what pods or nodes become, and when, as data. A file is compiled when it is
// read; an expression that is not understood is an error then, with file and line. See
// docs/simulated-nodes.md for what is.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/random.h"
#include "base/result.h"
#include "kube/api.h"
#include "kube/object.h"
#include "lab/stages/query.h"
#include "lab/stages/template.h"

namespace berth::lab {

// Immutable once filled; thread-safe then.
class Stages {
 public:
  // Adds the stages of a file, documents of other kinds left out. Errors name file and line.
  Result<Ok> add(std::string_view text, std::string_view file_name);

  bool empty() const { return stages_.empty(); }
  bool about(kube::KindId) const;  // does any say what becomes of that kind?

  struct Choice {
    std::size_t stage;
    Duration delay;
  };
  // The stage that the object is to go to, drawn by weight among those that match.
  std::optional<Choice> choose(const kube::Object&, WallTime now, Random) const;
  // What to do to go there, in order.
  Result<std::vector<kube::ApiRequest>> requests(std::size_t stage, const kube::Object&,
                                                 const TemplateFacts&) const;
  const std::string& name(std::size_t stage) const { return stages_[stage].name; }

 private:
  struct Requirement {
    enum class Operator : std::uint8_t { kIn, kNotIn, kExists, kDoesNotExist };
    Query query;
    Operator op = Operator::kExists;
    std::vector<std::string> values = {};
  };
  // A number that may stand in the object.
  struct Amount {
    std::optional<std::int64_t> fixed = {};
    std::optional<Query> from = {};
  };
  struct Patch {
    std::string subresource = {}, root = {};
    Template text = {};
    kube::PatchType type = kube::PatchType::kStrategic;
  };
  struct Event {
    std::string type, reason, message;
  };
  struct Finalizers {
    std::vector<std::string> add = {}, remove = {};
    bool empty = false;
  };
  struct Step {
    std::optional<Event> event = {};
    std::optional<Finalizers> finalizers = {};
    std::optional<Patch> patch = {};
    bool erase = false;
  };
  struct Stage {
    std::string name = {};
    kube::KindId kind{};
    bool matches_nothing = false;
    std::vector<std::pair<std::string, std::string>> labels = {}, annotations = {};
    std::vector<Requirement> requirements = {};
    Amount weight = {}, delay = {}, jitter = {};
    bool delayed = false;
    std::vector<Step> steps = {};
  };
  friend class StageReader;

  bool matches(const Stage&, const kube::Object&, json::Slice document) const;

  std::vector<Stage> stages_;
};

}  // namespace berth::lab
