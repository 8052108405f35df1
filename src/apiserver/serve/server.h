// SPDX-License-Identifier: Apache-2.0
// The API server behind its doors: takes a request whose user is known, checks rights, routes,
// reads or writes the store, and answers. HTTP is one door to it, the local transport another.
#pragma once

#include <functional>
#include <memory>
#include <string>

#include "apiserver/admission/admission.h"
#include "apiserver/auth/auth.h"
#include "apiserver/kinds/registry.h"
#include "apiserver/serve/traffic.h"
#include "apiserver/store/store.h"
#include "base/log.h"
#include "base/metrics.h"
#include "base/random.h"
#include "kube/api.h"

namespace berth::apiserver {

class Core;

struct ServerParts {
  Store& store;
  KindRegistry& kinds;
  Admission& admission;
  Authenticator& authenticator;
  Authorizer& authorizer;
  Metrics& metrics;
  Logger log;
  Random random;
};

struct ServerOptions {
  json::Limits json = {.max_bytes = std::size_t{3} << 20};  // of bodies
  Duration request_limit = std::chrono::seconds(60);        // of all but watches
  Duration watch_from = std::chrono::minutes(30);    // without timeoutSeconds: this to twice this
  Duration revision_wait = std::chrono::seconds(3);  // for a revision that is still to come
  Duration events_last = std::chrono::hours(1);      // after their last change
  TrafficLimits limits = {};
  std::string address = "";  // where clients reach it, for /api: "10.0.0.1:6443"
};

// Loop-confined to its scope's executor, the store's. That scope, a child of `parent`, is closed
// before the server goes, or its process is dead.
class Server final : public kube::ApiHandler {
 public:
  Server(Scope& parent, ServerParts, ServerOptions = {});
  ~Server() override;

  void handle(kube::ApiRequest, Done<kube::ApiReply>) override;
  // The same for a request from outside, whose user is not known yet.
  void handle(Credentials, kube::ApiRequest, Done<kube::ApiReply>);

  // What answers paths that are no resources: "/version", or everything below "/openapi/". The
  // longest one counts. Only GET reaches it. One that is there already is replaced.
  using Page = std::function<Result<kube::ApiReply>(const kube::ApiRequest&)>;
  void page(std::string path, Page);
  // The same for what does something: only POST reaches it, and it answers when it is done.
  using Deed = std::function<void(const kube::ApiRequest&, Done<kube::ApiReply>)>;
  void deed(std::string path, Deed);
  // What answers a kind that is not stored (TokenReview), or a subresource of one that is
  // ("token"). `posted` is decoded, defaulted and checked; `object` is what the subresource belongs
  // to.
  struct Question {
    const kube::ApiRequest& request;
    json::Value& posted;
    const kube::Object* object;
    json::Arena& arena;
  };
  using Answer = std::function<Result<kube::ApiReply>(Question&)>;
  void answer(kube::KindId, std::string subresource, Answer);
  // Told of every request that may look at objects of a kind, before it is served. A watch keeps
  // what is returned for as long as it lasts.
  using Look = std::function<std::shared_ptr<void>(const kube::ApiRequest&)>;
  void on_look(kube::KindId, Look);

  KindRegistry& kinds();
  Store& store();
  std::size_t open_requests() const;  // not watches; for whoever waits for quiet

 private:
  std::shared_ptr<Core> core_;  // calls in progress keep it
};

}  // namespace berth::apiserver
