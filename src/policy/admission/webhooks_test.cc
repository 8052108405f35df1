// SPDX-License-Identifier: Apache-2.0
#include "policy/admission/webhooks.h"

#include <gmock/gmock.h>

#include "base/base64.h"

namespace berth::admission {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;

kube::Object stored(const WebhookObject& object) {
  auto parsed = kube::Object::parse(object.kind, object.json);
  EXPECT_TRUE(parsed) << parsed.error().message;
  return *parsed;
}
// Calls `look` with every webhook of both configurations.
template <class Look>
void each_hook(const WebhookPlace& place, Look look) {
  for (const WebhookObject& object : webhook_objects(place)) {
    const kube::Object kept = stored(object);
    for (const json::Slice hook : kept.member("webhooks").elements()) look(hook);
  }
}

TEST(WebhookObjects, OnlyNewScavengerJobsEverWaitForBerth) {
  int failing = 0;
  each_hook({}, [&](json::Slice hook) {
    EXPECT_THAT(std::string(hook["namespaceSelector"].raw()), HasSubstr("kube-system"));
    EXPECT_THAT(std::string(hook["namespaceSelector"].raw()), HasSubstr("berth-system"));
    EXPECT_TRUE(hook["sideEffects"].equals("None"));
    // A rule without a slash asks about no status, scale, binding or eviction.
    for (const json::Slice rule : hook["rules"].elements()) {
      for (const json::Slice resource : rule["resources"].elements())
        EXPECT_EQ(resource.text().find('/'), std::string::npos);
      EXPECT_THAT(std::string(rule["operations"].raw()), testing::Not(HasSubstr("DELETE")));
    }
    if (!hook["failurePolicy"].equals("Fail")) return;
    ++failing;
    EXPECT_EQ(hook["name"].text(), "scavengerjobs.berth.dev");
    const std::string conditions(hook["matchConditions"].raw());
    EXPECT_THAT(conditions, HasSubstr("!has(object.metadata.deletionTimestamp)"));
    EXPECT_THAT(conditions, HasSubstr("object.spec != oldObject.spec"));
  });
  EXPECT_EQ(failing, 1);
}

TEST(WebhookObjects, PointAtTheServiceOrAtAnAddress) {
  WebhookPlace place{.service_ns = "ours", .ca_bundle = "PEM"};
  EXPECT_THAT(place.dns_names(), ElementsAre("berth-webhooks.ours.svc", "berth-webhooks.ours"));
  EXPECT_THAT(place.addresses(), IsEmpty());
  each_hook(place, [](json::Slice hook) {
    EXPECT_EQ(hook["clientConfig"]["service"]["namespace"].text(), "ours");
    EXPECT_EQ(from_base64(hook["clientConfig"]["caBundle"].text()), "PEM");
  });
  place.url = "https://127.0.0.1:1234";
  EXPECT_THAT(place.dns_names(), IsEmpty());
  EXPECT_THAT(place.addresses(), ElementsAre("127.0.0.1"));
  each_hook(place, [](json::Slice hook) {
    EXPECT_TRUE(hook["clientConfig"]["url"].text().starts_with("https://127.0.0.1:1234/"));
    EXPECT_FALSE(hook["clientConfig"]["service"].present());
  });
}

TEST(WebhookObjects, AreAskedAtPathsThatAreAnswered) {
  const std::vector<std::string> paths = webhook_paths();
  each_hook({}, [&](json::Slice hook) {
    EXPECT_THAT(paths, testing::Contains(hook["clientConfig"]["service"]["path"].text()));
  });
}

TEST(WebhookObjects, AskAboutAllPodsWhereTheyAreToBePolite) {
  each_hook({}, [](json::Slice hook) {
    if (!hook["name"].equals("ordinary-priority.berth.dev")) return;
    EXPECT_EQ(hook["matchConditions"].size(), 1u);
  });
  each_hook({.polite = true}, [](json::Slice hook) {
    if (!hook["name"].equals("ordinary-priority.berth.dev")) return;
    EXPECT_EQ(hook["matchConditions"].size(), 0u);
  });
}

TEST(WebhookObjects, AreWrittenAnewOnlyWhereTheySaySomethingElse) {
  const WebhookPlace place{.ca_bundle = "old"};
  for (std::size_t i = 0; i < 2; ++i) {
    const WebhookObject wanted = webhook_objects(place)[i];
    std::string filled = wanted.json;  // as a server fills it in
    filled.insert(filled.find("\"name\":\""), "\"objectSelector\":{},");
    auto there = kube::Object::parse(wanted.kind, filled);
    ASSERT_TRUE(there);
    EXPECT_TRUE(says_the_same(*there, wanted));
    EXPECT_FALSE(says_the_same(*there, webhook_objects({.ca_bundle = "new"})[i]));
  }
  // A condition too many is not the same either: fewer pods would be asked about.
  EXPECT_FALSE(says_the_same(stored(webhook_objects(place)[0]),
                             webhook_objects({.ca_bundle = "old", .polite = true})[0]));
}

TEST(Surroundings, ComeFromThePolicyAndTheClasses) {
  const auto policy = kube::Object::parse(
      R"({"apiVersion":"berth.dev/v1alpha1","kind":"ScavengerPolicy","metadata":{"name":"default"},"spec":{"reclaim":"On","defaultDuration":"1h","windowMax":"2h","maxNotice":"30s"}})");
  ASSERT_TRUE(policy);
  Surroundings now;
  take_in(&*policy, true, now);
  EXPECT_TRUE(now.ordinary.polite);
  EXPECT_EQ(now.rules.default_duration, 1h);
  EXPECT_EQ(now.rules.window_min, 15min);
  EXPECT_EQ(now.rules.window_max, 2h);
  EXPECT_EQ(now.rules.max_notice, 30s);
  take_in(&*policy, false, now);
  EXPECT_FALSE(now.ordinary.polite) << "nobody would make room for them";
  take_in(nullptr, true, now);
  EXPECT_FALSE(now.ordinary.polite);
  EXPECT_EQ(now.rules.default_duration, 30min);
  const auto class_of = [](const char* name, int value, bool usual) {
    return *kube::Object::parse(fmt::format(
        R"({{"apiVersion":"scheduling.k8s.io/v1","kind":"PriorityClass","metadata":{{"name":"{}"}},"value":{},"globalDefault":{}}})",
        name, value, usual));
  };
  take_in({class_of("a", 1, false), class_of("b", 7, true), class_of("c", 2, true)}, now);
  EXPECT_EQ(now.ordinary.default_class, "c");
}

}  // namespace
}  // namespace berth::admission
