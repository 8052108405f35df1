// SPDX-License-Identifier: Apache-2.0
#include "gateway/auth.h"

#include <algorithm>

#include <fmt/format.h>

#include "gateway/reviews.h"
#include "net/tls.h"

namespace berth::gateway {
namespace {

template <class T>
struct Kept {
  Instant until;
  Result<T> answer;
};

// Lets go of what is stale, then of what would be soonest, so that strangers cannot fill it.
template <class Map>
void make_room(Map& map, std::size_t most, Instant now) {
  if (map.size() < most) return;
  std::erase_if(map, [now](const auto& entry) { return entry.second.until <= now; });
  while (map.size() >= most)
    map.erase(std::min_element(map.begin(), map.end(), [](const auto& a, const auto& b) {
      return a.second.until < b.second.until;
    }));
}

tl::unexpected<Error> unauthorized() { return fail(Reason::kUnauthorized, "Unauthorized"); }

Identity identity_of(const net::PeerIdentity& certificate) {
  Identity identity;
  identity.user.name = certificate.common_name;
  identity.user.uid = certificate.uid;
  identity.user.groups = certificate.organizations;
  identity.user.groups.emplace_back("system:authenticated");
  identity.user.extra["authentication.kubernetes.io/credential-id"] = {"X509SHA256=" +
                                                                       certificate.sha256};
  identity.key = "certificate:" + certificate.sha256;
  return identity;
}

}  // namespace

struct Auth::State : std::enable_shared_from_this<State> {
  State(Scope& home, client::Transport& way, Metrics& metrics, AuthOptions given)
      : scope(home),
        transport(way),
        options(std::move(given)),
        reviews(metrics.counters("berth_reviews_total",
                                 "Reviews asked of the API server, by kind and result",
                                 {"kind", "result"})) {}

  Instant now() const { return scope.executor().clock().now(); }
  WallTime wall() const { return scope.executor().clock().wall(); }
  bool over(const Identity& identity) const {
    return identity.expires && *identity.expires <= wall();
  }
  void call(kube::ApiRequest request, Fn<void(Result<kube::ApiReply>)> then);
  void review(const std::string& token, const std::string& key, Done<Identity> done);
  void reviewed(const std::string& key, const std::string& token, Result<kube::ApiReply>);
  void ask(const Identity&, const Access&, Done<Ok>);
  void recheck();
  void rechecked(const std::string& key, const Result<Identity>&);
  void end(StreamGuard&, Error);
  void arm();

  Scope& scope;
  client::Transport& transport;
  AuthOptions options;
  Labelled<Counter> reviews;
  std::map<std::string, Kept<Identity>> identities;
  std::map<std::string, std::vector<Done<Identity>>> waiting;
  std::map<std::pair<std::string, Access>, Kept<Ok>> accesses;

  struct Held {
    std::string token;
    Identity identity;
    Instant confirmed;
    std::vector<StreamGuard*> guards;
  };
  std::map<std::string, Held> held;
  bool armed = false;
};

class Auth::StreamGuard final : public Guard {
 public:
  StreamGuard(std::shared_ptr<State> state, std::string of, std::vector<Access> wanted,
              Fn<void(Error)> then)
      : state_(std::move(state)),
        key(std::move(of)),
        accesses(std::move(wanted)),
        ended(std::make_shared<Fn<void(Error)>>(std::move(then))) {}
  ~StreamGuard() override {
    const auto at = state_->held.find(key);
    if (at == state_->held.end()) return;
    std::erase(at->second.guards, this);
    if (at->second.guards.empty()) state_->held.erase(at);
  }
  void add(Access access) override {
    if (std::find(accesses.begin(), accesses.end(), access) == accesses.end())
      accesses.push_back(std::move(access));
  }

 private:
  std::shared_ptr<State> state_;

 public:
  const std::string key;
  std::vector<Access> accesses;
  std::shared_ptr<Fn<void(Error)>> ended;  // emptied when called
};

void Auth::State::call(kube::ApiRequest request, Fn<void(Result<kube::ApiReply>)> then) {
  transport.call(std::move(request), now() + options.call_limit,
                 scope.done<kube::ApiReply>(options.call_limit, std::move(then)));
}

void Auth::State::review(const std::string& token, const std::string& key, Done<Identity> done) {
  auto& queue = waiting[key];
  queue.push_back(std::move(done));
  if (queue.size() > 1) return;
  call(token_review(token, options.audiences),
       [self = shared_from_this(), key, token](Result<kube::ApiReply> reply) {
         self->reviewed(key, token, std::move(reply));
       });
}

void Auth::State::reviewed(const std::string& key, const std::string& token,
                           Result<kube::ApiReply> reply) {
  Result<Identity> answer = unauthorized();
  if (const auto user = reviewed_user(reply, options.audiences); !user) {
    answer = tl::unexpected(user.error());
  } else if (*user) {
    answer = Identity{.user = **user, .key = key, .expires = token_end(token)};
    if (over(*answer)) answer = unauthorized();
  }
  const bool refused = !answer && answer.error().reason == Reason::kUnauthorized;
  reviews.with({"token", answer ? "valid" : refused ? "invalid" : "failed"}).add();
  // That nobody could be asked is not worth remembering.
  if (answer || refused) {
    make_room(identities, options.most_kept, now());
    identities.insert_or_assign(
        key, Kept<Identity>{now() + (answer ? options.keep_valid : options.keep_invalid), answer});
  }
  auto queue = waiting.extract(key);
  for (Done<Identity>& done : queue.mapped()) done(answer);
}

void Auth::State::ask(const Identity& identity, const Access& access, Done<Ok> done) {
  // shared, because a Done is no copyable capture of what comes back twice.
  auto waiter = std::make_shared<Done<Ok>>(std::move(done));
  call(access_review(identity.user, access), [self = shared_from_this(), identity, access,
                                              waiter](Result<kube::ApiReply> reply) {
    const Result<AccessVerdict> verdict = reviewed_access(reply);
    self->reviews.with({"access", !verdict           ? "failed"
                                  : verdict->allowed ? "allowed"
                                                     : "denied"})
        .add();
    if (!verdict) return (*waiter)(tl::unexpected(verdict.error()));
    Result<Ok> answer = Ok{};
    if (!verdict->allowed)
      answer =
          tl::unexpected(kube::forbidden(identity.user.name, access.attempt(), verdict->reason));
    if (access.reads()) {
      make_room(self->accesses, 4 * self->options.most_kept, self->now());
      self->accesses.insert_or_assign({identity.key, access},
                                      Kept<Ok>{self->now() + self->options.keep_access, answer});
    }
    (*waiter)(std::move(answer));
  });
}

void Auth::State::arm() {
  if (armed || held.empty()) return;
  armed = true;
  scope.after(
      options.recheck,
      [self = shared_from_this()] {
        self->armed = false;
        self->recheck();
        self->arm();
      },
      Timer::kBackground);
}

void Auth::State::recheck() {
  for (const auto& [key, one] : held) {
    if (one.token.empty())
      rechecked(key, one.identity);
    else
      review(one.token, key,
             scope.done<Identity>(
                 kNoLimit, [self = shared_from_this(), key = key](const Result<Identity>& answer) {
                   self->rechecked(key, answer);
                 }));
  }
}

void Auth::State::rechecked(const std::string& key, const Result<Identity>& answer) {
  const auto at = held.find(key);
  if (at == held.end()) return;
  Held& one = at->second;
  const bool refused = !answer && answer.error().reason == Reason::kUnauthorized;
  if (refused || over(one.identity) || now() - one.confirmed > options.doubt) {
    for (StreamGuard* guard : one.guards) end(*guard, unauthorized().value());
    return;
  }
  if (!answer) return;
  one.confirmed = now();
  std::vector<Access> all;
  for (const StreamGuard* guard : one.guards)
    all.insert(all.end(), guard->accesses.begin(), guard->accesses.end());
  std::sort(all.begin(), all.end());
  all.erase(std::unique(all.begin(), all.end()), all.end());
  for (const Access& access : all)
    ask(one.identity, access,
        scope.done<Ok>(kNoLimit, [self = shared_from_this(), key,
                                  access](const Result<Ok>& allowed) {
          const auto still = self->held.find(key);
          if (allowed || allowed.error().reason != Reason::kForbidden || still == self->held.end())
            return;
          for (StreamGuard* guard : still->second.guards)
            if (std::find(guard->accesses.begin(), guard->accesses.end(), access) !=
                guard->accesses.end())
              self->end(*guard, allowed.error());
        }));
}

// Its owner may drop it there and then.
void Auth::State::end(StreamGuard& guard, Error why) {
  scope.post([ended = guard.ended, why = std::move(why)]() mutable {
    if (*ended) std::exchange(*ended, nullptr)(std::move(why));
  });
}

Auth::Auth(Scope& scope, client::Transport& transport, Metrics& metrics, AuthOptions options)
    : state_(std::make_shared<State>(scope, transport, metrics, std::move(options))) {}

Auth::~Auth() = default;

void Auth::who(const Proof& proof, Done<Identity> done) {
  if (proof.token.empty())
    return done(proof.certificate ? Result<Identity>(identity_of(*proof.certificate))
                                  : unauthorized());
  const std::string key = "token:" + net::sha256_hex(proof.token);
  const auto at = state_->identities.find(key);
  if (at != state_->identities.end() && at->second.until > state_->now()) {
    const Result<Identity>& known = at->second.answer;
    return done(known && state_->over(*known) ? unauthorized() : known);
  }
  state_->review(proof.token, key, std::move(done));
}

void Auth::may(const Identity& identity, const Access& access, Done<Ok> done) {
  if (access.reads()) {
    const auto at = state_->accesses.find({identity.key, access});
    if (at != state_->accesses.end() && at->second.until > state_->now())
      return done(at->second.answer);
  }
  state_->ask(identity, access, std::move(done));
}

void Auth::may(const Identity& identity, std::vector<Access> accesses, Done<Ok> done) {
  if (accesses.empty()) return done(Ok{});
  const Access next = std::move(accesses.back());
  accesses.pop_back();
  auto rest = std::make_shared<Done<Ok>>(std::move(done));
  may(identity, next,
      state_->scope.done<Ok>(kNoLimit, [this, identity, accesses = std::move(accesses),
                                        rest](const Result<Ok>& allowed) {
        if (!allowed) return (*rest)(allowed);
        may(identity, accesses, std::move(*rest));
      }));
}

std::unique_ptr<Auth::Guard> Auth::guard(const Proof& proof, const Identity& identity,
                                         std::vector<Access> accesses, Fn<void(Error)> ended) {
  auto guard =
      std::make_unique<StreamGuard>(state_, identity.key, std::move(accesses), std::move(ended));
  auto [at, fresh] =
      state_->held.try_emplace(identity.key, State::Held{proof.token, identity, state_->now(), {}});
  at->second.guards.push_back(guard.get());
  state_->arm();
  return guard;
}

std::size_t Auth::kept() const { return state_->identities.size() + state_->accesses.size(); }

}  // namespace berth::gateway
