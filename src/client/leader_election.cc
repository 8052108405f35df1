// SPDX-License-Identifier: Apache-2.0
#include "client/leader_election.h"

#include <algorithm>
#include <utility>

#include "json/writer.h"
#include "kube/time.h"

namespace berth::client {

using Kind = Elector::Call::Kind;

namespace {
constexpr std::string_view kOurs[] = {"holderIdentity", "leaseDurationSeconds", "acquireTime",
                                      "renewTime", "leaseTransitions"};
}

std::string lease_json(const kube::Key& key, const LeaseRecord& record,
                       const kube::Object& before) {
  json::Writer w;
  w.object().member("apiVersion").string("coordination.k8s.io/v1").member("kind").string("Lease");
  w.member("metadata");
  if (before.valid())
    w.raw(before.metadata().raw());  // with its resourceVersion: the write's precondition
  else
    w.object().member("name").string(key.name).member("namespace").string(key.ns).end();
  w.member("spec").object();
  w.member("holderIdentity").string(record.holder);
  w.member("leaseDurationSeconds").integer(record.lease_seconds);
  w.member("acquireTime").string(kube::micro_time_text(record.acquired));
  w.member("renewTime").string(kube::micro_time_text(record.renewed));
  w.member("leaseTransitions").integer(record.transitions);
  if (before.valid()) {
    const json::Slice spec = before.member("spec");
    for (auto at = spec.members().begin(); at != nullptr; ++at) {
      const auto [name, value] = *at;
      if (std::find(std::begin(kOurs), std::end(kOurs), name) == std::end(kOurs))
        w.member(name).raw(value.raw());
    }
  }
  w.end().end();
  return w.take();
}

LeaseRecord lease_record(const kube::Object& lease) {
  const json::Slice spec = lease.member("spec");
  const auto time = [&](std::string_view name) {
    const auto parsed = kube::parse_time(spec[name].text());
    return parsed ? *parsed : WallTime{};
  };
  return {.holder = spec["holderIdentity"].text(),
          .lease_seconds = spec["leaseDurationSeconds"].integer().value_or(0),
          .acquired = time("acquireTime"),
          .renewed = time("renewTime"),
          .transitions = spec["leaseTransitions"].integer().value_or(0),
          .revision = lease.revision()};
}

LeaderElection::LeaderElection(Scope& parent, Transport& transport, Random random,
                               LeaderElectionOptions options, LeaderCallbacks callbacks)
    : scope_(parent.child("election " + options.name)),
      clock_(parent.executor().clock()),
      transport_(transport),
      options_(std::move(options)),
      callbacks_(std::move(callbacks)),
      elector_(options_.settings, random),
      fence_(*this) {
  BERTH_CHECK(check(options_.settings).has_value(), "unchecked leader election settings");
  if (options_.metrics != nullptr) {
    leading_ = options_.metrics
                   ->gauges("leader_election_master_status",
                            "1 while this process leads, by the name of the lease.", {"name"})
                   .with({options_.name});
    leading_->set(0);
  }
  scope_.on_close([this] {  // the term, a child, has closed by now
    if (term_ != nullptr) term_closed();
    tell(Elector::Release{});
  });
}

void LeaderElection::start() {
  scope_.post([this] { tell(Elector::Start{}); });
}

bool LeaderElection::leads() const { return elector_.leads(clock_.now()); }

void LeaderElection::tell(Elector::What what) {
  perform(elector_.on({.now = clock_.now(), .wall = clock_.wall(), .what = std::move(what)}));
}

void LeaderElection::perform(Elector::Effects effects) {
  if (effects.end_term) end_term();
  if (effects.begin_term) begin_term();
  if (effects.call) send(*effects.call);
  wake_at(effects.wake);
  const std::string holder = elector_.observed() ? elector_.observed()->holder : "";
  if (!holder.empty() && holder != announced_) {
    announced_ = holder;
    if (callbacks_.on_new_leader) callbacks_.on_new_leader(holder);
  }
}

void LeaderElection::begin_term() {
  if (scope_.closing()) return;
  if (term_ != nullptr) {  // the one before is still closing
    begin_again_ = true;
    return;
  }
  term_ = &scope_.child("term");
  if (leading_) leading_->set(1);
  if (callbacks_.on_started) callbacks_.on_started(*term_);
}

void LeaderElection::end_term() {
  begin_again_ = false;
  if (term_ == nullptr || std::exchange(term_closing_, true)) return;
  term_->close(Duration{}, [this] { term_closed(); });
}

void LeaderElection::term_closed() {
  if (term_ == nullptr) return;
  term_ = nullptr;
  term_closing_ = false;
  if (leading_) leading_->set(0);
  if (callbacks_.on_stopped) callbacks_.on_stopped();
  if (std::exchange(begin_again_, false) && leads()) begin_term();
}

void LeaderElection::send(const Elector::Call& call) {
  kube::ApiRequest request;
  request.kind = kube::kLease;
  request.ns = options_.ns;
  request.name = options_.name;
  request.verb = call.kind == Kind::kGet      ? kube::Verb::kGet
                 : call.kind == Kind::kCreate ? kube::Verb::kCreate
                                              : kube::Verb::kUpdate;
  if (call.kind != Kind::kGet) {
    const kube::Object before = call.kind == Kind::kUpdate ? lease_ : kube::Object();
    request.body.bytes = std::make_shared<const std::string>(
        lease_json({options_.ns, options_.name}, call.record, before));
  }
  const Duration limit = call.deadline - clock_.now();
  transport_.call(std::move(request), call.deadline,
                  scope_.done<kube::ApiReply>(limit, [this, kind = call.kind](auto reply) {
                    on_reply(kind, std::move(reply));
                  }));
}

void LeaderElection::on_reply(Kind kind, Result<kube::ApiReply> reply) {
  if (!reply) {
    if (kind == Kind::kGet && reply.error().reason == Reason::kNotFound)
      return tell(Elector::Read{});
    return tell(Elector::Failed{reply.error().reason});
  }
  const auto* lease = std::get_if<kube::Object>(&reply->body);
  if (lease == nullptr || !lease->valid()) return tell(Elector::Failed{Reason::kInternalError});
  lease_ = *lease;
  if (kind == Kind::kGet) return tell(Elector::Read{lease_record(lease_)});
  tell(Elector::Written{lease_record(lease_)});
}

void LeaderElection::wake_at(std::optional<Instant> when) {
  scope_.cancel(timer_);
  timer_ = TimerId::kNone;
  if (!when) return;
  timer_ = scope_.after(
      std::max(*when - clock_.now(), Duration{}), [this] { tell(Elector::Tick{}); },
      Timer::kBackground);
}

void LeaderElection::Fence::call(kube::ApiRequest request, Instant deadline,
                                 Done<kube::ApiReply> done) {
  if (!election_.leads())
    return done(tl::unexpected(Error{.reason = Reason::kCancelled,
                                     .message = "this process does not lead any more",
                                     .outcome = Outcome::kNotSent}));
  election_.transport_.call(std::move(request), std::min(deadline, election_.term_end()),
                            std::move(done));
}

}  // namespace berth::client
