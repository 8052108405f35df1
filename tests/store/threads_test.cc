// SPDX-License-Identifier: Apache-2.0
// The store on real loops: its own, the disk's and the one for checkpoints. For ThreadSanitizer
// above all.
#include <filesystem>
#include <future>
#include <set>

#include <fmt/format.h>
#include <gtest/gtest.h>
#include <stdlib.h>

#include "apiserver/store/sqlite_journal.h"
#include "apiserver/store/store.h"
#include "net/loop.h"

namespace berth::apiserver {
namespace {

namespace fs = std::filesystem;

constexpr int kWrites = 3'000;
constexpr int kAtOnce = 40;

// Writes, and a watch that hears of each of them. Confined to its scope's loop.
class Busy final : WatchSink {
 public:
  Busy(Scope& scope, Store& store, std::promise<void>& finished)
      : scope_(scope), store_(store), finished_(finished) {}

  void start() {
    watch_ = store_.watch({.kind = kube::kPod, .after = store_.published()}, *this);
    store_.read(watch_, 1);
    for (int i = 0; i < kAtOnce; ++i) next();
  }
  int acknowledged = 0;
  int heard = 0;

 private:
  void ready(WatchId) override {
    scope_.post([this] {
      for (bool more = true; more;) {
        const WatchBatch batch = store_.read(watch_, 100);
        heard += static_cast<int>(batch.events.size());
        more = batch.more;
      }
      finish();
    });
  }
  void next() {
    if (sent_ == kWrites) return;
    const kube::Key key{"ns", fmt::format("p{}", ++sent_ % 300)};
    store_.write(
        {.kind = kube::kPod,
         .key = key,
         .next = stamped(*kube::Object::parse(
             kube::kPod, fmt::format(R"({{"metadata":{{"namespace":"ns","name":"{}"}},"n":"{}"}})",
                                     key.name, std::string(500, 'n'))))},
        scope_.done<Committed>(kNoLimit, [this](Result<Committed> done) {
          EXPECT_TRUE(done.has_value()) << done.error().message;
          ++acknowledged;
          next();
          finish();
        }));
  }
  void finish() {
    if (acknowledged == kWrites && heard == kWrites && !std::exchange(over_, true)) {
      store_.unwatch(watch_);
      scope_.close(5s, [this] { finished_.set_value(); });
    }
  }

  Scope& scope_;
  Store& store_;
  std::promise<void>& finished_;
  WatchId watch_{};
  int sent_ = 0;
  bool over_ = false;
};

TEST(Threads, WritesOnRealLoopsAreAllHeardAndAllKept) {
  std::string name = (fs::temp_directory_path() / "berth-threads-XXXXXX").string();
  const fs::path folder = ::mkdtemp(name.data());
  for (const std::size_t before : {0u, 300u}) {
    net::RealRuntime runtime;
    Executor& api = runtime.loop("api");
    SqliteJournal journal(runtime.loop("disk"), runtime.loop("checkpoints"),
                          {.folder = folder, .checkpoint_pages = 40, .restart_pages = 200});
    Scope scope(api, "test");
    Store store(scope, {}, &journal);
    ASSERT_TRUE(store.recover().has_value());
    EXPECT_EQ(store.count(kube::kPod), before);
    std::promise<void> finished;
    Busy busy(scope, store, finished);
    api.post([&busy] { busy.start(); });
    finished.get_future().wait();
    EXPECT_EQ(busy.acknowledged, kWrites);
  }
  fs::remove_all(folder);
}

}  // namespace
}  // namespace berth::apiserver
