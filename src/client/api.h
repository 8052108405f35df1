// SPDX-License-Identifier: Apache-2.0
// The verbs, on top of a Transport: builds requests, retries what is safe to retry, queues behind
// the rate limiter.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "base/random.h"
#include "base/scope.h"
#include "client/transport.h"
#include "kube/api.h"

namespace berth::client {

class RateLimiter;

// Whose turn it is when the rate limiter holds requests back.
enum class Urgency : unsigned char { kBind, kStatus, kEvent };

struct RetryPolicy {
  int attempts = 10;                   // client-go's bound for replies with Retry-After
  Duration first = 100ms, most = 30s;  // doubling with full jitter, where the server names no time
  Duration call_limit = 30s;           // each attempt
};

// Loop-confined to its scope's executor. Replies come as Done fires: never inline. What is retried:
// a refused request that carries Retry-After (any verb; the server did nothing), Unreachable with
// outcome kNotSent, and reads whatever happened to them. A write with outcome kUnknown is handed
// back as it is; only the caller can tell what it meant.
class Api {
 public:
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
  void bind(const kube::Key& pod, std::string_view uid, std::string_view node,
            Done<Ok>);  // tells a lost reply from a lost race by reading back
  void evict(const kube::Key& pod, kube::Options, Done<Ok>);
  void raw(std::string method, std::string path, std::string body,
           Done<std::string>);                                 // "/readyz", "/version"
  void call(kube::ApiRequest, Urgency, Done<kube::ApiReply>);  // anything else

  Transport& transport() { return transport_; }

 private:
  Scope& scope_;
  Transport& transport_;
  Random random_;
  RateLimiter* limiter_;
  RetryPolicy retry_;
};

}  // namespace berth::client
