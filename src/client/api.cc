// SPDX-License-Identifier: Apache-2.0
#include "client/api.h"

#include <algorithm>
#include <memory>
#include <utility>

#include <fmt/format.h>

#include "client/request_path.h"
#include "json/writer.h"

namespace berth::client {
namespace {

using kube::ApiReply;
using kube::ApiRequest;
using kube::Verb;

constexpr std::int64_t kPage = 500;
constexpr int kBindTries = 5;
constexpr std::string_view kLostRace = "LostRace";
// A transport keeps deadlines itself and knows what became of the request; this is for one that
// hangs.
constexpr Duration kBackstop = 5s;

bool is_read(const ApiRequest& request) {
  return request.verb == Verb::kGet || request.verb == Verb::kList ||
         (request.verb == Verb::kRaw && request.raw_method == "GET");
}

bool may_repeat(const ApiRequest& request, const Error& error) {
  if (request.verb == Verb::kWatch || error.reason == Reason::kCancelled) return false;
  const bool no_answer = error.reason == Reason::kUnreachable || error.reason == Reason::kTimeout;
  if (error.outcome == Outcome::kNotSent) return no_answer;
  if (error.outcome == Outcome::kUnknown) return no_answer && is_read(request);
  // k8s 1.36: Retry-After counts on 429 and from 500 on.
  const int code = error.code != 0 ? error.code : http_code_of(error.reason);
  return error.retry_after.has_value() && (code == 429 || code >= 500);
}

tl::unexpected<Error> unexpected_reply() {
  return tl::unexpected(Error{.reason = Reason::kInternalError,
                              .message = "the API server's reply is not of the expected form",
                              .outcome = Outcome::kUnknown});
}

ApiRequest request_for(Verb verb, kube::KindId kind, const kube::Key& key,
                       std::string subresource = "", kube::Options options = {}) {
  ApiRequest request;
  request.verb = verb;
  request.kind = kind;
  request.ns = key.ns;
  request.name = key.name;
  request.subresource = std::move(subresource);
  request.options = std::move(options);
  return request;
}

kube::Body json_body(std::string text) {
  return {.bytes = std::make_shared<const std::string>(std::move(text))};
}

}  // namespace

struct Api::Core {
  Scope& scope;
  Transport& transport;
  Random random;
  RateLimiter* limiter;
  RetryPolicy retry;

  Instant now() const { return scope.executor().clock().now(); }
};

// One request, until it is answered or not worth repeating.
class Api::Call : public std::enable_shared_from_this<Api::Call> {
 public:
  Call(std::shared_ptr<Core> core, ApiRequest request, Urgency urgency, Done<ApiReply> done)
      : core_(std::move(core)),
        request_(std::move(request)),
        urgency_(urgency),
        done_(std::move(done)),
        give_up_(core_->now() + core_->retry.overall) {}

  void queue() {
    if (core_->limiter == nullptr) return send();
    core_->limiter->acquire(
        urgency_, give_up_,
        core_->scope.done<Ok>(kNoLimit, [self = shared_from_this()](Result<Ok> r) {
          if (!r) return self->done_(tl::unexpected(std::move(r.error())));
          self->send();
        }));
  }

 private:
  void send() {
    ++attempt_;
    const Duration limit = core_->retry.call_limit;
    Done<ApiReply> reply = core_->scope.done<ApiReply>(
        limit + kBackstop,
        [self = shared_from_this()](Result<ApiReply> r) { self->on_reply(std::move(r)); });
    core_->transport.call(request_, core_->now() + limit, std::move(reply));
  }

  void on_reply(Result<ApiReply> reply) {
    if (reply || !may_repeat(request_, reply.error()) || attempt_ >= core_->retry.attempts)
      return done_(std::move(reply));
    const Duration named = std::max(reply.error().retry_after.value_or(Duration{}), Duration{});
    const Duration wait = named + jitter();
    // The server asks for more patience than we have: the caller may have it.
    if (named > core_->retry.most || core_->now() + wait >= give_up_)
      return done_(std::move(reply));
    core_->scope.after(wait, [self = shared_from_this()] { self->queue(); });
  }

  Duration jitter() {
    Duration bound = core_->retry.first;
    for (int i = 1; i < attempt_ && bound < core_->retry.most; ++i) bound *= 2;
    bound = std::min(bound, core_->retry.most);
    return Duration(
        static_cast<Duration::rep>(static_cast<double>(bound.count()) * core_->random.unit()));
  }

  std::shared_ptr<Core> core_;
  ApiRequest request_;
  Urgency urgency_;
  Done<ApiReply> done_;
  Instant give_up_;
  int attempt_ = 0;
};

// Starts a call whose reply is one alternative of the body; Ok takes any.
template <class T>
void Api::start(const std::shared_ptr<Core>& core, ApiRequest request, Urgency urgency,
                Done<T> done) {
  Done<ApiReply> reply =
      core->scope.done<ApiReply>(kNoLimit, [d = std::move(done)](Result<ApiReply> r) mutable {
        if (!r) return d(tl::unexpected(std::move(r.error())));
        if constexpr (std::is_same_v<T, Ok>) {
          d(Ok{});
        } else if (T* body = std::get_if<T>(&r->body)) {
          d(std::move(*body));
        } else {
          d(unexpected_reply());
        }
      });
  std::make_shared<Call>(core, std::move(request), urgency, std::move(reply))->queue();
}

// One bind, including the case that its reply was lost. k8s 1.36: every refusal is a 409, also
// "already bound"; only the pod itself tells whether that was us.
class Api::Bind : public std::enable_shared_from_this<Api::Bind> {
 public:
  Bind(std::shared_ptr<Core> core, kube::Key pod, std::string_view uid, std::string_view node,
       const std::vector<std::pair<std::string, std::string>>& annotations, Done<Ok> done)
      : core_(std::move(core)),
        pod_(std::move(pod)),
        uid_(uid),
        node_(node),
        done_(std::move(done)) {
    json::Writer w;
    w.object().member("apiVersion").string("v1").member("kind").string("Binding");
    w.member("metadata").object();
    w.member("name").string(pod_.name).member("namespace").string(pod_.ns);
    w.member("uid").string(uid_);
    if (!annotations.empty()) w.member("annotations").object();
    for (const auto& [name, value] : annotations) w.member(name).string(value);
    if (!annotations.empty()) w.end();
    w.end();
    w.member("target").object();
    w.member("apiVersion").string("v1").member("kind").string("Node").member("name").string(node_);
    w.end().end();
    body_ = json_body(w.take());
  }

  void post() {
    ++attempt_;
    ApiRequest request = request_for(Verb::kCreate, kube::kPod, pod_, "binding");
    request.body = body_;
    start<Ok>(core_, std::move(request), Urgency::kBind,
              core_->scope.done<Ok>(kNoLimit, [self = shared_from_this()](Result<Ok> r) {
                self->on_reply(std::move(r));
              }));
  }

 private:
  void on_reply(Result<Ok> reply) {
    const bool in_doubt =
        !reply && reply.error().reason != Reason::kCancelled &&
        (reply.error().outcome == Outcome::kUnknown || reply.error().reason == Reason::kConflict);
    if (!in_doubt) return done_(std::move(reply));
    refusal_ = std::move(reply.error());
    start<kube::Object>(core_, request_for(Verb::kGet, kube::kPod, pod_), Urgency::kBind,
                        core_->scope.done<kube::Object>(
                            kNoLimit, [self = shared_from_this()](Result<kube::Object> r) {
                              self->on_read_back(std::move(r));
                            }));
  }

  void on_read_back(Result<kube::Object> pod) {
    if (!pod && pod.error().reason == Reason::kNotFound)
      return done_(tl::unexpected(std::move(pod.error())));
    if (!pod) {  // still nothing known beyond what the bind itself said
      refusal_.message += "; reading the pod back: " + pod.error().message;
      return done_(tl::unexpected(std::move(refusal_)));
    }
    if (pod->uid() != uid_) return lost("was replaced by another of the same name");
    const std::string node = pod->member("spec")["nodeName"].text();
    if (node == node_) return done_(Ok{});
    if (!node.empty()) return lost(fmt::format("is bound to {}", node));
    const bool never = pod->deleting() || pod->member("spec")["schedulingGates"].size() > 0;
    if (never || attempt_ >= kBindTries) return done_(tl::unexpected(std::move(refusal_)));
    post();
  }

  void lost(std::string_view why) {
    done_(tl::unexpected(Error{.reason = Reason::kConflict,
                               .message = fmt::format("pod {} {}", pod_.text(), why),
                               .causes = {{std::string(kLostRace), "", "spec.nodeName"}}}));
  }

  std::shared_ptr<Core> core_;
  kube::Key pod_;
  std::string uid_, node_;
  kube::Body body_;
  Done<Ok> done_;
  Error refusal_;
  int attempt_ = 0;
};

// Every page of a list, as one list.
class Api::ListAll : public std::enable_shared_from_this<Api::ListAll> {
 public:
  ListAll(std::shared_ptr<Core> core, ApiRequest request, Done<kube::ObjectList> done)
      : core_(std::move(core)), request_(std::move(request)), done_(std::move(done)) {
    asked_ = request_.options;
    if (request_.options.limit == 0) request_.options.limit = kPage;
  }

  void page() {
    start<kube::ObjectList>(core_, request_, Urgency::kStatus,
                            core_->scope.done<kube::ObjectList>(
                                kNoLimit, [self = shared_from_this()](Result<kube::ObjectList> r) {
                                  self->on_page(std::move(r));
                                }));
  }

 private:
  void on_page(Result<kube::ObjectList> page) {
    if (!page) {
      const bool expired =
          page.error().reason == Reason::kExpired || page.error().reason == Reason::kGone;
      if (!expired || request_.options.continue_token.empty())
        return done_(tl::unexpected(std::move(page.error())));
      // The pages' revision was compacted away: all of it in one piece, at one revision.
      all_ = {};
      request_.options = asked_;
      request_.options.limit = 0;
      return this->page();
    }
    if (all_.items.empty()) {
      all_ = std::move(*page);
    } else {
      all_.items.insert(all_.items.end(), std::make_move_iterator(page->items.begin()),
                        std::make_move_iterator(page->items.end()));
      all_.continue_token = std::move(page->continue_token);
    }
    all_.remaining.reset();
    if (all_.continue_token.empty()) return done_(std::move(all_));
    request_.options.continue_token = all_.continue_token;
    // The token carries the revision; naming one beside it is refused.
    request_.options.resource_version.reset();
    request_.options.version_match = kube::VersionMatch::kUnset;
    this->page();
  }

  std::shared_ptr<Core> core_;
  ApiRequest request_;
  kube::Options asked_;
  Done<kube::ObjectList> done_;
  kube::ObjectList all_;
};

Api::Api(Scope& scope, Transport& transport, Random random, RateLimiter* limiter, RetryPolicy retry)
    : core_(std::make_shared<Core>(Core{scope, transport, random, limiter, retry})) {}
Api::~Api() = default;

Transport& Api::transport() { return core_->transport; }

void Api::call(ApiRequest request, Urgency urgency, Done<ApiReply> done) {
  std::make_shared<Call>(core_, std::move(request), urgency, std::move(done))->queue();
}

void Api::get(kube::KindId kind, const kube::Key& key, Done<kube::Object> done,
              std::string subresource) {
  start(core_, request_for(Verb::kGet, kind, key, std::move(subresource)), Urgency::kStatus,
        std::move(done));
}

void Api::list(kube::KindId kind, std::string ns, kube::Options options,
               Done<kube::ObjectList> done) {
  start(core_, request_for(Verb::kList, kind, {std::move(ns), ""}, "", std::move(options)),
        Urgency::kStatus, std::move(done));
}

void Api::list_all(kube::KindId kind, std::string ns, kube::Options options,
                   Done<kube::ObjectList> done) {
  std::make_shared<ListAll>(
      core_, request_for(Verb::kList, kind, {std::move(ns), ""}, "", std::move(options)),
      std::move(done))
      ->page();
}

void Api::create(kube::KindId kind, std::string ns, std::string json, Done<kube::Object> done,
                 kube::Options options, Urgency urgency) {
  ApiRequest request =
      request_for(Verb::kCreate, kind, {std::move(ns), ""}, "", std::move(options));
  request.body = json_body(std::move(json));
  start(core_, std::move(request), urgency, std::move(done));
}

void Api::update(kube::KindId kind, const kube::Key& key, std::string json, Done<kube::Object> done,
                 std::string subresource, kube::Options options, Urgency urgency) {
  ApiRequest request =
      request_for(Verb::kUpdate, kind, key, std::move(subresource), std::move(options));
  request.body = json_body(std::move(json));
  start(core_, std::move(request), urgency, std::move(done));
}

void Api::patch(kube::KindId kind, const kube::Key& key, std::string patch, kube::PatchType type,
                Done<kube::Object> done, std::string subresource, kube::Options options,
                Urgency urgency) {
  ApiRequest request =
      request_for(Verb::kPatch, kind, key, std::move(subresource), std::move(options));
  request.options.patch_type = type;
  request.body = json_body(std::move(patch));
  start(core_, std::move(request), urgency, std::move(done));
}

void Api::erase(kube::KindId kind, const kube::Key& key, Done<Ok> done, kube::Options options) {
  start(core_, request_for(Verb::kDelete, kind, key, "", std::move(options)), Urgency::kStatus,
        std::move(done));
}

void Api::erase_collection(kube::KindId kind, std::string ns, kube::Options options,
                           Done<Ok> done) {
  start(core_,
        request_for(Verb::kDeleteCollection, kind, {std::move(ns), ""}, "", std::move(options)),
        Urgency::kStatus, std::move(done));
}

bool Api::lost_race(const Error& error) {
  for (const Cause& cause : error.causes)
    if (cause.reason == kLostRace) return true;
  return false;
}

void Api::bind(const kube::Key& pod, std::string_view uid, std::string_view node, Done<Ok> done,
               const std::vector<std::pair<std::string, std::string>>& annotations) {
  std::make_shared<Bind>(core_, pod, uid, node, annotations, std::move(done))->post();
}

void Api::evict(const kube::Key& pod, const kube::Options& options, Done<Ok> done) {
  json::Writer w;
  w.object().member("apiVersion").string("policy/v1").member("kind").string("Eviction");
  w.member("metadata").object();
  w.member("name").string(pod.name).member("namespace").string(pod.ns).end();
  if (const std::string how = delete_options(options); !how.empty())
    w.member("deleteOptions").raw(how);
  w.end();
  // What the options ask for stands in the body; the server refuses it as a query.
  ApiRequest request = request_for(Verb::kCreate, kube::kPod, pod, "eviction");
  request.body = json_body(w.take());
  start(core_, std::move(request), Urgency::kStatus, std::move(done));
}

void Api::raw(std::string method, std::string path, std::string body, Done<std::string> done) {
  ApiRequest request;
  request.verb = Verb::kRaw;
  request.raw_method = std::move(method);
  request.raw_path = std::move(path);
  if (!body.empty()) request.body = json_body(std::move(body));
  start(core_, std::move(request), Urgency::kStatus, std::move(done));
}

}  // namespace berth::client
