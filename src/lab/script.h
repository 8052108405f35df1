// SPDX-License-Identifier: Apache-2.0
// What the containers of a pod are going to do: how long they take to start, how long they run, how
// they end. From the pod's annotations, the commands of its containers, and the lab's pace.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/random.h"
#include "kube/object.h"
#include "lab/pace.h"

namespace berth::lab {

enum class Role : std::uint8_t { kInit, kSidecar, kMain, kEphemeral };

// One run of a container.
struct Run {
  std::optional<Duration> lasts = {};  // nothing: until it is stopped
  int exit_code = 0;
  std::string reason = {};  // "": Completed or Error, as the code says
};

// "90s", or "1m..2m" for a time drawn evenly between the two. Nothing for what is neither.
std::optional<Span> parse_span(std::string_view);

// "3" or "1.5": so many times as long. Nothing for what is no such number.
std::optional<double> parse_factor(std::string_view);

// A view of a pod; the same pod and chance give the same answers each time. Thread-compatible.
class Script {
 public:
  // `chance` is the lab's stream; the pod's own is derived from it by its uid. `slow` stretches all
  // times.
  Script(const kube::Object& pod, const Pace&, const Random& chance, double slow = 1);

  Duration start() const;
  Duration ready(json::Slice container) const;
  Run run(json::Slice container, Role, int restarts) const;
  // What its preStop hook takes, before it is asked to stop; a hook that is no sleep takes no time.
  Duration pre_stop(json::Slice container) const;
  Duration stop() const;
  int stop_code() const;     // of a container that was asked to stop and did
  bool never_stops() const;  // deletion waits until somebody takes the annotation away
  std::vector<std::string> complaints() const;  // annotations that say nothing

 private:
  std::string annotation(std::string_view what, std::string_view container = "") const;
  Duration drawn(Span, std::string_view purpose) const;
  std::optional<Duration> stated(std::string_view what, std::string_view container,
                                 std::string_view purpose) const;

  const kube::Object& pod_;
  const Pace& pace_;
  const Random& chance_;
  double slow_;
  bool annotated_;
};

}  // namespace berth::lab
