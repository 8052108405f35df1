// SPDX-License-Identifier: Apache-2.0
#include "gateway/observe/hub.h"

#include <algorithm>

#include <fmt/format.h>

#include "gateway/observe/wire.h"
#include "gateway/replies.h"
#include "kube/kind.h"
#include "kube/quantity.h"

namespace berth::gateway {
namespace {

constexpr Duration kBeat = 2s;
constexpr Duration kMeasure = 10s;
constexpr std::size_t kWaiting = 32;       // questions
constexpr std::size_t kSentAtFirst = 500;  // decisions
constexpr std::int64_t kMi = 1 << 20;

// A copy of the scheduler's state costs its loop a millisecond or two.
Duration good_for(std::size_t nodes) { return nodes > 20'000 ? Duration(1s) : Duration(100ms); }

}  // namespace

Hub::Hub(Scope& scope, Runtime& runtime, client::Transport& transport, Random random, Tap& tap,
         Executor& scheduler, HubOptions options)
    : scope_(scope),
      runtime_(runtime),
      api_(scope, transport, random, nullptr, {.attempts = 1}),
      tap_(tap),
      scheduler_(scheduler),
      options_(std::move(options)),
      audience_(scope) {
  const std::weak_ptr<bool> alive = alive_;
  scheduler_.post([&tap, this, alive, &home = scope.executor()] {
    tap.listen([&home, this, alive](BatchPtr batch) {
      home.post([this, alive, batch = std::move(batch)] {
        if (!alive.expired()) take(batch);
      });
    });
  });
}

Hub::~Hub() = default;

void Hub::take(const BatchPtr& batch) {
  for (const DecisionRecord& record : batch->decisions) decisions_.push_back(record);
  while (decisions_.size() > options_.decisions_kept) decisions_.pop_front();
  queue_.take(*batch);
  queue_known_ = true;
  if (batch->map) map_.take(*batch->map);
  if (audience_.empty()) return;
  if (!batch->decisions.empty()) send("decisions", decisions_json(batch->decisions));
  if (const auto changed = map_.changes()) send(changed->first, changed->second);
  if (!batch->queue.empty() || batch->queue_whole || batch->history || !batch->moves.empty())
    send("queue", queue_.json());
}

void Hub::send(std::string_view event, const std::string& data) {
  audience_.tell(event_text(event, data));
}

std::string Hub::beat_json() const {
  json::Writer out;
  out.object().member("time").integer(millis(scope_.executor().clock().wall()));
  out.member("cluster").string(options_.cluster).member("version").string(options_.version).end();
  return out.take();
}

void Hub::beat() {
  beat_timer_ = TimerId::kNone;
  if (audience_.empty()) return;
  send("beat", beat_json());
  beat_timer_ = scope_.after(
      kBeat, [this] { beat(); }, Timer::kBackground);
}

// Who serves metrics.k8s.io measures; where nobody does, nothing is shown as used.
void Hub::measure() {
  measure_timer_ = TimerId::kNone;
  if (audience_.empty()) return;
  static const kube::KindId kNodeMetrics = kube::learn_kind({.group = "metrics.k8s.io",
                                                             .version = "v1beta1",
                                                             .kind = "NodeMetrics",
                                                             .plural = "nodes",
                                                             .namespaced = false});
  api_.list_all(
      kNodeMetrics, "", {},
      scope_.done<kube::ObjectList>(10s, [this](const Result<kube::ObjectList>& reply) {
        std::map<std::string, Usage> used;
        if (reply)
          for (const kube::Object& item : reply->items) {
            const json::Slice usage = item.member("usage");
            const auto cpu = kube::Quantity::from_json(usage["cpu"]);
            const auto memory = kube::Quantity::from_json(usage["memory"]);
            if (cpu && memory)
              used[std::string(item.name())] = {cpu->milli_value(), memory->value() / kMi};
          }
        map_.measured(std::move(used));
        if (const auto changed = map_.changes()) send(changed->first, changed->second);
        if (measure_timer_ == TimerId::kNone)
          measure_timer_ = scope_.after(
              kMeasure, [this] { measure(); }, Timer::kBackground);
      }));
}

void Hub::listen(std::shared_ptr<Stream> stream) {
  const bool first = audience_.empty();
  const auto listener = audience_.admit(std::move(stream), [this] {
    if (audience_.empty()) scheduler_.post([&tap = tap_] { tap.watch(false); });
  });
  const auto send = [&](std::string_view event, const std::string& data) {
    audience_.tell(*listener, event_text(event, data));
  };
  send("beat", beat_json());
  // Who comes first wakes the tap, and gets everything with its next message.
  if (first) {
    scheduler_.post([&tap = tap_] { tap.watch(true); });
  } else {
    if (!map_.empty()) send("map", map_.snapshot_json());
    if (queue_known_) send("queue", queue_.json());
  }
  const std::size_t most = std::min(decisions_.size(), kSentAtFirst);
  send("decisions", decisions_json(std::vector<DecisionRecord>(
                        decisions_.end() - static_cast<std::ptrdiff_t>(most), decisions_.end())));
  if (beat_timer_ == TimerId::kNone)
    beat_timer_ = scope_.after(
        kBeat, [this] { beat(); }, Timer::kBackground);
  if (measure_timer_ == TimerId::kNone) measure();
}

std::vector<DecisionRecord> Hub::attempts_of(std::string_view uid) const {
  std::vector<DecisionRecord> all;
  for (const DecisionRecord& record : decisions_)
    if (record.uid == uid) all.push_back(record);
  return all;
}

void Hub::explain(const Request& request, Done<Reply> done) {
  const kube::Key key{request.value("ns"), request.value("name")};
  api_.get(kube::kPod, key,
           scope_.done<kube::Object>(
               10s, [this, done = std::move(done)](Result<kube::Object> pod) mutable {
                 if (!pod) return done(tl::unexpected(std::move(pod.error())));
                 auto attempts = attempts_of(pod->uid());
                 ask(
                     [pod = *std::move(pod), attempts = std::move(attempts),
                      profiles = options_.profiles](const Snapshot& snapshot) {
                       return gateway::explain({snapshot, pod, profiles, attempts});
                     },
                     std::move(done));
               }));
}

void Hub::node(const Request& request, Done<Reply> done) {
  api_.get(kube::kNode, {"", request.value("name")},
           scope_.done<kube::Object>(
               10s, [this, done = std::move(done)](Result<kube::Object> node) mutable {
                 if (!node) return done(tl::unexpected(std::move(node.error())));
                 ask([node = *std::move(node)](
                         const Snapshot& snapshot) { return node_detail(snapshot, node); },
                     std::move(done));
               }));
}

void Hub::ask(Work work, Done<Reply> done) {
  if (questions_.size() >= kWaiting)
    return done(tl::unexpected(Error{.reason = Reason::kTooManyRequests,
                                     .message = "too many explanations are being worked out; try "
                                                "again in a moment",
                                     .retry_after = 1s}));
  questions_.push_back({std::move(work), std::move(done)});
  ask_next();
}

// One at a time: the copy is shared, and the machine has better things to do.
void Hub::ask_next() {
  if (answering_ || questions_.empty()) return;
  answering_ = true;
  const Instant now = scope_.executor().clock().now();
  if (snapshot_ && now - snapshot_at_ < good_for(snapshot_->cluster->node_ids()))
    return answer(snapshot_);
  auto copied = scope_.done<std::shared_ptr<const Snapshot>>(
      10s, [this](Result<std::shared_ptr<const Snapshot>> copy) {
        snapshot_ = copy ? *std::move(copy) : nullptr;
        snapshot_at_ = scope_.executor().clock().now();
        answer(snapshot_);
      });
  scheduler_.post([&tap = tap_, done = std::move(copied)]() mutable { done(tap.snapshot()); });
}

void Hub::answer(std::shared_ptr<const Snapshot> snapshot) {
  Question question = std::move(questions_.front());
  questions_.pop_front();
  if (!snapshot) {
    question.done(tl::unexpected(Error{.reason = Reason::kServiceUnavailable,
                                       .message = "there is no scheduler here to ask"}));
    answering_ = false;
    return ask_next();
  }
  auto result = std::make_shared<Result<std::string>>(std::string());
  auto finished = scope_.done<Ok>(
      5min, [this, result, done = std::move(question.done)](Result<Ok> ran) mutable {
        answering_ = false;
        if (!ran)
          done(tl::unexpected(std::move(ran.error())));
        else if (!*result)
          done(tl::unexpected(std::move(result->error())));
        else
          done(json_reply(std::move(**result)));
        ask_next();
      });
  auto shared_done = std::make_shared<Done<Ok>>(std::move(finished));
  runtime_.offload(
      scope_.executor(),
      [snapshot = std::move(snapshot), work = std::move(question.work), result] {
        *result = work(*snapshot);
      },
      [shared_done] { (*shared_done)(Ok{}); });
}

void Hub::mount(Routes& routes) {
  const std::vector<Access> everything = {
      {.verb = "watch", .resource = "nodes"},
      {.verb = "watch", .resource = "pods"},
  };
  routes.add(
      {.path = "/api/v1/stream",
       .rights = everything,
       .stream = [this](Request, const kube::User&,
                        std::shared_ptr<Stream> stream) { listen(std::move(stream)); },
       .doc = {.summary = "Nodes, queue and decisions as they change (server-sent events)"}});
  routes.add({.path = "/api/v1/explain/{ns}/{name}",
              .rights = {{.verb = "get",
                          .resource = "pods",
                          .subresource = "explain",
                          .ns = "{ns}",
                          .name = "{name}"},
                         {.verb = "list", .resource = "nodes"}},
              .handle = [this](const Request& request, const kube::User&,
                               Done<Reply> done) { explain(request, std::move(done)); },
              .doc = {.summary = "Why a pod is where it is, or nowhere", .gives = "Explanation"}});
  routes.add({.path = "/api/v1/nodes/{name}",
              .rights = {{.verb = "get", .resource = "nodes", .name = "{name}"},
                         {.verb = "list", .resource = "pods"}},
              .handle = [this](const Request& request, const kube::User&,
                               Done<Reply> done) { node(request, std::move(done)); },
              .doc = {.summary = "A node and the pods on it", .gives = "NodeDetail"}});
  routes.add({.path = "/api/v1/search",
              .rights = {{.verb = "list", .resource = "pods"}},
              .handle =
                  [this](const Request& request, const kube::User&, Done<Reply> done) {
                    ask([words = request.asked("q").value_or("")](const Snapshot& snapshot)
                            -> Result<std::string> { return find_pods(snapshot, words, 12); },
                        std::move(done));
                  },
              .doc = {.summary = "Pods that have a node, by a part of their name",
                      .gives = "Found",
                      .query = {"q: a part of the name"}}});
}

}  // namespace berth::gateway
