// SPDX-License-Identifier: Apache-2.0
// A program that a test runs, and that never outlives the test, however the test ends.
#pragma once

#include <chrono>
#include <filesystem>
#include <memory>
#include <string>
#include <vector>

#include <sys/types.h>

#include "base/fn.h"
#include "base/result.h"

namespace berth::e2e {

// Polls until `holds` or the limit passes, and says which. Only tests may wait like this.
bool eventually(std::chrono::seconds limit, Fn<bool()> holds);

// A folder under the system's temporary one, removed with its owner. Folders of tests that were
// killed are removed by the next test that makes one.
class TempFolder {
 public:
  TempFolder();
  ~TempFolder();
  TempFolder(const TempFolder&) = delete;
  TempFolder& operator=(const TempFolder&) = delete;
  const std::filesystem::path& path() const { return path_; }
  std::filesystem::path write(const std::string& name, std::string_view content) const;  // 0600

 private:
  std::filesystem::path path_;
};

// Between the test and the program stands a watchdog process that holds one end of a pipe: when the
// test's end closes, even by kill -9, the watchdog kills the program's whole process group; when
// the watchdog itself dies, the kernel kills the program. Thread-compatible.
class Child {
 public:
  struct Options {
    std::string program;
    std::vector<std::string> args;
    std::vector<std::string> env;  // "NAME=value", on top of the test's own
    std::filesystem::path log;     // stdout and stderr, appended
  };
  static Result<std::unique_ptr<Child>> start(Options);
  ~Child();  // SIGTERM, five seconds of patience, SIGKILL
  Child(const Child&) = delete;
  Child& operator=(const Child&) = delete;

  pid_t pid() const { return pid_; }
  bool running();
  void signal(int number);                // to the program alone
  void freeze();                          // SIGSTOP, and none of its threads runs any more
  bool wait(std::chrono::seconds limit);  // false: it still runs
  void stop(std::chrono::seconds patience = std::chrono::seconds(5));
  int exit_code() const { return code_; }  // once it ended: its own, or 128 + the signal
  const std::string& name() const { return name_; }
  std::string log() const;  // everything it wrote so far
  std::string log_tail(std::size_t lines = 40) const;

 private:
  Child() = default;
  std::string name_;
  std::filesystem::path log_;
  pid_t watchdog_ = -1;
  pid_t pid_ = -1;
  int leash_ = -1;   // our end of the pipe; closing it ends the program
  int report_ = -1;  // where the watchdog tells pid and exit code
  bool ended_ = false;
  int code_ = -1;
};

// A port that was free a moment ago. Programs that cannot be told to take port 0 get one of these;
// whoever starts them tries again with another when it was taken meanwhile.
std::uint16_t free_port();

}  // namespace berth::e2e
