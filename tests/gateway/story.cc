// SPDX-License-Identifier: Apache-2.0
#include "story.h"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include "gateway/stomp.h"
#include "kube/ours/ours.h"
#include "scheduler/plugins/registry.h"

namespace berth::gateway {
Story::Story(ServiceOptions options, StoryCluster behind) {
  cluster::ClusterOptions parts{.token_key = "key", .owner_token = "owners"};
  parts.observe = std::move(behind.observe);
  if (behind.nodes == 0) {
    parts.lab.reset();
    parts.controllers.clear();
  } else {
    parts.lab->nodes = behind.nodes;
    parts.lab->heartbeat = lab::Heartbeat::kOnDemand;
    std::vector<scheduler::PluginInfo> infos;
    for (const auto& plugin : scheduler::all_plugins()) infos.push_back(plugin.info);
    parts.scheduler = scheduler::default_config(infos);
    for (scheduler::ProfileConfig& profile : parts.scheduler->profiles)
      scheduler::enable_slots(profile.spec);
  }
  cluster = std::make_unique<cluster::Cluster>(
      world, metrics, Logger(log, world.clock(), LogLevel::kWarn), Random(1), std::move(parts));
  cluster->start([](const Result<Ok>& started) { EXPECT_TRUE(started); });
  pass(1s);
  transport = cluster->owner();
  api = std::make_unique<client::Api>(scope, *transport, Random(2));
  if (behind.nodes == 0)
    for (const std::string& manifest : kube::our_first_objects()) create(manifest);
  pass(5s);
  options.gateway.limits.requests_per_address = 1e6;
  options.gateway.limits.requests_in_all = 1e6;
  service = std::make_unique<Service>(scope, *transport, metrics, Logger(log, world.clock()),
                                      Random(3), std::move(options));
  service->start();
  pass(5s);
  EXPECT_TRUE(service->feeds().synced());
}

Story::~Story() {
  scope.close(0s, [] {});
  pass(1s);
  service.reset();
  api.reset();
  cluster->stop([] {});
  pass(30s);
}

kube::Object Story::create(std::string_view json) {
  const auto object = kube::Object::parse(json);
  EXPECT_TRUE(object) << json;
  kube::Object made;
  api->create(object->kind(), std::string(object->ns()), std::string(json),
              scope.done<kube::Object>(60s, [&](Result<kube::Object> answer) {
                ASSERT_TRUE(answer) << answer.error().message;
                made = *answer;
              }));
  pass();
  return made;
}

kube::Object Story::patch_status(Topic topic, std::string_view name, std::string merge_patch) {
  kube::Object made;
  api->patch(kind_of(topic), {"default", std::string(name)}, std::move(merge_patch),
             kube::PatchType::kMerge,
             scope.done<kube::Object>(60s,
                                      [&](Result<kube::Object> a) {
                                        ASSERT_TRUE(a) << a.error().message;
                                        made = *a;
                                      }),
             "status");
  pass();
  return made;
}

void Story::erase(Topic topic, std::string_view name) {
  api->erase(kind_of(topic), {"default", std::string(name)},
             scope.done<Ok>(60s, [](const Result<Ok>& gone) { EXPECT_TRUE(gone); }));
  pass();
}

std::optional<kube::Object> Story::get(Topic topic, std::string_view name, std::string_view ns) {
  std::optional<kube::Object> found;
  api->get(kind_of(topic), {std::string(ns), std::string(name)},
           scope.done<kube::Object>(60s, [&](Result<kube::Object> answer) {
             if (answer) found = *answer;
           }));
  pass();
  return found;
}

std::string Story::account(std::string_view name, std::string_view rules) {
  create(fmt::format(
      R"({{"apiVersion":"v1","kind":"ServiceAccount","metadata":{{"name":"{}","namespace":"default"}}}})",
      name));
  create(fmt::format(
      R"({{"apiVersion":"rbac.authorization.k8s.io/v1","kind":"Role","metadata":{{"name":"{}",)"
      R"("namespace":"default"}},"rules":{}}})",
      name, rules));
  create(fmt::format(
      R"({{"apiVersion":"rbac.authorization.k8s.io/v1","kind":"RoleBinding","metadata":{{"name":"{0}",)"
      R"("namespace":"default"}},"roleRef":{{"apiGroup":"rbac.authorization.k8s.io","kind":"Role",)"
      R"("name":"{0}"}},"subjects":[{{"kind":"ServiceAccount","name":"{0}","namespace":"default"}}]}})",
      name));
  kube::ApiRequest request;
  request.verb = kube::Verb::kCreate;
  request.kind = kube::kServiceAccount;
  request.ns = "default";
  request.name = name;
  request.subresource = "token";
  request.body.bytes = std::make_shared<const std::string>(
      R"({"apiVersion":"authentication.k8s.io/v1","kind":"TokenRequest","spec":{"expirationSeconds":600}})");
  std::string given;
  api->call(std::move(request), client::Urgency::kStatus,
            scope.done<kube::ApiReply>(60s, [&](Result<kube::ApiReply> reply) {
              ASSERT_TRUE(reply) << reply.error().message;
              given = std::get<kube::Object>(reply->body).status()["token"].text();
            }));
  pass();
  EXPECT_FALSE(given.empty());
  return given;
}

void Story::testbed(std::string_view name) {
  create(fmt::format(
      R"({{"apiVersion":"batchjob.gcr.io/v1alpha1","kind":"Testbed","metadata":{{"name":"{}",)"
      R"("namespace":"default"}},"spec":{{"slotsPerNode":1,"nodeLabel":"tb",)"
      R"("resourcesPerSlot":{{"cpu":"1","memory":"1Gi"}}}}}})",
      name));
  const auto slot = [](int number) {
    return fmt::format(
        R"({{"position":{0},"nodeName":"n{0}","nodeId":{0},"slotPositionOnNode":0,"state":"FREE",)"
        R"("class":"default","reservedFor":"","podName":"","podUId":""}})",
        number);
  };
  patch_status(
      Topic::kTestbeds, name,
      fmt::format(R"({{"status":{{"state":"SUCCESS","slots":[{},{}]}}}})", slot(0), slot(1)));
}

void Story::job(std::string_view name, std::string_view ns) {
  create(fmt::format(
      R"({{"apiVersion":"batchjob.gcr.io/v1alpha1","kind":"BatchJob","metadata":{{"name":"{}",)"
      R"("namespace":"{}"}},"spec":{{"sparkSpec":{{"type":"Scala"}},"externalScheduler":{{"profiler":[)"
      R"({{"other":"24 of 16"}}]}}}}}})",
      name, ns));
}

Story::Client Story::send(std::string method, std::string target, std::string body,
                          std::vector<std::pair<std::string, std::string>> headers) {
  Client client = begin(std::move(method), std::move(target), std::move(body), std::move(headers));
  pass();
  return client;
}

Story::Client Story::begin(std::string method, std::string target, std::string body,
                           std::vector<std::pair<std::string, std::string>> headers) {
  net::HttpRequest request{.method = std::move(method), .target = std::move(target)};
  request.body = std::move(body);
  request.headers.add("Host", "127.0.0.1:8080");
  if (!token.empty()) request.headers.add("Authorization", "Bearer " + token);
  for (auto& [name, value] : headers) request.headers.add(name, value);
  auto client = std::make_shared<net::FakeClient>();
  Gateway& gateway = service->gateway();
  net::HttpHandler& door = compat ? *gateway.compat_door() : gateway.door();
  loop.post([&door, request = std::move(request), client]() mutable {
    door.handle(std::move(request), {.address = "127.0.0.1:4000"},
                net::HttpReply(std::make_shared<net::FakeReply>(client)));
  });
  return client;
}

Story::Client Story::open(std::string target, std::string protocols) {
  return send("GET", std::move(target), "",
              {{"Connection", "Upgrade"},
               {"Upgrade", "websocket"},
               {"Sec-WebSocket-Version", "13"},
               {"Sec-WebSocket-Key", "dGhlIHNhbXBsZSBub25jZQ=="},
               {"Sec-WebSocket-Protocol", std::move(protocols)}});
}

std::string stomp(std::string_view command,
                  const std::vector<std::pair<std::string, std::string>>& headers,
                  std::string body) {
  return encode({.command = std::string(command), .headers = headers, .body = std::move(body)});
}

}  // namespace berth::gateway
