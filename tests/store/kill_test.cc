// SPDX-License-Identifier: Apache-2.0
// A writer is killed at any moment, again and again on the same folder. Whatever it had said was
// written is there afterwards.
#include <cstdlib>
#include <filesystem>
#include <map>
#include <sstream>

#include <gtest/gtest.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include "apiserver/store/sqlite_journal.h"
#include "apiserver/store/store.h"
#include "base/world.h"

namespace berth::apiserver {
namespace {

namespace fs = std::filesystem;

struct TempFolder {
  TempFolder() {
    std::string name = (fs::temp_directory_path() / "berth-kill-XXXXXX").string();
    path = ::mkdtemp(name.data());
  }
  ~TempFolder() {
    std::error_code ignored;
    fs::remove_all(path, ignored);
  }
  TempFolder(const TempFolder&) = delete;
  TempFolder& operator=(const TempFolder&) = delete;
  fs::path path;
};

// The writer, and what it says.
class Victim {
 public:
  Victim(const fs::path& folder, std::uint64_t seed, std::uint64_t limit, bool fsync) {
    int ends[2];
    EXPECT_EQ(::pipe(ends), 0);
    const std::string seed_text = std::to_string(seed), limit_text = std::to_string(limit);
    pid_ = ::fork();
    if (pid_ == 0) {
      ::prctl(PR_SET_PDEATHSIG, SIGKILL);
      ::dup2(ends[1], 1);
      ::close(ends[0]);
      ::close(ends[1]);
      ::execl(BERTH_STORE_WRITER, BERTH_STORE_WRITER, folder.c_str(), seed_text.c_str(),
              limit_text.c_str(), fsync ? "fsync" : nullptr, nullptr);
      ::_exit(127);
    }
    ::close(ends[1]);
    from_ = ::fdopen(ends[0], "r");
  }
  ~Victim() {
    kill();
    ::fclose(from_);
  }
  Victim(const Victim&) = delete;
  Victim& operator=(const Victim&) = delete;

  // False: it said nothing more.
  bool hear(std::string& line) {
    char* text = nullptr;
    std::size_t room = 0;
    const ssize_t size = ::getline(&text, &room, from_);
    if (size > 0) line.assign(text, static_cast<std::size_t>(size));
    std::free(text);
    return size > 0 && line.back() == '\n';
  }
  void kill() {
    if (pid_ <= 0) return;
    ::kill(pid_, SIGKILL);
    ::waitpid(pid_, nullptr, 0);
    pid_ = -1;
  }

 private:
  pid_t pid_ = -1;
  FILE* from_ = nullptr;
};

// What was acknowledged so far, over all lives of the writer.
class Ledger {
 public:
  void note(const std::string& line) {
    std::istringstream in(line);
    std::string what, key, value;
    kube::Revision revision = 0;
    in >> what >> key >> revision >> value;
    if (what == "X") ADD_FAILURE() << "the writer did not start: " << line;
    if (what == "F") ++failures;
    if (what == "T") ++tried_[key];
    if (what == "D" || what == "N") --tried_[key];
    if (what != "P" && what != "D") return;
    EXPECT_GT(revision, newest) << "revisions rise, over all lives";
    newest = revision;
    last_[key] = {revision, value};
    ++acknowledged;
  }
  void compare_with(const fs::path& folder) {
    World world(1);
    SqliteJournal journal(world.loop("disk"), world.loop("checkpoints"), {.folder = folder});
    Scope scope(world.loop("api"), "check");
    Store store(scope, {}, &journal);
    const auto recovered = store.recover();
    ASSERT_TRUE(recovered.has_value()) << recovered.error().message;
    EXPECT_GE(store.published(), newest);
    for (auto& [key, acked] : last_) {
      const kube::Object* object = store.get(kube::kPod, {"ns", key});
      // A later write may have been kept without the writer hearing of it.
      if (object == nullptr) {
        EXPECT_TRUE(acked.value.empty() || tried_[key] > 0)
            << key << " of " << acked.revision << " is gone";
        acked.value.clear();
        continue;
      }
      EXPECT_GE(object->revision(), acked.revision) << key << " is older than acknowledged";
      const std::string value = object->member("spec")["value"].text();
      if (object->revision() == acked.revision) {
        EXPECT_EQ(value, acked.value) << key;
      }
      acked = {object->revision(), value};
    }
    tried_.clear();
    scope.close({}, [] {});
    world.run_until_idle(1h);
  }

  std::uint64_t acknowledged = 0, failures = 0;
  kube::Revision newest = 0;

 private:
  struct Acked {
    kube::Revision revision;
    std::string value;
  };
  std::map<std::string, Acked> last_;
  std::map<std::string, int> tried_;  // deletions without an answer
};

int kills() {
  const char* const asked = std::getenv("BERTH_KILLS");
  return asked == nullptr ? 30 : std::atoi(asked);
}

TEST(Kill, NothingAcknowledgedIsLostHoweverOftenTheWriterIsKilled) {
  TempFolder folder;
  Ledger ledger;
  Random random(11);
  for (int life = 0; life < kills() && !testing::Test::HasFailure(); ++life) {
    SCOPED_TRACE(life);
    {
      Victim victim(folder.path, random.next(), 0, random.chance(0.2));
      std::string line;
      for (std::uint64_t lines = random.below(600); lines > 0 && victim.hear(line); --lines)
        ledger.note(line);
      victim.kill();
      while (victim.hear(line)) ledger.note(line);  // what it said before it died
    }
    ledger.compare_with(folder.path);
  }
  EXPECT_GT(ledger.acknowledged, 100u * static_cast<unsigned>(kills()));
}

TEST(Kill, NothingAcknowledgedIsLostWhenFilesCannotGrow) {
  Random random(12);
  for (int trial = 0; trial < std::max(3, kills() / 10) && !testing::Test::HasFailure(); ++trial) {
    SCOPED_TRACE(trial);
    TempFolder folder;
    Ledger ledger;
    {
      Victim victim(folder.path, random.next(), 100'000 + random.below(300'000), false);
      std::string line;
      while (ledger.failures < 20 && victim.hear(line)) ledger.note(line);
      victim.kill();
      while (victim.hear(line)) ledger.note(line);
    }
    EXPECT_GE(ledger.failures, 20u);
    EXPECT_GT(ledger.acknowledged, 0u);
    ledger.compare_with(folder.path);
  }
}

}  // namespace
}  // namespace berth::apiserver
