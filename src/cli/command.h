// SPDX-License-Identifier: Apache-2.0
// A command is a file: it describes itself with a Command and is registered by one line in
// commands.def.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <ostream>
#include <string>
#include <vector>

#include "base/result.h"

namespace berth::cli {

// Where a command writes. Tests pass string streams.
struct Context {
  std::ostream& out;
  std::ostream& err;
  bool terminal = false;      // `out` is a person's terminal: colours and bars are welcome
  bool err_terminal = false;  // likewise `err`
  int columns = 100;
};

inline constexpr int kExitOk = 0;
inline constexpr int kExitFailed = 1;
inline constexpr int kExitUsage = 2;

// Thread-compatible. Targets of flags must live as long as the command; share them with the run
// function.
class Command {
 public:
  Command(std::string name, std::string summary);
  Command(Command&&) noexcept;
  Command& operator=(Command&&) noexcept;
  ~Command();

  Command& positional(const std::string& name, std::string* target, const std::string& help);
  // One of a few words, as with choice().
  Command& positional_choice(const std::string& name, std::string* target,
                             const std::vector<std::string>& words, const std::string& help);
  // Stays as it is where it is not given.
  Command& optional_positional(const std::string& name, std::string* target,
                               const std::string& help);
  Command& flag(const std::string& names, bool* target, const std::string& help);
  Command& flag(const std::string& names, std::string* target, const std::string& help,
                const std::string& value = "TEXT");
  Command& flag(const std::string& names, std::vector<std::string>* target, const std::string& help,
                const std::string& value = "TEXT");
  Command& flag(const std::string& names, std::int64_t* target, const std::string& help,
                const std::string& value = "N");
  // One of a few words; anything else is bad usage and the words are listed.
  Command& choice(const std::string& names, std::string* target,
                  const std::vector<std::string>& words, const std::string& help);
  Command& example(std::string line);
  Command& run(
      std::function<Result<int>(Context&)>);  // an Error is printed as one line, exit code 1

  const std::string& name() const;
  const std::string& summary() const;

  struct Impl;  // command.cc, the only file that sees CLI11
  Impl& impl() { return *impl_; }

 private:
  std::unique_ptr<Impl> impl_;
};

// An error that is the caller's own fault; the command exits with 2.
Error usage_error(std::string message);

// Parses and runs; the process's exit code: 0 ok, 1 failed, 2 bad usage.
int run(const std::vector<std::string>& arguments, Context&);

}  // namespace berth::cli
