// SPDX-License-Identifier: Apache-2.0
#include "runtime/kind_finder.h"

#include <algorithm>
#include <iterator>
#include <utility>

namespace berth::runtime {
namespace {

constexpr Duration kWaits[] = {100ms, 1s, 5s, 30s};
constexpr Duration kFirstRetry = 1s, kLastRetry = 30s;

}  // namespace

KindFinder::KindFinder(Scope& scope, client::Transport& transport, Random random,
                       std::function<void(const ServedKinds&)> found)
    : scope_(scope), api_(scope, transport, random), found_(std::move(found)) {}

Done<kube::ApiReply> KindFinder::then(void (KindFinder::*step)(Result<std::string>)) {
  return scope_.done<kube::ApiReply>(kNoLimit, [this, step](Result<kube::ApiReply> reply) {
    if (!reply) return (this->*step)(tl::unexpected(std::move(reply.error())));
    auto* text = std::get_if<std::string>(&reply->body);
    if (text == nullptr) return (this->*step)(invalid("the list of kinds is not readable"));
    (this->*step)(std::move(*text));
  });
}

void KindFinder::look_again() {
  looking_ = true;
  patience_ = 0;
  if (asking_)
    again_ = true;
  else
    ask_in(kWaits[patience_++]);
}

void KindFinder::ask_in(Duration wait) {
  scope_.cancel(timer_);
  timer_ = scope_.after(wait, [this] {
    timer_ = TimerId::kNone;
    ask();
  });
}

void KindFinder::ask() {
  asking_ = true;
  again_ = false;
  api_.call(discovery_request("/api"), client::Urgency::kStatus, then(&KindFinder::on_api));
}

void KindFinder::on_api(Result<std::string> text) {
  if (!text) return failed();
  api_text_ = std::move(*text);
  api_.call(discovery_request("/apis"), client::Urgency::kStatus, then(&KindFinder::on_apis));
}

void KindFinder::on_apis(Result<std::string> text) {
  if (!text) return failed();
  const auto served = served_kinds(api_text_, *text);
  if (!served) return failed();
  asking_ = false;
  after_failure_ = {};
  std::string all = api_text_ + *text;
  if (all != known_) {
    known_ = std::move(all);
    looking_ = false;
    found_(*served);
  }
  if (again_) return look_again();
  if (looking_ && patience_ < std::size(kWaits)) ask_in(kWaits[patience_++]);
}

void KindFinder::failed() {
  asking_ = false;
  if (scope_.closing()) return;
  after_failure_ = std::clamp(after_failure_ * 2, kFirstRetry, kLastRetry);
  ask_in(after_failure_);
}

}  // namespace berth::runtime
