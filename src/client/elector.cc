// SPDX-License-Identifier: Apache-2.0
#include "client/elector.h"

#include <algorithm>
#include <utility>

#include <fmt/format.h>

namespace berth::client {

namespace {
constexpr double kJitter = 1.2;                           // k8s 1.36: JitterFactor
constexpr std::int64_t kMostTransitions = 2'147'483'646;  // the field has 32 bits
constexpr std::int64_t kMostSeconds = 1'000'000'000;  // whatever others write, times stay in range

std::int64_t whole_seconds(Duration d) { return (d + 1s - 1ns) / 1s; }
Duration scaled(Duration d, double by) {
  return Duration(static_cast<std::int64_t>(static_cast<double>(d.count()) * by));
}
}  // namespace

bool LeaseRecord::same_claim(const LeaseRecord& o) const {
  return holder == o.holder && lease_seconds == o.lease_seconds && acquired == o.acquired &&
         renewed == o.renewed && transitions == o.transitions;
}

Result<Ok> check(const ElectorSettings& s) {
  if (s.identity.empty()) return invalid("leader election: the identity is empty");
  if (s.lease < 1s) return invalid("leader election: the lease duration must be 1s or more");
  if (s.lease <= s.renew_deadline)
    return invalid("leader election: the lease duration must be greater than the renew deadline");
  if (s.retry <= Duration{}) return invalid("leader election: the retry period must be positive");
  if (s.renew_deadline <= scaled(s.retry, kJitter))
    return invalid("leader election: the renew deadline must be greater than 1.2 retry periods");
  return Ok{};
}

std::string unique_identity(std::string_view host, Random& random) {
  const std::uint64_t a = random.next(), b = random.next();
  return fmt::format("{}_{:08x}-{:04x}-4{:03x}-{:04x}-{:012x}", host, a >> 32, (a >> 16) & 0xffff,
                     a & 0xfff, 0x8000 | ((b >> 48) & 0x3fff), b & 0xffff'ffff'ffff);
}

Elector::Effects Elector::on(const Input& input) {
  out_ = {};
  if (leading_ && input.now >= term_end_) lose();
  std::visit(
      [&](const auto& what) {
        using W = std::decay_t<decltype(what)>;
        if constexpr (std::is_same_v<W, Start>) on_start(input.now);
        if constexpr (std::is_same_v<W, Tick>) on_tick(input);
        if constexpr (std::is_same_v<W, Read>) on_read(input, what);
        if constexpr (std::is_same_v<W, Written>) on_written(input, what);
        if constexpr (std::is_same_v<W, Failed>) on_failed(input, what);
        if constexpr (std::is_same_v<W, Release>) on_release(input);
      },
      input.what);
  if (!releasing_) {
    if (!pending_) out_.wake = next_try_;
    if (leading_) out_.wake = std::min(out_.wake.value_or(term_end_), term_end_);
  }
  return std::move(out_);
}

void Elector::on_start(Instant now) { get(now); }

void Elector::on_tick(const Input& in) {
  if (pending_ || releasing_ || in.now < next_try_) return;
  if (read_first_ || held_by_other(in.now)) return get(in.now);
  claim(in);
}

void Elector::on_read(const Input& in, const Read& read) {
  pending_.reset();
  read_first_ = false;
  if (!read.record) {
    if (leading_) lose();  // somebody removed it: another may have made it anew already
    observed_.reset();
  } else {
    observe(in.now, *read.record);
    if (leading_ && observed_->holder != set_.identity) lose();
  }
  if (releasing_) return give_up(in);
  if (!held_by_other(in.now)) return claim(in);
  // Look again soon enough that a dead leader is followed within lease + retry of its last breath.
  next_try_ = std::min(in.now + pause(), expiry());
}

void Elector::on_written(const Input& in, const Written& written) {
  const Instant sent = pending_ ? pending_->sent : in.now;
  pending_.reset();
  observed_ = written.record;
  observed_at_ = in.now;
  if (observed_->holder != set_.identity) {  // released
    out_.released = true;
    return;
  }
  if (releasing_) return give_up(in);
  term_end_ = sent + set_.renew_deadline;
  next_try_ = in.now + set_.retry;
  if (in.now >= term_end_) {  // ours, but the answer came too late to count on it
    if (leading_) lose();
    next_try_ = in.now;
    return;
  }
  if (!leading_) out_.begin_term = true;
  leading_ = true;
}

void Elector::on_failed(const Input& in, const Failed& failed) {
  const Call::Kind kind = pending_ ? pending_->kind : Call::Kind::kGet;
  pending_.reset();
  read_first_ = true;
  const bool lost_race =
      failed.reason == Reason::kConflict || failed.reason == Reason::kAlreadyExists;
  if (kind == Call::Kind::kUpdate && failed.reason == Reason::kNotFound) {
    if (leading_) lose();
    observed_.reset();
  }
  if (releasing_) {
    if (kind == Call::Kind::kUpdate && lost_race) return get(in.now);
    out_.released = true;
    return;
  }
  if (leading_ && lost_race) return get(in.now);  // perhaps our own write whose reply was lost
  next_try_ = in.now + pause();
}

void Elector::on_release(const Input& in) {
  if (releasing_) return;
  releasing_ = true;
  if (leading_) lose();
  if (!pending_) give_up(in);
}

void Elector::get(Instant now) {
  send(now, {.kind = Call::Kind::kGet, .record = {}, .deadline = {}});
}

void Elector::claim(const Input& in) {
  Call call;
  call.kind = observed_ ? Call::Kind::kUpdate : Call::Kind::kCreate;
  call.record = {.holder = set_.identity,
                 .lease_seconds = whole_seconds(set_.lease),
                 .acquired = in.wall,
                 .renewed = in.wall,
                 .transitions = 0,
                 .revision = 0};
  if (observed_) {
    const bool ours = observed_->holder == set_.identity;
    if (ours) call.record.acquired = observed_->acquired;
    call.record.transitions = std::min(observed_->transitions, kMostTransitions) + (ours ? 0 : 1);
    call.record.revision = observed_->revision;
  }
  send(in.now, std::move(call));
}

void Elector::give_up(const Input& in) {
  if (!observed_ || observed_->holder != set_.identity) {
    out_.released = true;
    return;
  }
  Call call;
  call.kind = Call::Kind::kUpdate;
  call.record = {.holder = "",
                 .lease_seconds = 1,
                 .acquired = in.wall,
                 .renewed = in.wall,
                 .transitions = observed_->transitions,
                 .revision = observed_->revision};
  send(in.now, std::move(call));
}

void Elector::send(Instant now, Call call) {
  call.deadline = now + set_.renew_deadline / 2;  // one lost reply does not cost the term
  if (leading_) call.deadline = std::min(call.deadline, term_end_);
  pending_ = Pending{call.kind, now};
  out_.call = std::move(call);
}

void Elector::observe(Instant now, const LeaseRecord& record) {
  if (!observed_ || !observed_->same_claim(record)) observed_at_ = now;
  observed_ = record;
}

void Elector::lose() {
  leading_ = false;
  out_.begin_term = false;
  out_.end_term = true;
}

bool Elector::held_by_other(Instant now) const {
  return observed_ && !observed_->holder.empty() && observed_->holder != set_.identity &&
         now < expiry();
}

Instant Elector::expiry() const {
  return observed_at_ +
         std::chrono::seconds(std::clamp<std::int64_t>(observed_->lease_seconds, 0, kMostSeconds));
}

// client-go stretches the period by up to 2.2; we shorten it instead, because a follower that looks
// later than one retry period cannot take over within lease + retry.
Duration Elector::pause() { return scaled(set_.retry, 0.9 / (1 + kJitter * random_.unit())); }

}  // namespace berth::client
