// SPDX-License-Identifier: Apache-2.0
#include "stock_scheduler.h"

#include <gtest/gtest.h>

#include "client/local_transport.h"
#include "kube/pod_requests.h"

namespace berth::controllers::stories {
namespace {

constexpr Duration kHttpTimeout = 2s, kBackoff = 1s;
constexpr Duration kFlush = 5min;  // k8s 1.36: what nobody has woken is tried again all the same

struct Extender final : Component {
  Extender(Lab& lab, Env& env)
      : scope(env.runtime.loop("extender"), "extender"),
        wire(lab.world.loop("api"), lab.server, {}),
        service(scope, wire, env.metrics, env.log, env.random) {
    service.start();
  }
  Scope scope;
  client::LocalTransport wire;
  gateway::ExtenderService service;
};

bool is_bound_ghost(const Object& pod) {
  return pod.label(kube::kGhostLabel) == "true" && !pod.deleting() &&
         pod.member("spec")["nodeName"].present();
}

}  // namespace

std::size_t spawn_extender(Lab& lab) {
  return lab.spawn("extender", [&lab](Env& env) -> std::unique_ptr<Component> {
    return std::make_unique<Extender>(lab, env);
  });
}

StockScheduler::StockScheduler(Lab& lab, std::size_t extender, Fault fault)
    : Door(lab, fault, Way::kStock), extender_(extender) {
  lab_.world.loop("api").post([this] { flush(); });
}

void StockScheduler::flush() {
  place_soon();
  Executor& api = lab_.world.loop("api");
  api.at(
      api.clock().now() + kFlush, [this] { flush(); }, Timer::kBackground);
}

void StockScheduler::forget() {
  ++life_;
  asking_.clear();
}

bool StockScheduler::waits(const Object& pod) const {
  const Object now = lab_.get(kube::kPod, pod.key());
  return now.valid() && now.uid() == pod.uid() && !now.deleting() &&
         !now.member("spec")["nodeName"].present();
}

void StockScheduler::place_executor(const Object& pod) {
  const auto [asking, first] = asking_.try_emplace(std::string(pod.uid()), false);
  if (!first) {
    asking->second = true;
    return;
  }
  std::vector<std::string> nodes;
  for (const std::string& node : lab_.names(kube::kNode))
    if (has_room(pod, node)) nodes.push_back(node);
  if (fault_ == Fault::kAnySlot) return place_unasked(pod, nodes);
  if (nodes.empty()) return preempt(pod);
  filter(pod, std::move(nodes));
}

void StockScheduler::place_unasked(const Object& pod, const std::vector<std::string>& nodes) {
  asking_.clear();
  if (!nodes.empty()) return bind(pod, nodes.front(), {});
  for (const Object& other : lab_.list(kube::kPod))
    if (is_bound_ghost(other)) return remove(other);
}

void StockScheduler::filter(const Object& pod, std::vector<std::string> nodes) {
  scheduler::ExtenderArgs args{
      .pod = pod, .names = std::make_shared<const std::vector<std::string>>(std::move(nodes))};
  std::string body = scheduler::extender_request(args, true);
  ask("/slots/filter", std::move(body), [this, pod, args](const std::string* reply) {
    const std::string uid(pod.uid());
    if (reply == nullptr) return fail(uid);
    const auto answer = scheduler::read_filter_reply(*reply, args, true, "extender");
    EXPECT_TRUE(answer) << *reply;
    if (!answer || !waits(pod)) return ended(uid);
    if (answer->kept.empty()) return preempt(pod);
    if (has_room(pod, answer->kept.front().name)) bind(pod, answer->kept.front().name, {});
    ended(uid);
  });
}

// Every ghost is less than an executor, so any node of them can be offered.
void StockScheduler::preempt(const Object& pod) {
  scheduler::ExtenderPreemptArgs args{.pod = pod, .victims = {}};
  for (const Object& other : lab_.list(kube::kPod))
    if (is_bound_ghost(other))
      args.victims[other.member("spec")["nodeName"].text()].uids.emplace_back(other.uid());
  if (args.victims.empty()) return ended(std::string(pod.uid()));
  std::string body = scheduler::extender_request(args, true);
  ask("/slots/preempt", std::move(body), [this, pod](const std::string* reply) {
    const std::string uid(pod.uid());
    if (reply == nullptr) return fail(uid);
    const auto answer = scheduler::read_preempt_reply(*reply);
    EXPECT_TRUE(answer) << *reply;
    if (!answer || answer->empty() || !waits(pod)) return ended(uid);
    const auto& [node, victims] = *answer->begin();
    nominated_[uid] = node;
    for (const Object& other : lab_.list(kube::kPod)) {
      if (std::find(victims.uids.begin(), victims.uids.end(), other.uid()) == victims.uids.end())
        continue;
      remove(other);
    }
    ended(uid);
    place_soon();
  });
}

void StockScheduler::ended(const std::string& uid) {
  const auto asking = asking_.find(uid);
  if (asking == asking_.end()) return;
  if (asking->second) place_soon();
  asking_.erase(asking);
}
void StockScheduler::fail(const std::string& uid) {
  Executor& api = lab_.world.loop("api");
  api.at(api.clock().now() + kBackoff, [this, uid, life = life_] {
    if (life != life_) return;
    asking_.erase(uid);
    place_soon();
  });
}

// Room that was made for a pod is no other's.
void StockScheduler::add_promised(const Object& pod, std::string_view node,
                                  kube::ResourceList& used) const {
  for (const Object& other : lab_.list(kube::kPod)) {
    const auto nominated = nominated_.find(std::string(other.uid()));
    if (nominated == nominated_.end() || nominated->second != node || other.uid() == pod.uid() ||
        !waits(other))
      continue;
    const auto wanted = kube::pod_requests(other, {.use_status = false});
    for (const auto& [name, amount] : *wanted)
      if (const auto sum = used.find(name); sum != used.end()) sum->second += amount;
  }
}

void StockScheduler::ask(std::string target, std::string body, Answered answered) {
  Executor& api = lab_.world.loop("api");
  const auto once = [this, life = life_, answered = std::move(answered),
                     over = std::make_shared<bool>(false)](const std::string* reply) {
    if (!std::exchange(*over, true) && life == life_) answered(reply);
  };
  api.at(api.clock().now() + kHttpTimeout, [once] { once(nullptr); });
  berth::Process& process = lab_.process(extender_);
  if (!process.alive()) return api.post([once] { once(nullptr); });
  process.loop("extender")
      .post([&process, &api, once, target = std::move(target), body = std::move(body)]() mutable {
        process.get<Extender>().service.answer(
            {.method = "POST", .target = std::move(target), .headers = {}, .body = std::move(body)},
            [&api, once](net::HttpResponse response) {
              EXPECT_EQ(response.status, 200) << response.body;
              api.post([once, reply = std::move(response.body)] { once(&reply); });
            });
      });
}

}  // namespace berth::controllers::stories
