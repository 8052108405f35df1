// SPDX-License-Identifier: Apache-2.0
// What the tests of auth and admission are written with: a store in memory, in virtual time, and
// objects in one line of JSON.
#pragma once

#include <string_view>

#include <fmt/format.h>
#include <gtest/gtest.h>

#include "apiserver/store/store.h"
#include "base/world.h"

namespace berth::apiserver {

class ObjectLab {
 public:
  ObjectLab() : scope(world.loop("api"), "test"), store(scope, {}) {}
  ~ObjectLab() {
    scope.close(0s, [] {});
    world.run_until_idle(1h);
  }

  // Writes it as it is; "apiVersion" and "kind" tell what it is.
  kube::Object put(std::string_view json) {
    const kube::Object object = *kube::Object::parse(json);
    Result<Committed> outcome = fail(Reason::kUnknown, "no answer");
    store.write({.kind = object.kind(), .key = object.key(), .next = stamped(object)},
                scope.done<Committed>(1s, [&](Result<Committed> r) { outcome = std::move(r); }));
    world.run_until_idle(1h);
    EXPECT_TRUE(outcome.has_value());
    return outcome->object;
  }
  void drop(kube::KindId kind, kube::Key key) {
    store.write({.kind = kind, .key = std::move(key)},
                scope.done<Committed>(1s, [](Result<Committed>) {}));
    world.run_until_idle(1h);
  }
  void ns(std::string_view name, std::string_view more = "") {
    put(fmt::format(R"({{"apiVersion":"v1","kind":"Namespace","metadata":{{"name":"{}"{}}},)"
                    R"("status":{{"phase":"Active"}}}})",
                    name, more));
  }

  World world{Seed{1}};
  Scope scope;
  Store store;
  WallTime now{1'700'000'000'000'000'000};
};

}  // namespace berth::apiserver
