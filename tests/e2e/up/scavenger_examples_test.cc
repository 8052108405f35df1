// SPDX-License-Identifier: Apache-2.0
// The manifests of examples/scavenger on `berth up`: they are accepted as they are, and do what
// they are for as far as simulated pods can.
#include <fstream>
#include <sstream>

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "berth_up.h"
#include "json/yaml.h"
#include "session.h"

namespace berth::e2e {
namespace {

using kube::Object;
using ::testing::HasSubstr;

constexpr std::chrono::seconds kPatience{180};

class Examples : public ::testing::Test {
 protected:
  void SetUp() override {
    auto up = BerthUp::start({.flags = {"--nodes", "4"}});
    ASSERT_TRUE(up) << up.error().message;
    up_ = *std::move(up);
    auto session = Session::open(up_->kubeconfig());
    ASSERT_TRUE(session) << session.error().message;
    session_ = *std::move(session);
  }

  // Everything in a file of examples/scavenger, in order.
  std::vector<Object> apply(const std::string& file) {
    std::ifstream in(fmt::format("{}/examples/scavenger/{}", BERTH_SOURCE_DIR, file));
    std::ostringstream text;
    text << in.rdbuf();
    std::vector<Object> made;
    const auto documents = json::yaml_to_json(text.str());
    EXPECT_TRUE(documents) << documents.error().message;
    if (documents)
      for (const json::YamlDocument& document : *documents) made.push_back(create(document.json));
    return made;
  }
  Object create(const std::string& json) {
    const auto object = Object::parse(json);
    EXPECT_TRUE(object) << object.error().message;
    const bool everywhere = !kube::kind_of(object->kind()).namespaced;
    auto created = session_->create(object->kind(), everywhere ? "" : "default", json);
    EXPECT_TRUE(created) << created.error().message;
    return created ? *created : Object{};
  }
  Object now(const Object& object) {
    const auto read = session_->get(object.kind(), object.key());
    return read ? *read : object;
  }
  bool comes_to(const Object& job, std::string_view phase) {
    return eventually(kPatience, [&] { return now(job).status()["phase"].equals(phase); });
  }
  std::vector<Object> pods_of(const Object& job) {
    std::vector<Object> found;
    if (const auto all = session_->list_all(kube::kPod, "default"))
      for (const Object& pod : all->items)
        if (pod.label("berth.dev/scavenger") == job.uid()) found.push_back(pod);
    return found;
  }
  std::unique_ptr<BerthUp> up_;
  std::unique_ptr<Session> session_;
};

TEST_F(Examples, R50_TheProgramIsStartedAgainAfterAnInterruptionAndEnds) {
  const std::vector<Object> made = apply("molecules.yaml");
  ASSERT_EQ(made.size(), 2u);
  const Object& job = made[1];
  std::string interrupted;
  ASSERT_TRUE(eventually(kPatience, [&] {
    for (const Object& pod : pods_of(job))
      if (pod.status()["phase"].equals("Running")) {
        interrupted = pod.name();
        return session_->erase(kube::kPod, pod.key()).has_value();
      }
    return false;
  })) << now(job).json();
  ASSERT_TRUE(eventually(kPatience, [&] {
    return now(job).status()["interruptedCount"].integer() == 1;
  })) << now(job).json();
  EXPECT_EQ(now(made[0]).member("spec")["storageClassName"].text(), "standard")
      << "the claim names no class, and gets a volume all the same";
  EXPECT_TRUE(comes_to(job, "Completed")) << now(job).json();
  const Object last = now(job);
  EXPECT_EQ(last.status()["attempt"].integer(), 2);
  EXPECT_EQ(last.status()["interruptedTimestamps"].size(), 1u);
  EXPECT_EQ(last.status()["runningTimestamps"].size(), 2u);
  EXPECT_TRUE(last.status()["finishedTimestamp"].present());
}

TEST_F(Examples, WhatTheProgramIsToldIsWhatItReads) {
  const Object job = apply("molecules.yaml").at(1);
  std::vector<Object> pods;
  ASSERT_TRUE(eventually(kPatience, [&] {
    pods = pods_of(job);
    return !pods.empty();
  })) << now(job).json();
  const json::Slice container = pods[0].member("spec")["containers"][std::size_t{0}];
  EXPECT_EQ(container["resources"]["limits"]["cpu"].text(), "1") << "as its requests";
  const std::string env(container["env"].raw());
  for (const char* name : {"SJ_NAME", "SJ_ATTEMPT", "SJ_ANNOTATIONS", "SJ_CHECKPOINT_INTERVAL"})
    EXPECT_THAT(env, HasSubstr(fmt::format("\"{}\"", name)));
  EXPECT_THAT(env, HasSubstr(R"("/etc/berth/annotations")"));
  const std::string mounts(container["volumeMounts"].raw());
  EXPECT_THAT(mounts, HasSubstr(R"("/etc/berth")"));
  EXPECT_THAT(mounts, HasSubstr(R"("/data")"));
  EXPECT_EQ(pods[0].member("spec")["priority"].integer(), -1000);
}

TEST_F(Examples, F2_ManifestsOfTheFirstOperatorRunAsTheyAre) {
  const Object sleep = apply("cerit/sleep.yaml").at(0);
  const Object counter = apply("cerit/volume.yaml").at(1);
  const Object parallel = apply("cerit/parallel.yaml").at(0);
  for (const Object& job : {sleep, counter, parallel})
    EXPECT_TRUE(comes_to(job, "Running") || now(job).status()["phase"].equals("Completed"))
        << now(job).json();
  EXPECT_EQ(pods_of(parallel).size(), 4u);
}

TEST_F(Examples, R40_R51_GromacsWaitsForNobodysVolume) {
  const Object job = apply("gromacs/gromacs.yaml").at(0);
  EXPECT_TRUE(comes_to(job, "Failed")) << now(job).json();
  EXPECT_THAT(now(job).status()["message"].text(), HasSubstr("simulation"));
  EXPECT_TRUE(pods_of(job).empty());
}

}  // namespace
}  // namespace berth::e2e
