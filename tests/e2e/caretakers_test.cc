// SPDX-License-Identifier: Apache-2.0
// The controllers that look after a cluster, on a real kube-apiserver: what they make of a day's
// work is what kube-controller-manager makes of it.
#include <map>
#include <set>

#include <fmt/format.h>
#include <gmock/gmock.h>

#include "base/metrics.h"
#include "control_plane.h"
#include "controllers/registry.h"
#include "kube/time.h"
#include "runtime/home.h"
#include "session.h"

namespace berth::e2e {
namespace {

using kube::Key;
using kube::KindId;
using kube::Object;
using kube::Propagation;

const std::vector<std::string> kNames = {"namespace-controller",
                                         "serviceaccount-controller",
                                         "root-ca-certificate-publisher-controller",
                                         "garbage-collector-controller",
                                         "node-lifecycle-controller",
                                         "taint-eviction-controller",
                                         "pod-garbage-collector-controller",
                                         "resourcequota-controller",
                                         "clusterrole-aggregation-controller"};
constexpr Duration kNodeGrace = 10s;

// Our controllers at work in a home of their own.
class Ours {
 public:
  explicit Ours(ControlPlane& plane) : session_(std::move(*Session::open(plane.kubeconfig()))) {
    auto controllers = controllers::make_controllers(
        kNames, {.root_ca = plane.authority().certificate_pem, .node_grace = kNodeGrace});
    EXPECT_TRUE(controllers) << controllers.error().message;
    scope_ = &session_->loop().child("home");
    session_->loop().run([&] {
      home_ = std::make_unique<runtime::Home>(*scope_, session_->transport(), metrics_, log_,
                                              Random(1), std::move(*controllers));
      home_->start();
    });
  }
  ~Ours() {
    session_->loop().close(*scope_);
    session_->loop().run([&] { home_.reset(); });
  }

 private:
  std::unique_ptr<Session> session_;
  Metrics metrics_;
  Logger log_{stderr_sink(), session_->loop().executor().clock(), LogLevel::kError};
  Scope* scope_ = nullptr;
  std::unique_ptr<runtime::Home> home_;
};

std::unique_ptr<Child> stock(ControlPlane& plane) {
  auto child = plane.start_program(
      "kube-controller-manager",
      {"--kubeconfig=" + plane.kubeconfig().string(),
       fmt::format("--controllers={}", fmt::join(kNames, ",")), "--leader-elect=false",
       "--secure-port=0", "--use-service-account-credentials=false",
       "--root-ca-file=" + (plane.folder().path() / "ca.crt").string(),
       "--service-account-private-key-file=" + (plane.folder().path() / "server.key").string(),
       fmt::format("--node-monitor-grace-period={}s",
                   std::chrono::duration_cast<std::chrono::seconds>(kNodeGrace).count()),
       "--node-monitor-period=1s", "--kube-api-qps=5000", "--kube-api-burst=5000"});
  EXPECT_TRUE(child) << child.error().message;
  return std::move(*child);
}

// One day, told in words: the same for whoever works.
class Day {
 public:
  Day(ControlPlane& plane, std::string tag)
      : session_(std::move(*Session::open(plane.kubeconfig()))),
        tag_(std::move(tag)),
        home_("home-" + tag_) {}

  std::map<std::string, std::string> live() {
    make(kube::kNamespace, "", fmt::format(R"({{"metadata":{{"name":"{}"}}}})", home_));
    waits("a namespace is furnished", [&] {
      return there(kube::kServiceAccount, "default") && there(kube::kConfigMap, "kube-root-ca.crt");
    });
    const Object ca = get(kube::kConfigMap, "kube-root-ca.crt");
    notes_["root ca"] = std::string(ca.annotations().raw()) + std::string(ca.member("data").raw());
    nodes_appear();
    owners();
    custom_resources();
    quotas();
    roles();
    nodes_fail();
    namespaces_end();
    return notes_;
  }

 private:
  void make(KindId kind, const std::string& ns, const std::string& json) {
    const auto made = session_->create(kind, ns, json);
    EXPECT_TRUE(made) << made.error().message << "\n" << json;
  }
  Object get(KindId kind, const std::string& name) {
    const bool namespaced = kube::kind_of(kind).namespaced;
    return session_->get(kind, {namespaced ? home_ : "", name}).value_or(Object());
  }
  bool there(KindId kind, const std::string& name) { return get(kind, name).valid(); }
  void erase(KindId kind, const std::string& name, Propagation how) {
    kube::Options options;
    options.propagation = how;
    const bool namespaced = kube::kind_of(kind).namespaced;
    const auto gone = session_->erase(kind, {namespaced ? home_ : "", name}, options);
    EXPECT_TRUE(gone) << gone.error().message;
  }
  void patch(KindId kind, const std::string& name, const std::string& text,
             const std::string& part = "") {
    const bool namespaced = kube::kind_of(kind).namespaced;
    const auto patched =
        session_->patch(kind, {namespaced ? home_ : "", name}, text, kube::PatchType::kMerge, part);
    EXPECT_TRUE(patched) << patched.error().message;
  }
  void waits(const char* what, const std::function<bool()>& until) {
    const auto begin = std::chrono::steady_clock::now();
    const bool came = eventually(std::chrono::seconds(150), [&] {
      beat();
      return until();
    });
    EXPECT_TRUE(came) << tag_ << ": " << what;
    fmt::print("{:>6}: {:5.1f} s until {}\n", tag_,
               std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count(),
               what);
  }
  std::string plain(std::string text) const {
    for (std::size_t at = text.find(tag_); at != text.npos; at = text.find(tag_, at))
      text.replace(at, tag_.size(), "@");
    return text;
  }
  std::string named(KindId kind) {
    std::set<std::string> names;
    const auto list = session_->list_all(kind, home_);
    if (list)
      for (const Object& one : list->items) names.emplace(one.name());
    return fmt::format("{}", fmt::join(names, " "));
  }

  Object config(const std::string& name) {
    make(kube::kConfigMap, home_, fmt::format(R"({{"metadata":{{"name":"{}"}}}})", name));
    return get(kube::kConfigMap, name);
  }
  static std::string ref(const Object& owner) {
    return fmt::format(
        R"({{"apiVersion":"{}","kind":"{}","name":"{}","uid":"{}","blockOwnerDeletion":true}})",
        kube::kind_of(owner.kind()).api_version(), kube::kind_of(owner.kind()).kind, owner.name(),
        owner.uid());
  }
  Object secret(const std::string& name, const std::string& owners) {
    make(kube::kSecret, home_,
         fmt::format(R"({{"metadata":{{"name":"{}","ownerReferences":[{}]}}}})", name, owners));
    return get(kube::kSecret, name);
  }

  void owners() {
    const Object middle = secret("middle", ref(config("top")));
    secret("bottom", ref(middle));
    secret("freed", ref(config("liberal")));
    secret("shared", ref(config("one")) + "," + ref(config("two")));
    secret("lost", R"({"apiVersion":"v1","kind":"ConfigMap","name":"never","uid":"no-such-uid"})");
    secret("strange", R"({"apiVersion":"no.such/v1","kind":"Thing","name":"x","uid":"y"})");
    make(kube::kConfigMap, "default", fmt::format(R"({{"metadata":{{"name":"far-{}"}}}})", tag_));
    secret("astray", ref(*session_->get(kube::kConfigMap, {"default", "far-" + tag_})));
    erase(kube::kConfigMap, "top", Propagation::kForeground);
    erase(kube::kConfigMap, "liberal", Propagation::kOrphan);
    erase(kube::kConfigMap, "one", Propagation::kBackground);
    waits("owners are gone and what they left is settled", [&] {
      return !there(kube::kConfigMap, "top") && !there(kube::kSecret, "bottom") &&
             !there(kube::kConfigMap, "liberal") && !there(kube::kSecret, "lost") &&
             !there(kube::kSecret, "astray") && get(kube::kSecret, "shared").owners().size() == 1;
    });
    notes_["secrets after their owners"] = named(kube::kSecret);
    notes_["the freed one's owners"] = std::to_string(get(kube::kSecret, "freed").owners().size());
    notes_["the shared one's owner"] = get(kube::kSecret, "shared").owners().at(0).name;
  }

  void custom_resources() {
    const std::string group = tag_ + ".example.com";
    make(
        kube::kCustomResourceDefinition, "",
        fmt::format(
            R"({{"metadata":{{"name":"widgets.{0}"}},"spec":{{"group":"{0}","scope":"Namespaced","names":{{"plural":"widgets","singular":"widget","kind":"Widget"}},)"
            R"("versions":[{{"name":"v1","served":true,"storage":true,"schema":{{"openAPIV3Schema":{{"type":"object","x-kubernetes-preserve-unknown-fields":true}}}}}}]}}}})",
            group));
    widget_ = kube::learn_kind({group, "v1", "Widget", "widgets", true});
    const std::string owner = ref(config("owner"));
    waits("custom resources are served", [&] {
      return session_
          ->create(
              widget_, home_,
              fmt::format(
                  R"({{"apiVersion":"{}/v1","kind":"Widget","metadata":{{"name":"w","ownerReferences":[{}]}}}})",
                  group, owner))
          .has_value();
    });
    secret("below", ref(get(widget_, "w")));
    erase(kube::kConfigMap, "owner", Propagation::kBackground);
    waits("custom resources follow their owners",
          [&] { return !there(widget_, "w") && !there(kube::kSecret, "below"); });
  }

  void quotas() {
    make(
        kube::kResourceQuota, home_,
        R"({"metadata":{"name":"q"},"spec":{"hard":{"count/secrets":"20","configmaps":"20","pods":"9","requests.cpu":"9"}}})");
    const auto used = [&] {
      return std::string(get(kube::kResourceQuota, "q").status()["used"].raw());
    };
    waits("a quota is counted", [&] { return !used().empty(); });
    notes_["quota"] = used();
    erase(kube::kSecret, "freed", Propagation::kBackground);
    waits("a quota is given back", [&] { return used() != notes_["quota"]; });
    notes_["quota after a secret went"] = used();
  }

  void roles() {
    const auto role = [&](const std::string& name, const std::string& rest) {
      make(kube::kClusterRole, "",
           fmt::format(R"({{"metadata":{{"name":"{0}-{1}","labels":{{"add-{1}":"{0}"}}}},{2}}})",
                       name, tag_, rest));
    };
    role("part", R"("rules":[{"apiGroups":[""],"resources":["pods"],"verbs":["get"]}])");
    role(
        "sum",
        fmt::format(
            R"("aggregationRule":{{"clusterRoleSelectors":[{{"matchLabels":{{"add-{}":"part"}}}}]}})",
            tag_));
    const auto sum = [&] { return get(kube::kClusterRole, "sum-" + tag_).member("rules"); };
    waits("roles are added up", [&] { return sum().size() == 1; });
    notes_["role"] = std::string(sum().raw());
  }

  void nodes_appear() {
    for (const char* name : {"a", "b", "c"}) {
      const std::string node = fmt::format("{}-{}", name, tag_);
      make(kube::kNode, "",
           fmt::format(R"({{"metadata":{{"name":"{}","labels":{{"kubernetes.io/os":"linux"}}}}}})",
                       node));
      const std::string now = kube::time_text(wall());
      patch(
          kube::kNode, node,
          fmt::format(
              R"({{"status":{{"conditions":[{{"type":"Ready","status":"True","reason":"KubeletReady","lastHeartbeatTime":"{0}","lastTransitionTime":"{0}"}},)"
              R"({{"type":"MemoryPressure","status":"False","lastHeartbeatTime":"{0}","lastTransitionTime":"{0}"}}]}}}})",
              now),
          "status");
      alive_.insert(node);
    }
    const auto pod = [&](const std::string& name, const std::string& node) {
      make(
          kube::kPod, home_,
          fmt::format(
              R"({{"metadata":{{"name":"{}"}},"spec":{{"nodeName":"{}","containers":[{{"name":"m","image":"m"}}],)"
              R"("tolerations":[{{"key":"node.kubernetes.io/not-ready","operator":"Exists","effect":"NoExecute","tolerationSeconds":2}},{{"key":"node.kubernetes.io/unreachable","operator":"Exists","effect":"NoExecute","tolerationSeconds":2}}]}}}})",
              name, node));
      patch(
          kube::kPod, name,
          fmt::format(
              R"({{"status":{{"phase":"Running","conditions":[{{"type":"Ready","status":"True","lastTransitionTime":"{}"}}]}}}})",
              kube::time_text(wall())),
          "status");
    };
    pod("evicted", "c-" + tag_);
    pod("ghost", "nowhere-" + tag_);
  }

  void nodes_fail() {
    const std::string lost = "c-" + tag_;
    alive_.erase(lost);
    patch(kube::kNode, "a-" + tag_, R"({"spec":{"unschedulable":true}})");
    waits("a silent node is unknown", [&] {
      return conditions(get(kube::kNode, lost)).find("Ready=Unknown") != std::string::npos;
    });
    waits("its pod goes", [&] { return get(kube::kPod, "evicted").deleting(); });
    waits("taints are there", [&] {
      return taints(lost).find("unreachable:NoSchedule") != std::string::npos &&
             taints("a-" + tag_).find("unschedulable") != std::string::npos;
    });
    notes_["the silent node"] = conditions(get(kube::kNode, lost)) + taints(lost);
    notes_["the node that is cordoned"] = taints("a-" + tag_);
    notes_["labels"] = get(kube::kNode, "b-" + tag_).label("beta.kubernetes.io/os");
    notes_["the pod that had to go"] = conditions(get(kube::kPod, "evicted"));
    waits("a pod without a node goes", [&] { return !there(kube::kPod, "ghost"); });
    kube::Options now;
    now.grace_period_seconds = 0;
    session_->erase(kube::kPod, {home_, "evicted"}, now);
    notes_["events"] = events();
  }

  void namespaces_end() {
    secret("kept", "");
    patch(kube::kSecret, "kept", R"({"metadata":{"finalizers":["example.com/keep"]}})");
    erase(kube::kNamespace, home_, Propagation::kBackground);
    waits("a namespace says what keeps it", [&] {
      return conditions(get(kube::kNamespace, home_)).find("NamespaceFinalizersRemaining=True") !=
             std::string::npos;
    });
    notes_["the namespace that is kept"] = conditions(get(kube::kNamespace, home_));
    patch(kube::kSecret, "kept", R"({"metadata":{"finalizers":[]}})");
    waits("it goes", [&] { return !there(kube::kNamespace, home_); });
    for (const char* name : {"a-", "b-", "c-"}) session_->erase(kube::kNode, {"", name + tag_});
    session_->erase(kube::kCustomResourceDefinition,
                    {"", fmt::format("widgets.{}.example.com", tag_)});
  }

  std::string conditions(const Object& object) const {
    std::set<std::string> all;
    if (object.valid())
      for (const json::Slice one : object.status()["conditions"].elements())
        all.insert(fmt::format("{}={} {}: {}", one["type"].text(), one["status"].text(),
                               one["reason"].text(), one["message"].text()));
    return plain(fmt::format("{}\n", fmt::join(all, "\n")));
  }
  std::string taints(const std::string& node) {
    std::set<std::string> all;
    const Object object = get(kube::kNode, node);
    for (const json::Slice one : object.member("spec")["taints"].elements())
      // The API server's own admission gives and takes this one.
      if (!one["key"].equals("node.kubernetes.io/not-ready"))
        all.insert(fmt::format("{}:{}", one["key"].text(), one["effect"].text()));
    return fmt::format("{}\n", fmt::join(all, "\n"));
  }
  std::string events() {
    std::set<std::string> all;
    for (const std::string& ns : {home_, std::string("default")}) {
      const auto list = session_->list_all(kube::kCoreEvent, ns);
      if (!list) continue;
      for (const Object& one : list->items) {
        const std::string about = one.member("involvedObject")["name"].text();
        std::string text =
            fmt::format("{} {} {}: {}", one.member("type").text(), one.member("reason").text(),
                        about, one.member("message").text());
        if (const std::size_t uid = text.find("uid: "); uid != text.npos)
          text.replace(uid, 41, "uid");
        const bool ours = about.find(tag_) != about.npos || ns == home_;
        if (ours) all.insert(plain(std::move(text)));
      }
    }
    return fmt::format("{}\n", fmt::join(all, "\n"));
  }

  WallTime wall() { return session_->loop().executor().clock().wall(); }
  // What kubelets do.
  void beat() {
    if (wall() - beaten_ < 2s) return;
    beaten_ = wall();
    for (const std::string& node : alive_) {
      const std::string spec = fmt::format(
          R"("spec":{{"holderIdentity":"{}","leaseDurationSeconds":40,"renewTime":"{}"}})", node,
          kube::micro_time_text(wall()));
      const Key key{"kube-node-lease", node};
      if (session_->patch(kube::kLease, key, "{" + spec + "}")) continue;
      session_->create(kube::kLease, key.ns,
                       fmt::format(R"({{"metadata":{{"name":"{}"}},{}}})", node, spec));
    }
  }

  std::unique_ptr<Session> session_;
  std::string tag_, home_;
  KindId widget_{};
  std::set<std::string> alive_;
  WallTime beaten_{};
  std::map<std::string, std::string> notes_;
};

TEST(RealCaretakers, EndTheDayAsKubeControllerManagerDoes) {
  auto plane = ControlPlane::start();
  if (!plane) GTEST_SKIP() << plane.error().message;
  std::map<std::string, std::string> theirs, ours;
  {
    const auto workers = stock(**plane);
    theirs = Day(**plane, "stock").live();
  }
  {
    const Ours workers(**plane);
    ours = Day(**plane, "berth").live();
  }
  EXPECT_EQ(theirs.size(), 13u);
  for (const auto& [what, text] : theirs) {
    EXPECT_FALSE(text.empty()) << what;
    EXPECT_EQ(ours[what], text) << what;
  }
}

}  // namespace
}  // namespace berth::e2e
