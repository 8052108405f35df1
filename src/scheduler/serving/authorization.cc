// SPDX-License-Identifier: Apache-2.0
#include "scheduler/serving/authorization.h"

#include <algorithm>

#include <fmt/format.h>

#include "json/writer.h"

namespace berth::scheduler {
namespace {

constexpr Duration kReviewLimit = 10s;
constexpr std::size_t kMostCached = 10'000;  // bytes of one question

std::string_view without_slash(std::string_view path) {
  return path.starts_with('/') ? path.substr(1) : path;
}

void write_texts(json::Writer& w, const std::vector<std::string>& texts) {
  w.array();
  for (const std::string& text : texts) w.string(text);
  w.end();
}

std::string spec_of(const UserInfo& user, std::string_view verb, std::string_view path) {
  json::Writer w;
  w.object().member("nonResourceAttributes").object();
  w.member("path").string(path).member("verb").string(verb).end();
  w.member("user").string(user.name);
  if (!user.uid.empty()) w.member("uid").string(user.uid);
  if (!user.groups.empty()) write_texts(w.member("groups"), user.groups);
  if (!user.extra.empty()) {
    w.member("extra").object();
    for (const auto& [key, values] : user.extra) write_texts(w.member(key), values);
    w.end();
  }
  w.end();
  return w.take();
}

}  // namespace

Result<Ok> check(const AuthorizationOptions& options) {
  for (const std::string& path : options.always_allow_paths)
    if (const std::size_t star = path.find('*'); star != path.npos && star + 1 != path.size())
      return invalid(fmt::format(
          "--authorization-always-allow-paths: '{}': * is understood at the end only", path));
  return Ok{};
}

Authorizer::Authorizer(Scope& scope, client::Transport* transport, Random random,
                       AuthorizationOptions options, const Logger& log)
    : scope_(scope),
      options_(std::move(options)),
      log_(log),
      limiter_(scope, {.qps = 200, .burst = 400}) {
  for (const std::string& listed : options_.always_allow_paths) {
    std::string_view path = without_slash(listed);
    if (path.ends_with('*'))
      prefixes_.emplace_back(path.substr(0, path.size() - 1));
    else
      paths_.emplace(path);
  }
  if (transport != nullptr)
    api_ = std::make_unique<client::Api>(
        scope_, *transport, random.fork("reviews"), &limiter_,
        client::RetryPolicy{
            .attempts = 5, .first = 500ms, .call_limit = kReviewLimit, .overall = kReviewLimit});
}

bool Authorizer::open(const UserInfo& user, std::string_view path) const {
  const auto& groups = options_.always_allow_groups;
  for (const std::string& group : user.groups)
    if (std::find(groups.begin(), groups.end(), group) != groups.end()) return true;
  path = without_slash(path);
  return paths_.contains(path) ||
         std::any_of(prefixes_.begin(), prefixes_.end(),
                     [&](const std::string& prefix) { return path.starts_with(prefix); });
}

void Authorizer::authorize(const UserInfo& user, std::string_view verb, std::string_view path,
                           Done<Verdict> done) {
  if (open(user, path)) return done(Verdict{.allowed = true});
  if (!api_) return done(Verdict{});
  const std::string spec = spec_of(user, verb, path);
  if (const auto* known = verdicts_.find(spec, scope_.executor().clock().now()))
    return done(*known);
  auto& waiting = asking_[spec];
  waiting.push_back(std::move(done));
  if (waiting.size() > 1) return;
  json::Writer w;
  w.object().member("kind").string("SubjectAccessReview");
  w.member("apiVersion").string("authorization.k8s.io/v1").member("spec").raw(spec).end();
  api_->create(kube::kSubjectAccessReview, "", w.take(),
               scope_.done<kube::Object>(kReviewLimit, [this, spec](Result<kube::Object> review) {
                 on_review(spec, std::move(review));
               }));
}

void Authorizer::on_review(const std::string& spec, Result<kube::Object> review) {
  Result<Verdict> verdict = Verdict{};
  if (review) {
    const json::Slice status = review->status();
    const bool allowed = status["allowed"].boolean(), denied = status["denied"].boolean();
    verdict->reason = status["reason"].text();
    verdict->allowed = allowed && !denied;
    if (allowed && denied)
      verdict = fail(Reason::kInternalError, "the access review says both allowed and denied");
    if (spec.size() <= kMostCached)
      verdicts_.put(spec, verdict, scope_.executor().clock().now(),
                    allowed ? options_.allow_ttl : options_.deny_ttl);
  } else {
    log_.warn("access could not be reviewed", {{"why", review.error().message}});
    verdict = tl::unexpected(std::move(review.error()));
  }
  auto waiting = std::move(asking_[spec]);
  asking_.erase(spec);
  for (Done<Verdict>& done : waiting) done(verdict);
}

}  // namespace berth::scheduler
