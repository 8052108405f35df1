// SPDX-License-Identifier: Apache-2.0
#include "lab.h"

#include <algorithm>
#include <cctype>
#include <deque>
#include <map>
#include <regex>

#include <fmt/format.h>
#include <gtest/gtest.h>

#include "end_state.h"
#include "json/patch.h"
#include "json/slice.h"
#include "json/writer.h"
#include "kube/time.h"
#include "used_rights.h"

namespace berth::controllers::stories {

using kube::ApiReply;
using kube::ApiRequest;

namespace {

constexpr Duration kStall = 25s;  // longer than a lease

bool is_write(const ApiRequest& request) {
  const bool reads = request.verb == kube::Verb::kGet || request.verb == kube::Verb::kList ||
                     request.verb == kube::Verb::kWatch || request.verb == kube::Verb::kRaw;
  return !reads && request.kind != kube::kEvent && request.kind != kube::kLease;
}

// Counts the writes of a process and ends it at one of them.
class KillingTransport final : public client::Transport {
 public:
  KillingTransport(Scope& scope, client::Transport& inner, KillAt kill,
                   std::shared_ptr<std::uint64_t> writes, std::function<void()> die,
                   std::function<void(ApiRequest)> send_late)
      : scope_(scope),
        inner_(inner),
        kill_(kill),
        writes_(std::move(writes)),
        die_(std::move(die)),
        send_late_(std::move(send_late)) {}

  void call(ApiRequest request, Instant deadline, Done<ApiReply> done) override {
    if (!is_write(request) || ++*writes_ != kill_.write)
      return inner_.call(std::move(request), deadline, std::move(done));
    switch (kill_.moment) {
      case Moment::kBefore:
        return die_();
      case Moment::kCommitted:
        inner_.call(std::move(request), deadline, {});
        return die_();
      case Moment::kStalled:
        send_late_(std::move(request));
        return die_();
      case Moment::kAnswered:
        inner_.call(std::move(request), deadline,
                    scope_.done<ApiReply>(
                        kNoLimit, [this, done = std::move(done)](Result<ApiReply> reply) mutable {
                          done(std::move(reply));
                          // The answer is read, and nothing follows from it any more.
                          scope_.post([this] { die_(); });
                        }));
    }
  }

 private:
  Scope& scope_;
  client::Transport& inner_;
  KillAt kill_;
  std::shared_ptr<std::uint64_t> writes_;
  std::function<void()> die_;
  std::function<void(ApiRequest)> send_late_;
};

// With members in the order of their names, and taints in any one: who wrote them first does not
// matter.
std::string canonical(json::Slice value, bool ordered = true) {
  if (value.is_array()) {
    std::vector<std::string> all;
    for (const json::Slice one : value.elements()) all.push_back(canonical(one));
    if (!ordered) std::sort(all.begin(), all.end());
    json::Writer w;
    w.array();
    for (const std::string& one : all) w.raw(one);
    w.end();
    return w.take();
  }
  if (!value.is_object()) return std::string(value.raw());
  std::map<std::string, std::string> members;
  for (auto at = value.members().begin(); at != nullptr; ++at)
    members[std::string((*at).key)] = canonical((*at).value, (*at).key != "taints");
  json::Writer w;
  w.object();
  for (const auto& [name, text] : members) w.member(name).raw(text);
  w.end();
  return w.take();
}

std::string generated_names_removed(const Object& object) {
  // What a controller names is told apart by its owner alone.
  const auto owner = object.controller();
  if (!owner || object.kind() != kube::kPod || !owner->name.size())
    return std::string(object.name());
  const bool ordinal = owner->kind == "StatefulSet";
  return ordinal ? std::string(object.name()) : owner->name + "-*";
}

}  // namespace

namespace {

// A kubelet leaves the conditions of others alone; a merge patch does not.
std::string with_disruption(const Object& pod, std::string patch) {
  for (const json::Slice one : pod.status()["conditions"].elements()) {
    if (!one["type"].equals("DisruptionTarget")) continue;
    json::Writer w;
    w.object().member("status").object().member("conditions").array();
    for (const json::Slice each : json::Slice(patch)["status"]["conditions"].elements())
      w.raw(each.raw());
    w.raw(one.raw()).end().end().end();
    return *json::merge_patch(patch, w.take());
  }
  return patch;
}

}  // namespace

struct Lab::Process final : Component {
  Process(Lab& lab, Env& env, std::size_t index, const Controllers& controllers)
      : scope(env.runtime.loop("controllers"), "controllers"),
        wire(lab.world.loop("api"), lab.server, {}),
        faulty(scope, wire, lab.options_.faults, env.random.fork("wire")),
        killing(
            scope, faulty, lab.options_.kill, lab.writes_,
            [&lab, index] {
              lab.world.kill(*lab.processes_[index]);
              lab.crash(index);
            },
            [&lab](ApiRequest request) {
              Executor& api = lab.world.loop("api");
              api.post([&lab, &api, request = std::move(request)]() mutable {
                api.at(api.clock().now() + kStall,
                       [&lab, request = std::move(request)] { lab.server.handle(request, {}); });
              });
            }),
        home(scope, killing, env.metrics, env.log, env.random, controllers(),
             watched(lab.home_of(index), index)) {
    home.start();
  }

  // Those beside are at home in other stories; those who are elected have a transport of their
  // term.
  runtime::HomeOptions watched(runtime::HomeOptions options, std::size_t index) {
    if (index > 0 || options.election || options.calls_as) return options;
    options.calls_as = [this](const runtime::Spec& spec) -> client::Transport& {
      return rights.emplace_back(spec, killing);
    };
    return options;
  }

  Scope scope;
  client::LocalTransport wire;
  client::FaultyTransport faulty;
  KillingTransport killing;
  std::deque<UsedRights> rights;
  runtime::Home home;
};

Lab::Lab(LabOptions options)
    : world(options.seed, options.order),
      server(world.loop("api"), Random(options.seed)),
      options_(std::move(options)) {
  server.follow_rules(true);
  server.serve(options_.kinds);
  server.serve_scales(options_.scaled);
  server.on_commit = [this](KindId kind, const Object& object) { react(kind, object); };
  const auto spawn = [this](std::string name, Controllers controllers) {
    processes_.push_back(&world.spawn(
        std::move(name),
        [this, index = processes_.size(),
         controllers = std::move(controllers)](Env& env) -> std::unique_ptr<Component> {
          return std::make_unique<Process>(*this, env, index, controllers);
        }));
  };
  spawn("controllers", options_.controllers);
  for (std::size_t i = 0; i < options_.beside.size(); ++i)
    spawn(fmt::format("controllers-{}", i + 1), options_.beside[i]);
  run(1s);
}

Lab::~Lab() { server.on_commit = nullptr; }

runtime::HomeOptions Lab::home_of(std::size_t process) const {
  runtime::HomeOptions home = options_.home;
  if (home.election) home.election->settings.identity = fmt::format("{}", process);
  return home;
}

std::size_t Lab::spawn(std::string name, Fn<std::unique_ptr<Component>(Env&)> make) {
  processes_.push_back(&world.spawn(std::move(name), std::move(make)));
  return processes_.size() - 1;
}
void Lab::kill_server(faults::FakeServer::Ending ending, std::uint64_t last_requests, Duration away,
                      faults::FakeServer::History history) {
  Executor& api = world.loop("api");
  api.post([this, &api, ending, last_requests, away, history] {
    server.die(ending, last_requests);
    api.at(api.clock().now() + away, [this, history] {
      server.revive(history);
      for (const Object& pod : list(kube::kPod))
        world.loop("nodes").post([this, pod] { pod_changed(pod); });
      if (server_returned) server_returned();
    });
  });
}

void Lab::crash(std::size_t process) {
  world.loop("director").post([this, process] { world.restart(*processes_[process]); });
}
bool Lab::leads(std::size_t process) { return processes_[process]->get<Process>().home.leads(); }

runtime::Home& Lab::home() { return processes_[0]->get<Process>().home; }

client::FaultyTransport& Lab::wire() { return processes_[0]->get<Process>().faulty; }
int Lab::starts() const { return processes_[0]->starts(); }

double Lab::metric(const std::string& series) {
  const std::string text = processes_[0]->env().metrics.exposition();
  const std::size_t at = text.find("\n" + series + " ");
  return at == std::string::npos ? 0 : std::stod(text.substr(at + series.size() + 2));
}

Result<ApiReply> Lab::ask(ApiRequest request) {
  std::optional<Result<ApiReply>> out;
  Scope scope(world.loop("user"), "user");
  server.handle(std::move(request), scope.done<ApiReply>(kNoLimit, [&](Result<ApiReply> reply) {
    out = std::move(reply);
  }));
  while (!out && world.step()) {
  }
  scope.close({}, [] {});
  world.run_for(Duration{});
  return std::move(*out);
}

Result<Object> Lab::create(std::string_view json) {
  const auto parsed = Object::parse(json);
  EXPECT_TRUE(parsed.has_value()) << json;
  ApiRequest request;
  request.verb = kube::Verb::kCreate;
  request.kind = parsed->kind();
  request.ns = parsed->ns();
  request.body.bytes = std::make_shared<const std::string>(json);
  auto reply = ask(std::move(request));
  if (!reply) return tl::unexpected(reply.error());
  return std::get<Object>(reply->body);
}

Result<Object> Lab::patch(KindId kind, const Key& key, std::string patch, std::string subresource) {
  ApiRequest request;
  request.verb = kube::Verb::kPatch;
  request.kind = kind;
  request.ns = key.ns;
  request.name = key.name;
  request.subresource = std::move(subresource);
  request.body.bytes = std::make_shared<const std::string>(std::move(patch));
  auto reply = ask(std::move(request));
  if (!reply) return tl::unexpected(reply.error());
  return std::get<Object>(reply->body);
}

Result<Ok> Lab::erase(KindId kind, const Key& key, kube::Propagation propagation,
                      std::optional<std::int64_t> grace) {
  ApiRequest request;
  request.verb = kube::Verb::kDelete;
  request.kind = kind;
  request.ns = key.ns;
  request.name = key.name;
  request.options.propagation = propagation;
  request.options.grace_period_seconds = grace;
  auto reply = ask(std::move(request));
  if (!reply) return tl::unexpected(reply.error());
  return Ok{};
}

Object Lab::get(KindId kind, const Key& key) {
  const auto& all = server.all(kind);
  const auto found = all.find(key);
  return found == all.end() ? Object() : found->second;
}

std::vector<Object> Lab::list(KindId kind) {
  std::vector<Object> out;
  for (const auto& [key, object] : server.all(kind)) out.push_back(object);
  return out;
}

std::vector<std::string> Lab::names(KindId kind) {
  std::vector<std::string> out;
  for (const auto& [key, object] : server.all(kind)) out.push_back(key.name);
  return out;
}

std::vector<std::string> Lab::events() {
  std::vector<std::pair<kube::Revision, std::string>> found;
  for (const auto& [key, event] : server.all(kube::kEvent))
    found.emplace_back(event.revision(), fmt::format("{}: {}", event.member("reason").text(),
                                                     event.member("note").text()));
  std::sort(found.begin(), found.end());
  std::vector<std::string> texts;
  for (auto& [revision, text] : found) texts.push_back(std::move(text));
  return texts;
}

void Lab::react(KindId kind, const Object& object) {
  world.note(object.json());
  if (kind == kube::kPod && nodes_work)
    world.loop("nodes").post([this, object] { pod_changed(object); });
}

// The pod may have changed or gone meanwhile.
void Lab::later(Duration wait, const Object& pod, std::function<void(const Object&)> then) {
  Executor& nodes = world.loop("nodes");
  nodes.at(nodes.clock().now() + wait,
           [this, key = pod.key(), uid = std::string(pod.uid()), then = std::move(then)] {
             const Object now = get(kube::kPod, key);
             if (now.valid() && now.uid() == uid) then(now);
           });
}

void Lab::pod_changed(const Object& pod) {
  const auto send = [this](kube::Verb verb, const Object& to, std::string body,
                           std::string subresource) {
    ApiRequest request;
    request.verb = verb;
    request.kind = kube::kPod;
    request.ns = to.ns();
    request.name = to.name();
    request.subresource = std::move(subresource);
    request.options.grace_period_seconds = 0;
    request.body.bytes = std::make_shared<const std::string>(std::move(body));
    world.loop("api").post(
        [this, r = std::move(request)]() mutable { server.handle(std::move(r), {}); });
  };
  const Object now = get(kube::kPod, pod.key());
  if (!now.valid() || now.revision() != pod.revision()) return;  // it has moved on already
  const PodLife how = life ? life(pod) : PodLife{};
  const bool bound = pod.member("spec")["nodeName"].present();
  const json::Slice phase = pod.status()["phase"];
  // As kubelets do: a pod that is deleted ends first, then it goes.
  if (pod.deleting() && (phase.equals("Succeeded") || phase.equals("Failed")))
    return send(kube::Verb::kDelete, pod, "{}", "");
  if (pod.deleting())
    return later(how.stop, pod, [this, send](const Object& o) {
      if (!o.status()["phase"].equals("Succeeded") && !o.status()["phase"].equals("Failed"))
        send(kube::Verb::kPatch, o,
             with_disruption(o, ended_status(world.clock().wall(), true, 137)), "status");
    });
  if (!bound && !how.placed) return;
  if (!bound)
    return send(kube::Verb::kPatch, pod,
                fmt::format(R"({{"spec":{{"nodeName":"{}"}}}})", wanted_node(pod)), "");
  if (phase.equals("Pending"))
    return later(how.start, pod, [this, send](const Object& o) {
      if (o.status()["phase"].equals("Pending") && !o.deleting())
        send(kube::Verb::kPatch, o, running_status(world.clock().wall()), "status");
    });
  if (phase.equals("Running") && how.run)
    later(*how.run, pod, [this, send, how](const Object& o) {
      if (o.status()["phase"].equals("Running"))
        send(kube::Verb::kPatch, o, ended_status(world.clock().wall(), how.fails, how.exit_code),
             "status");
    });
}

std::string running_status(WallTime now) {
  const std::string time = kube::time_text(now);
  return fmt::format(
      R"({{"status":{{"phase":"Running","startTime":"{0}","conditions":[{{"type":"Ready","status":"True","lastTransitionTime":"{0}"}}],)"
      R"("containerStatuses":[{{"name":"main","ready":true,"restartCount":0,"image":"","imageID":"","state":{{"running":{{"startedAt":"{0}"}}}}}}]}}}})",
      time);
}

std::string ended_status(WallTime now, bool failed, int exit_code) {
  const std::string time = kube::time_text(now);
  return fmt::format(
      R"({{"status":{{"phase":"{1}","conditions":[{{"type":"Ready","status":"False","reason":"PodCompleted","lastTransitionTime":"{0}"}}],)"
      R"("containerStatuses":[{{"name":"main","ready":false,"restartCount":0,"image":"","imageID":"","state":{{"terminated":{{"exitCode":{2},"finishedAt":"{0}"}}}}}}]}}}})",
      time, failed ? "Failed" : "Succeeded", failed ? exit_code : 0);
}

std::string Lab::end_state() {
  static const std::regex time(R"(\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(\.\d+)?Z)");
  static const std::regex uid(R"(uid-\d+)");
  static const std::regex revision(R"("resourceVersion":"\d+")");  // in references
  std::vector<std::string> all;
  std::vector<std::pair<std::string, std::string>> renames;
  const auto backup = server.backup();
  for (const auto& [kind, objects] : backup.objects)
    for (const auto& [key, object] : objects)
      if (const std::string plain = generated_names_removed(object); plain != key.name)
        renames.emplace_back(key.name, plain);
  for (const auto& [kind, objects] : backup.objects) {
    if (kind == kube::kEvent || kind == kube::kLease) continue;
    for (const auto& [key, object] : objects) {
      // How often a spec was written may differ; that its last state was observed may not.
      const std::string observed =
          object.status()["observedGeneration"].integer() == object.generation() ? "\"current\""
                                                                                 : "null";
      std::string text = *json::merge_patch(
          object.json(),
          fmt::format(R"({{"metadata":{{"resourceVersion":null,"generation":null}}{}}})",
                      object.status()["observedGeneration"].present()
                          ? fmt::format(R"(,"status":{{"observedGeneration":{}}})", observed)
                          : ""));
      text = std::regex_replace(text, time, "<time>");
      text = std::regex_replace(text, uid, "<uid>");
      text = std::regex_replace(text, revision, R"("resourceVersion":"<revision>")");
      for (const auto& [name, plain] : renames)
        for (std::size_t at = text.find(name); at != text.npos;
             at = text.find(name, at + plain.size()))
          text.replace(at, name.size(), plain);
      all.push_back(canonical(json::Slice(text)));
    }
  }
  std::sort(all.begin(), all.end());
  std::string out;
  for (const std::string& text : all) out += text + "\n";
  return out;
}

}  // namespace berth::controllers::stories
