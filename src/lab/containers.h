// SPDX-License-Identifier: Apache-2.0
// The containers of a pod as a kubelet sees them, read from what the pod's status says.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "kube/object.h"
#include "lab/script.h"

namespace berth::lab {

struct Container {
  enum class State : std::uint8_t { kWaiting, kRunning, kTerminated };

  json::Slice spec = {};  // in the pod it was read from
  std::string name = {};
  Role role = Role::kMain;
  State state = State::kWaiting;
  std::string reason = {}, message = {};  // of a waiting or terminated one
  WallTime started = {}, finished = {};
  int exit_code = 0;
  int restarts = 0;
  bool ready = false, has_started = false;
  bool created = false;   // it has, or had, an id
  std::string last = {};  // the end of the run before, {"containerID":…}; "": none

  bool running() const { return state == State::kRunning; }
  bool terminated() const { return state == State::kTerminated; }
  bool waiting() const { return state == State::kWaiting; }
  // How the last run ended, for one that has ended or waits to run again.
  json::Slice last_end() const { return json::Slice(last); }
};

// Init containers in their order, then the others in the order of the spec.
std::vector<Container> read_containers(const kube::Object& pod);

// Whether it runs again after this exit, as the container or else the pod says.
bool restarts_after(const Container&, std::string_view pod_policy, int exit_code);

// What kubelets call it: containerd://9f86d0…
std::string container_id(const kube::Object& pod, std::string_view name, int restarts);
std::string image_id(std::string_view image);
// {"containerID":…,"exitCode":0,"finishedAt":…,"reason":"Completed","startedAt":…}
std::string termination_json(const kube::Object& pod, const Container&);

// As kubelets find it from the states of containers. `terminal`: nothing is started any more.
std::string_view phase_of(const std::vector<Container>&, std::string_view pod_policy,
                          bool terminal);

}  // namespace berth::lab
