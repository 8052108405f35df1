// SPDX-License-Identifier: Apache-2.0
// The verbs, on top of a Transport: builds requests, retries what is safe to retry, queues behind
// the rate limiter.
#pragma once

#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/random.h"
#include "base/scope.h"
#include "client/rate_limiter.h"
#include "client/transport.h"
#include "kube/api.h"

namespace berth::client {

struct RetryPolicy {
  int attempts = 10;                   // client-go's bound for replies with Retry-After
  Duration first = 100ms, most = 30s;  // doubling with full jitter, on top of Retry-After
  Duration call_limit = 30s;           // each attempt
  Duration overall = 60s;              // no attempt starts later than this after the call
};

// Loop-confined to its scope's executor; it may be destroyed before its calls have ended. Replies
// come as Done fires: never inline. What is retried: a refused request that carries Retry-After
// (any verb; the server did nothing), a request that was never sent, and reads that got no answer.
// A write with outcome kUnknown is handed back as it is; only the caller can tell what it meant. A
// watch is tried once: its owner knows best when to come back.
class Api {
 public:
  // `scope`, `transport` and `limiter` outlive the calls. No limiter: no limit.
  Api(Scope& scope, Transport& transport, Random random, RateLimiter* limiter = nullptr,
      RetryPolicy retry = {});
  ~Api();

  void get(kube::KindId, const kube::Key&, Done<kube::Object>, std::string subresource = "");
  void list(kube::KindId, std::string ns, kube::Options, Done<kube::ObjectList>);  // one page
  void list_all(kube::KindId, std::string ns, kube::Options,
                Done<kube::ObjectList>);  // every page; restarts once unpaged on 410
  void create(kube::KindId, std::string ns, std::string json, Done<kube::Object>,
              kube::Options = {}, Urgency = Urgency::kStatus);
  void update(kube::KindId, const kube::Key&, std::string json, Done<kube::Object>,
              std::string subresource = "", kube::Options = {}, Urgency = Urgency::kStatus);
  void patch(kube::KindId, const kube::Key&, std::string patch, kube::PatchType, Done<kube::Object>,
             std::string subresource = "", kube::Options = {}, Urgency = Urgency::kStatus);
  void erase(kube::KindId, const kube::Key&, Done<Ok>, kube::Options = {});
  void erase_collection(kube::KindId, std::string ns, kube::Options, Done<Ok>);
  // Tells a lost reply from a lost race by reading back. An error with outcome kUnknown means that
  // even this failed; Conflict and NotFound mean that the pod is not ours to bind any more.
  // `annotations`, name and value, are put on the pod in the same write.
  void bind(const kube::Key& pod, std::string_view uid, std::string_view node, Done<Ok>,
            const std::vector<std::pair<std::string, std::string>>& annotations = {});
  // Of an error of bind(): the pod is seen on another node, or replaced by one of the same name.
  static bool lost_race(const Error&);
  void evict(const kube::Key& pod, const kube::Options&, Done<Ok>);
  void raw(std::string method, std::string path, std::string body,
           Done<std::string>);                                 // "/readyz", "/version"
  void call(kube::ApiRequest, Urgency, Done<kube::ApiReply>);  // anything else

  Transport& transport();

 private:
  struct Core;  // what calls in progress share
  class Call;
  class Bind;
  class ListAll;
  template <class T>
  static void start(const std::shared_ptr<Core>&, kube::ApiRequest, Urgency, Done<T>);

  std::shared_ptr<Core> core_;
};

}  // namespace berth::client
