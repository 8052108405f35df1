// SPDX-License-Identifier: Apache-2.0
#include "runtime/performing.h"

#include <fmt/format.h>

#include "json/slice.h"
#include "json/writer.h"

namespace berth::runtime {
namespace {

using kube::Options;

constexpr Duration kAskLimit = 60s;

class Performing : public std::enable_shared_from_this<Performing> {
 public:
  Performing(const Means& means, Plan plan, Fn<void(Performed)> end)
      : means_(means), actions_(std::move(plan.actions())), end_(std::move(end)) {}

  void next() {
    if (at_ == actions_.size()) return finish();
    std::visit([this](auto& action) { start(action); }, actions_[at_]);
  }

 private:
  template <class T>
  Done<T> then(void (Performing::*step)(Result<T>)) {
    return means_.scope.done<T>(kNoLimit, [self = shared_from_this(), step](Result<T> r) {
      ((*self).*step)(std::move(r));
    });
  }
  const Target& target() const { return *target_of(actions_[at_]); }
  void advance() {
    ++at_;
    next();
  }

  void start(CreateAction& a) {
    means_.api.create(a.target.kind, a.target.key.ns, std::move(a.json),
                      then(&Performing::created));
  }
  void start(PatchAction& a) {
    means_.api.patch(a.target.kind, a.target.key, pinned_patch(a), a.type,
                     then(&Performing::patched), a.subresource);
  }
  void start(EraseAction& a) {
    Options options;
    options.propagation = a.propagation;
    options.grace_period_seconds = a.grace_seconds;
    options.precondition_uid = a.target.uid;
    if (a.pin == Pin::kRevision) options.precondition_revision = std::to_string(a.target.revision);
    means_.api.erase(a.target.kind, a.target.key, then(&Performing::erased), options);
  }
  void start(UpdateAction& a) {
    means_.api.update(a.target.kind, a.target.key, a.json, then(&Performing::patched),
                      a.subresource);
  }
  void start(EraseAllAction& a) {
    Options options;
    options.propagation = a.propagation;
    means_.api.erase_collection(a.kind, a.ns, options, then(&Performing::erased_all));
  }
  void start(EvictAction& a) {
    Options options;
    options.precondition_uid = a.target.uid;
    options.grace_period_seconds = a.grace_seconds;
    means_.api.evict(a.target.key, options, then(&Performing::erased));
  }
  void start(EventAction& a) {
    means_.events.event(a.regarding, std::move(a.note));
    means_.scope.post([self = shared_from_this()] { self->advance(); });
  }
  void start(AskAction& a) {
    if (auto* read = std::get_if<kube::ApiRequest>(&a.question))
      return means_.api.call(std::move(*read), client::Urgency::kStatus, then(&Performing::read));
    Done<std::string> done = means_.scope.done<std::string>(
        kAskLimit,
        [self = shared_from_this()](Result<std::string> r) { self->told(std::move(r)); });
    if (!means_.ask)
      return done(fail(Reason::kMethodNotAllowed, "nobody answers questions in this home"));
    means_.ask(a.name, std::get<std::string>(a.question), std::move(done));
  }

  void created(Result<Object> reply) {
    if (reply) return wrote(*reply);
    if (reply.error().reason == Reason::kAlreadyExists) {
      // Ours, made by a run whose answer was lost, or somebody's: what the cache will show decides.
      performed_.outdated = !means_.caches.holds({Wait::For::kPresent, target()});
      performed_.waits.push_back({Wait::For::kPresent, target()});
      return failed(std::move(reply.error()));
    }
    refused(std::move(reply.error()));
  }

  void patched(Result<Object> reply) {
    if (reply) return wrote(*reply);
    refused(std::move(reply.error()));
  }

  void wrote(const Object& object) {
    Target seen = target();
    seen.revision = object.revision();
    performed_.waits.push_back({Wait::For::kSeen, std::move(seen)});
    advance();
  }

  void erased(Result<Ok> reply) {
    if (!reply && reply.error().reason != Reason::kNotFound)
      return refused(std::move(reply.error()));
    performed_.waits.push_back({Wait::For::kGone, target()});
    advance();
  }

  void erased_all(Result<Ok> reply) {
    Answer answer{.at = wall()};
    if (!reply) answer.error = std::move(reply.error());
    answered(std::get<EraseAllAction>(actions_[at_]).name, std::move(answer));
  }

  void refused(Error error) {
    const auto* patch = std::get_if<PatchAction>(&actions_[at_]);
    if (std::holds_alternative<CreateAction>(actions_[at_])) {
      if (error.outcome == Outcome::kUnknown) return read_back(std::move(error));
      return failed(std::move(error));
    }
    if (error.reason == Reason::kConflict) {
      performed_.outdated = true;
      performed_.waits.push_back({Wait::For::kMoved, target()});
      return failed(std::move(error));
    }
    if (error.reason == Reason::kNotFound) {
      performed_.outdated = true;
      performed_.waits.push_back({Wait::For::kGone, target()});
      return failed(std::move(error));
    }
    // k8s 1.36: a patch that names another uid is Invalid, and so is a failed test of a JSON patch.
    if (error.outcome == Outcome::kUnknown || (patch && error.reason == Reason::kInvalid))
      return read_back(std::move(error));
    failed(std::move(error));
  }

  void read_back(Error error) {
    if (error.reason == Reason::kCancelled) return failed(std::move(error));
    lost_ = std::move(error);
    means_.api.get(target().kind, target().key, then(&Performing::on_read_back));
  }

  void on_read_back(Result<Object> object) {
    Target now = target();
    if (object) {
      performed_.outdated = object->uid() != now.uid || object->revision() != now.revision;
      now.revision = object->revision();
      performed_.waits.push_back({Wait::For::kSeen, std::move(now)});
    } else if (object.error().reason == Reason::kNotFound && !now.uid.empty()) {
      performed_.outdated = true;
      performed_.waits.push_back({Wait::For::kGone, std::move(now)});
    }
    failed(std::move(lost_));
  }

  void read(Result<kube::ApiReply> reply) {
    Answer answer{.at = wall()};
    if (!reply) {
      answer.error = std::move(reply.error());
    } else if (auto* object = std::get_if<Object>(&reply->body)) {
      answer.objects.push_back(std::move(*object));
    } else if (auto* list = std::get_if<kube::ObjectList>(&reply->body)) {
      answer.objects = std::move(list->items);
      answer.revision = list->revision;
      answer.more = !list->continue_token.empty();
    } else if (auto* text = std::get_if<std::string>(&reply->body)) {
      answer.text = std::move(*text);
    }
    answered(std::get<AskAction>(actions_[at_]).name, std::move(answer));
  }

  void told(Result<std::string> reply) {
    Answer answer{.at = wall()};
    if (reply)
      answer.text = std::move(*reply);
    else
      answer.error = std::move(reply.error());
    answered(std::get<AskAction>(actions_[at_]).name, std::move(answer));
  }

  void answered(std::string question, Answer answer) {
    performed_.answers.emplace_back(std::move(question), std::move(answer));
    advance();
  }

  void failed(Error error) {
    performed_.failed = FailedAction{std::move(actions_[at_]), std::move(error)};
    finish();
  }
  void finish() { end_(std::move(performed_)); }
  WallTime wall() const { return means_.scope.executor().clock().wall(); }

  Means means_;
  std::vector<Action> actions_;
  Fn<void(Performed)> end_;
  std::size_t at_ = 0;
  Performed performed_;
  Error lost_;
};

}  // namespace

std::string pinned_patch(const PatchAction& action) {
  const std::string revision = std::to_string(action.target.revision);
  json::Writer w;
  if (action.type == kube::PatchType::kJson) {
    w.array();
    const auto test = [&](std::string_view path, std::string_view value) {
      w.object().member("op").string("test").member("path").string(path);
      w.member("value").string(value).end();
    };
    test("/metadata/uid", action.target.uid);
    if (action.pin == Pin::kRevision) test("/metadata/resourceVersion", revision);
    for (const json::Slice step : json::Slice(action.patch).elements()) w.raw(step.raw());
    w.end();
    return w.take();
  }
  const json::Slice patch{std::string_view(action.patch)};
  w.object().member("metadata").object().member("uid").string(action.target.uid);
  if (action.pin == Pin::kRevision) w.member("resourceVersion").string(revision);
  for (auto at = patch["metadata"].members().begin(); at != nullptr; ++at)
    w.member((*at).key).raw((*at).value.raw());
  w.end();
  for (auto at = patch.members().begin(); at != nullptr; ++at)
    if ((*at).key != "metadata") w.member((*at).key).raw((*at).value.raw());
  w.end();
  return w.take();
}

void perform(const Means& means, Plan plan, Fn<void(Performed)> end) {
  auto performing = std::make_shared<Performing>(means, std::move(plan), std::move(end));
  means.scope.post([performing] { performing->next(); });
}

}  // namespace berth::runtime
