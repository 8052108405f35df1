// SPDX-License-Identifier: Apache-2.0
#include "child.h"

#include <fstream>
#include <string>

#include <gtest/gtest.h>
#include <signal.h>

namespace berth::e2e {
namespace {
using namespace std::chrono_literals;

// A zombie counts as gone: it holds nothing but its number until its parent looks.
bool alive(pid_t pid) {
  std::ifstream status("/proc/" + std::to_string(pid) + "/stat");
  std::string text((std::istreambuf_iterator<char>(status)), {});
  const auto end = text.rfind(')');
  return end != std::string::npos && text.size() > end + 2 && text[end + 2] != 'Z';
}

std::unique_ptr<Child> shell(const TempFolder& folder, const std::string& script) {
  auto child = Child::start({.program = "/bin/sh",
                             .args = {"-c", script},
                             .env = {"GREETING=hello"},
                             .log = folder.path() / "log"});
  EXPECT_TRUE(child) << child.error().message;
  return child ? std::move(*child) : nullptr;
}

TEST(Child, KeepsOutputAndExitCode) {
  const TempFolder folder;
  auto child = shell(folder, "echo $GREETING; echo trouble >&2; exit 7");
  ASSERT_TRUE(child->wait(30s));
  EXPECT_EQ(child->exit_code(), 7);
  EXPECT_EQ(child->log(), "hello\ntrouble\n");
  EXPECT_EQ(child->log_tail(1), "trouble\n");
  EXPECT_FALSE(child->running());
}

TEST(Child, SaysWhichProgramCannotBeStarted) {
  const TempFolder folder;
  const auto child = Child::start(
      {.program = "/no/such/program", .args = {}, .env = {}, .log = folder.path() / "log"});
  ASSERT_FALSE(child);
  EXPECT_EQ(child.error().message, "/no/such/program: No such file or directory");
}

TEST(Child, IsKilledWhenItIgnoresTheRequestToEnd) {
  const TempFolder folder;
  auto child = shell(folder, "trap '' TERM; echo deaf; while :; do sleep 0.1; done");
  ASSERT_TRUE(eventually(30s, [&] { return child->log() == "deaf\n"; }));
  child->stop(0s);
  EXPECT_EQ(child->exit_code(), 128 + SIGKILL);
  EXPECT_FALSE(alive(child->pid()));
}

TEST(Child, TakesItsOwnChildrenAlong) {
  const TempFolder folder;
  auto child = shell(folder, "sleep 1000 & echo $!; wait");
  ASSERT_TRUE(eventually(30s, [&] { return child->log().ends_with('\n'); }));
  const pid_t grandchild = std::stoi(child->log());
  ASSERT_TRUE(alive(grandchild));
  child.reset();
  EXPECT_TRUE(eventually(30s, [&] { return !alive(grandchild); }));
}

TEST(Child, DiesWithATestThatIsKilled) {
  const TempFolder folder;
  auto test = Child::start({.program = BERTH_SLEEPER,
                            .args = {(folder.path() / "inner").string()},
                            .env = {},
                            .log = folder.path() / "log"});
  ASSERT_TRUE(test) << test.error().message;
  ASSERT_TRUE(eventually(30s, [&] { return (*test)->log().ends_with('\n'); }));
  const pid_t program = std::stoi((*test)->log().substr(4));
  ASSERT_TRUE(alive(program));
  (*test)->signal(SIGKILL);
  EXPECT_TRUE(eventually(30s, [&] { return !alive(program); })) << program;
}

TEST(TempFolder, IsRemovedByTheNextOneWhenItsTestWasKilled) {
  // 2^22 is the kernel's largest number of a process, so this owner cannot live.
  const auto stale =
      std::filesystem::temp_directory_path() / "berth-e2e-4194305-left-by-a-killed-test";
  std::filesystem::create_directories(stale / "etcd");
  std::filesystem::path mine;
  {
    const TempFolder folder;
    mine = folder.path();
    EXPECT_TRUE(std::filesystem::exists(mine));
    EXPECT_FALSE(std::filesystem::exists(stale));
  }
  EXPECT_FALSE(std::filesystem::exists(mine));
}

}  // namespace
}  // namespace berth::e2e
