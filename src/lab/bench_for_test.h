// SPDX-License-Identifier: Apache-2.0
// What the lab's tests are written with: a store in a virtual world, an API that does to pods and
// nodes what a kubelet relies on and nothing more, and pods in one line.
#pragma once

#include <memory>
#include <string>
#include <utility>
#include <vector>

#include <fmt/format.h>
#include <gtest/gtest.h>

#include "apiserver/store/store.h"
#include "base/world.h"
#include "json/patch.h"
#include "json/writer.h"
#include "kube/schema.h"
#include "kube/time.h"
#include "lab/lab.h"

namespace berth::lab {

class SmallApi final : public kube::ApiHandler {
 public:
  SmallApi(Scope& scope, apiserver::Store& store) : scope_(scope), store_(store) {}

  void handle(kube::ApiRequest request, Done<kube::ApiReply> done) override {
    using kube::Verb;
    requests.push_back(fmt::format("{} {}{}", verb_name(request.verb), request.name,
                                   request.subresource.empty() ? "" : "/" + request.subresource));
    if (refuse_next > 0) {
      --refuse_next;
      return done(fail(Reason::kInternalError, "refused for a test"));
    }
    switch (request.verb) {
      case Verb::kCreate:
        return create(request, std::move(done));
      case Verb::kPatch:
        return patch(request, std::move(done));
      case Verb::kDelete:
        return remove(request, std::move(done));
      default:
        return done(fail(Reason::kMethodNotAllowed, "not here"));
    }
  }

  std::vector<std::string> requests;
  int refuse_next = 0;

 private:
  static const char* verb_name(kube::Verb verb) {
    return verb == kube::Verb::kCreate ? "create" : verb == kube::Verb::kPatch ? "patch" : "delete";
  }
  void create(const kube::ApiRequest& request, Done<kube::ApiReply> done) {
    const json::Slice document(*request.body.bytes);
    std::string metadata =
        json::merge_patch(
            document["metadata"].raw(),
            fmt::format(R"({{"uid":"uid-{}","generation":1,"creationTimestamp":"{}"}})", ++births_,
                        kube::time_text(scope_.executor().clock().wall())))
            .value();
    std::string whole =
        json::merge_patch(*request.body.bytes, R"({"metadata":)" + metadata + "}").value();
    if (request.kind == kube::kPod)
      whole = json::merge_patch(whole, R"({"status":{"phase":"Pending","qosClass":"BestEffort"}})")
                  .value();
    kube::Object object = kube::Object::parse(request.kind, whole).value();
    write({.kind = request.kind,
           .key = object.key(),
           .expect = apiserver::Write::Expect::kAbsent,
           .next = apiserver::stamped(object)},
          std::move(done));
  }
  void patch(const kube::ApiRequest& request, Done<kube::ApiReply> done) {
    const kube::Object* now = store_.get(request.kind, {request.ns, request.name});
    if (now == nullptr) return done(fail(Reason::kNotFound, "not found"));
    const bool strategic = request.options.patch_type == kube::PatchType::kStrategic;
    const std::string uid = json::Slice(*request.body.bytes)["metadata"]["uid"].text();
    if (!uid.empty() && uid != now->uid()) return done(fail(Reason::kConflict, "another uid"));
    const Result<std::string> next =
        strategic ? json::strategic_merge_patch(now->json(), *request.body.bytes,
                                                *kube::schema_of(request.kind))
                  : json::merge_patch(now->json(), *request.body.bytes);
    ASSERT_TRUE(next.has_value()) << next.error().message << *request.body.bytes;
    kube::Object object = kube::Object::parse(request.kind, *next).value();
    write({.kind = request.kind, .key = now->key(), .next = apiserver::stamped(object)},
          std::move(done));
  }
  void remove(const kube::ApiRequest& request, Done<kube::ApiReply> done) {
    const kube::Object* now = store_.get(request.kind, {request.ns, request.name});
    if (now == nullptr) return done(fail(Reason::kNotFound, "not found"));
    if (!request.options.precondition_uid.empty() && request.options.precondition_uid != now->uid())
      return done(fail(Reason::kConflict, "another uid"));
    const std::int64_t grace = request.options.grace_period_seconds.value_or(30);
    const bool at_once =
        request.kind != kube::kPod || grace == 0 || now->member("spec")["nodeName"].text().empty();
    if (at_once && now->finalizers().empty())
      return write({.kind = request.kind, .key = now->key()}, std::move(done));
    const std::string next =
        json::merge_patch(now->json(),
                          fmt::format(R"({{"metadata":{{"deletionTimestamp":"{}",)"
                                      R"("deletionGracePeriodSeconds":{}}}}})",
                                      kube::time_text(scope_.executor().clock().wall() +
                                                      std::chrono::seconds(grace)),
                                      grace))
            .value();
    write({.kind = request.kind,
           .key = now->key(),
           .next = apiserver::stamped(kube::Object::parse(request.kind, next).value())},
          std::move(done));
  }
  void write(apiserver::Write write, Done<kube::ApiReply> done) {
    auto answer = std::make_shared<Done<kube::ApiReply>>(std::move(done));
    store_.write(std::move(write), scope_.done<apiserver::Committed>(
                                       kNoLimit, [answer](Result<apiserver::Committed> r) {
                                         if (!r) return (*answer)(tl::unexpected(r.error()));
                                         kube::ApiReply reply;
                                         reply.body = r->object;
                                         (*answer)(std::move(reply));
                                       }));
  }

  Scope& scope_;
  apiserver::Store& store_;
  int births_ = 0;
};

// A pod's manifest.
class PodText {
 public:
  explicit PodText(std::string name) : name_(std::move(name)) {}
  PodText& on(std::string node) { return node_ = std::move(node), *this; }
  PodText& policy(std::string restart) { return restart_ = std::move(restart), *this; }
  PodText& note(std::string_view what, std::string_view value) {
    annotations_ += fmt::format(R"({}"{}":"{}")", annotations_.empty() ? "" : ",", what, value);
    return *this;
  }
  PodText& init(std::string_view container) { return add(inits_, container); }
  PodText& container(std::string_view json) { return add(containers_, json); }
  PodText& spec(std::string_view member) { return more_ += fmt::format(",{}", member), *this; }
  PodText& finalizer(std::string_view text) {
    return meta_ += fmt::format(R"(,"finalizers":["{}"])", text), *this;
  }
  PodText& job() {
    meta_ += R"(,"ownerReferences":[{"apiVersion":"batch/v1","kind":"Job","name":"j","uid":"u",)"
             R"("controller":true}])";
    return *this;
  }
  std::string json() const {
    return fmt::format(
        R"({{"kind":"Pod","apiVersion":"v1","metadata":{{"name":"{}","namespace":"default",)"
        R"("annotations":{{{}}}{}}},"spec":{{"nodeName":"{}","restartPolicy":"{}",)"
        R"("initContainers":[{}],"containers":[{}]{}}}}})",
        name_, annotations_, meta_, node_, restart_, inits_,
        containers_.empty() ? R"({"name":"main","image":"app"})" : containers_, more_);
  }

 private:
  PodText& add(std::string& to, std::string_view json) {
    if (!to.empty()) to += ',';
    to += json;
    return *this;
  }
  std::string name_, node_ = "node-0", restart_ = "Always", annotations_, inits_, containers_,
                     more_, meta_;
};

class Bench {
 public:
  explicit Bench(LabOptions options = {}, Seed seed = 1) : world(seed) {
    start_lab(std::move(options), seed);
  }
  void start_lab(LabOptions options, Seed seed) {
    home = &scope.child("home");
    lab = std::make_unique<Lab>(
        *home, LabParts{store, api, Random(seed), Logger(sink, world.clock(), LogLevel::kInfo)},
        std::move(options));
    lab->start(scope.done<Ok>(1h, [this](Result<Ok> r) { started = std::move(r); }));
    world.run_for(1s);
  }
  void stop_lab() {
    home->close({}, [] {});
    world.run_for(1s);
    lab.reset();
  }
  ~Bench() {
    scope.close({}, [] {});
    world.run_until_idle(1h);
  }

  void create(const PodText& pod) { create(kube::kPod, pod.json()); }
  void create(kube::KindId kind, std::string json) {
    kube::ApiRequest request;
    request.verb = kube::Verb::kCreate;
    request.kind = kind;
    request.body.bytes = std::make_shared<const std::string>(std::move(json));
    ask(std::move(request));
  }
  void patch(kube::KindId kind, std::string name, std::string json) {
    kube::ApiRequest request;
    request.verb = kube::Verb::kPatch;
    request.kind = kind;
    request.name = std::move(name);
    if (kind == kube::kPod) request.ns = "default";
    request.body.bytes = std::make_shared<const std::string>(std::move(json));
    ask(std::move(request));
  }
  void erase(kube::KindId kind, std::string name, std::optional<std::int64_t> grace = {}) {
    kube::ApiRequest request;
    request.verb = kube::Verb::kDelete;
    request.kind = kind;
    request.name = std::move(name);
    if (kind == kube::kPod) request.ns = "default";
    request.options.grace_period_seconds = grace;
    ask(std::move(request));
  }
  void ask(kube::ApiRequest request) {
    api.handle(std::move(request), scope.done<kube::ApiReply>(1min, [](auto reply) {
      EXPECT_TRUE(reply.has_value()) << reply.error().message;
    }));
    world.run_for(1ms);
  }
  const kube::Object* pod(std::string_view name) {
    return store.get(kube::kPod, {"default", name});
  }
  const kube::Object* node(std::string_view name) { return store.get(kube::kNode, {"", name}); }
  const kube::Object* lease(std::string_view name) {
    return store.get(kube::kLease, {"kube-node-lease", name});
  }
  std::string phase(std::string_view name) {
    const kube::Object* found = pod(name);
    return found == nullptr ? "gone" : found->status()["phase"].text();
  }

  World world;
  Scope scope{world.loop("api"), "test"};
  apiserver::Store store{scope, {.observe = [this](const apiserver::HistoryEvent& event) {
                           world.note((event.deleted ? "-" : "+") + event.after.json());
                         }}};
  SmallApi api{scope, store};
  StringSink sink;
  Scope* home = nullptr;
  std::unique_ptr<Lab> lab;
  std::optional<Result<Ok>> started;
};

inline LabOptions some_nodes(std::size_t count, Pace pace = kAtOnce) {
  LabOptions options;
  options.nodes = count;
  options.pace = pace;
  return options;
}

}  // namespace berth::lab
