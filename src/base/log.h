// SPDX-License-Identifier: Apache-2.0
// Structured logging: a message that never varies, and fields that do. One event is one line of at
// most 4 KiB, in text or JSON, and nothing that is logged can break out of its line.
#pragma once

#include <concepts>
#include <cstdint>
#include <initializer_list>
#include <mutex>
#include <optional>
#include <string>
#include <string_view>

#include "base/time.h"

namespace berth {

struct Error;

enum class LogLevel : unsigned char { kDebug, kInfo, kWarn, kError, kOff };
std::optional<LogLevel> log_level_named(
    std::string_view);  // "debug", "info", "warn", "error", "off"

enum class LogFormat : unsigned char { kText, kJson };

// A value as it stands at the call; refers to strings and errors, so it must not outlive them.
class LogValue {
 public:
  LogValue(std::string_view text) : kind_(Kind::kText), text_(text) {}     // NOLINT
  LogValue(const std::string& text) : LogValue(std::string_view(text)) {}  // NOLINT
  LogValue(const char* text) : LogValue(std::string_view(text)) {}         // NOLINT
  LogValue(bool yes) : kind_(Kind::kBool), unsigned_(yes ? 1 : 0) {}       // NOLINT
  LogValue(double number) : kind_(Kind::kDouble), double_(number) {}       // NOLINT
  template <class Rep, class Period>
  LogValue(std::chrono::duration<Rep, Period> d)  // NOLINT
      : kind_(Kind::kDuration), signed_(Duration(d).count()) {}
  LogValue(WallTime t) : kind_(Kind::kTime), signed_(t.unix_nanos) {}    // NOLINT
  LogValue(const Error& error) : kind_(Kind::kError), error_(&error) {}  // NOLINT
  template <std::signed_integral T>
  LogValue(T number) : kind_(Kind::kSigned), signed_(number) {}  // NOLINT
  template <std::unsigned_integral T>
  requires(!std::same_as<T, bool>) LogValue(T number)  // NOLINT
      : kind_(Kind::kUnsigned), unsigned_(number) {}

 private:
  friend class LogLine;
  enum class Kind : unsigned char {
    kText,
    kBool,
    kSigned,
    kUnsigned,
    kDouble,
    kDuration,
    kTime,
    kError
  };
  Kind kind_;
  union {
    std::string_view text_;
    std::int64_t signed_;
    std::uint64_t unsigned_;
    double double_;
    const Error* error_;
  };
};

struct LogField {
  std::string_view key;
  LogValue value;
};
using LogFields = std::initializer_list<LogField>;

// Thread-safe: takes whole lines, each with its newline.
class LogSink {
 public:
  virtual ~LogSink() = default;
  virtual void write(std::string_view line) = 0;
};
LogSink& stderr_sink();  // one write a line: lines of several threads and processes do not mix

// Keeps what was logged, for tests. Thread-safe.
class StringSink final : public LogSink {
 public:
  void write(std::string_view line) override;
  std::string text() const;

 private:
  mutable std::mutex mutex_;
  std::string text_;
};

// Immutable. A message below the level costs one branch.
class Logger {
 public:
  Logger(LogSink& sink, const Clock& clock, LogLevel level = LogLevel::kInfo,
         LogFormat format = LogFormat::kText)
      : sink_(&sink), clock_(&clock), level_(level), format_(format) {}

  // A logger whose lines all carry these fields, after those of this one.
  Logger with(LogFields fields) const;
  bool enabled(LogLevel level) const { return level >= level_; }

  void debug(std::string_view message, LogFields fields = {}) const {
    if (enabled(LogLevel::kDebug)) write(LogLevel::kDebug, message, fields);
  }
  void info(std::string_view message, LogFields fields = {}) const {
    if (enabled(LogLevel::kInfo)) write(LogLevel::kInfo, message, fields);
  }
  void warn(std::string_view message, LogFields fields = {}) const {
    if (enabled(LogLevel::kWarn)) write(LogLevel::kWarn, message, fields);
  }
  void error(std::string_view message, LogFields fields = {}) const {
    if (enabled(LogLevel::kError)) write(LogLevel::kError, message, fields);
  }

 private:
  void write(LogLevel, std::string_view message, LogFields) const;

  LogSink* sink_;
  const Clock* clock_;
  LogLevel level_;
  LogFormat format_;
  std::string context_;  // the fields of with(), as they stand in a line
};

}  // namespace berth
