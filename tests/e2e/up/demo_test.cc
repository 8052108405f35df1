// SPDX-License-Identifier: Apache-2.0
// `berth up --demo` where there is no terminal: what a newcomer reads is what the cluster holds.
#include <algorithm>
#include <fstream>
#include <map>
#include <regex>
#include <sstream>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "berth_up.h"
#include "kube/pod_view.h"
#include "session.h"

namespace berth::e2e {
namespace {

using testing::HasSubstr;

constexpr std::chrono::seconds kPatience{120};
constexpr std::size_t kShop = 12;  // pods of the first act

// Of the lines "shop/web-1 -> node-2": nodes by pods.
std::map<std::string, std::string> placements(const std::string& said) {
  static const std::regex line("^([^ ]+/[^ ]+) -> ([^ ]+)$");
  std::map<std::string, std::string> all;
  std::istringstream lines(said);
  for (std::string text; std::getline(lines, text);)
    if (std::smatch found; std::regex_match(text, found, line)) all[found[1]] = found[2];
  return all;
}

TEST(UpDemo, TellsWherePodsGoAndTheyAreThere) {
  const TempFolder folder;
  const std::filesystem::path errors = folder.path() / "stderr";
  auto up = BerthUp::start({.folder = folder.path(),
                            .flags = {"--demo"},
                            .before = {"/bin/sh", "-c", "exec \"$@\" 2>" + errors.string(), "sh"}});
  ASSERT_TRUE(up) << up.error().message;
  std::map<std::string, std::string> told;
  ASSERT_TRUE(eventually(kPatience, [&] {
    told = placements((*up)->said());
    return told.size() > kShop;
  })) << (*up)->said();
  EXPECT_THAT((*up)->said(), AllOf(HasSubstr("# A shop: "), HasSubstr("# Research: ")));

  auto admin = Session::open((*up)->kubeconfig());
  ASSERT_TRUE(admin) << admin.error().message;
  EXPECT_TRUE(eventually(kPatience, [&] {
    const auto shop = (*admin)->list_all(kube::kPod, "shop");
    return shop && std::ranges::count_if(shop->items, [](const kube::Object& pod) {
                     return pod.status()["phase"].equals("Running");
                   }) >= static_cast<std::ptrdiff_t>(kShop);
  })) << (*up)->said();
  std::size_t seen = 0;
  const auto pods = (*admin)->list_all(kube::kPod, "");
  ASSERT_TRUE(pods) << pods.error().message;
  for (const kube::Object& pod : pods->items) {
    const auto line = told.find(pod.key().text());
    if (line == told.end()) continue;  // of a later act
    EXPECT_EQ(kube::PodView(pod).node_name(), line->second) << line->first;
    ++seen;
  }
  EXPECT_GE(seen, kShop);
  admin->reset();
  EXPECT_TRUE((*up)->end()) << (*up)->said();
  std::ostringstream read;
  read << std::ifstream(errors).rdbuf();
  EXPECT_EQ(read.str(), "");
}

}  // namespace
}  // namespace berth::e2e
