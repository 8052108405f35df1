// SPDX-License-Identifier: Apache-2.0
#include "runtime/runner.h"

#include <algorithm>
#include <utility>

#include <fmt/format.h>

#include "base/check.h"
#include "runtime/hold.h"

namespace berth::runtime {
namespace {
// A controller that asks for a time that has passed is wrong. It is looked at ten times a second,
// where it would otherwise take a core, and in a virtual world all of time.
constexpr Duration kSoonest = 100ms;

// A look at an object with thousands of others takes milliseconds, and each of the thousands that
// changes asks for one. So a look rests for a multiple of what it took: what happens meanwhile is
// seen in one. In virtual time looks take none.
constexpr Duration kShortLook = 200us, kLongestRest = 1s;
constexpr int kRestFactor = 30;

Duration rest_after(Duration look, const Plan& plan) {
  if (look < kShortLook) return {};
  // There is more to make or to remove than one plan may.
  for (const Action& action : plan.actions())
    if (std::holds_alternative<CreateAction>(action) || std::holds_alternative<EraseAction>(action))
      return {};
  return std::min(kRestFactor * look, kLongestRest);
}
}  // namespace

Runner::Runner(Scope& parent, const Controller& controller, Caches& caches,
               client::Transport& transport, Metrics& metrics, Logger log, Random random,
               RunnerOptions options)
    : controller_(controller),
      spec_(controller.spec()),
      scope_(parent.child(spec_.name())),
      caches_(caches),
      log_(log.with({{"controller", spec_.name()}})),
      options_(std::move(options)),
      api_(scope_, transport, random.fork("api"), options_.limiter, options_.retry),
      events_(scope_, api_, random.fork("events"),
              {.controller = spec_.name(), .instance = options_.instance, .metrics = &metrics}),
      queue_(
          scope_, random.fork("queue"), metrics, spec_.name(), [this] { pump(); }, options_.delays),
      late_(metrics
                .counters("berth_controller_late_caches_total",
                          "Times that a cache did not show a controller's write within 10 s.",
                          {"controller"})
                .with({spec_.name()})),
      failures_(metrics
                    .counters("berth_controller_failed_plans_total",
                              "Plans that were not performed to their end.", {"controller"})
                    .with({spec_.name()})) {}

void Runner::attach() {
  for (const WatchSpec& watch : spec_.watched())
    if (watch.mapping && watch.if_served)
      caches_.on_informer([this, &watch](KindId kind, client::Informer<>& any) {
        if (kind == watch.kind) listen(any, watch.mapping, watch.batched);
      });
    else if (watch.mapping)
      listen(caches_.informer(watch.kind), watch.mapping, watch.batched);
  if (spec_.follows())
    caches_.on_informer(
        [this](KindId, client::Informer<>& any) { listen(any, spec_.follows(), {}); });
  if (!spec_.outside()) return;
  scope_.on_close([this] { alive_.reset(); });
  spec_.outside()(
      [home = &scope_.executor(), alive = std::weak_ptr<bool>(alive_), this](const Key& key) {
        home->post([alive, this, key] {
          if (!alive.expired()) queue_.add(key, spec_.priority(View(caches_), key));
        });
      });
}

void Runner::listen(client::Informer<>& informer, const Mapping& mapping, Duration batched) {
  informer.add_handler({.added =
                            [this, &mapping, batched](const Object& now) {
                              changed(mapping, {nullptr, &now}, batched);
                            },
                        .updated =
                            [this, &mapping, batched](const Object& before, const Object& now) {
                              changed(mapping, {&before, &now}, batched);
                            },
                        .deleted =
                            [this, &mapping, batched](const Object& last) {
                              changed(mapping, {&last, nullptr}, batched);
                            }});
}

void Runner::start() {
  const auto begin = [this] {
    started_ = true;
    pump();
  };
  if (spec_.follows())
    caches_.on_followed(begin);
  else
    begin();
}

void Runner::changed(const Mapping& mapping, const Change& change, Duration batched) {
  std::vector<Key> wake;
  const View view(caches_);
  mapping(view, change, wake);
  for (const Key& key : wake) queue_.add(key, spec_.priority(view, key), batched);
}

// One key a task: others have their turn in between.
void Runner::pump() {
  if (!started_ || scope_.closing() || in_flight_ >= spec_.in_flight()) return;
  const std::optional<Key> key = queue_.take();
  if (!key) return;
  run(*key);
  if (queue_.size() > 0) scope_.post([this] { pump(); });
}

void Runner::run(const Key& key) {
  const auto memory = memories_.find(key);
  const Clock& clock = scope_.executor().clock();
  const WallTime now = clock.wall();
  const Instant begin = clock.now();
  Plan plan = controller_.reconcile(
      View(caches_, memory == memories_.end() ? nullptr : &memory->second), key, now);
  if (memory != memories_.end()) memory->second.answers.clear();
  if (!plan.remembered().empty())
    memories_[key].remembered = plan.remembered();
  else if (memory != memories_.end())
    memory->second.remembered.clear();
  if (!plan.why().empty()) log_.debug("reconciled", {{"key", key.text()}, {"reason", plan.why()}});
  for (const Action& action : plan.actions())
    BERTH_CHECK(spec_.allows(action),
                fmt::format("{} does not declare: {}", spec_.name(), text_of(action)));
  const Instant end = clock.now();
  Next next{plan.again(), end + rest_after(end - begin, plan)};
  if (next.again && *next.again <= now) next.again = now + kSoonest;
  ++in_flight_;
  // Not right here: the next key would be run from inside of this one, and thousands of them, with
  // nothing to do, would take the stack.
  if (plan.empty()) return scope_.post([this, key, next] { ended(key, next, {}); });
  perform({scope_, api_, events_, caches_, options_.ask}, std::move(plan),
          [this, key, next](Performed performed) { ended(key, next, std::move(performed)); });
}

void Runner::ended(const Key& key, Next next, Performed performed) {
  if (scope_.closing()) return;
  --in_flight_;
  queue_.resting(key);
  const bool failed = performed.failed.has_value();
  if (failed) {
    failures_.add();
    if (const Target* target = target_of(performed.failed->action);
        performed.outdated && target != nullptr && options_.outdated)
      options_.outdated(target->kind);
    log_.info(performed.outdated ? "someone was faster" : "write failed",
              {{"key", key.text()},
               {"action", text_of(performed.failed->action)},
               {"error", performed.failed->error}});
  }
  if (failed || !performed.answers.empty()) {
    Memory& memory = memories_[key];
    memory.failed = std::move(performed.failed);
    for (auto& [question, answer] : performed.answers)
      memory.answers.insert_or_assign(question, std::move(answer));
    if (!memory.answers.empty()) queue_.add(key);
  } else if (const auto memory = memories_.find(key); memory != memories_.end()) {
    memory->second.failed.reset();
    if (memory->second.remembered.empty()) memories_.erase(memory);
  }
  if (!failed) queue_.succeeded(key);
  const bool outdated = performed.outdated;
  if (performed.waits.empty()) {
    release(key, next, failed, outdated);
  } else {
    hold(scope_, caches_, api_, std::move(performed.waits), late_,
         [this, key, next, failed, outdated] { release(key, next, failed, outdated); });
  }
  pump();
}

void Runner::release(const Key& key, Next next, bool failed, bool outdated) {
  const Clock& clock = scope_.executor().clock();
  if (failed)
    queue_.retry(key, outdated);
  else if (next.again)
    queue_.again_in(key, *next.again - clock.wall());
  queue_.finish(key, failed ? Duration{} : next.not_before - clock.now());
}

}  // namespace berth::runtime
