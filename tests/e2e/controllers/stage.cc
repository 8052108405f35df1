// SPDX-License-Identifier: Apache-2.0
#include "stage.h"

#include <algorithm>
#include <map>
#include <regex>
#include <set>
#include <thread>

#include <fmt/format.h>
#include <gtest/gtest.h>

#include "controllers/registry.h"
#include "end_state.h"
#include "json/patch.h"
#include "json/slice.h"
#include "json/writer.h"
#include "kube/pod_view.h"

namespace berth::e2e {
namespace {

using kube::Key;
using kube::KindId;
using kube::Object;

constexpr std::chrono::milliseconds kPoll{100};
constexpr std::chrono::seconds kPatience{150}, kQuiet{4};

class Stock final : public Keeper {
 public:
  Stock(ControlPlane& plane, const std::vector<std::string>& names) {
    std::vector<std::string> args = controller_manager_args(plane.kubeconfig(), names);
    args.insert(args.end(), {"--leader-elect=false", "--use-service-account-credentials=false",
                             "--pvclaimbinder-sync-period=2s"});
    auto child = plane.start_program("kube-controller-manager", std::move(args));
    EXPECT_TRUE(child) << child.error().message;
    if (child) child_ = std::move(*child);
  }

 private:
  std::unique_ptr<Child> child_;
};

class Ours final : public Keeper {
 public:
  Ours(ControlPlane& plane, const std::vector<std::string>& names) {
    session_ = *Session::open(plane.kubeconfig());
    scope_ = &session_->loop().child("controllers");
    session_->loop().run([&] {
      home_ = std::make_unique<runtime::Home>(*scope_, session_->transport(), metrics_, log_,
                                              Random(1), *controllers::make_controllers(names));
      home_->start();
    });
  }
  ~Ours() override {
    session_->loop().close(*scope_);
    session_->loop().run([&] { home_.reset(); });
  }

 private:
  std::unique_ptr<Session> session_;
  Metrics metrics_;
  Logger log_{stderr_sink(), session_clock(), LogLevel::kError};
  Scope* scope_ = nullptr;
  std::unique_ptr<runtime::Home> home_;

  static const Clock& session_clock() {
    static TestLoop loop("clock");
    return loop.executor().clock();
  }
};

// With members in the order of their names.
std::string sorted(json::Slice value) {
  json::Writer w;
  if (value.is_array()) {
    w.array();
    for (const json::Slice one : value.elements()) w.raw(sorted(one));
    w.end();
    return w.take();
  }
  if (!value.is_object()) return std::string(value.raw());
  std::map<std::string, std::string> members;
  for (auto at = value.members().begin(); at != nullptr; ++at)
    members[std::string((*at).key)] = sorted((*at).value);
  w.object();
  for (const auto& [name, text] : members) w.member(name).raw(text);
  w.end();
  return w.take();
}

void replace_all(std::string& text, const std::string& what, const std::string& by) {
  for (std::size_t at = text.find(what); at != text.npos; at = text.find(what, at + by.size()))
    text.replace(at, what.size(), by);
}

std::string time_member(std::string_view what, const std::string& time) {
  return time.empty() ? "" : fmt::format(R"("{}":"{}")", what, time);
}
std::string runs(const std::string& time) {
  return fmt::format(
      R"({{"status":{{"phase":"Running","conditions":[{{"type":"Ready","status":"True","lastTransitionTime":"2026-01-01T00:00:00Z"}}],"containerStatuses":[{{"name":"main","ready":true,"restartCount":0,"image":"x","imageID":"","state":{{"running":{{{}}}}}}}]}}}})",
      time_member("startedAt", time));
}
std::string ended(int code, const Object& pod, const std::string& time) {
  std::string times;
  const json::Slice state = pod.status()["containerStatuses"][std::size_t{0}]["state"];
  for (const std::string& each : {time_member("startedAt", state["running"]["startedAt"].text()),
                                  time_member("finishedAt", time)})
    if (!each.empty()) times += "," + each;
  return fmt::format(
      R"({{"status":{{"phase":"{}","conditions":[{{"type":"Ready","status":"False","lastTransitionTime":"2026-01-01T00:00:00Z"}}],"containerStatuses":[{{"name":"main","ready":false,"restartCount":0,"image":"x","imageID":"","state":{{"running":null,"terminated":{{"exitCode":{}{}}}}}}}]}}}})",
      code == 0 ? "Succeeded" : "Failed", code, times);
}

}  // namespace

std::unique_ptr<Keeper> stock_controllers(ControlPlane& plane,
                                          const std::vector<std::string>& names) {
  return std::make_unique<Stock>(plane, names);
}
std::unique_ptr<Keeper> our_controllers(ControlPlane& plane,
                                        const std::vector<std::string>& names) {
  return std::make_unique<Ours>(plane, names);
}

Stage::Stage(Session& session, const Story& story, std::string tag)
    : session_(session), story_(story), tag_(std::move(tag)), ns_(story.name + "-" + tag_) {
  const auto made = session_.create(
      kube::kNamespace, "",
      fmt::format(R"({{"apiVersion":"v1","kind":"Namespace","metadata":{{"name":"{}"}}}})", ns_));
  EXPECT_TRUE(made) << made.error().message;
}

std::string Stage::tagged(std::string text) const {
  replace_all(text, "@", ns_);
  return text;
}

void Stage::create(std::string json) {
  json = tagged(std::move(json));
  const auto parsed = Object::parse(json);
  ASSERT_TRUE(parsed) << json;
  const auto made = session_.create(
      parsed->kind(), kube::kind_of(parsed->kind()).namespaced ? ns_ : "", std::move(json));
  EXPECT_TRUE(made) << story_.name << ": " << made.error().message;
}

void Stage::patch(KindId kind, const std::string& name, const std::string& merge_patch) {
  const Key key{kube::kind_of(kind).namespaced ? ns_ : "", tagged(name)};
  const auto done = session_.patch(kind, key, merge_patch);
  EXPECT_TRUE(done) << story_.name << ": " << done.error().message;
}

void Stage::erase(KindId kind, const std::string& name) {
  const auto done = session_.erase(kind, {kube::kind_of(kind).namespaced ? ns_ : "", tagged(name)});
  EXPECT_TRUE(done) << story_.name << ": " << done.error().message;
}

Object Stage::get(KindId kind, const std::string& name) {
  const auto found = session_.get(kind, {kube::kind_of(kind).namespaced ? ns_ : "", tagged(name)});
  return found ? *found : Object();
}

std::vector<Object> Stage::list(KindId kind) {
  const bool inside = kube::kind_of(kind).namespaced;
  const auto all = session_.list_all(kind, inside ? ns_ : "");
  EXPECT_TRUE(all) << all.error().message;
  std::vector<Object> out;
  for (const Object& one : all->items)
    if (inside || one.name().ends_with("-" + ns_)) out.push_back(one.without_managed_fields());
  return out;
}

bool Stage::is(KindId kind, const std::string& name, const std::string& field,
               const std::string& json) {
  const Object found = get(kind, name);
  if (!found.valid()) return false;
  const json::Slice value = found.status()[field];
  return (value.present() ? value.raw() : "0") == json;
}

bool Stage::holds(const std::string& job, const std::string& condition) {
  const Object found = get(kube::kJob, job);
  return found.valid() && kube::find_condition(found.status(), condition)["status"].equals("True");
}

bool Stage::step() {
  for (const Object& pod : list(kube::kPod)) live(pod);
  while (at_ < story_.steps.size()) {
    const Step& now = story_.steps[at_];
    if (!std::exchange(acted_, true) && now.act) now.act(*this);
    if (now.until && !now.until(*this)) return false;
    acted_ = false;
    ++at_;
  }
  return true;
}

std::string Stage::waits_for() const {
  return fmt::format("{} waits at step {} of {}", story_.name, at_ + 1, story_.steps.size());
}

void Stage::live(const Object& pod) {
  PodFate fate{.node = controllers::stories::wanted_node(pod)};
  if (story_.exit_code && !pod.deleting() && pod.status()["phase"].equals("Running"))
    fate.exit_code = story_.exit_code(*this, pod);
  e2e::live(session_, pod, fate);
}

// What happens to a pod between two looks may have changed it: then the next look decides.
void live(Session& session, const Object& pod, const PodFate& fate) {
  const json::Slice phase = pod.status()["phase"];
  const bool over = phase.equals("Succeeded") || phase.equals("Failed");
  const auto status = [&](const std::string& patch) {
    session.patch(kube::kPod, pod.key(), patch, fate.patch, "status");
  };
  if (pod.deleting()) {
    if (!over) return status(ended(fate.exit_code.value_or(137), pod, fate.now));
    // A kubelet takes its time, so that the deletion it cuts short is seen to be after the end.
    const json::Slice state = pod.status()["containerStatuses"][std::size_t{0}]["state"];
    if (state["terminated"]["finishedAt"].equals(fate.now)) return;
    kube::Options now;
    now.grace_period_seconds = 0;
    if (pod.metadata()["deletionGracePeriodSeconds"].integer() != 0)
      session.erase(kube::kPod, pod.key(), now);
    return;
  }
  if (!pod.member("spec")["nodeName"].present()) {
    if (fate.node.empty()) return;
    kube::ApiRequest bind;
    bind.verb = kube::Verb::kCreate;
    bind.kind = kube::kPod;
    bind.ns = pod.ns();
    bind.name = pod.name();
    bind.subresource = "binding";
    bind.body.bytes = std::make_shared<const std::string>(fmt::format(
        R"({{"apiVersion":"v1","kind":"Binding","metadata":{{"name":"{}"}},"target":{{"kind":"Node","name":"{}"}}}})",
        pod.name(), fate.node));
    session.once(std::move(bind), 10s);
    return;
  }
  if (phase.equals("Pending")) return status(runs(fate.now));
  if (phase.equals("Running") && fate.exit_code) status(ended(*fate.exit_code, pod, fate.now));
}

std::string Stage::end_state() {
  static const std::regex time(R"(\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(\.\d+)?Z)");
  static const std::regex uid(R"([0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12})");
  static const std::regex revision(R"("resourceVersion":"\d+",?)");
  static const std::regex random(R"((sum(-\d+)?|agent)-[a-z0-9]{5,10}\b)");
  static const std::regex minute(R"(tick-\d{8}(-[a-z0-9]{5}\b)?)");
  // Of a DaemonSet's template it is Go's, and everybody else has his own.
  static const std::regex hash(R"("controller-revision-hash":"[a-z0-9]+")");
  const auto plain = [&](std::string text) {
    text = std::regex_replace(text, time, "<time>");
    text = std::regex_replace(text, uid, "<uid>");
    text = std::regex_replace(text, revision, "");
    text = std::regex_replace(text, random, "$1-*");
    text = std::regex_replace(text, minute, "tick-*");
    text = std::regex_replace(text, hash, R"("controller-revision-hash":"<hash>")");
    replace_all(text, "-" + tag_, "-<tag>");
    return text;
  };
  std::vector<std::string> lines;
  for (const KindId kind : {kube::kJob, kube::kCronJob, kube::kStatefulSet, kube::kDaemonSet,
                            kube::kPod, kube::kControllerRevision, kube::kPersistentVolumeClaim,
                            kube::kPersistentVolume, kube::kPodDisruptionBudget})
    for (const Object& object : list(kind)) {
      const std::string text = *json::merge_patch(
          object.json(),
          R"({"metadata":{"uid":null,"resourceVersion":null,"creationTimestamp":null,"generateName":null}})");
      lines.push_back(plain(sorted(json::Slice(std::string_view(text)))));
    }
  std::sort(lines.begin(), lines.end());
  std::set<std::string> said;
  for (const Object& event : list(kube::kEvent))
    said.insert(plain(fmt::format("{} {}: {}", event.member("type").text(),
                                  event.member("reason").text(), event.member("note").text())));
  for (const std::string& one : said) lines.push_back(one);
  return fmt::format("{}\n", fmt::join(lines, "\n"));
}

std::vector<std::string> play(ControlPlane& plane, const std::vector<Story>& stories,
                              const std::string& tag) {
  const auto session = Session::open(plane.kubeconfig());
  EXPECT_TRUE(session) << session.error().message;
  std::vector<std::unique_ptr<Stage>> stages;
  for (const Story& story : stories)
    stages.push_back(std::make_unique<Stage>(**session, story, tag));
  std::vector<bool> over(stages.size(), false);
  const auto look = [&] {
    bool all = true;
    for (std::size_t i = 0; i < stages.size(); ++i) {
      over[i] = stages[i]->step();
      all &= over[i];
    }
    return all;
  };
  if (!eventually(kPatience, [&] { return look(); }))
    for (std::size_t i = 0; i < stages.size(); ++i)
      if (!over[i])
        ADD_FAILURE() << tag << ": " << stages[i]->waits_for() << "\n" << stages[i]->end_state();
  // Events and last looks trickle in.
  std::vector<std::string> before, now;
  eventually(std::chrono::seconds(30), [&] {
    const auto until = std::chrono::steady_clock::now() + kQuiet;  // NOLINT: real time it is
    while (std::chrono::steady_clock::now() < until) {
      look();
      std::this_thread::sleep_for(kPoll);
    }
    before = std::exchange(now, {});
    for (const auto& stage : stages) now.push_back(stage->end_state());
    return before == now;
  });
  return now;
}

}  // namespace berth::e2e
