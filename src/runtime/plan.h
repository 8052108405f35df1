// SPDX-License-Identifier: Apache-2.0
// What a controller wants done: an ordered list of writes whose preconditions are taken from the
// objects it looked at, so that a plan made from an old view fails instead of doing harm.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "base/time.h"
#include "client/event_recorder.h"
#include "kube/api.h"
#include "kube/object.h"

namespace berth::runtime {

using kube::Key;
using kube::KindId;
using kube::Object;

// What must still be true of an object when it is written.
enum class Pin : std::uint8_t {
  kRevision,  // it is the very version that the plan was made from
  kUid,       // it is the same object; the write is right for any later version of it
};

// The object a write is about, as the plan's maker saw it.
struct Target {
  KindId kind{};
  Key key = {};
  std::string uid = {};
  kube::Revision revision = 0;
};
Target target_of(const Object&);

struct CreateAction {
  Target target;  // without uid and revision
  std::string json;
};
struct PatchAction {
  Target target;
  std::string patch;  // without the precondition
  std::string subresource = {};
  kube::PatchType type = kube::PatchType::kMerge;
  Pin pin = Pin::kRevision;
};
struct EraseAction {
  Target target;
  kube::Propagation propagation = kube::Propagation::kUnset;
  std::optional<std::int64_t> grace_seconds = {};
  Pin pin = Pin::kRevision;
};
// A whole document, for the parts of objects that take no patch.
struct UpdateAction {
  Target target;
  std::string json;  // with its uid and resourceVersion
  std::string subresource;
};
// Everything of a kind in a namespace. What came of it is answered as a question is, so that a kind
// that cannot be erased does not keep the plan from the next.
struct EraseAllAction {
  std::string name;  // of the answer
  KindId kind{};
  std::string ns;
  kube::Propagation propagation = kube::Propagation::kBackground;
};
struct EvictAction {
  Target target;
  std::optional<std::int64_t> grace_seconds = {};
};
struct EventAction {
  client::ObjectRef regarding;
  client::EventNote note;
};
// A question to the outside. The answer wakes the key and is in the View of its next run, once.
struct AskAction {
  std::string name;
  // A read that no cache can answer (a GET of a path too: its text is the answer), or a text for
  // whoever the home has named to answer it.
  std::variant<kube::ApiRequest, std::string> question;
};
// A POST to a path that is no object's. Answered as a question is, with an error where there is no
// answer within `limit`: what may fail must not keep the key from its next run. Several go
// together.
struct PostAction {
  std::string name;  // of the answer
  std::string path;
  Duration limit{};
};
using Action = std::variant<CreateAction, PatchAction, UpdateAction, EraseAction, EraseAllAction,
                            EvictAction, EventAction, AskAction, PostAction>;

// "create pods default/web-1": for logs and tests.
std::string text_of(const Action&);
const Target* target_of(const Action&);  // null: it writes no object

// A value. Objects handed in are not kept.
class Plan {
 public:
  static Plan done() { return {}; }

  // Names come from a rule (owner, index, attempt), never from generateName: a create that is
  // repeated because its answer was lost must meet itself.
  Plan& create(KindId, const Key&, std::string json);
  Plan& patch(const Object&, std::string patch, Pin = Pin::kRevision,
              kube::PatchType = kube::PatchType::kMerge);
  Plan& patch_status(const Object&, std::string patch, Pin = Pin::kRevision);
  // Makes the status what `status` says, with the smallest merge patch; nothing where it is that.
  Plan& set_status(const Object&, std::string_view status);
  Plan& erase(const Object&, kube::Propagation = kube::Propagation::kBackground,
              Pin = Pin::kRevision, std::optional<std::int64_t> grace_seconds = {});
  // `json` is the whole next document, with uid and resourceVersion of the object.
  Plan& update_part(const Object& object, std::string subresource, std::string json);
  Plan& erase_all(std::string name, KindId, std::string ns);
  Plan& evict(const Object& pod, std::optional<std::int64_t> grace_seconds = {});
  Plan& event(const Object& regarding, client::EventNote);
  Plan& ask(std::string name, kube::ApiRequest read);
  Plan& ask(std::string name, std::string question);
  Plan& add(Action);
  // The key is looked at again at that time, or sooner if something changes. Of several the
  // earliest counts.
  Plan& again_at(WallTime);
  Plan& reason(std::string);  // for logs
  // Comes back in the next run's View, whatever becomes of this plan; a plan without forgets it.
  // Lost with the process, so only for what makes it kinder (how long to wait), never right.
  Plan& remember(std::string);

  const std::vector<Action>& actions() const { return actions_; }
  std::vector<Action>& actions() { return actions_; }
  const std::optional<WallTime>& again() const { return again_; }
  const std::string& why() const { return why_; }
  const std::string& remembered() const { return remembered_; }
  bool empty() const { return actions_.empty(); }
  std::string text() const;  // a line an action, for tests

 private:
  std::vector<Action> actions_;
  std::optional<WallTime> again_;
  std::string why_;
  std::string remembered_;
};

}  // namespace berth::runtime
