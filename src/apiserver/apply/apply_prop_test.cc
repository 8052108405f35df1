// SPDX-License-Identifier: Apache-2.0
// What holds of any sequence of applies, whatever is in them.
#include <gtest/gtest.h>

#include "apiserver/apply/apply.h"
#include "apiserver/apply/managers.h"
#include "apiserver/kinds/kinds.h"
#include "base/random.h"
#include "kube/time.h"

namespace berth::apiserver {
namespace {

constexpr std::uint64_t kSeeds = 100;

// One Deployment that managers apply to.
class Live {
 public:
  Result<Ok> apply(std::string_view manager, const std::string& spec, bool force = false) {
    json::Arena arena;
    Edit edit = object_.valid() ? Edit(object_, arena) : Edit(row_.id, json::Dict(), arena);
    const std::string text = fmt::format(
        R"({{"apiVersion":"apps/v1","kind":"Deployment","metadata":{{"name":"d"}}{}}})", spec);
    // Every apply is a second later, so that a time that should not change would be seen.
    const WallTime now{(++applies_) * 1'000'000'000};
    const Result<Ok> done =
        apply_patch(row_, edit, *json::parse(text, arena), {std::string(manager), "", now}, force);
    if (!done) return done;
    if (object_.valid() && !edit.changed()) return done;
    ++writes;
    object_ = *std::move(edit).commit(1);
    return done;
  }
  std::string body() const { return std::string(object_.body().raw()); }
  std::string fields_of(std::string_view manager) const {
    for (const json::Slice entry : object_.metadata()["managedFields"].elements())
      if (entry["manager"].equals(manager)) return std::string(entry["fieldsV1"].raw());
    return "";
  }
  const kube::Object& object() const { return object_; }
  int writes = 0;

 private:
  const KindRow& row_ = *find_built_in(kube::kDeployment);
  kube::Object object_;
  std::int64_t applies_ = 0;
};

std::string listed(const std::vector<std::string>& parts) {
  return fmt::format("{}", fmt::join(parts, ","));
}

// ,"spec":{…} with some of these parts, each with one of a few values, and one label always. `own`
// keeps the fields of managers apart.
std::string some_spec(Random& random, std::string_view own) {
  std::vector<std::string> containers, volumes, labels, pod, parts;
  const auto pick = [&](std::uint64_t of) { return random.below(of); };
  for (const char name : {'a', 'b', 'c'}) {
    if (pick(2) == 0) continue;
    std::vector<std::string> env;
    for (const char key : {'X', 'Y'})
      if (pick(2) == 0) env.push_back(fmt::format(R"({{"name":"{}","value":"{}"}})", key, pick(3)));
    containers.push_back(
        fmt::format(R"({{"name":"{}{}","image":"i{}"{}}})", own, name, pick(3),
                    env.empty() ? "" : fmt::format(R"(,"env":[{}])", listed(env))));
  }
  for (const char name : {'v', 'w'})
    if (pick(2) == 0)
      volumes.push_back(
          fmt::format(R"({{"name":"{}{}","hostPath":{{"path":"/{}"}}}})", own, name, pick(3)));
  for (const char key : {'k', 'l'})
    if (pick(2) == 0) labels.push_back(fmt::format(R"("{}{}":"{}")", own, key, pick(3)));
  if (!containers.empty()) pod.push_back(fmt::format(R"("containers":[{}])", listed(containers)));
  if (!volumes.empty()) pod.push_back(fmt::format(R"("volumes":[{}])", listed(volumes)));
  labels.push_back(fmt::format(R"("{}always":"x")", own));
  parts.push_back(fmt::format(R"("metadata":{{"labels":{{{}}}}})", listed(labels)));
  if (!pod.empty()) parts.push_back(fmt::format(R"("spec":{{{}}})", listed(pod)));
  return fmt::format(R"(,"spec":{{"template":{{{}}}}})", listed(parts));
}

TEST(ApplyProperty, TheSameTwiceChangesNothing) {
  for (std::uint64_t seed = 0; seed < kSeeds; ++seed) {
    Random random(seed);
    Live live;
    ASSERT_TRUE(live.apply("one", some_spec(random, "")));
    for (int i = 0; i < 4; ++i) {
      const std::string manager = i % 2 == 0 ? "one" : "two";
      const std::string spec = some_spec(random, "");
      ASSERT_TRUE(live.apply(manager, spec, true)) << seed;
      const std::string before = live.object().json();
      const int writes = live.writes;
      ASSERT_TRUE(live.apply(manager, spec, false)) << seed;
      EXPECT_EQ(live.object().json(), before) << seed;
      EXPECT_EQ(live.writes, writes) << seed;
    }
  }
}

TEST(ApplyProperty, ManagersOfDisjointFieldsDoNotMindTheOrder) {
  for (std::uint64_t seed = 0; seed < kSeeds; ++seed) {
    Random random(seed);
    const std::string first = some_spec(random, "p"), second = some_spec(random, "q");
    Live ab, ba;
    ASSERT_TRUE(ab.apply("one", first));
    ASSERT_TRUE(ab.apply("two", second)) << seed;
    ASSERT_TRUE(ba.apply("two", second));
    ASSERT_TRUE(ba.apply("one", first)) << seed;
    EXPECT_EQ(ab.fields_of("one"), ba.fields_of("one")) << seed;
    EXPECT_EQ(ab.fields_of("two"), ba.fields_of("two")) << seed;
    // Elements stand in the order in which they came.
    EXPECT_EQ(ab.body().size(), ba.body().size()) << seed;
  }
}

TEST(ApplyProperty, WhatItsOnlyManagerDropsIsGone) {
  for (std::uint64_t seed = 0; seed < kSeeds; ++seed) {
    Random random(seed);
    Live live, never;
    const std::string theirs = some_spec(random, "q");
    ASSERT_TRUE(never.apply("two", theirs));
    ASSERT_TRUE(live.apply("two", theirs));
    ASSERT_TRUE(live.apply("one", some_spec(random, "p"))) << seed;
    ASSERT_TRUE(live.apply("one", "")) << seed;
    EXPECT_EQ(live.fields_of("one"), "") << seed;
    EXPECT_EQ(live.fields_of("two"), never.fields_of("two")) << seed;
    json::Arena arena;
    EXPECT_TRUE(
        json::equal(json::parse_good(live.body(), arena), json::parse_good(never.body(), arena)))
        << seed << "\n"
        << live.body() << "\n"
        << never.body();
  }
}

TEST(ApplyProperty, WhatIsManagedIsThere) {
  for (std::uint64_t seed = 0; seed < kSeeds; ++seed) {
    Random random(seed);
    Live live;
    for (int i = 0; i < 6; ++i) {
      const std::string manager = fmt::format("m{}", random.below(3));
      const bool force = random.below(2) == 0;
      const std::string before = live.object().valid() ? live.object().json() : "";
      const Result<Ok> done = live.apply(manager, some_spec(random, ""), force);
      if (!done) {
        EXPECT_EQ(done.error().reason, Reason::kConflict) << done.error().message;
        EXPECT_FALSE(done.error().causes.empty());
        EXPECT_EQ(live.object().json(), before) << "a conflict changes nothing";
        continue;
      }
      json::Arena arena;
      const json::Value managed =
          json::parse_good(live.object().metadata()["managedFields"].raw(), arena);
      const Result<Managers> managers = read_managers(Peek(managed));
      ASSERT_TRUE(managers.has_value());
      for (const auto& [id, each] : *managers) EXPECT_FALSE(each.fields.empty()) << seed;
    }
  }
}

}  // namespace
}  // namespace berth::apiserver
