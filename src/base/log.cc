// SPDX-License-Identifier: Apache-2.0
#include "base/log.h"

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <cmath>
#include <iterator>

#include <fmt/format.h>
#include <unistd.h>

#include "base/escape.h"
#include "base/result.h"

namespace berth {
namespace {

// PIPE_BUF on Linux: a pipe takes so much in one piece.
constexpr std::size_t kMaxLine = 4096;
constexpr std::size_t kMaxContext = 1280;
constexpr std::size_t kMaxText = 1024;  // of the message, and of one value

constexpr std::string_view kLevels[] = {"debug", "info", "warn", "error", "off"};

bool reads_bare(std::string_view text) {
  return !text.empty() && std::all_of(text.begin(), text.end(), [](char c) {
    return c > ' ' && c < 0x7f && c != '"' && c != '=' && c != '\\';
  });
}

void append_time(std::string& out, WallTime time) {
  using namespace std::chrono;
  const sys_time<nanoseconds> at{nanoseconds(time.unix_nanos)};
  const auto day = floor<days>(at);
  const year_month_day date{day};
  const hh_mm_ss clock{floor<microseconds>(at - day)};
  fmt::format_to(std::back_inserter(out), "{:04}-{:02}-{:02}T{:02}:{:02}:{:02}.{:06}Z",
                 static_cast<int>(date.year()), static_cast<unsigned>(date.month()),
                 static_cast<unsigned>(date.day()), clock.hours().count(), clock.minutes().count(),
                 clock.seconds().count(), clock.subseconds().count());
}

}  // namespace

// Builds one line, or the context that a logger puts into all of its lines.
class LogLine {
 public:
  LogLine(LogFormat format, std::size_t room) : json_(format == LogFormat::kJson), room_(room) {}

  void head(WallTime time, LogLevel level, std::string_view message, std::string_view context) {
    const std::string_view name = kLevels[static_cast<std::size_t>(level)];
    if (json_) {
      out_ += "{\"time\":\"";
      append_time(out_, time);
      fmt::format_to(std::back_inserter(out_), "\",\"level\":\"{}\",\"message\":\"", name);
      append_escaped(out_, message, Quotes::kEscape, kMaxText);
      out_ += '"';
    } else {
      append_time(out_, time);
      fmt::format_to(std::back_inserter(out_), " {:<5} ", name);
      append_escaped(out_, message, Quotes::kKeep, kMaxText);
    }
    out_ += context;  // head and context are bounded, so this fits
  }

  void field(const LogField& field) {
    const std::size_t before = out_.size();
    if (json_) {
      out_ += ",\"";
      append_escaped(out_, field.key, Quotes::kEscape, kMaxText);
      out_ += "\":";
    } else {
      out_ += ' ';
      append_escaped(out_, field.key, Quotes::kEscape, kMaxText);
      out_ += '=';
    }
    value(field.value);
    if (out_.size() <= room_) return;
    out_.resize(before);  // whole fields only, so that JSON stays JSON
    truncated_ = true;
  }
  void fields(LogFields fields) {
    for (const LogField& each : fields) field(each);
  }

  std::string finish() && {
    if (truncated_) out_ += json_ ? R"(,"truncated":true)" : " truncated=true";
    if (json_) out_ += '}';
    out_ += '\n';
    return std::move(out_);
  }
  std::string context() && { return std::move(out_); }

 private:
  void text(std::string_view text) {
    const bool bare = !json_ && reads_bare(text);
    if (!bare) out_ += '"';
    append_escaped(out_, text, bare ? Quotes::kKeep : Quotes::kEscape, kMaxText);
    if (!bare) out_ += '"';
  }

  void value(const LogValue& value) {
    const auto out = std::back_inserter(out_);
    switch (value.kind_) {
      case LogValue::Kind::kText:
        return text(value.text_);
      case LogValue::Kind::kBool:
        out_ += value.unsigned_ != 0 ? "true" : "false";
        return;
      case LogValue::Kind::kSigned:
        fmt::format_to(out, "{}", value.signed_);
        return;
      case LogValue::Kind::kUnsigned:
        fmt::format_to(out, "{}", value.unsigned_);
        return;
      case LogValue::Kind::kDouble:
        if (!std::isfinite(value.double_)) return text(fmt::format("{}", value.double_));
        fmt::format_to(out, "{}", value.double_);
        return;
      case LogValue::Kind::kDuration:
        return text(fmt::format("{}s", static_cast<double>(value.signed_) / 1e9));
      case LogValue::Kind::kTime: {
        std::string time;
        append_time(time, WallTime{value.signed_});
        return text(time);
      }
      case LogValue::Kind::kError: {
        const std::string_view reason = name_of(value.error_->reason);
        return text(
            fmt::format("{}{}{}", reason, reason.empty() ? "" : ": ", value.error_->message));
      }
    }
  }

  const bool json_;
  const std::size_t room_;
  bool truncated_ = false;
  std::string out_;
};

std::optional<LogLevel> log_level_named(std::string_view name) {
  const auto found = std::find(std::begin(kLevels), std::end(kLevels), name);
  if (found == std::end(kLevels)) return std::nullopt;
  return static_cast<LogLevel>(found - std::begin(kLevels));
}

LogSink& stderr_sink() {
  class Stderr final : public LogSink {
   public:
    void write(std::string_view line) override {
      while (!line.empty()) {
        const ssize_t written = ::write(STDERR_FILENO, line.data(), line.size());
        if (written < 0 && errno == EINTR) continue;
        if (written <= 0) return;  // nobody is left to tell
        line.remove_prefix(static_cast<std::size_t>(written));
      }
    }
  };
  static Stderr sink;
  return sink;
}

void StringSink::write(std::string_view line) {
  const std::lock_guard lock(mutex_);
  text_ += line;
}

std::string StringSink::text() const {
  const std::lock_guard lock(mutex_);
  return text_;
}

Logger Logger::with(LogFields fields) const {
  Logger child = *this;
  LogLine line(format_, kMaxContext - std::min(kMaxContext, context_.size()));
  line.fields(fields);
  child.context_ += std::move(line).context();
  return child;
}

void Logger::write(LogLevel level, std::string_view message, LogFields fields) const {
  constexpr std::size_t kTail = 20;  // "truncated", a brace, the newline
  LogLine line(format_, kMaxLine - kTail);
  line.head(clock_->wall(), level, message, context_);
  line.fields(fields);
  sink_->write(std::move(line).finish());
}

}  // namespace berth
