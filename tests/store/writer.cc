// SPDX-License-Identifier: Apache-2.0
// Writes to a store without end and tells every acknowledgement in one line, until it is killed:
//   P key revision value     a write
//   T key                    a deletion is tried; then one of the next three, unless it is killed
//   D key revision           it was done
//   N key                    there was nothing to delete
//   F message                a write that could not be kept
// Usage: store_writer FOLDER SEED MAX_FILE_BYTES (0: no limit) [fsync]
#include <csignal>
#include <cstdlib>
#include <string>

#include <fmt/format.h>
#include <sys/resource.h>
#include <unistd.h>

#include "apiserver/store/sqlite_journal.h"
#include "apiserver/store/store.h"
#include "net/loop.h"

namespace berth::apiserver {
namespace {

// One write call a line, so that a line is told whole or not at all.
void tell(const std::string& line) {
  if (::write(1, line.data(), line.size()) < 0) std::_Exit(3);
}

class Writer {
 public:
  Writer(Scope& scope, Store& store, Random random)
      : scope_(scope), store_(store), random_(random) {}
  void start() {
    for (int i = 0; i < 1 + static_cast<int>(random_.below(48)); ++i) next();
  }

 private:
  void next() {
    const kube::Key key{"ns", fmt::format("p{}", random_.below(200))};
    Write write{.kind = kube::kPod, .key = key};
    const std::uint64_t value = random_.next();
    if (random_.chance(0.85)) {
      const std::string text = fmt::format(
          R"({{"metadata":{{"namespace":"ns","name":"{}"}},"spec":{{"value":"{}","filler":"{}"}}}})",
          key.name, value, std::string(random_.below(3'000), 'x'));
      write.next = stamped(*kube::Object::parse(kube::kPod, text));
    }
    const bool puts = static_cast<bool>(write.next);
    if (!puts) tell(fmt::format("T {}\n", key.name));
    store_.write(std::move(write),
                 scope_.done<Committed>(kNoLimit, [this, key, puts, value](Result<Committed> done) {
                   if (done && puts)
                     tell(fmt::format("P {} {} {}\n", key.name, done->revision, value));
                   else if (done)
                     tell(fmt::format("D {} {}\n", key.name, done->revision));
                   else if (done.error().reason == Reason::kInternalError)
                     return failed(done.error());
                   else
                     tell(fmt::format("N {}\n", key.name));
                   next();
                 }));
  }
  void failed(const Error& error) {
    tell(fmt::format("F {}\n", error.message));
    scope_.after(100ms, [this] { next(); });
  }

  Scope& scope_;
  Store& store_;
  Random random_;
};

int run(const std::string& folder, std::uint64_t seed, rlim_t limit, bool fsync) {
  std::signal(SIGXFSZ, SIG_IGN);
  if (limit > 0) {
    const rlimit bound{limit, limit};
    ::setrlimit(RLIMIT_FSIZE, &bound);
  }
  net::RealRuntime runtime;
  Executor& api = runtime.loop("api");
  SqliteJournal journal(
      runtime.loop("disk"), runtime.loop("checkpoints"),
      {.folder = folder, .fsync = fsync, .checkpoint_pages = 50, .restart_pages = 300});
  Scope scope(api, "writer");
  Store store(scope, {}, &journal);
  const Result<std::vector<Damage>> recovered = store.recover();
  if (!recovered) {
    tell(fmt::format("X {}\n", recovered.error().message));
    return 1;
  }
  Writer writer(scope, store, Random(seed));
  api.post([&writer] { writer.start(); });
  for (;;) ::pause();
}

}  // namespace
}  // namespace berth::apiserver

int main(int argc, char** argv) {
  if (argc < 4) return 2;
  return berth::apiserver::run(argv[1], std::stoull(argv[2]), std::stoull(argv[3]), argc > 4);
}
