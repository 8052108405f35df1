// SPDX-License-Identifier: Apache-2.0
#include "lab.h"

#include <algorithm>

#include <fmt/format.h>
#include <gtest/gtest.h>

#include "kube/node_view.h"
#include "kube/pod_requests.h"
#include "kube/pod_view.h"
#include "policy/slots/facts.h"
#include "runtime/slots/scheduler_side.h"
#include "scheduler/plugins/registry.h"

namespace berth::doors {
namespace {

using kube::Object;

// The wire between a scheduler and the extender.
class Wire final : public scheduler::ExtenderTransport {
 public:
  explicit Wire(Lab& lab) : lab_(lab) {}
  void post(std::string target, std::string body, std::size_t, Instant,
            Done<scheduler::ExtenderReply> done) override {
    const std::string verb = target.substr(target.rfind('/') + 1);
    const auto asked = scheduler::read_preempt_request(body);
    lab_.access_log.push_back(verb + " " + (asked ? std::string(asked->pod.name()) : "?"));
    if (!lab_.extender) return done(fail(Reason::kUnreachable, "connection refused"));
    auto shared = std::make_shared<Done<scheduler::ExtenderReply>>(std::move(done));
    lab_.extender->answer({.method = "POST", .target = target, .body = std::move(body)},
                          [shared](net::HttpResponse response) {
                            (*shared)(scheduler::ExtenderReply{.status = response.status,
                                                               .body = std::move(response.body)});
                          });
  }

 private:
  Lab& lab_;
};

bool is_live(const Object& pod) { return !kube::PodView(pod).finished(); }

}  // namespace

Lab::Lab(LabOptions options)
    : world(options.seed), options_(std::move(options)), scope_(world.loop("user"), "user") {
  cluster::ClusterOptions parts{.token_key = "key"};
  parts.lab->nodes = options_.nodes;
  parts.lab->node.capacity["cpu"] = options_.cpu;
  parts.lab->node.capacity["memory"] = "16Gi";
  parts.lab->check_fit = true;
  parts.executors.slot_resource = options_.managed;
  parts.lab->heartbeat = lab::Heartbeat::kOnDemand;
  cluster = std::make_unique<cluster::Cluster>(world, metrics,
                                               Logger(log, world.clock(), LogLevel::kWarn),
                                               Random(options_.seed), std::move(parts));
  cluster->start([](const Result<Ok>& started) { EXPECT_TRUE(started); });
  world.run_for(1s);
  transport = cluster->owner();
  api_ = std::make_unique<client::Api>(scope_, *transport, Random(options_.seed));
  world.run_for(5s);
  for (const Object& node : list(kube::kNode)) {
    const std::string name(node.name());
    patch(kube::kNode, {"", name},
          fmt::format(R"({{"metadata":{{"labels":{{"tuberlin.de/tb":"{}"}}}}}})",
                      std::stoi(name.substr(name.rfind('-') + 1))));
  }
  if (options_.way == Way::kExtender) start_extender();
  if (options_.way != Way::kNone) start_scheduler();
  run(1s);
}

Lab::~Lab() {
  kill_scheduler();
  kill_extender();
  scope_.close(0s, [] {});
  run(1s);
  api_.reset();
  bool stopped = false;
  cluster->stop([&] { stopped = true; });
  run(30s);
  EXPECT_TRUE(stopped);
}

scheduler::SchedulerConfig Lab::config() const {
  std::vector<scheduler::PluginInfo> infos;
  for (const auto& plugin : scheduler::all_plugins()) infos.push_back(plugin.info);
  scheduler::SchedulerConfig config = scheduler::default_config(infos);
  if (options_.managed)
    config = *scheduler::read_config(
        runtime::kube_scheduler_config({.url = "http://extender/slots", .managed = true}), infos,
        "printed");
  config.leader_election.leader_elect = false;
  config.client_connection.qps = -1;
  if (options_.way == Way::kPlugin) scheduler::enable_slots(config.profiles.front().spec);
  if (options_.way == Way::kExtender && !options_.managed)
    config.extenders = {{.url_prefix = "http://extender/slots",
                         .filter_verb = "filter",
                         .preempt_verb = "preempt",
                         .weight = 1,
                         .node_cache_capable = options_.names_only}};
  return config;
}

void Lab::start_scheduler() {
  scheduler_scope_ = std::make_unique<Scope>(world.loop("scheduler"), "scheduler");
  scheduler_metrics_.push_back(std::make_unique<Metrics>());
  scheduler::AppOptions app{.config = config(), .identity = "doors", .verify_decisions = 1};
  app.extender = [this](Scope& scope, const scheduler::ExtenderConfig& given)
      -> Result<std::unique_ptr<scheduler::Extender>> {
    return std::make_unique<scheduler::Extender>(scope, given, std::make_unique<Wire>(*this));
  };
  scheduler_ = std::make_unique<scheduler::App>(
      *scheduler_scope_, *transport, *scheduler_metrics_.back(),
      Logger(log, world.clock(), LogLevel::kWarn), Random(7), scheduler::all_plugins(),
      std::move(app), [](const Error& error) { ADD_FAILURE() << error.message; });
  scheduler_->start();
}

void Lab::kill_scheduler() {
  if (!scheduler_) return;
  scheduler_scope_->close(0s, [] {});
  run(100ms);
  dead_schedulers_.push_back(std::move(scheduler_));
  dead_scopes_.push_back(std::move(scheduler_scope_));
}

void Lab::start_extender() {
  extender_scope_ = std::make_unique<Scope>(world.loop("scheduler"), "extender");
  extender = std::make_unique<gateway::ExtenderService>(*extender_scope_, *transport, metrics,
                                                        Logger(log, world.clock(), LogLevel::kWarn),
                                                        Random(8));
  extender->start();
}

void Lab::kill_extender() {
  if (!extender) return;
  extender_scope_->close(0s, [] {});
  run(100ms);
  dead_extenders_.push_back(std::move(extender));
  dead_scopes_.push_back(std::move(extender_scope_));
}

net::HttpResponse Lab::post(std::string path, std::string body) {
  std::optional<net::HttpResponse> answer;
  world.loop("scheduler").post([&] {
    extender->answer({.method = "POST", .target = std::move(path), .body = std::move(body)},
                     [&](net::HttpResponse response) { answer = std::move(response); });
  });
  for (int i = 0; i < 1000 && !answer; ++i) run(10ms);
  return answer.value_or(net::HttpResponse{.status = 0});
}

Object Lab::create(std::string_view json) {
  const auto object = Object::parse(json);
  EXPECT_TRUE(object) << object.error().message;
  Object made;
  api_->create(object->kind(), std::string(object->ns()), std::string(json),
               scope_.done<Object>(60s, [&](Result<Object> created) {
                 EXPECT_TRUE(created) << created.error().message;
                 if (created) made = *created;
               }));
  run(20ms);
  return made;
}
Object Lab::patch(kube::KindId kind, const kube::Key& key, std::string merge_patch,
                  std::string subresource) {
  Object made;
  api_->patch(kind, key, std::move(merge_patch), kube::PatchType::kMerge,
              scope_.done<Object>(60s,
                                  [&](Result<Object> patched) {
                                    EXPECT_TRUE(patched) << patched.error().message;
                                    if (patched) made = *patched;
                                  }),
              std::move(subresource));
  run(20ms);
  return made;
}
void Lab::bind(const Object& pod, const std::string& node) {
  api_->bind(pod.key(), pod.uid(), node,
             scope_.done<Ok>(60s, [](Result<Ok> bound) { EXPECT_TRUE(bound); }));
  run(20ms);
}
void Lab::erase(kube::KindId kind, const kube::Key& key, std::optional<std::int64_t> grace) {
  kube::Options options;
  options.grace_period_seconds = grace;
  api_->erase(kind, key, scope_.done<Ok>(60s, [](Result<Ok> erased) { EXPECT_TRUE(erased); }),
              options);
  run(20ms);
}
Object Lab::get(kube::KindId kind, const kube::Key& key) {
  Object found;
  api_->get(kind, key, scope_.done<Object>(60s, [&](Result<Object> read) {
    if (read) found = *read;
  }));
  run(20ms);
  return found;
}
std::vector<Object> Lab::list(kube::KindId kind) {
  std::vector<Object> all;
  api_->list_all(kind, "", {}, scope_.done<kube::ObjectList>(60s, [&](auto page) {
    ASSERT_TRUE(page) << page.error().message;
    all = std::move(page->items);
  }));
  run(50ms);
  return all;
}

void Lab::testbed(const std::string& name, int slots_per_node, std::string_view cpu) {
  create(fmt::format(
      R"({{"apiVersion":"batchjob.gcr.io/v1alpha1","kind":"Testbed","metadata":{{"name":"{}","namespace":"default"}},"spec":{{"slotsPerNode":{},"nodeLabel":"tuberlin.de/tb","resourcesPerSlot":{{"cpu":"{}","memory":"2Gi"}}}}}})",
      name, slots_per_node, cpu));
}
void Lab::job(const std::string& name, std::string_view duration, bool suspended) {
  create(fmt::format(
      R"({{"apiVersion":"batchjob.gcr.io/v1alpha1","kind":"BatchJob","metadata":{{"name":"{}","namespace":"default"}},"spec":{{"jobSpec":{{"suspend":{},"template":{{"metadata":{{"annotations":{{"berth.dev/duration":"{}"}}}},"spec":{{"containers":[{{"name":"c","image":"i"}}]}}}}}}}}}})",
      name, suspended, duration));
}
void Lab::granted(const std::string& name, int slots, const std::string& testbed) {
  job(name, "1h", true);
  queue("run-" + std::string(1, static_cast<char>(std::tolower(name[0]))),
        std::string(static_cast<std::size_t>(slots), name[0]), testbed);
  run(10s);
}
Object Lab::executor(const std::string& name, const std::string& job) {
  std::string grant, testbed;
  for (const Object& each : list(kinds().ledger)) {
    const slots::Ledger known = *slots::Ledger::parse(each);
    for (const slots::Grant* held : known.of_job({"default", job})) {
      grant = held->id;
      testbed = each.name();
    }
  }
  EXPECT_NE(grant, "") << job << " has no slots";
  return create(fmt::format(
      R"({{"apiVersion":"v1","kind":"Pod","metadata":{{"name":"{0}","namespace":"default","labels":{{"{1}":"{2}","{3}":"{4}"}}}},"spec":{{"priorityClassName":"berth-executor","terminationGracePeriodSeconds":0,"containers":[{{"name":"c","image":"i","resources":{{"requests":{{"cpu":"750m","memory":"2Gi"{5}}},"limits":{{{6}}}}}}}]}}}})",
      name, kube::kTestbedLabel, testbed, kube::kGrantLabel, grant,
      options_.managed ? R"(,"berth.dev/slot":"1")" : "",
      options_.managed ? R"("berth.dev/slot":"1")" : ""));
}
void Lab::queue(const std::string& name, std::string_view jobs, std::string_view testbed) {
  std::string entries;
  for (const char each : jobs)
    entries +=
        fmt::format(R"({}{{"name":"{}","namespace":"default"}})", entries.empty() ? "" : ",", each);
  create(fmt::format(
      R"({{"apiVersion":"batchjob.gcr.io/v1alpha1","kind":"Scheduling","metadata":{{"name":"{}","namespace":"default"}},"spec":{{"testbed":{{"name":"{}","namespace":"default"}},"queueBased":[{}]}}}})",
      name, testbed, entries));
}
void Lab::pod(const std::string& name, std::string_view cpu, std::string_view more) {
  create(fmt::format(
      R"({{"apiVersion":"v1","kind":"Pod","metadata":{{"name":"{}","namespace":"default"}},"spec":{{"containers":[{{"name":"c","image":"i","resources":{{"requests":{{"cpu":"{}"}}}}}}]{}}}}})",
      name, cpu, more));
}

slots::Ledger Lab::ledger(const std::string& name) {
  const Object object = get(kinds().ledger, {"default", name});
  return object.valid() ? slots::Ledger::parse(object).value_or(slots::Ledger()) : slots::Ledger();
}
std::vector<Object> Lab::executors() {
  std::vector<Object> all = list(kube::kPod);
  std::erase_if(
      all, [](const Object& pod) { return pod.label(kube::kGrantLabel).empty() || !is_live(pod); });
  return all;
}
std::vector<Object> Lab::ghosts() {
  std::vector<Object> all = list(kube::kPod);
  std::erase_if(all, [](const Object& pod) { return pod.label(kube::kGhostLabel) != "true"; });
  return all;
}
std::string Lab::node_of(std::string_view pod) {
  const Object found = get(kube::kPod, {"default", std::string(pod)});
  return found.valid() ? kube::PodView(found).node_name() : "gone";
}

std::vector<std::string> Lab::placement() {
  std::map<std::string, int> pinned;
  for (const Object& job : list(kinds().batch_job))
    for (const kube::Pin& pin : kube::BatchJobView(job).pins()) pinned[pin.pod_uid] = pin.slot;
  std::vector<std::string> all;
  for (const Object& pod : executors()) {
    const auto fact = slots::pod_fact(pod);
    if (fact->node.empty()) continue;
    const auto pin = pinned.find(fact->uid);
    const int slot = fact->slot ? *fact->slot : pin != pinned.end() ? pin->second : -1;
    // Which of a job's executors sits where is chance; that some does is not.
    all.push_back(fmt::format("{}: slot {} on {}", pod.label("batch.kubernetes.io/job-name"), slot,
                              fact->node));
  }
  std::sort(all.begin(), all.end());
  return all;
}

std::map<int, std::string> Lab::states(const std::string& name) {
  std::map<int, std::string> all;
  const Object testbed = get(kinds().testbed, {"default", name});
  for (const json::Slice slot : testbed.status()["slots"].elements())
    all[static_cast<int>(*slot["position"].integer())] = slot["state"].text();
  return all;
}

std::vector<std::string> Lab::events_of(std::string_view pod, std::string_view reason) {
  std::vector<std::string> notes;
  for (const Object& event : list(kube::kEvent)) {
    const std::string about = event.member("regarding")["name"].text();
    const std::string why = event.member("reason").text();
    if ((about.empty() ? event.member("involvedObject")["name"].text() : about) == pod &&
        why == reason)
      notes.push_back(event.member("note").text() + event.member("message").text());
  }
  return notes;
}

std::vector<std::string> Lab::wrongs() {
  std::vector<std::string> found;
  const slots::Ledger now = ledger();
  std::map<int, std::string> node_of_slot;
  for (const slots::Cell& cell : slots::cells_of(now.blocks, {}))
    node_of_slot[cell.slot] = std::string(cell.node);
  std::map<std::string, int> pinned;
  for (const Object& job : list(kinds().batch_job))
    for (const kube::Pin& pin : kube::BatchJobView(job).pins()) pinned[pin.pod_uid] = pin.slot;
  std::map<int, std::string> taken;
  std::map<std::string, kube::ResourceList> used;
  for (const Object& pod : list(kube::kPod)) {
    if (!is_live(pod) || kube::PodView(pod).node_name().empty()) continue;
    kube::add(used[kube::PodView(pod).node_name()], *kube::pod_requests(pod));
    const auto fact = slots::pod_fact(pod);
    if (fact->grant.empty() || fact->deleting) continue;
    const auto pin = pinned.find(fact->uid);
    const std::optional<int> slot = fact->slot            ? fact->slot
                                    : pin == pinned.end() ? std::nullopt
                                                          : std::optional(pin->second);
    if (!slot) {
      found.push_back(fmt::format("{} sits in no slot", pod.name()));
      continue;
    }
    if (!taken.emplace(*slot, pod.name()).second)
      found.push_back(fmt::format("{} and {} share slot {}", taken[*slot], pod.name(), *slot));
    const slots::Grant* holder = now.holder(*slot);
    if (holder == nullptr || holder->id != fact->grant)
      found.push_back(fmt::format("{} sits in slot {} of another", pod.name(), *slot));
    if (node_of_slot[*slot] != fact->node)
      found.push_back(
          fmt::format("{} is on {}, its slot on {}", pod.name(), fact->node, node_of_slot[*slot]));
  }
  for (const Object& node : list(kube::kNode)) {
    const kube::ResourceList holds = *kube::NodeView(node).allocatable();
    const kube::ResourceList& has = used[std::string(node.name())];
    for (const auto& [name, amount] : holds)
      if (const auto sum = has.find(name); sum != has.end() && sum->second > amount)
        found.push_back(fmt::format("{} has {} of {}", node.name(), sum->second.text(), name));
  }
  return found;
}

}  // namespace berth::doors
