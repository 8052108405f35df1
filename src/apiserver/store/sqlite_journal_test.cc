// SPDX-License-Identifier: Apache-2.0
#include "apiserver/store/sqlite_journal.h"

#include <gmock/gmock.h>
#include <sqlite3.h>

#include "apiserver/store/journal_for_test.h"
#include "apiserver/store/mark_file.h"
#include "apiserver/store/test_vfs.h"

namespace berth::apiserver {
namespace {

using testing::AllOf;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;

void sql(const TempFolder& folder, const char* text) {
  sqlite3* db = nullptr;
  ASSERT_EQ(sqlite3_open(folder.file("store.db").c_str(), &db), SQLITE_OK);
  char* error = nullptr;
  EXPECT_EQ(sqlite3_exec(db, text, nullptr, nullptr, &error), SQLITE_OK) << error;
  sqlite3_close(db);
}

TEST(SqliteJournal, WhatWasAcknowledgedIsThereAfterwards) {
  TempFolder folder, copy;
  std::string then;
  kube::Revision revision = 0;
  {
    Process first(folder);
    ASSERT_TRUE(first.started()) << first.error;
    EXPECT_EQ(first.store().published(), 1u);
    first.put("x", "n1");
    first.put("y");
    first.put("x", "n2");
    revision = first.put("z");
    EXPECT_TRUE(first.write(erase(kube::kPod, {"a", "y"})).has_value());
    then = first.all();
    copy_files(folder, copy);
  }
  for (const TempFolder* left : {&folder, &copy}) {
    Process second(*left);
    ASSERT_TRUE(second.started()) << second.error;
    EXPECT_EQ(second.all(), then);
    EXPECT_GT(second.put("x", "n3"), revision);
    Process third_at_once(*left);
    EXPECT_THAT(third_at_once.error, HasSubstr("is in use by another process"));
  }
}

TEST(SqliteJournal, RevisionsRiseOverManyStarts) {
  TempFolder folder;
  kube::Revision last = 0;
  for (int i = 0; i < 5; ++i) {
    Process process(folder);
    ASSERT_TRUE(process.started()) << process.error;
    EXPECT_GE(process.store().published(), last);
    last = process.put("x");
  }
  EXPECT_GT(last, 400'000u);  // a block for every start
}

TEST(SqliteJournal, VolatileWritesComeBackAsTheyLastWereDurable) {
  TempFolder folder;
  {
    Process process(folder);
    process.put("x", "durable");
    EXPECT_TRUE(process.write(put(pod({"a", "x"}, {.node = "volatile"}), Durability::kVolatile)));
    EXPECT_TRUE(process.write(put(pod({"a", "y"}), Durability::kVolatile)));
    EXPECT_THAT(process.keys(), ElementsAre("a/x", "a/y"));
  }
  Process process(folder);
  EXPECT_THAT(process.keys(), ElementsAre("a/x"));
  EXPECT_THAT(process.all(), HasSubstr(R"("nodeName":"durable")"));
}

TEST(SqliteJournal, TheLogIsCopiedOverAndStartsAgain) {
  TempFolder folder;
  for (const int restart : {60, 16'384}) {
    Process process(folder, {.checkpoint_pages = 20, .restart_pages = restart});
    for (int i = 0; i < 500; ++i) process.put(fmt::format("p{}", i % 50));
    EXPECT_LT(fs::file_size(folder.path / "store.db-wal"), 100u * 4200) << restart;
  }
  Process again(folder, {.fsync = true});
  EXPECT_EQ(again.keys().size(), 50u);
  again.put("one-more");
}

// Damage.

struct Harm {
  const char* name;
  std::function<void(const TempFolder&)> harm;
  std::vector<std::string> says;
  std::vector<std::string> left;  // by a salvage
};

TEST(SqliteJournal, DamageIsNamedAndNothingIsServed) {
  const std::vector<std::string> both{"a/x", "a/y"};
  const Harm harms[] = {
      {"a bit in a document",
       [](const TempFolder& f) { flip_in(f.file("store.db"), R"("nodeName":"node-of-y")"); },
       {"store.db: pods/a/y: has a wrong checksum"},
       {"a/x"}},
      {"a row is gone",
       [](const TempFolder& f) { sql(f, "DELETE FROM object WHERE key = 'pods/a/x'"); },
       {"store.db: 2 objects were kept, 1 are there"},
       {"a/y"}},
      {"a row twice",
       [](const TempFolder& f) {
         sql(f, "INSERT INTO object SELECT 77, key, rev, crc, doc FROM object WHERE id = 1");
       },
       {"pods/a/x: has a wrong checksum", "2 objects were kept, 3 are there"},
       both},
      {"an older row with a good checksum",
       [](const TempFolder& f) { sql(f, "UPDATE object SET rev = 2, crc = 0 WHERE id = 1"); },
       {"pods/a/x: has a wrong checksum"},
       {"a/y"}},
      {"the state",
       [](const TempFolder& f) { sql(f, "UPDATE state SET reserved = reserved + 1"); },
       {"store.db: its state has a wrong checksum"},
       both},
      {"the state is gone",
       [](const TempFolder& f) { sql(f, "DELETE FROM state"); },
       {"store.db: its state cannot be read"},
       both},
      {"the tables are gone",
       [](const TempFolder& f) { sql(f, "DROP TABLE object; DROP TABLE state"); },
       {"store.db: is empty, though it had been written to"},
       {}},
      {"the mark",
       [](const TempFolder& f) { flip(f.file("mark"), 3); },
       {"mark: slot 1 has a wrong checksum"},
       both},
      {"the mark is gone",
       [](const TempFolder& f) { fs::remove(f.path / "mark"); },
       {"mark: is missing"},
       both},
      {"the mark is short",
       [](const TempFolder& f) { fs::resize_file(f.path / "mark", 20); },
       {"mark: is 20 bytes long instead of 32"},
       both},
      {"the database is gone",
       [](const TempFolder& f) { fs::remove(f.path / "store.db"); },
       {"store.db: is missing"},
       {}},
      {"the header of the database",
       [](const TempFolder& f) { flip(f.file("store.db"), 2); },
       {"store.db: cannot be opened"},
       {}},
  };
  for (const Harm& harm : harms) {
    SCOPED_TRACE(harm.name);
    TempFolder folder;
    std::string then;
    {
      Process process(folder);
      process.put("x", "node-of-x");
      process.put("y", "node-of-y");
      then = process.all();
    }
    harm.harm(folder);
    {
      Process refused(folder);
      EXPECT_FALSE(refused.started());
      for (const std::string& says : harm.says) EXPECT_THAT(refused.error, HasSubstr(says));
      EXPECT_THAT(refused.error, AllOf(HasSubstr("the store in " + folder.path.string()),
                                       HasSubstr("A power cut without --fsync looks the same"),
                                       HasSubstr("--salvage")));
      EXPECT_THAT(refused.keys(), IsEmpty());
    }
    kube::Revision next = 0;
    {
      Process salvaged(folder, {}, Recovery::kSalvage);
      ASSERT_TRUE(salvaged.started()) << salvaged.error;
      EXPECT_EQ(salvaged.keys(), harm.left);
      EXPECT_FALSE(salvaged.lost.empty());
      EXPECT_TRUE(fs::exists(folder.path / "damaged-1"));
      next = salvaged.put("z");
      if (!harm.left.empty()) {
        EXPECT_GT(next, 100'003u);  // above all that may have been given out
      }
    }
    Process whole(folder);
    EXPECT_TRUE(whole.started()) << whole.error;
    EXPECT_EQ(whole.keys().size(), harm.left.size() + 1);
    EXPECT_GT(whole.store().published(), next);
  }
}

TEST(SqliteJournal, AStaleRowWithAGoodChecksumIsFoundByTheDigest) {
  TempFolder folder;
  {
    Process process(folder);
    process.put("x", "n1");
  }
  sql(folder, "CREATE TABLE old AS SELECT * FROM object");
  {
    Process process(folder);
    process.put("x", "n2");
  }
  sql(folder, "DELETE FROM object; INSERT INTO object SELECT * FROM old; DROP TABLE old");
  Process refused(folder);
  EXPECT_THAT(refused.error, HasSubstr("their digest differs"));
}

TEST(SqliteJournal, ALogThatLostItsEndIsFoundByTheMark) {
  TempFolder folder, copy;
  Process process(folder);
  process.put("x", "before");
  process.put("y", "after");
  copy_files(folder, copy);
  // SQLite itself sees nothing: the commit of y was never there.
  const std::size_t at = flip_in(copy.file("store.db-wal"), R"("nodeName":"after")");
  {
    Process refused(copy);
    EXPECT_FALSE(refused.started());
    EXPECT_THAT(refused.error,
                HasSubstr("store.db-wal: writes up to revision 3 were acknowledged, only those up "
                          "to 2 are there"));
  }
  // Looking did not make it worse: with the bit flipped back everything is there.
  flip(copy.file("store.db-wal"), at);
  Process mended(copy);
  EXPECT_TRUE(mended.started()) << mended.error;
  EXPECT_THAT(mended.keys(), ElementsAre("a/x", "a/y"));
}

TEST(SqliteJournal, FiftyTornOrFlippedPagesAreReportedOrDidNoHarm) {
  TempFolder original;
  std::string then;
  {
    Process process(original, {.checkpoint_pages = 1'000'000});
    for (int i = 0; i < 60; ++i) process.put(fmt::format("p{}", i), std::string(900, 'n'));
    for (int i = 0; i < 20; ++i)
      EXPECT_TRUE(process.write(erase(kube::kPod, {"a", fmt::format("p{}", 3 * i)})));
  }  // a tidy end: all of it is in the database
  {
    Process process(original, {.checkpoint_pages = 1'000'000});
    for (int i = 0; i < 20; ++i) process.put(fmt::format("q{}", i), std::string(700, 'm'));
    then = process.all();
    TempFolder kept;
    copy_files(original, kept);
    Random random(7);
    int reported = 0;
    for (int trial = 0; trial < 50; ++trial) {
      SCOPED_TRACE(trial);
      TempFolder harmed;
      copy_files(kept, harmed);
      const std::string file = harmed.file(random.chance(0.5) ? "store.db" : "store.db-wal");
      std::string bytes = bytes_of(file);
      const std::size_t page = random.below(bytes.size() / 4096) * 4096;
      if (random.chance(0.5)) {  // torn: its end is of another time
        const std::size_t from = page + 512 * (1 + random.below(7));
        for (std::size_t at = from; at < page + 4096; ++at) bytes[at] = 0;
        write_bytes(file, bytes);
      } else {
        flip(file, page + random.below(4096), static_cast<int>(random.below(8)));
      }
      {
        Process after(harmed);
        if (after.started()) {
          EXPECT_EQ(after.all(), then) << "served something else";
          continue;
        }
        EXPECT_THAT(after.error, HasSubstr("store.db"));
      }
      ++reported;
      Process salvaged(harmed, {}, Recovery::kSalvage);
      EXPECT_TRUE(salvaged.started()) << salvaged.error;
      for (const kube::Object& object : salvaged.items())
        EXPECT_THAT(then, HasSubstr(object.json()));
    }
    EXPECT_GE(reported, 30);
  }
}

// Room.

TEST(SqliteJournal, AFullDiskFailsTheBatchAndReadsGoOn) {
  TestVfs vfs;
  TempFolder folder;
  std::string then;
  {
    Process process(folder, {.vfs = TestVfs::kName});
    ASSERT_TRUE(process.started()) << process.error;
    process.put("x", "n1");
    vfs.set_room(100);
    const auto first = process.start(put(pod({"a", "x"}, {.node = "n2"})));
    const auto second = process.start(put(pod({"a", "y"})));
    process.world().run_until_idle(Duration{});
    for (const auto& failed : {first, second}) {
      ASSERT_TRUE(failed->has_value() && !(*failed)->has_value());
      EXPECT_EQ((*failed)->error().reason, Reason::kInternalError);
      EXPECT_THAT((*failed)->error().message,
                  AllOf(HasSubstr("store.db"), HasSubstr("database or disk is full")));
    }
    EXPECT_THAT(process.keys(), ElementsAre("a/x"));
    EXPECT_THAT(process.all(), HasSubstr("n1"));
    EXPECT_TRUE(process.store().refusing_writes());
    process.world().run_for(5s);
    EXPECT_TRUE(process.store().refusing_writes());
    vfs.set_room(TestVfs::kEndless);
    process.world().run_for(2s);
    EXPECT_FALSE(process.store().refusing_writes());
    process.put("y");
    then = process.all();
  }
  Process again(folder);
  ASSERT_TRUE(again.started()) << again.error;
  EXPECT_EQ(again.all(), then);
}

TEST(SqliteJournal, WhateverRoomThereIsNothingAcknowledgedIsLost) {
  TestVfs vfs;
  for (int trial = 0; trial < 6; ++trial) {
    SCOPED_TRACE(trial);
    TempFolder folder, copy;
    std::string then;
    {
      Process process(folder, {.checkpoint_pages = 10, .restart_pages = 40, .vfs = TestVfs::kName});
      vfs.set_room(10'000 + 23'001 * trial);
      for (int i = 0; i < 120; ++i) {
        process.write(
            put(pod({"a", fmt::format("p{}", i % 17)}, {.node = std::string(1000, 'n')})));
        if (i % 40 == 39) {
          vfs.set_room(i == 39 ? 30'000 : TestVfs::kEndless);
          process.world().run_for(3s);
        }
      }
      then = process.all();
      copy_files(folder, copy);
      vfs.set_room(TestVfs::kEndless);
    }
    Process again(copy);
    ASSERT_TRUE(again.started()) << again.error;
    EXPECT_EQ(again.all(), then);
  }
}

TEST(MarkFile, KeepsTheNewestOfTwo) {
  TempFolder folder;
  const fs::path path = folder.path / "mark";
  EXPECT_FALSE(MarkFile::open(path).has_value());
  {
    Result<MarkFile> mark = MarkFile::create(path, 5, true);
    ASSERT_TRUE(mark.has_value()) << mark.error().message;
    for (const kube::Revision r : {7, 8, 12}) EXPECT_TRUE(mark->set(r));
  }
  EXPECT_EQ(bytes_of(path.string()).size(), 32u);
  Result<MarkFile> mark = MarkFile::open(path);
  ASSERT_TRUE(mark.has_value());
  EXPECT_EQ(mark->revision(), 12u);
  EXPECT_TRUE(mark->set(13));
  EXPECT_EQ(MarkFile::open(path)->revision(), 13u);
  for (std::size_t at = 0; at < 32; ++at) {
    flip(path.string(), at, 4);
    EXPECT_FALSE(MarkFile::open(path).has_value()) << at;
    flip(path.string(), at, 4);
  }
}

}  // namespace
}  // namespace berth::apiserver
