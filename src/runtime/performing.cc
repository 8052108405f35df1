// SPDX-License-Identifier: Apache-2.0
#include "runtime/performing.h"

#include <fmt/format.h>

#include "json/slice.h"
#include "json/writer.h"

namespace berth::runtime {
namespace {

using kube::Options;

constexpr Duration kAskLimit = 60s;

// Turn after turn. A turn is one action, or several of one kind that need not wait for each other:
// creates, of which each turn has twice as many as the one before, so that a quota or a webhook
// that refuses them all is asked once and not five hundred times (k8s 1.36: slow start), erases,
// and posts.
class Performing : public std::enable_shared_from_this<Performing> {
 public:
  Performing(const Means& means, Plan plan, Fn<void(Performed)> end)
      : means_(means), actions_(std::move(plan.actions())), end_(std::move(end)) {}

  void begin() {
    tell_events(0);
    while (at_ < actions_.size() && is_event(at_)) ++at_;
    next();
  }

 private:
  void next() {
    if (at_ == actions_.size()) return end_(std::move(performed_));
    const bool creates = std::holds_alternative<CreateAction>(actions_[at_]);
    turn_end_ = end_of_turn(creates ? together_ : actions_.size());
    together_ = creates ? 2 * together_ : 1;
    const std::size_t first = at_, last = turn_end_;
    for (std::size_t i = first; i < last; ++i) open_ += is_event(i) ? 0 : 1;
    for (std::size_t i = first; i < last; ++i)
      if (!is_event(i)) std::visit([this, i](auto& action) { start(i, action); }, actions_[i]);
  }

  struct Failure {
    std::size_t at;
    Error error;
    bool outdated;
  };

  bool is_event(std::size_t i) const { return std::holds_alternative<EventAction>(actions_[i]); }
  // Of at most so many writes; what they tell belongs to them.
  std::size_t end_of_turn(std::size_t most) const {
    const Action& first = actions_[at_];
    const bool posts = std::holds_alternative<PostAction>(first);
    const bool alone = !posts && !std::holds_alternative<CreateAction>(first) &&
                       !std::holds_alternative<EraseAction>(first);
    std::size_t i = at_ + 1;
    for (std::size_t writes = 1; i < actions_.size(); ++i) {
      if (is_event(i)) continue;
      if (alone || actions_[i].index() != first.index()) break;
      if (!posts && target(i).kind != target(at_).kind) break;
      if (++writes > most) break;
    }
    return i;
  }
  // Those that stand at `i`.
  void tell_events(std::size_t i) {
    for (; i < actions_.size() && is_event(i); ++i) {
      auto& event = std::get<EventAction>(actions_[i]);
      means_.events.event(event.regarding, std::move(event.note));
    }
  }

  template <class T>
  Done<T> then(std::size_t i, void (Performing::*step)(std::size_t, Result<T>)) {
    return means_.scope.done<T>(kNoLimit, [self = shared_from_this(), i, step](Result<T> r) {
      ((*self).*step)(i, std::move(r));
    });
  }
  const Target& target(std::size_t i) const { return *target_of(actions_[i]); }

  void start(std::size_t i, CreateAction& a) {
    means_.api.create(a.target.kind, a.target.key.ns, std::move(a.json),
                      then(i, &Performing::created));
  }
  void start(std::size_t i, PatchAction& a) {
    means_.api.patch(a.target.kind, a.target.key, pinned_patch(a), a.type,
                     then(i, &Performing::patched), a.subresource);
  }
  void start(std::size_t i, EraseAction& a) {
    Options options;
    options.propagation = a.propagation;
    options.grace_period_seconds = a.grace_seconds;
    options.precondition_uid = a.target.uid;
    if (a.pin == Pin::kRevision) options.precondition_revision = std::to_string(a.target.revision);
    means_.api.erase(a.target.kind, a.target.key, then(i, &Performing::erased), options);
  }
  void start(std::size_t i, UpdateAction& a) {
    means_.api.update(a.target.kind, a.target.key, a.json, then(i, &Performing::patched),
                      a.subresource);
  }
  void start(std::size_t i, EraseAllAction& a) {
    Options options;
    options.propagation = a.propagation;
    means_.api.erase_collection(a.kind, a.ns, options, then(i, &Performing::erased_all));
  }
  void start(std::size_t i, EvictAction& a) {
    Options options;
    options.precondition_uid = a.target.uid;
    options.grace_period_seconds = a.grace_seconds;
    means_.api.evict(a.target.key, options, then(i, &Performing::erased));
  }
  void start(std::size_t, EventAction&) {}
  void start(std::size_t i, AskAction& a) {
    if (auto* read = std::get_if<kube::ApiRequest>(&a.question))
      return means_.api.call(std::move(*read), client::Urgency::kStatus,
                             then(i, &Performing::read));
    Done<std::string> done = means_.scope.done<std::string>(
        kAskLimit,
        [self = shared_from_this(), i](Result<std::string> r) { self->told(i, std::move(r)); });
    if (!means_.ask)
      return done(fail(Reason::kMethodNotAllowed, "nobody answers questions in this home"));
    means_.ask(a.name, std::get<std::string>(a.question), std::move(done));
  }

  void start(std::size_t i, PostAction& a) {
    means_.api.raw("POST", a.path, "",
                   means_.scope.done<std::string>(
                       a.limit, [self = shared_from_this(), i](Result<std::string> r) {
                         self->told(i, std::move(r));
                       }));
  }

  void created(std::size_t i, Result<Object> reply) {
    if (reply) return wrote(i, *reply);
    if (reply.error().reason == Reason::kAlreadyExists) {
      // Ours, made by a run whose answer was lost, or somebody's: what the cache will show decides.
      const bool outdated = !means_.caches.holds({Wait::For::kPresent, target(i)});
      performed_.waits.push_back({Wait::For::kPresent, target(i)});
      return failed(i, std::move(reply.error()), outdated);
    }
    refused(i, std::move(reply.error()));
  }

  void patched(std::size_t i, Result<Object> reply) {
    if (reply) return wrote(i, *reply);
    refused(i, std::move(reply.error()));
  }

  void wrote(std::size_t i, const Object& object) {
    Target seen = target(i);
    seen.revision = object.revision();
    performed_.waits.push_back({Wait::For::kSeen, std::move(seen)});
    done(i);
  }

  void erased(std::size_t i, Result<Ok> reply) {
    if (!reply && reply.error().reason != Reason::kNotFound)
      return refused(i, std::move(reply.error()));
    performed_.waits.push_back({Wait::For::kGone, target(i)});
    done(i);
  }

  void erased_all(std::size_t i, Result<Ok> reply) {
    Answer answer{.at = wall()};
    if (!reply) answer.error = std::move(reply.error());
    answered(i, std::get<EraseAllAction>(actions_[i]).name, std::move(answer));
  }

  void refused(std::size_t i, Error error) {
    const auto* patch = std::get_if<PatchAction>(&actions_[i]);
    if (std::holds_alternative<CreateAction>(actions_[i])) {
      if (error.outcome == Outcome::kUnknown) return read_back(i, std::move(error));
      return failed(i, std::move(error));
    }
    if (error.reason == Reason::kConflict) {
      performed_.waits.push_back({Wait::For::kMoved, target(i)});
      return failed(i, std::move(error), true);
    }
    if (error.reason == Reason::kNotFound) {
      performed_.waits.push_back({Wait::For::kGone, target(i)});
      return failed(i, std::move(error), true);
    }
    // k8s 1.36: a patch that names another uid is Invalid, and so is a failed test of a JSON patch.
    if (error.outcome == Outcome::kUnknown || (patch && error.reason == Reason::kInvalid))
      return read_back(i, std::move(error));
    failed(i, std::move(error));
  }

  void read_back(std::size_t i, Error error) {
    if (error.reason == Reason::kCancelled) return failed(i, std::move(error));
    means_.api.get(
        target(i).kind, target(i).key,
        means_.scope.done<Object>(kNoLimit, [self = shared_from_this(), i, lost = std::move(error)](
                                                Result<Object> object) mutable {
          self->on_read_back(i, std::move(lost), std::move(object));
        }));
  }

  void on_read_back(std::size_t i, Error lost, Result<Object> object) {
    Target now = target(i);
    bool outdated = false;
    if (object) {
      outdated = object->uid() != now.uid || object->revision() != now.revision;
      now.revision = object->revision();
      performed_.waits.push_back({Wait::For::kSeen, std::move(now)});
    } else if (object.error().reason == Reason::kNotFound && !now.uid.empty()) {
      outdated = true;
      performed_.waits.push_back({Wait::For::kGone, std::move(now)});
    }
    failed(i, std::move(lost), outdated);
  }

  void read(std::size_t i, Result<kube::ApiReply> reply) {
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
    answered(i, std::get<AskAction>(actions_[i]).name, std::move(answer));
  }

  void told(std::size_t i, Result<std::string> reply) {
    Answer answer{.at = wall()};
    if (reply)
      answer.text = std::move(*reply);
    else
      answer.error = std::move(reply.error());
    const auto* post = std::get_if<PostAction>(&actions_[i]);
    answered(i, post != nullptr ? post->name : std::get<AskAction>(actions_[i]).name,
             std::move(answer));
  }

  void answered(std::size_t i, std::string question, Answer answer) {
    performed_.answers.emplace_back(std::move(question), std::move(answer));
    done(i);
  }

  void done(std::size_t i) {
    tell_events(i + 1);
    ended();
  }
  // Of several failures the first in the plan is the plan's.
  void failed(std::size_t i, Error error, bool outdated = false) {
    if (!failure_ || i < failure_->at) failure_ = Failure{i, std::move(error), outdated};
    ended();
  }
  void ended() {
    if (--open_ > 0) return;
    if (failure_) {
      performed_.outdated = failure_->outdated;
      performed_.failed =
          FailedAction{std::move(actions_[failure_->at]), std::move(failure_->error)};
      return end_(std::move(performed_));
    }
    at_ = turn_end_;
    next();
  }
  WallTime wall() const { return means_.scope.executor().clock().wall(); }

  Means means_;
  std::vector<Action> actions_;
  Fn<void(Performed)> end_;
  std::size_t at_ = 0, turn_end_ = 0;  // the turn under way
  std::size_t open_ = 0;               // so many of its writes are not answered
  std::size_t together_ = 1;           // so many creates the next turn may have
  std::optional<Failure> failure_;
  Performed performed_;
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
  means.scope.post([performing] { performing->begin(); });
}

}  // namespace berth::runtime
