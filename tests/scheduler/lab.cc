// SPDX-License-Identifier: Apache-2.0
#include "lab.h"

#include <algorithm>
#include <array>
#include <cstdlib>

#include <fmt/format.h>
#include <gtest/gtest.h>

#include "json/patch.h"
#include "json/slice.h"

namespace berth::scheduler::stories {

using kube::ApiReply;
using kube::ApiRequest;
using kube::Object;

Tester tester, tester2;
std::string favourite;

bool is_bind(const ApiRequest& request) { return request.subresource == "binding"; }

namespace {

tl::unexpected<Error> refusal(Reason reason, std::string message) {
  return tl::unexpected(
      Error{.reason = reason, .message = std::move(message), .code = http_code_of(reason)});
}

class TesterPlugin final : public Reserve, public Permit, public PreBind, public PostBind {
 public:
  TesterPlugin(const PluginContext& context, Tester& what) : Plugin(context), what_(what) {
    what.services = context.services;
    what.id = context.id;
  }
  std::optional<std::vector<EventInterest>> events() const override {
    return std::vector<EventInterest>{};
  }
  Status reserve(Cycle& cycle, const std::string&) override {
    return what_.reserve ? what_.reserve(cycle.pod) : Status{};
  }
  void unreserve(Cycle& cycle, const std::string&) override {
    if (what_.unreserve) what_.unreserve(cycle.pod);
  }
  PermitResult permit(Cycle& cycle, const std::string&) override {
    return what_.permit ? what_.permit(cycle.pod) : PermitResult{};
  }
  Status pre_bind_pre_flight(Cycle& cycle, const std::string&) override {
    if (what_.pre_flight) return what_.pre_flight(cycle.pod);
    return what_.pre_bind ? Status{} : Status::skip();
  }
  void pre_bind(Cycle& cycle, const std::string&, Done<Status> done) override {
    what_.pre_bind(cycle.pod, std::move(done));
  }
  void post_bind(Cycle& cycle, const std::string&) override {
    if (what_.post_bind) what_.post_bind(cycle.pod);
  }

 private:
  Tester& what_;
};

class Liar final : public Score {
 public:
  explicit Liar(const PluginContext& context) : Plugin(context) {}
  Reach score_reach(const Shape&) const override { return Reach::kRow; }
  Status score(const Cycle& cycle, const Rows& rows, const RowSet& of,
               std::span<std::int64_t> raw) const override {
    of.for_each([&](std::uint32_t row) {
      raw[row] = cycle.cluster.node(rows.node[row]).name == favourite ? 100 : 0;
    });
    return {};
  }
};

Registry registry() {
  static const std::vector<Registration> all = [] {
    std::vector<Registration> list(all_plugins().begin(), all_plugins().end());
    constexpr PointSet kAll =
        points(Point::kReserve, Point::kPermit, Point::kPreBind, Point::kPostBind);
    list.push_back({{"Tester", kAll, true, 0}, [](const PluginContext& context) {
                      return std::unique_ptr<Plugin>(new TesterPlugin(context, tester));
                    }});
    list.push_back({{"Tester2", kAll, true, 0}, [](const PluginContext& context) {
                      return std::unique_ptr<Plugin>(new TesterPlugin(context, tester2));
                    }});
    list.push_back({{"Liar", points(Point::kScore), false, 0}, [](const PluginContext& context) {
                      return std::unique_ptr<Plugin>(new Liar(context));
                    }});
    return list;
  }();
  return all;
}

SchedulerConfig config(const std::function<void(SchedulerConfig&)>& configure) {
  std::vector<PluginInfo> infos;
  for (const Registration& one : registry()) infos.push_back(one.info);
  SchedulerConfig made = default_config(infos);
  made.leader_election.leader_elect = false;
  if (configure) configure(made);
  return made;
}

AppOptions options_of(SchedulerConfig config, const std::string& name,
                      const std::function<void(AppOptions&)>& adjust) {
  const char* const asked = std::getenv("BERTH_DECIDE");
  const std::string_view mode = asked == nullptr ? "" : asked;
  AppOptions options{.config = std::move(config), .identity = name, .verify_decisions = 1};
  if (mode == "plain") options.mode = DecideMode::kPlain;
  if (mode == "cold") options.mode = DecideMode::kCachedCold;
  if (adjust) adjust(options);
  return options;
}

}  // namespace

void PodServer::handle(ApiRequest request, Done<ApiReply> done) {
  if (request.verb == kube::Verb::kPatch && request.kind == kube::kPod)
    patches.push_back(request.name + " " + *request.body.bytes);
  if (!is_bind(request)) return objects.handle(std::move(request), std::move(done));
  const json::Slice body{std::string_view(*request.body.bytes)};
  const std::string node = body["target"]["name"].text();
  binds.push_back(request.name + " " + node);
  const Object now = pod(request.name);
  if (!now.valid()) return done(refusal(Reason::kNotFound, "no such pod"));
  if (now.uid() != body["metadata"]["uid"].text() || !now.member("spec")["nodeName"].text().empty())
    return done(refusal(Reason::kConflict, "pod is already assigned to a node"));
  auto merged = json::merge_patch(
      now.json(),
      fmt::format(
          R"({{"spec":{{"nodeName":"{}"}},"status":{{"conditions":[{{"type":"PodScheduled","status":"True"}}]}}}})",
          node));
  const std::string text = *merged;
  objects.set(kube::kPod, now.key(), text.substr(1, text.size() - 2));
  ApiReply reply;
  reply.code = 201;
  reply.body = std::string(R"({"kind":"Status","status":"Success"})");
  done(std::move(reply));
}

Object PodServer::pod(const std::string& name) {
  const auto& all = objects.all(kube::kPod);
  const auto found = all.find({"default", name});
  return found == all.end() ? Object() : found->second;
}

std::string PodServer::node_of(const std::string& name) {
  const Object now = pod(name);
  return now.valid() ? now.member("spec")["nodeName"].text() : "(gone)";
}

std::vector<std::string> PodServer::events_of(const std::string& name) {
  std::vector<std::pair<kube::Revision, std::string>> found;
  for (const auto& [key, event] : objects.all(kube::kEvent))
    if (event.member("regarding")["name"].text() == name)
      found.emplace_back(event.revision(), fmt::format("{}: {}", event.member("reason").text(),
                                                       event.member("note").text()));
  std::sort(found.begin(), found.end());
  std::vector<std::string> texts;
  for (auto& [revision, text] : found) texts.push_back(std::move(text));
  return texts;
}

void Wire::call(ApiRequest request, Instant deadline, Done<ApiReply> done) {
  const bool reads = request.verb == kube::Verb::kGet || request.verb == kube::Verb::kList ||
                     request.verb == kube::Verb::kWatch;
  const Duration wait = !reads && delay ? delay(request) : Duration{};
  if (wait <= Duration{}) return deliver(std::move(request), deadline, std::move(done));
  scope_.after(wait,
               [this, request = std::move(request), deadline, done = std::move(done)]() mutable {
                 deliver(std::move(request), deadline, std::move(done));
               });
}

void Wire::deliver(ApiRequest request, Instant deadline, Done<ApiReply> done) {
  const bool reads = request.verb == kube::Verb::kGet || request.verb == kube::Verb::kList ||
                     request.verb == kube::Verb::kWatch;
  if (refuse)
    if (const auto error = refuse(request)) return done(tl::unexpected(*error));
  const Fate what = !reads && fate ? fate(request) : Fate::kDeliver;
  const Error lost{
      .reason = Reason::kTimeout, .message = "no answer came", .outcome = Outcome::kUnknown};
  switch (what) {
    case Fate::kDeliver:
      return real_.call(std::move(request), deadline, std::move(done));
    case Fate::kLoseReply:
      return real_.call(
          std::move(request), deadline,
          scope_.done<ApiReply>(kNoLimit, [done = std::move(done), lost](Result<ApiReply>) mutable {
            done(tl::unexpected(lost));
          }));
    case Fate::kLoseRequest:
      return done(tl::unexpected(lost));
    case Fate::kHang:
      scope_.after(deadline - scope_.executor().clock().now(),
                   [done = std::move(done), lost]() mutable { done(tl::unexpected(lost)); });
  }
}

Replica::Replica(World& in, PodServer& server, const std::string& name,
                 const std::function<void(SchedulerConfig&)>& configure,
                 const std::function<void(AppOptions&)>& adjust)
    : world(in),
      scope(in.loop(name), name),
      wire(scope, in.loop("api"), server),
      app(std::make_unique<App>(scope, wire, metrics,
                                Logger(log, in.loop(name).clock(), LogLevel::kInfo), Random(7),
                                registry(), options_of(config(configure), name, adjust),
                                [this](Error error) { failure = std::move(error); })) {
  app->start();
}

Replica::~Replica() {
  if (!closed) close();
  EXPECT_TRUE(closed);
}

void Replica::close(Duration grace) {
  scope.close(grace, [this] { closed = true; });
  world.run_for(grace + 1s);
}

Lab::Lab(const std::function<void(SchedulerConfig&)>& configure,
         const std::function<void(AppOptions&)>& adjust, Seed seed, Order order)
    : world(seed, order),
      server(world.loop("api"), Random(seed)),
      replica(world, server, "scheduler", configure, adjust) {
  run();
}

Lab::~Lab() {
  tester = {};
  tester2 = {};
  favourite.clear();
}

void Lab::node(const std::string& name, const std::string& cpu, const std::string& more_spec) {
  server.objects.set(
      kube::kNode, {"", name},
      fmt::format(
          R"("spec":{{{}}},"status":{{"allocatable":{{"cpu":"{}","memory":"32Gi","pods":"110"}}}})",
          more_spec, cpu));
}

void Lab::pod(const std::string& name, const std::string& cpu, const std::string& more,
              const std::string& scheduler) {
  server.objects.set(
      kube::kPod, {"default", name},
      fmt::format(
          R"("spec":{{"schedulerName":"{}","containers":[{{"name":"main","resources":{{"requests":{{"cpu":"{}"}}}}}}]{}}},"status":{{"phase":"Pending"}})",
          scheduler, cpu, more));
}

void Lab::mark_deleting(const std::string& name) {
  const Object now = server.pod(name);
  const std::string text = *json::merge_patch(
      now.json(), R"({"metadata":{"deletionTimestamp":"2026-01-01T00:00:00Z"}})");
  server.objects.set(kube::kPod, now.key(), text.substr(1, text.size() - 2));
}

void Lab::remove_pod(const std::string& name) {
  server.objects.remove(kube::kPod, {"default", name});
}

double Lab::metric(const std::string& series) {
  const std::string text = replica.metrics.exposition();
  const std::size_t at = text.find("\n" + series + " ");
  return at == std::string::npos ? 0 : std::stod(text.substr(at + series.size() + 2));
}

}  // namespace berth::scheduler::stories
