// SPDX-License-Identifier: Apache-2.0
// For tests: an API server in a virtual world, with nobody to keep out and no admission but what is
// given, and requests that take one line.
#pragma once

#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <fmt/format.h>
#include <gtest/gtest.h>

#include "apiserver/auth/allow_all.h"
#include "apiserver/serve/server.h"
#include "apiserver/store/store.h"
#include "base/world.h"
#include "kube/api.h"

namespace berth::apiserver {

// Takes the bearer token for the user's name; "" is nobody.
class NameIsToken final : public Authenticator {
 public:
  Result<kube::User> authenticate(const Credentials& shown, WallTime) override {
    if (shown.bearer_token.empty()) return fail(Reason::kUnauthorized, "Unauthorized");
    return kube::User{.name = shown.bearer_token};
  }
};

// All of it lives on the lane "api". Loop-confined to the test.
class TestServer {
 public:
  explicit TestServer(std::vector<std::unique_ptr<AdmissionStep>> steps = {},
                      StoreOptions of_store = {}, ServerOptions options = {},
                      Journal* journal = nullptr) {
    admission.steps = std::move(steps);
    store_ = std::make_unique<Store>(scope_, std::move(of_store), journal);
    if (journal != nullptr) {
      EXPECT_TRUE(store_->recover().has_value());
    }
    server_ =
        std::make_unique<Server>(scope_,
                                 ServerParts{*store_, kinds, admission, authenticator, authorizer,
                                             metrics, Logger(log, world.clock()), Random(7)},
                                 std::move(options));
  }
  ~TestServer() {
    scope_.close({}, [] {});
    world.run_until_idle(1h);
  }

  Server& server() { return *server_; }
  Store& store() { return *store_; }
  Scope& scope() { return scope_; }

  // Starts a request; where its answer will be.
  using Answered = std::shared_ptr<std::optional<Result<kube::ApiReply>>>;
  Answered start(kube::ApiRequest request) {
    auto answer = std::make_shared<std::optional<Result<kube::ApiReply>>>();
    if (request.user.name.empty()) request.user.name = "tester";
    server_->handle(std::move(request),
                    scope_.done<kube::ApiReply>(
                        kNoLimit, [answer](Result<kube::ApiReply> r) { *answer = std::move(r); }));
    return answer;
  }
  // The same through a door, from a client that shows its name.
  Result<kube::ApiReply> call_from_outside(std::string user, kube::ApiRequest request) {
    std::optional<Result<kube::ApiReply>> answer;
    server_->handle(Credentials{.bearer_token = std::move(user)}, std::move(request),
                    scope_.done<kube::ApiReply>(kNoLimit, [&](Result<kube::ApiReply> reply) {
                      answer = std::move(reply);
                    }));
    world.run_until_idle({});
    if (!answer) return fail(Reason::kTimeout, "not answered");
    return std::move(*answer);
  }
  Result<kube::ApiReply> call(kube::ApiRequest request, Duration patience = Duration{}) {
    const Answered answer = start(std::move(request));
    world.run_until_idle(patience);
    if (!answer->has_value()) return fail(Reason::kTimeout, "not answered");
    return std::move(**answer);
  }

  static kube::ApiRequest ask(kube::Verb verb, kube::KindId kind, kube::Key key = {},
                              std::string_view body = "", kube::Options options = {}) {
    kube::ApiRequest request{.verb = verb,
                             .kind = kind,
                             .ns = std::move(key.ns),
                             .name = std::move(key.name),
                             .options = std::move(options)};
    if (!body.empty()) request.body.bytes = std::make_shared<const std::string>(body);
    return request;
  }
  Result<kube::Object> object(kube::ApiRequest request) {
    Result<kube::ApiReply> reply = call(std::move(request));
    if (!reply) return tl::unexpected(std::move(reply.error()));
    if (const auto* found = std::get_if<kube::Object>(&reply->body)) return *found;
    return fail(Reason::kUnknown, "the reply is no object");
  }

  Result<kube::Object> get(kube::KindId kind, kube::Key key) {
    return object(ask(kube::Verb::kGet, kind, std::move(key)));
  }
  Result<kube::Object> create(kube::KindId kind, std::string ns, std::string_view json,
                              kube::Options options = {}) {
    return object(ask(kube::Verb::kCreate, kind, {std::move(ns), ""}, json, std::move(options)));
  }
  Result<kube::Object> update(kube::KindId kind, kube::Key key, std::string_view json,
                              std::string subresource = "", kube::Options options = {}) {
    kube::ApiRequest request =
        ask(kube::Verb::kUpdate, kind, std::move(key), json, std::move(options));
    request.subresource = std::move(subresource);
    return object(std::move(request));
  }
  Result<kube::Object> patch(kube::KindId kind, kube::Key key, std::string_view json,
                             kube::PatchType type = kube::PatchType::kMerge,
                             std::string subresource = "", kube::Options options = {}) {
    options.patch_type = type;
    kube::ApiRequest request =
        ask(kube::Verb::kPatch, kind, std::move(key), json, std::move(options));
    request.subresource = std::move(subresource);
    return object(std::move(request));
  }
  // The object, or the Status, as text.
  Result<std::string> erase(kube::KindId kind, kube::Key key, kube::Options options = {},
                            std::string_view body = "") {
    return text(ask(kube::Verb::kDelete, kind, std::move(key), body, std::move(options)));
  }
  Result<std::string> post(kube::KindId kind, kube::Key key, std::string subresource,
                           std::string_view json, kube::Options options = {}) {
    kube::ApiRequest request =
        ask(kube::Verb::kCreate, kind, std::move(key), json, std::move(options));
    request.subresource = std::move(subresource);
    return text(std::move(request));
  }
  Result<std::string> text(kube::ApiRequest request) {
    Result<kube::ApiReply> reply = call(std::move(request));
    if (!reply) return tl::unexpected(std::move(reply.error()));
    if (const auto* found = std::get_if<kube::Object>(&reply->body)) return found->json();
    if (const auto* found = std::get_if<std::string>(&reply->body)) return *found;
    return std::string();
  }
  Result<kube::ObjectList> list(kube::KindId kind, std::string ns = "",
                                kube::Options options = {}) {
    Result<kube::ApiReply> reply =
        call(ask(kube::Verb::kList, kind, {std::move(ns), ""}, "", std::move(options)));
    if (!reply) return tl::unexpected(std::move(reply.error()));
    return std::move(std::get<kube::ObjectList>(reply->body));
  }
  Result<kube::ApiReply> page(std::string path, std::string accept = "",
                              std::string method = "GET") {
    kube::ApiRequest request{.verb = kube::Verb::kRaw};
    request.raw_method = std::move(method);
    request.raw_path = std::move(path);
    request.accept = std::move(accept);
    return call(std::move(request));
  }

  World world{1};
  StringSink log;
  Metrics metrics;
  KindRegistry kinds;
  Admission admission;
  NameIsToken authenticator;
  AllowAll authorizer;

 private:
  Scope scope_{world.loop("api"), "test"};
  std::unique_ptr<Store> store_;
  std::unique_ptr<Server> server_;
};

// A pod that every server takes.
inline std::string pod_json(std::string_view name, std::string_view more_metadata = "",
                            std::string_view more_spec = "") {
  return fmt::format(R"({{"apiVersion":"v1","kind":"Pod","metadata":{{"name":"{}"{}}},)"
                     R"("spec":{{"containers":[{{"name":"c","image":"i"}}]{}}}}})",
                     name, more_metadata, more_spec);
}

// What it says, or why not.
template <class T>
std::string why_not(const Result<T>& result) {
  return result ? "" : result.error().message;
}

}  // namespace berth::apiserver
