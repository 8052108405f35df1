// SPDX-License-Identifier: Apache-2.0
// The disk under `berth up` is full: writes are refused with the cause and the remedy, reads go on,
// nothing that was answered is lost, and once there is room writing goes on by itself.
#include <csignal>
#include <fstream>
#include <map>

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/resource.h>

#include "berth_up.h"
#include "json/slice.h"
#include "wire.h"

namespace berth::e2e {
namespace {

namespace fs = std::filesystem;
using conformance::Wire;
using testing::AllOf;
using testing::HasSubstr;

constexpr const char* kMaps = "/api/v1/namespaces/default/configmaps";

// Where the data directory is, and how it runs out of room.
class Disk {
 public:
  virtual ~Disk() = default;
  virtual BerthUp::Options options() const = 0;
  virtual void fill(const BerthUp&) = 0;
  virtual void free(const BerthUp&) = 0;
};

// A file system of 16 MB, mounted for whoever enters the keeper's namespace.
class SmallDisk final : public Disk {
 public:
  static std::unique_ptr<SmallDisk> mount() {
    auto disk = std::make_unique<SmallDisk>();
    fs::create_directory(disk->place());
    auto keeper = Child::start(
        {.program = "/usr/bin/unshare",
         .args = {"-rm", "/bin/sh", "-c",
                  fmt::format("mount -t tmpfs -o size=16m none {0} && touch {0}/mounted && exec "
                              "sleep infinity",
                              disk->place().string())},
         .env = {},
         .log = disk->folder_.path() / "keeper.log"});
    if (!keeper) return nullptr;
    disk->keeper_ = *std::move(keeper);
    eventually(std::chrono::seconds(20), [&] {
      return !disk->keeper_->running() || fs::exists(disk->seen_from_here() / "mounted");
    });
    return disk->keeper_->running() ? std::move(disk) : nullptr;
  }

  BerthUp::Options options() const override {
    return {.folder = folder_.path(),
            .data_dir = place() / "data",
            .flags = bare(),
            .before = {"/usr/bin/nsenter", "-t", std::to_string(keeper_->pid()), "-U", "-m",
                       "--preserve-credentials"}};
  }
  void fill(const BerthUp&) override {
    const fs::space_info room = fs::space(seen_from_here());
    std::ofstream(ballast(), std::ios::binary) << std::string(room.available, '\0');
    EXPECT_LT(fs::space(seen_from_here()).available, 4096u);
  }
  void free(const BerthUp&) override { fs::remove(ballast()); }

 private:
  fs::path place() const { return folder_.path() / "disk"; }
  fs::path seen_from_here() const {
    return fs::path(fmt::format("/proc/{}/root{}", keeper_->pid(), place().string()));
  }
  fs::path ballast() const { return seen_from_here() / "ballast"; }

  TempFolder folder_;
  std::unique_ptr<Child> keeper_;
};

// Any disk; the process may not make a file longer than they are.
class NoLongerFiles final : public Disk {
 public:
  NoLongerFiles() { std::signal(SIGXFSZ, SIG_IGN); }  // what it starts ignores it, too
  BerthUp::Options options() const override {
    return {.folder = folder_.path(), .data_dir = folder_.path() / "data", .flags = bare()};
  }
  void fill(const BerthUp& up) override { limit(up, 200'000); }
  void free(const BerthUp& up) override { limit(up, RLIM_INFINITY); }

 private:
  static void limit(const BerthUp& up, rlim_t bytes) {
    const rlimit wanted{bytes, RLIM_INFINITY};
    EXPECT_EQ(::prlimit(up.pid(), RLIMIT_FSIZE, &wanted, nullptr), 0);
  }
  TempFolder folder_;
};

// What was answered, by name.
using Answered = std::map<std::string, std::string>;

Answered there(Wire& wire) {
  Answered all;
  const auto listed = ask(wire, "GET", kMaps);
  EXPECT_TRUE(listed && listed->status == 200);
  if (!listed) return all;
  for (const json::Slice item : json::Slice(listed->body)["items"].elements())
    if (item["data"]["x"])
      all[item["metadata"]["name"].text()] = item["metadata"]["resourceVersion"].text();
  return all;
}

// Writes until one is refused, or so many are not.
Result<net::HttpResponse> write_on(Wire& wire, Answered& answered, int most, const char* prefix) {
  Result<net::HttpResponse> response;
  for (int i = 0; i < most; ++i) {
    const std::string name = fmt::format("{}-{}", prefix, i);
    response = ask(wire, "POST", kMaps,
                   fmt::format(R"({{"metadata":{{"name":"{}"}},"data":{{"x":"{}"}}}})", name,
                               std::string(20'000, 'x')));
    if (!response || response->status != 201) break;
    answered[name] = json::Slice(response->body)["metadata"]["resourceVersion"].text();
  }
  return response;
}

void tell_the_story(Disk& disk) {
  auto up = BerthUp::start(disk.options());
  ASSERT_TRUE(up) << up.error().message;
  Answered answered;
  {
    Wire wire((*up)->access());
    ASSERT_EQ(write_on(wire, answered, 20, "before")->status, 201);
    disk.fill(**up);
    const auto refused = write_on(wire, answered, 2'000, "during");
    ASSERT_TRUE(refused) << refused.error().message;
    EXPECT_EQ(refused->status, 500) << refused->body;
    const json::Slice status(refused->body);
    EXPECT_EQ(status["reason"].text(), "InternalError");
    EXPECT_THAT(status["message"].text(),
                AllOf(HasSubstr("the store cannot keep what is written"), HasSubstr("store.db"),
                      HasSubstr("make room"), HasSubstr("writes are taken again")));
    // Every way to write is refused, and refusing changes nothing.
    const std::string target = fmt::format("{}/before-0", kMaps);
    for (const auto& [method, body, type] : std::vector<std::array<const char*, 3>>{
             {"PATCH", R"({"data":{"x":"changed"}})", "application/merge-patch+json"},
             {"PUT", R"({"metadata":{"name":"before-0"},"data":{"x":"changed"}})",
              "application/json"},
             {"DELETE", "{}", "application/json"}}) {
      const auto also = ask(wire, method, target, body, type);
      ASSERT_TRUE(also);
      EXPECT_EQ(also->status, 500) << method << " " << also->body;
    }
    EXPECT_EQ(there(wire), answered) << "reads go on";
    EXPECT_THAT(ask(wire, "GET", "/readyz")->body, HasSubstr("[-]etcd failed"));
  }
  // Killed and started again without room: it serves what there is, or says what is wrong.
  (*up)->kill();
  up = BerthUp::start(disk.options());
  ASSERT_TRUE(up) << up.error().message;
  {
    Wire wire((*up)->access());
    EXPECT_EQ(there(wire), answered) << "after a restart without room";
    disk.free(**up);
    EXPECT_TRUE(eventually(std::chrono::seconds(60), [&] {
      return write_on(wire, answered, 1, "after")->status == 201;
    })) << "there is room again";
    EXPECT_EQ(there(wire), answered);
  }
  (*up)->kill();
  up = BerthUp::start(disk.options());
  ASSERT_TRUE(up) << up.error().message;
  Wire wire((*up)->access());
  EXPECT_EQ(there(wire), answered) << "after a restart with room";
}

TEST(FullDisk, IsToldToWritersAndNothingAnsweredIsLost) {
  const auto disk = SmallDisk::mount();
  if (disk == nullptr)
    GTEST_SKIP() << "no file system can be mounted here: run as root, or allow user namespaces";
  tell_the_story(*disk);
}

TEST(FullDisk, IsTheSameWhereFilesMayNotGrow) {
  NoLongerFiles disk;
  tell_the_story(disk);
}

}  // namespace
}  // namespace berth::e2e
