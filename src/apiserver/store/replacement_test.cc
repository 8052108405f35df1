// SPDX-License-Identifier: Apache-2.0
// A salvage that fails or is killed on its way, at every point that there is.
#include "apiserver/store/replacement.h"

#include <cstdio>

#include <fcntl.h>
#include <gmock/gmock.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include "apiserver/store/journal_for_test.h"
#include "apiserver/store/test_vfs.h"

namespace {
int moves_to_live = -1;  // below zero: for ever
}

// In the place of the C library's: the process is killed before its next move of a file.
extern "C" int rename(const char* from, const char* to) noexcept {
  if (moves_to_live >= 0 && moves_to_live-- == 0) ::kill(::getpid(), SIGKILL);
  return ::renameat(AT_FDCWD, from, AT_FDCWD, to);
}

namespace berth::apiserver {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

// False: the work was over before so many moves.
bool is_killed_after(int moves, const std::function<void()>& work) {
  const pid_t child = ::fork();
  if (child == 0) {
    moves_to_live = moves;
    work();
    ::_exit(0);
  }
  int status = 0;
  EXPECT_EQ(::waitpid(child, &status, 0), child);
  return WIFSIGNALED(status);
}

// What a killed process left, with x in the database and y in its log, which is damaged.
void leave_damaged(const TempFolder& folder) {
  TempFolder original;
  { Process(original).put("x", "node-of-x"); }
  Process process(original);
  process.put("y", "node-of-y");
  copy_files(original, folder);
  flip_in(folder.file("store.db-wal"), R"("nodeName":"node-of-y")");
}

std::vector<std::string> contents(const fs::path& folder) {
  std::vector<std::string> all;
  for (const char* name : {"store.db", "store.db-wal", "mark"})
    all.push_back(bytes_of(folder / name));
  return all;
}

// Either it is as if nobody had tried to salvage it, or it is salvaged.
void expect_old_or_new(const TempFolder& folder, const std::vector<std::string>& old) {
  {
    Process next(folder);
    EXPECT_FALSE(fs::exists(folder.path / "salvaging"));
    if (next.started()) {
      EXPECT_THAT(next.keys(), ElementsAre("a/x"));
      EXPECT_EQ(contents(folder.path / "damaged-1"), old);
      return;
    }
    EXPECT_THAT(next.error, HasSubstr("only those up to"));
    EXPECT_EQ(contents(folder.path), old);
    EXPECT_FALSE(fs::exists(folder.path / "damaged-1"));
  }
  Process salvaged(folder, {}, Recovery::kSalvage);
  EXPECT_THAT(salvaged.keys(), ElementsAre("a/x")) << salvaged.error;
}

TEST(Replacement, OfAStoreIsWholeOrNotBegunWheneverItIsKilled) {
  int moves = 0;
  for (bool killed = true; killed; ++moves) {
    SCOPED_TRACE(moves);
    TempFolder folder;
    leave_damaged(folder);
    const std::vector<std::string> old = contents(folder.path);
    killed = is_killed_after(moves, [&] { Process(folder, {}, Recovery::kSalvage); });
    // And killed again by what takes it back.
    for (int more = 0; is_killed_after(more, [&] { Process(folder, {}, Recovery::kWhole); });)
      ++more;
    expect_old_or_new(folder, old);
  }
  EXPECT_GE(moves, 7);
}

TEST(Replacement, OfAStoreThatFindsNoRoomLeavesTheOldOne) {
  TestVfs vfs;
  std::int64_t room = 0;
  for (bool started = false; !started; room += 5'000) {
    SCOPED_TRACE(room);
    TempFolder folder;
    leave_damaged(folder);
    const std::vector<std::string> old = contents(folder.path);
    {
      vfs.set_room(room);
      Process salvaged(folder, {.vfs = TestVfs::kName}, Recovery::kSalvage);
      started = salvaged.started();
      if (!started) {
        EXPECT_THAT(salvaged.error, HasSubstr("salvaging/store.db"));
      }
      vfs.set_room(TestVfs::kEndless);
    }
    expect_old_or_new(folder, old);
  }
  EXPECT_GE(room, 20'000);
}

}  // namespace
}  // namespace berth::apiserver
