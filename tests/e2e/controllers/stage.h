// SPDX-License-Identifier: Apache-2.0
// Stories that are played on a real kube-apiserver, once with kube-controller-manager and once with
// our controllers: whoever plays, the end must be the same.
#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "base/metrics.h"
#include "control_plane.h"
#include "runtime/home.h"
#include "session.h"

namespace berth::e2e {

// Whoever runs the controllers; they stop when it goes.
class Keeper {
 public:
  virtual ~Keeper() = default;
};
std::unique_ptr<Keeper> stock_controllers(ControlPlane&, const std::vector<std::string>& names);
std::unique_ptr<Keeper> our_controllers(ControlPlane&, const std::vector<std::string>& names);

// What becomes of a pod that a kubelet as simple as can be looks after.
struct PodFate {
  std::string node = {};              // where it is placed; "": nowhere yet
  std::optional<int> exit_code = {};  // of its container, if it is to end; 137 when it is deleted
  std::string now = {};               // told as time of starts and ends; "": none is told
  // Strategic: what others said of it stays.
  kube::PatchType patch = kube::PatchType::kMerge;
};
void live(Session&, const kube::Object& pod, const PodFate&);

class Stage;
// What a user does, and what he waits for before he goes on.
struct Step {
  std::function<void(Stage&)> act;
  std::function<bool(Stage&)> until;
};
struct Story {
  std::string name;
  std::vector<Step> steps;
  // How a container that runs ends; none: it runs on.
  std::function<std::optional<int>(const Stage&, const kube::Object& pod)> exit_code = nullptr;
};

// One story being played in a namespace of its own, with a kubelet that is as simple as can be.
// Thread-compatible.
class Stage {
 public:
  Stage(Session&, const Story&, std::string tag);

  bool step();  // everything that can be done now; true: the story is over
  std::size_t at() const { return at_; }  // which step
  std::string waits_for() const;

  // The JSON of a namespaced object may leave out its namespace. "@" stands for that namespace.
  void create(std::string json);
  void patch(kube::KindId, const std::string& name, const std::string& merge_patch);
  void erase(kube::KindId, const std::string& name);
  kube::Object get(kube::KindId, const std::string& name);  // invalid: there is none
  std::vector<kube::Object> list(kube::KindId);
  bool is(kube::KindId, const std::string& name, const std::string& field, const std::string& json);
  bool holds(const std::string& job, const std::string& condition);

  // Everything there is, a line an object, without what differs from run to run; then what was
  // said about it.
  std::string end_state();

 private:
  void live(const kube::Object& pod);
  std::string tagged(std::string text) const;

  Session& session_;
  const Story& story_;
  std::string tag_, ns_;
  std::size_t at_ = 0;
  bool acted_ = false;
};

// Plays all of them at the same time.
std::vector<std::string> play(ControlPlane&, const std::vector<Story>&, const std::string& tag);

}  // namespace berth::e2e
