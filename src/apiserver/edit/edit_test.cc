// SPDX-License-Identifier: Apache-2.0
#include "apiserver/edit/edit.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace berth::apiserver {
namespace {

using kube::Object;

Object pod() {
  return Object::parse(kube::kPod,
                       R"({"metadata":{"name":"web","namespace":"default","resourceVersion":"5"},)"
                       R"("spec":{"nodeName":"n1","priority":3},"status":{"phase":"Pending"}})")
      .value();
}

TEST(Edit, AnUntouchedEditHasNotChanged) {
  json::Arena arena;
  const Object before = pod();
  Edit edit(before, arena);
  EXPECT_FALSE(edit.changed());
  EXPECT_EQ(edit.text(), before.json());
}

TEST(Edit, AStatusWriteSharesTheBody) {
  json::Arena arena;
  const Object before = pod();
  Edit edit(before, arena);
  edit.status().as_object()["phase"] = "Running";
  EXPECT_TRUE(edit.changed());
  const Object after = std::move(edit).commit(6).value();
  EXPECT_EQ(after.status()["phase"].text(), "Running");
  EXPECT_EQ(after.revision(), 6U);
  EXPECT_EQ(after.member("spec").raw().data(), before.member("spec").raw().data());
  EXPECT_EQ(before.status()["phase"].text(), "Pending");
}

TEST(Edit, TheSameInAnotherOrderHasNotChanged) {
  json::Arena arena;
  Edit edit(pod(), arena);
  edit.replace(json::parse(R"({"status":{"phase":"Pending"},"spec":{"priority":3,"nodeName":"n1"},)"
                           R"("metadata":{"namespace":"default","name":"web"},"apiVersion":"v1"})",
                           arena)
                   .value());
  EXPECT_FALSE(edit.changed());
}

TEST(Edit, EachSegmentCanChange) {
  using Change = void (*)(Edit&);
  const Change changes[] = {
      [](Edit& e) {
        e.metadata()["labels"] = {{"a", "b"}};
      },
      [](Edit& e) { e.metadata().erase("namespace"); },
      [](Edit& e) { e.body()["spec"].as_object()["priority"] = 4; },
      [](Edit& e) {
        e.body()["data"] = {{"a", "b"}};
      },
      [](Edit& e) { e.body().clear(); },
      [](Edit& e) { e.status() = nullptr; },
      [](Edit& e) { e.status().as_object()["reason"] = "x"; },
  };
  for (std::size_t i = 0; i < std::size(changes); ++i) {
    json::Arena arena;
    Edit edit(pod(), arena);
    changes[i](edit);
    EXPECT_TRUE(edit.changed()) << "change " << i;
    const std::string text = edit.text();
    const Object after = std::move(edit).commit(0).value();
    EXPECT_EQ(after.json(), text) << "change " << i;
  }
}

TEST(Edit, AStatusThatIsNewIsAChange) {
  json::Arena arena;
  const Object bare = Object::parse(kube::kPod, R"({"metadata":{"name":"a"}})").value();
  Edit edit(bare, arena);
  EXPECT_TRUE(edit.status().is_null());
  EXPECT_FALSE(edit.changed());
  edit.status() = {{"phase", "Pending"}};
  EXPECT_TRUE(edit.changed());
}

TEST(Edit, SomethingNewIsMadeOfAWholeDocument) {
  json::Arena arena;
  Edit edit(kube::kConfigMap,
            json::parse(R"({"kind":"ConfigMap","apiVersion":"v1","metadata":{"name":"c"},)"
                        R"("data":{"a":"1"},"immutable":true})",
                        arena)
                .value(),
            arena);
  EXPECT_FALSE(edit.from().valid());
  EXPECT_TRUE(edit.changed());
  edit.metadata()["uid"] = "u-1";
  const Object made = std::move(edit).commit(9).value();
  EXPECT_EQ(made.json(),
            R"({"kind":"ConfigMap","apiVersion":"v1","metadata":{"resourceVersion":"9",)"
            R"("name":"c","uid":"u-1"},"data":{"a":"1"},"immutable":true})");
}

TEST(Edit, AMainUpdateCanTakeTheOldStatusBack) {
  json::Arena arena;
  Edit edit(pod(), arena);
  edit.replace(json::parse(R"({"metadata":{"name":"web"},"spec":{"nodeName":"n2"},)"
                           R"("status":{"phase":"Failed"}})",
                           arena)
                   .value());
  edit.restore_status();
  const Object after = std::move(edit).commit(6).value();
  EXPECT_EQ(after.status()["phase"].text(), "Pending");
  EXPECT_EQ(after.member("spec")["nodeName"].text(), "n2");
}

TEST(Edit, MetadataThatNoObjectCanHaveIsAnErrorAndNoCrash) {
  json::Arena arena;
  Edit edit(pod(), arena);
  edit.metadata()["name"] = 7;
  EXPECT_FALSE(std::move(edit).commit(6).has_value());
}

}  // namespace
}  // namespace berth::apiserver
