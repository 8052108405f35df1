// SPDX-License-Identifier: Apache-2.0
#include "controllers/state_diagram.h"

#include <cstdlib>
#include <fstream>
#include <sstream>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace berth::controllers {
namespace {

constexpr const char* kPage = "docs/states.md";

std::string fenced(const std::string& diagram) { return "```mermaid\n" + diagram + "```\n"; }

// Where a table has changed on purpose, BERTH_WRITE_STATES=1 draws the page's diagrams anew.
TEST(StateDiagrams, P_24_OfTheDocumentsAreDrawnFromTheTables) {
  std::ifstream in(kPage);
  std::ostringstream read;
  read << in.rdbuf();
  std::string page = read.str();
  const std::string drawn[] = {fenced(scheduling_diagram()), fenced(batch_job_diagram())};
  if (std::getenv("BERTH_WRITE_STATES") != nullptr) {  // NOLINT: single-threaded
    std::size_t at = 0;
    for (const std::string& each : drawn) {
      at = page.find("```mermaid\n", at);
      ASSERT_NE(at, std::string::npos);
      const std::size_t end = page.find("\n```\n", at);
      ASSERT_NE(end, std::string::npos);
      page.replace(at, end + 5 - at, each);
      at += each.size();
    }
    std::ofstream(kPage) << page;
  }
  for (const std::string& each : drawn) EXPECT_THAT(page, testing::HasSubstr(each));
}

}  // namespace
}  // namespace berth::controllers
