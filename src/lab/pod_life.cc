// SPDX-License-Identifier: Apache-2.0
#include "lab/pod_life.h"

#include <algorithm>

#include <fmt/format.h>

#include "kube/pod_view.h"
#include "kube/time.h"

namespace berth::lab {
namespace {

using State = Container::State;

WallTime whole_second(WallTime t) {
  return {t.unix_nanos - ((t.unix_nanos % 1'000'000'000) + 1'000'000'000) % 1'000'000'000};
}

// One look at a pod.
class Look {
 public:
  explicit Look(const LifeInput& in)
      : in_(in),
        view_(in.pod),
        containers_(read_containers(in.pod)),
        policy_(view_.spec()["restartPolicy"].text()),
        phase_(view_.phase()) {
    if (policy_.empty()) policy_ = "Always";
    if (const auto since = kube::parse_time(view_.status()["startTime"].text())) start_ = *since;
    sandbox_ = view_.condition("PodReadyToStartContainers")["status"].equals("True");
  }

  Step take() {
    if (view_.finished()) return over();
    if (!in_.refusal_reason.empty() && !start_) return refuse();
    if (in_.pod.deleting()) return stop();
    if (past_deadline()) return kill_for_deadline();
    if (!start_) {
      start_ = in_.now;
      changed_ = started_ = true;
    }
    // A spec that has changed (a resize, a new image) is acknowledged.
    if (in_.pod.generation() > view_.status()["observedGeneration"].integer().value_or(0))
      changed_ = true;
    move_on();
    return finish();
  }

 private:
  Step over() {
    Step step;
    step.remove = in_.pod.deleting() && !in_.script.never_stops();
    return step;
  }

  Step refuse() {
    start_ = in_.now;
    containers_.clear();
    phase_ = "Failed";
    reason_ = in_.refusal_reason;
    message_ = in_.refusal_message;
    changed_ = true;
    return finish();
  }

  Step stop() {
    if (in_.script.never_stops()) return {};
    const Duration grace =
        seconds_of(in_.pod.metadata()["deletionGracePeriodSeconds"].integer().value_or(30));
    const WallTime asked =
        in_.stopping.unix_nanos != 0 ? in_.stopping : in_.pod.deleted().value_or(in_.now) - grace;
    bool runs = false;
    Duration hooks{};
    for (const Container& c : containers_) {
      if (!c.running()) continue;
      runs = true;
      hooks = std::max(hooks, in_.script.pre_stop(c.spec));
    }
    const Duration takes = hooks + in_.script.stop();
    const WallTime due = asked + std::min(takes, grace);
    if (runs && in_.now < due) {
      wait_for(due);
      return finish();
    }
    end_all(takes > grace ? 137 : in_.script.stop_code());
    phase_ = phase_of(containers_, policy_, true);
    // k8s 1.36: what was not running when it was stopped has failed.
    if (phase_ != "Succeeded") phase_ = "Failed";
    if (!start_) start_ = in_.now;
    sandbox_ = false;
    changed_ = true;
    return finish();
  }

  bool past_deadline() {
    const auto seconds = view_.spec()["activeDeadlineSeconds"].integer();
    if (!seconds || !start_) return false;
    const WallTime due = exactly(*start_) + seconds_of(*seconds);
    if (in_.now >= due) return true;
    wait_for(due);
    return false;
  }

  Step kill_for_deadline() {
    end_all(143);
    phase_ = "Failed";
    reason_ = "DeadlineExceeded";
    message_ = "Pod was active on the node longer than the specified deadline";
    sandbox_ = false;
    changed_ = true;
    return finish();
  }

  // To where sandbox and containers are by now.
  void move_on() {
    if (!sandbox_) {
      const WallTime due = exactly(*start_) + in_.script.start();
      if (in_.now < due) {
        wait_for(due);
      } else {
        sandbox_ = changed_ = true;
      }
    }
    if (sandbox_) run_containers();
    phase_ = phase_of(containers_, policy_, false);
    name_what_waits();
  }

  // Called last: moves on from what the status says to what comes after it. Known only where the
  // written times, which are whole seconds, mean what they mean here.
  Outlook outlook() {
    if (in_.crash || in_.pod.deleting() || phase_ == "Succeeded" || phase_ == "Failed" ||
        view_.spec()["activeDeadlineSeconds"])
      return {};
    for (const Container& c : containers_)
      if (c.terminated() || !c.last.empty() || (started_ && c.running() && c.started != in_.now))
        return {};
    if (started_ && !sandbox_ && *start_ != in_.now) return {};
    const std::string written = phase_;
    again_.reset();
    changed_ = false;
    move_on();
    if (changed_ || phase_ != written) return {};
    return {true, again_};
  }

  void run_containers() {
    for (Container& c : containers_) {
      if (c.role != Role::kInit && c.role != Role::kSidecar) continue;
      advance(c);
      const bool done = c.role == Role::kSidecar ? c.has_started : c.terminated() && c.ready;
      // Once the others have run, a helper that starts again holds nobody up.
      if (!done && !any_main_started()) return;
    }
    bool over = true;
    for (Container& c : containers_) {
      if (c.role != Role::kMain && c.role != Role::kEphemeral) continue;
      if (c.role == Role::kMain && in_.crash && c.running()) {
        end(c, 137, "Error");
        again_after_end(c);
      }
      advance(c);
      if (c.role == Role::kMain)
        over = over && c.terminated() && !restarts_after(c, policy_, c.exit_code);
    }
    if (!over) return;
    // Sidecars live as long as what they help.
    for (Container& c : containers_)
      if (c.running()) end(c, 0, "Completed");
    sandbox_ = false;
    again_.reset();
  }

  bool any_main_started() const {
    return std::any_of(containers_.begin(), containers_.end(), [](const Container& c) {
      return c.role == Role::kMain && (c.created || c.running());
    });
  }

  // To where the container is by now.
  void advance(Container& c) {
    if (c.waiting()) {
      if (c.last.empty()) {
        start(c);
      } else {
        const json::Slice end = c.last_end();
        const WallTime ended = kube::parse_time(end["finishedAt"].text()).value_or(in_.now);
        const WallTime began = kube::parse_time(end["startedAt"].text()).value_or(ended);
        const WallTime due = exactly(ended) + crash_backoff(c.restarts, ended - began);
        if (in_.now < due) return wait_for(due);
        ++c.restarts;
        start(c);
      }
    } else if (c.terminated()) {
      if (restarts_after(c, policy_, c.exit_code)) again_after_end(c);
      return;
    }
    if (!c.running()) return;
    const WallTime began = exactly(c.started);
    if (!c.has_started) {
      c.has_started = changed_ = true;
    }
    if (!c.ready && (c.role == Role::kMain || c.role == Role::kSidecar)) {
      const WallTime due = began + in_.script.ready(c.spec);
      if (in_.now < due)
        wait_for(due);
      else
        c.ready = changed_ = true;
    }
    const Run run = in_.script.run(c.spec, c.role, c.restarts);
    if (!run.lasts) return;
    const WallTime due = began + *run.lasts;
    if (in_.now < due) return wait_for(due);
    end(c, run.exit_code, run.reason);
    if (c.role != Role::kInit || run.exit_code != 0) again_after_end(c);
  }

  void start(Container& c) {
    c.state = State::kRunning;
    c.started = in_.now;
    c.reason.clear();
    c.message.clear();
    c.created = c.has_started = true;
    c.ready = false;
    changed_ = started_ = true;
  }

  void end(Container& c, int code, std::string_view reason) {
    c.state = State::kTerminated;
    c.exit_code = code;
    c.reason = !reason.empty() ? reason : code == 0 ? "Completed" : "Error";
    c.finished = in_.now;
    // k8s 1.36: an init container that has succeeded counts as ready.
    c.ready = c.role == Role::kInit && code == 0;
    c.has_started = false;
    changed_ = true;
  }

  // An ended container runs again at once, or waits in back-off.
  void again_after_end(Container& c) {
    if (!restarts_after(c, policy_, c.exit_code)) return;
    const Duration wait = crash_backoff(c.restarts, c.finished - c.started);
    c.last = termination_json(in_.pod, c);
    c.ready = c.has_started = false;
    c.state = State::kWaiting;
    changed_ = true;
    if (wait == Duration{}) {
      ++c.restarts;
      start(c);
      const Run run = in_.script.run(c.spec, c.role, c.restarts);
      if (run.lasts) wait_for(in_.now + *run.lasts);
      wait_for(in_.now + in_.script.ready(c.spec));
      return;
    }
    c.reason = "CrashLoopBackOff";
    c.message =
        fmt::format("back-off {} restarting failed container={} pod={}_{}({})",
                    kube::duration_text(wait), c.name, in_.pod.name(), in_.pod.ns(), in_.pod.uid());
    wait_for(in_.now + wait);
  }

  void end_all(int code) {
    for (Container& c : containers_)
      if (c.running()) end(c, code, "");
  }

  void name_what_waits() {
    const bool initializing = std::any_of(
        containers_.begin(), containers_.end(),
        [](const Container& c) { return c.role == Role::kInit || c.role == Role::kSidecar; });
    for (Container& c : containers_)
      if (c.waiting() && c.last.empty() && c.reason.empty()) {
        c.reason = initializing ? "PodInitializing" : "ContainerCreating";
        changed_ = true;
      }
  }

  WallTime exactly(WallTime told) const {
    return whole_second(in_.last_start) == told ? in_.last_start : told;
  }

  void wait_for(WallTime due) {
    if (!again_ || due < *again_) again_ = due;
  }

  Step finish() {
    Step step;
    step.again = again_;
    if (!changed_) return step;
    const bool lives = phase_ != "Succeeded" && phase_ != "Failed";
    step.started = started_;
    const bool has_address = sandbox_ || view_.status()["podIP"];
    step.status = status_text(in_.pod, containers_,
                              {.phase = phase_,
                               .reason = reason_,
                               .message = message_,
                               .host_ip = in_.host_ip,
                               .pod_ip = view_.host_network() ? in_.host_ip
                                         : has_address        ? in_.pod_ip
                                                              : "",
                               .start_time = *start_,
                               .sandbox = sandbox_ && lives},
                              in_.now, in_.form);
    step.after = outlook();
    return step;
  }

  const LifeInput& in_;
  kube::PodView view_;
  std::vector<Container> containers_;
  std::string policy_;
  std::string phase_;
  std::string_view reason_, message_;
  std::optional<WallTime> start_;
  std::optional<WallTime> again_;
  bool sandbox_ = false, changed_ = false, started_ = false;
};

}  // namespace

Duration crash_backoff(int restarts, Duration ran) {
  if (restarts == 0 || ran >= 10min) return {};
  return std::min<Duration>(5min, 10s * (1LL << std::min(restarts - 1, 5)));
}

Step next_step(const LifeInput& in) { return Look(in).take(); }

}  // namespace berth::lab
