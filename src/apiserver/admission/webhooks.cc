// SPDX-License-Identifier: Apache-2.0
#include "apiserver/admission/webhooks.h"

#include <set>

#include <fmt/format.h>

#include "apiserver/kinds/findings.h"
#include "apiserver/kinds/strategy.h"
#include "json/patch.h"
#include "json/writer.h"
#include "kube/uid.h"

namespace berth::apiserver {

namespace {

constexpr kube::KindId const* kKinds[] = {&kube::kMutatingWebhookConfiguration,
                                          &kube::kValidatingWebhookConfiguration};
constexpr std::size_t kMutating = 0, kValidating = 1;

Error internal(std::string_view why) {
  return {.reason = Reason::kInternalError,
          .message = fmt::format("Internal error occurred: {}", why),
          .causes = {{.reason = "", .message = std::string(why), .field = ""}},
          .about = std::make_shared<const About>()};
}

std::string text_of(AdmissionCall& call) {
  return call.edit != nullptr ? call.edit->text() : json::print(*call.posted);
}

// Brings a patched document into the call. True: it is not what it was.
Result<bool> apply(AdmissionCall& call, const Webhook& hook, const std::string& patch) {
  if (call.edit == nullptr && call.posted == nullptr)
    return tl::unexpected(internal(fmt::format(
        "admission webhook {} attempted to modify the object, which is not supported for this "
        "operation",
        json::quoted(hook.name))));
  const std::string before = text_of(call);
  const auto patched = json::json_patch(before, patch);
  if (!patched) return tl::unexpected(internal(patched.error().message));
  if (call.edit == nullptr) {
    const bool changed = *patched != before;
    json::Arena scratch;
    *call.posted = json::parse_good(*patched, scratch);
    return changed;
  }
  json::Value document = json::parse_good(*patched, call.edit->arena());
  if (!document.is_object()) return tl::unexpected(internal("the patched object is no object"));
  if (const auto unknown = decode(call.row, document); !unknown)
    return tl::unexpected(internal(unknown.error().message));
  json::Arena scratch;
  const bool changed = !same(Peek(document), Peek(json::parse_good(before, scratch)));
  call.edit->replace(std::move(document));
  fill(call.row, *call.edit);
  return changed;
}

}  // namespace

// One request on its way through those that change things.
class ClusterWebhooks::Mutation : public std::enable_shared_from_this<Mutation> {
 public:
  Mutation(ClusterWebhooks& of, AdmissionCall& call, Done<Ok> done)
      : of_(of), call_(call), done_(std::move(done)), hooks_(of.hooks(kMutating)) {}

  void next() {
    for (; at_ < hooks_->size(); ++at_) {
      const Webhook& hook = (*hooks_)[at_];
      if (again_ && to_reinvoke_.count(hook.id) == 0) continue;
      const auto kinds = of_.kinds_.now();
      const auto invocation = invocation_of(hook, call_, of_.store_, *kinds);
      if (!invocation) return done_(tl::unexpected(invocation.error()));
      if (!*invocation) continue;
      of_.ask(**invocation, call_, true,
              of_.scope_.done<std::optional<WebhookVerdict>>(
                  kNoLimit, [self = shared_from_this(), kinds](auto verdict) {
                    self->on_verdict(std::move(verdict));
                  }));
      return;
    }
    if (again_ || !changed_) return done_(Ok{});
    reinvoke();
  }

 private:
  void on_verdict(Result<std::optional<WebhookVerdict>> verdict) {
    if (!verdict) return done_(tl::unexpected(verdict.error()));
    const Webhook& hook = (*hooks_)[at_++];
    if (*verdict) {
      WebhookVerdict& said = **verdict;
      for (std::string& warning : said.warnings) call_.warnings.push_back(std::move(warning));
      if (!said.allowed) return done_(tl::unexpected(std::move(said.denial)));
      if (!said.patch.empty()) {
        const Result<bool> changed = apply(call_, hook, said.patch);
        if (!changed) return done_(tl::unexpected(changed.error()));
        if (*changed) mark_changed();
      }
    }
    if (hook.reinvoke) invoked_.insert(hook.id);
    next();
  }

  void mark_changed() {
    changed_ = true;
    to_reinvoke_.merge(invoked_);
    invoked_.clear();
  }

  // Everybody's once more: the steps, then those webhooks that want to see what became of it.
  void reinvoke() {
    again_ = true;
    const std::string before = text_of(call_);
    for (const auto& step : of_.steps_)
      if (Result<Ok> ok = step->mutate(call_); !ok) return done_(std::move(ok));
    if (text_of(call_) != before) mark_changed();
    at_ = 0;
    next();
  }

  ClusterWebhooks& of_;
  AdmissionCall& call_;
  Done<Ok> done_;
  Hooks hooks_;
  std::size_t at_ = 0;
  bool again_ = false, changed_ = false;
  std::set<std::string> invoked_, to_reinvoke_;
};

// One request before those that judge.
class ClusterWebhooks::Validation : public std::enable_shared_from_this<Validation> {
 public:
  Validation(ClusterWebhooks& of, AdmissionCall& call, Done<Ok> done)
      : of_(of), call_(call), done_(std::move(done)), hooks_(of.hooks(kValidating)) {}

  void start() {
    const auto kinds = of_.kinds_.now();
    std::vector<WebhookInvocation> wanted;
    for (const Webhook& hook : *hooks_) {
      const auto invocation = invocation_of(hook, call_, of_.store_, *kinds);
      if (!invocation) return done_(tl::unexpected(invocation.error()));
      if (*invocation) wanted.push_back(**invocation);
    }
    if (wanted.empty()) return done_(Ok{});
    verdicts_.resize(wanted.size());
    open_ = wanted.size();
    for (std::size_t i = 0; i < wanted.size(); ++i)
      of_.ask(wanted[i], call_, false,
              of_.scope_.done<std::optional<WebhookVerdict>>(
                  kNoLimit, [self = shared_from_this(), kinds, i](auto verdict) {
                    self->verdicts_[i] = std::move(verdict);
                    if (--self->open_ == 0) self->finish();
                  }));
  }

 private:
  // The first refusal counts, in the order of webhooks.
  void finish() {
    std::optional<Error> refusal;
    for (Result<std::optional<WebhookVerdict>>& verdict : verdicts_) {
      if (!verdict) {
        if (!refusal) refusal = verdict.error();
        continue;
      }
      if (!*verdict) continue;
      for (std::string& warning : (*verdict)->warnings)
        call_.warnings.push_back(std::move(warning));
      if (!(*verdict)->allowed && !refusal) refusal = std::move((*verdict)->denial);
    }
    if (refusal) return done_(tl::unexpected(std::move(*refusal)));
    done_(Ok{});
  }

  ClusterWebhooks& of_;
  AdmissionCall& call_;
  Done<Ok> done_;
  Hooks hooks_;
  std::vector<Result<std::optional<WebhookVerdict>>> verdicts_;
  std::size_t open_ = 0;
};

ClusterWebhooks::ClusterWebhooks(Scope& scope, Store& store, const KindRegistry& kinds,
                                 WebhookCaller& caller, Random random,
                                 const std::vector<std::unique_ptr<AdmissionStep>>& steps)
    : scope_(scope), store_(store), kinds_(kinds), caller_(caller), random_(random), steps_(steps) {
  follow(kMutating);
  follow(kValidating);
}

ClusterWebhooks::~ClusterWebhooks() {
  for (const WatchId id : watches_) store_.unwatch(id);
}

void ClusterWebhooks::follow(std::size_t which) {
  watches_[which] = store_.watch({.kind = *kKinds[which], .after = store_.published()}, *this);
  store_.read(watches_[which], 1);
}

void ClusterWebhooks::ready(WatchId id) {
  const std::size_t which = watches_[kMutating] == id ? kMutating : kValidating;
  hooks_[which].reset();
  for (;;) {
    const WatchBatch batch = store_.read(id, 1'000);
    if (batch.end) break;
    if (!batch.more) return;
  }
  store_.unwatch(id);
  follow(which);
}

ClusterWebhooks::Hooks ClusterWebhooks::hooks(std::size_t which) const {
  if (hooks_[which] == nullptr) {
    auto all = std::make_shared<std::vector<Webhook>>();
    if (auto page = store_.list({.kind = *kKinds[which]}))
      for (const kube::Object& configuration : page->items)
        for (Webhook& hook : webhooks_of(configuration)) all->push_back(std::move(hook));
    hooks_[which] = std::move(all);
  }
  return hooks_[which];
}

bool ClusterWebhooks::any(std::size_t which, const AdmissionCall& call) const {
  const Hooks all = hooks(which);
  if (all->empty()) return false;
  const auto kinds = kinds_.now();
  for (const Webhook& hook : *all) {
    const auto invocation = invocation_of(hook, call, store_, *kinds);
    if (!invocation || *invocation) return true;
  }
  return false;
}

bool ClusterWebhooks::mutates(const AdmissionCall& call) const { return any(kMutating, call); }
bool ClusterWebhooks::validates(const AdmissionCall& call) const { return any(kValidating, call); }

void ClusterWebhooks::mutate(AdmissionCall& call, Done<Ok> done) {
  std::make_shared<Mutation>(*this, call, std::move(done))->next();
}
void ClusterWebhooks::validate(AdmissionCall& call, Done<Ok> done) {
  std::make_shared<Validation>(*this, call, std::move(done))->start();
}

void ClusterWebhooks::ask(const WebhookInvocation& invocation, AdmissionCall& call, bool mutating,
                          Done<std::optional<WebhookVerdict>> done) {
  const Webhook& hook = *invocation.hook;
  const auto failed = [ignore = hook.ignore_failure](
                          const Webhook& of,
                          std::string_view why) -> Result<std::optional<WebhookVerdict>> {
    if (ignore) return std::optional<WebhookVerdict>();
    return tl::unexpected(failed_calling(of, why));
  };
  if (call.request.options.dry_run && !hook.dry_runs)
    return done(fail(
        Reason::kBadRequest,
        fmt::format("admission webhook {} does not support dry run", json::quoted(hook.name))));
  if (!hook.problem.empty()) return done(failed(hook, hook.problem));
  const std::string uid = kube::random_uid(random_);
  const auto seconds = std::chrono::ceil<std::chrono::seconds>(hook.timeout).count();
  // `hook` lives as long as those who ask hold their list of hooks.
  caller_.call(hook.target, review_of(invocation, call, uid), hook.timeout,
               scope_.done<std::string>(
                   hook.timeout, [&hook, uid, mutating, failed, seconds,
                                  done = std::move(done)](Result<std::string> reply) mutable {
                     if (!reply) {
                       std::string why = reply.error().message;
                       if (reply.error().reason == Reason::kTimeout)
                         why = fmt::format("Post \"{}?timeout={}s\": context deadline exceeded",
                                           hook.target.url, seconds);
                       return done(failed(hook, "failed to call webhook: " + why));
                     }
                     auto verdict = verdict_of(hook, *reply, uid, mutating);
                     if (!verdict) return done(failed(hook, verdict.error().message));
                     done(std::optional<WebhookVerdict>(std::move(*verdict)));
                   }));
}

namespace {

class WebhookConfigurations final : public AdmissionStep {
 public:
  std::string_view name() const override { return "WebhookConfigurations"; }

  Result<Ok> validate(AdmissionCall& call) override {
    if (call.edit == nullptr || (call.row.id != kube::kMutatingWebhookConfiguration &&
                                 call.row.id != kube::kValidatingWebhookConfiguration))
      return Ok{};
    Findings findings;
    const std::string text = call.edit->text();
    std::size_t i = 0;
    for (const json::Slice hook : json::Slice(text)["webhooks"].elements())
      check_conditions(hook["matchConditions"], fmt::format("webhooks[{}].matchConditions", i++),
                       findings);
    if (findings.empty()) return Ok{};
    return tl::unexpected(findings.error(call.row.kind, call.name));
  }
};

}  // namespace

std::unique_ptr<AdmissionStep> webhook_configurations() {
  return std::make_unique<WebhookConfigurations>();
}

}  // namespace berth::apiserver
