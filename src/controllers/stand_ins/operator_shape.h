// SPDX-License-Identifier: Apache-2.0
// What tells one operator's applications from another's: where they say what, what their pods are
// called, and how their status speaks.
#pragma once

#include <cstdint>
#include <map>
#include <span>
#include <string>
#include <string_view>

#include "base/time.h"
#include "controllers/status.h"
#include "json/slice.h"
#include "kube/object.h"

namespace berth::controllers {

// How far an application has come.
enum class Stage : std::uint8_t { kSubmitted, kStarting, kRunning, kCompleted, kFailed };

// A pod that it wants.
struct WantedPod {
  std::string name;
  std::map<std::string, std::string> labels;
  std::string annotations;  // JSON
  std::string spec;         // JSON
};

struct Told {
  Stage stage = Stage::kSubmitted;
  std::map<std::string, std::string> executors = {};  // pod to phase
  std::string leader = {};
  WallTime now{};
};

struct OperatorShape {
  std::string_view group, version, kind, plural;
  std::int64_t (*executors)(json::Slice spec);  // that it asks for
  std::int64_t (*needed)(json::Slice spec);     // to begin
  WantedPod (*leader)(const kube::Object& application);
  WantedPod (*executor)(const kube::Object& application, std::int64_t index);
  json::Slice (*leader_annotations)(json::Slice spec);
  Stage (*stage)(json::Slice status);  // as its status says
  void (*tell)(StatusDraft&, const Told&);
};
std::span<const OperatorShape> operator_shapes();

}  // namespace berth::controllers
