// SPDX-License-Identifier: Apache-2.0
// From the chosen node to bound claims, in virtual time, against an API server of a few lines.
#include "scheduler/plugins/volume_binding/bind_volumes.h"

#include <map>

#include <gmock/gmock.h>

#include "client/api.h"
#include "json/patch.h"
#include "scheduler/cache/storage_builders.h"
#include "scheduler/plugins/plugin_bench.h"
#include "scheduler/plugins/test_services.h"

namespace berth::scheduler {
namespace {

using namespace test;
using testing::ElementsAre;
using testing::HasSubstr;

// Holds objects, refuses updates of old revisions, and lets the scheduler see every write a moment
// later.
class SmallServer final : public client::Transport {
 public:
  void call(kube::ApiRequest request, Instant, Done<kube::ApiReply> done) override {
    writes.push_back(std::string(kube::kind_of(request.kind).kind) + " " + request.name);
    if (refusal) {
      done(tl::unexpected(*refusal));
      return;
    }
    const kube::Object sent = *kube::Object::parse(request.kind, *request.body.bytes);
    const auto known = objects.find(sent.key().text());
    if (known == objects.end() || known->second.revision() != sent.revision()) {
      done(fail(Reason::kConflict, "the object has been modified"));
      return;
    }
    done(kube::ApiReply{.body = set(sent), .warnings = {}});
  }
  // As anybody's write: a new revision, and soon an event.
  kube::Object set(const kube::Object& object) {
    const std::string json = *json::merge_patch(
        object.json(), fmt::format(R"({{"metadata":{{"resourceVersion":"{}"}}}})", ++revision));
    const kube::Object stored = *kube::Object::parse(object.kind(), json);
    objects[stored.key().text()] = stored;
    loop->at(loop->clock().now() + 10ms, [this, stored] { storage->put(stored); });
    return stored;
  }
  void remove(const std::string& key) {
    const kube::Object gone = objects.at(key);
    objects.erase(key);
    loop->at(loop->clock().now() + 10ms, [this, gone] { storage->remove(gone); });
  }

  std::map<std::string, kube::Object> objects;
  std::vector<std::string> writes;
  std::optional<Error> refusal;
  std::uint64_t revision = 100;
  Executor* loop = nullptr;
  StorageState* storage = nullptr;
};

// Pod p with the claims "taken" (by volume v) and "new" (made by a provisioner), for node n.
struct Lab {
  explicit Lab(std::int64_t timeout_seconds = 600)
      : bench("VolumeBinding", VolumeBindingArgs{timeout_seconds, {}}, &services) {
    server.loop = &services.world.loop("scheduler");
    server.storage = services.volumes = &bench.cluster().storage();
    bench.with(node("n"));
    wanted = pod("p").claim("taken").claim("new");
    services.pending = wanted;
    storage().put(storage_class("local", "kubernetes.io/no-provisioner"));
    storage().put(storage_class("made", "csi.example.com"));
    server.set(volume("v").of_class("local").only_where("kubernetes.io/hostname", "n"));
    server.set(claim("taken").of_class("local"));
    server.set(claim("new").of_class("made"));
    services.world.run_for(1s);
  }
  StorageState& storage() { return bench.cluster().storage(); }

  Status reserve() {
    attempt = bench.attempt(wanted);
    const Profile::Prepared prepared = bench.profile().prepare(attempt->cycle);
    EXPECT_TRUE(prepared.status.ok()) << prepared.status.message();
    return bench.as<Reserve>().reserve(attempt->cycle, "n");
  }
  void pre_bind() {
    ASSERT_TRUE(bench.as<PreBind>().pre_bind_pre_flight(attempt->cycle, "n").ok());
    began = services.world.clock().now();
    bench.as<PreBind>().pre_bind(
        attempt->cycle, "n", services.scope().done<Status>(kNoLimit, [this](Result<Status> r) {
          answer = r ? (r->ok() ? "bound" : r->message()) : "lost: " + r.error().message;
          took = services.world.clock().now() - began;
        }));
  }
  void start() {
    const Status status = reserve();
    ASSERT_TRUE(status.ok()) << status.message();
    pre_bind();
  }
  void after(Duration delay, Task what) {
    Executor& loop = services.world.loop("scheduler");
    loop.at(loop.clock().now() + delay, std::move(what));
  }
  // What the volume controller and the provisioner do in the end.
  void finish_claim(const std::string& name, const std::string& volume_name) {
    const std::string key = "default/" + name;
    const kube::Object claim = server.objects.at(key);
    server.set(*kube::Object::parse(
        kube::kPersistentVolumeClaim,
        *json::merge_patch(
            claim.json(),
            fmt::format(
                R"({{"metadata":{{"annotations":{{"pv.kubernetes.io/bind-completed":"yes"}}}},"spec":{{"volumeName":"{}"}}}})",
                volume_name))));
  }
  std::string run() {
    services.world.run_for(1200s);
    return answer;
  }

  SmallServer server;
  TestServices services{&server};
  PluginBench bench;
  PodPtr wanted;
  std::unique_ptr<PluginBench::Attempt> attempt;
  std::string answer = "none";
  Instant began;
  Duration took{};
};

TEST(BindVolumes, ReserveAssumesWhatWillBeWritten) {
  Lab lab;
  ASSERT_TRUE(lab.reserve().ok());
  const VolumePtr& volume = lab.storage().latest_volume("v");
  ASSERT_TRUE(volume->claim);
  EXPECT_EQ(volume->claim->name, "taken");
  EXPECT_EQ(volume->claim->uid, "taken");
  EXPECT_EQ(volume->object.annotation("pv.kubernetes.io/bound-by-controller"), "yes");
  EXPECT_EQ(lab.storage().latest_claim("default/new")->selected_node, "n");
  EXPECT_FALSE(lab.storage().volume("v")->claim) << "nothing is written yet";
  EXPECT_TRUE(lab.server.writes.empty());
}

TEST(BindVolumes, UnreserveGivesEverythingBack) {
  Lab lab;
  ASSERT_TRUE(lab.reserve().ok());
  lab.bench.as<Reserve>().unreserve(lab.attempt->cycle, "n");
  EXPECT_EQ(lab.storage().assumed(), 0u);
  lab.bench.as<Reserve>().unreserve(lab.attempt->cycle, "n");  // harmless
}

TEST(BindVolumes, ReserveFailsWhereTheVolumeHasChangedAndAssumesNothing) {
  Lab lab;
  lab.attempt = lab.bench.attempt(lab.wanted);
  ASSERT_TRUE(lab.bench.profile().prepare(lab.attempt->cycle).status.ok());
  lab.server.set(claim("new").of_class("made"));
  lab.services.world.run_for(1s);
  const Status status = lab.bench.as<Reserve>().reserve(lab.attempt->cycle, "n");
  EXPECT_EQ(status.code, Code::kError);
  EXPECT_EQ(status.message(), "\"default/new\" is out of sync (stored: 104, assume: 103)");
  EXPECT_EQ(lab.storage().assumed(), 0u);
}

TEST(BindVolumes, ThereIsNothingToDoWhereAllIsBound) {
  Lab lab;
  lab.finish_claim("taken", "v");
  lab.finish_claim("new", "v");
  lab.services.world.run_for(1s);
  ASSERT_TRUE(lab.reserve().ok());
  EXPECT_TRUE(lab.bench.as<PreBind>().pre_bind_pre_flight(lab.attempt->cycle, "n").skipped());
  EXPECT_EQ(lab.storage().assumed(), 0u);
}

TEST(BindVolumes, AVolumeThatIsTheClaimsAlreadyIsWrittenAsItIs) {
  Lab lab;
  lab.server.set(volume("v").of_class("local").for_claim("default", "taken", "taken"));
  lab.services.world.run_for(1s);
  ASSERT_TRUE(lab.reserve().ok());
  EXPECT_EQ(lab.storage().latest_volume("v"), lab.storage().volume("v")) << "not assumed";
  lab.pre_bind();
  lab.run();
  EXPECT_THAT(lab.server.writes, ElementsAre("PersistentVolume v", "PersistentVolumeClaim new"));
}

TEST(BindVolumes, WritesVolumesThenClaimsAndWaitsUntilAllAreBound) {
  Lab lab;
  lab.start();
  lab.after(2300ms, [&lab] { lab.finish_claim("taken", "v"); });
  lab.after(4300ms, [&lab] {
    lab.server.set(volume("w").of_class("made"));
    lab.finish_claim("new", "w");
  });
  EXPECT_EQ(lab.run(), "bound");
  EXPECT_EQ(lab.took, 5s) << "it looks once a second";
  EXPECT_THAT(lab.server.writes, ElementsAre("PersistentVolume v", "PersistentVolumeClaim new"));
  const kube::Object& written = lab.server.objects.at("v");
  const json::Slice ref = written.member("spec")["claimRef"];
  EXPECT_EQ(ref["kind"].text(), "PersistentVolumeClaim");
  EXPECT_EQ(ref["apiVersion"].text(), "v1");
  EXPECT_EQ(ref["namespace"].text(), "default");
  EXPECT_EQ(ref["name"].text(), "taken");
  EXPECT_EQ(ref["uid"].text(), "taken");
  EXPECT_EQ(ref["resourceVersion"].text(), "102");
  EXPECT_EQ(lab.server.objects.at("default/new").annotation("volume.kubernetes.io/selected-node"),
            "n");
  EXPECT_EQ(lab.storage().assumed(), 0u) << "what the API server has is newer";
}

TEST(BindVolumes, GivesUpWhenTheTimeIsOver) {
  Lab lab(5);
  lab.start();
  EXPECT_EQ(lab.run(), "binding volumes: context deadline exceeded");
  EXPECT_EQ(lab.took, 5s);
  Lab at_once(0);
  at_once.start();
  EXPECT_EQ(at_once.run(), "binding volumes: context deadline exceeded");
  EXPECT_LT(at_once.took, 1s);
}

TEST(BindVolumes, ARefusedWriteEndsItAndWhatWasNotWrittenIsGivenBack) {
  Lab lab;
  ASSERT_TRUE(lab.reserve().ok());
  lab.server.set(volume("v").of_class("local").label("changed", "meanwhile"));
  lab.pre_bind();
  EXPECT_EQ(lab.run(), "the object has been modified");
  EXPECT_THAT(lab.server.writes, ElementsAre("PersistentVolume v"));
  EXPECT_EQ(lab.storage().assumed(), 0u);
}

TEST(BindVolumes, EndsWhenWhatItWaitsForWillNotCome) {
  struct Row {
    const char* name;
    std::function<void(Lab&)> happens;
    const char* want;
  };
  const Row rows[] = {
      {"the volume is gone", [](Lab& lab) { lab.server.remove("v"); },
       "binding volumes: failed to check binding: persistentvolumes \"v\" not found"},
      {"the claim of the volume is gone", [](Lab& lab) { lab.server.remove("default/taken"); },
       "binding volumes: failed to check binding: persistentvolumeclaims \"default/taken\" not "
       "found"},
      {"the volume was taken back", [](Lab& lab) { lab.server.set(volume("v").of_class("local")); },
       "binding volumes: ClaimRef got reset for pv \"v\""},
      {"the volume is usable elsewhere",
       [](Lab& lab) {
         lab.server.set(volume("v").of_class("local").only_where("kubernetes.io/hostname", "m"));
       },
       "binding volumes: pv \"v\" node affinity doesn't match node \"n\": no matching "
       "NodeSelectorTerms"},
      {"the node is gone", [](Lab& lab) { lab.bench.cluster().remove_node("n"); },
       "binding volumes: failed to get node \"n\": node \"n\" not found"},
      {"the node has other labels",
       [](Lab& lab) { lab.bench.with(node("n").label("kubernetes.io/hostname", "x")); },
       "binding volumes: pv \"v\" node affinity doesn't match node \"n\": no matching "
       "NodeSelectorTerms"},
      {"the pod is gone", [](Lab& lab) { lab.services.pending = nullptr; },
       "binding volumes: pod does not exist any more: pod \"p\" not found"},
      {"the pod is to make room", [](Lab& lab) { lab.services.cancelled = true; },
       "binding volumes: context canceled"},
      {"the claim to be served is gone",
       [](Lab& lab) {
         lab.finish_claim("taken", "v");
         lab.server.remove("default/new");
       },
       "binding volumes: failed to check provisioning pvc: persistentvolumeclaims \"default/new\" "
       "not found"},
      {"the provisioner cannot",
       [](Lab& lab) {
         lab.finish_claim("taken", "v");
         lab.server.set(claim("new").of_class("made").annotation("other", "x"));
       },
       "binding volumes: provisioning failed for PVC \"new\""},
      {"the provisioner cannot, and no annotation is left",
       [](Lab& lab) {
         lab.finish_claim("taken", "v");
         lab.server.set(claim("new").of_class("made"));
       },
       "binding volumes: selectedNode annotation reset for PVC \"new\""},
      {"what was made is usable elsewhere",
       [](Lab& lab) {
         lab.finish_claim("taken", "v");
         lab.server.set(volume("w").of_class("made").only_where("kubernetes.io/hostname", "m"));
         lab.finish_claim("new", "w");
       },
       "binding volumes: pv \"w\" node affinity doesn't match node \"n\": no matching "
       "NodeSelectorTerms"},
  };
  for (const Row& row : rows) {
    Lab lab;
    lab.start();
    lab.after(1500ms, [&] { row.happens(lab); });
    EXPECT_EQ(lab.run(), row.want) << row.name;
    EXPECT_EQ(lab.took, 2s) << row.name;
  }
}

TEST(BindVolumes, WaitsForAVolumeThatHasNotArrivedYet) {
  Lab lab;
  lab.start();
  lab.after(500ms, [&lab] {
    lab.finish_claim("taken", "v");
    lab.finish_claim("new", "w");
  });
  lab.after(2500ms, [&lab] { lab.server.set(volume("w").of_class("made")); });
  EXPECT_EQ(lab.run(), "bound");
  EXPECT_EQ(lab.took, 3s);
}

TEST(BindVolumes, EndsWithItsScope) {
  Lab lab;
  lab.start();
  lab.services.world.run_for(1500ms);
  bool closed = false;
  lab.services.scope().close(Duration{}, [&closed] { closed = true; });
  lab.services.world.run_for(10s);
  EXPECT_TRUE(closed);
  EXPECT_THAT(lab.answer, HasSubstr("lost: "));
}

}  // namespace
}  // namespace berth::scheduler
