// SPDX-License-Identifier: Apache-2.0
#include "lab/command_line.h"

#include <algorithm>
#include <charconv>
#include <string_view>
#include <vector>

#include "json/slice.h"
#include "lab/pace.h"

namespace berth::lab {
namespace {

using Words = std::vector<std::string>;

struct Simple {
  Words words = {};
  bool if_well = false;  // after &&: only if what was before it ended well
};

// A script's simple commands, as a shell takes them apart; nothing for what needs a real shell.
std::optional<std::vector<Simple>> commands_of(std::string_view script) {
  std::vector<Simple> all(1);
  std::string word;
  bool in_word = false;
  const auto end_word = [&] {
    if (in_word) all.back().words.push_back(std::move(word));
    word.clear();
    in_word = false;
  };
  const auto end_command = [&] {
    end_word();
    if (!all.back().words.empty()) all.emplace_back();
  };
  for (std::size_t i = 0; i < script.size(); ++i) {
    const char c = script[i];
    if (c == '\'' || c == '"') {
      const std::size_t close = script.find(c, i + 1);
      if (close == script.npos) return std::nullopt;
      const std::string_view quoted = script.substr(i + 1, close - i - 1);
      if (c == '"' && quoted.find_first_of("$`\\") != quoted.npos) return std::nullopt;
      word += quoted;
      in_word = true;
      i = close;
    } else if (c == ' ' || c == '\t') {
      end_word();
    } else if (c == ';' || c == '\n') {
      end_command();
      if (c == ';' && all.back().if_well) return std::nullopt;
    } else if (c == '&' && script.substr(i, 2) == "&&") {
      end_word();
      if (all.back().words.empty()) return std::nullopt;
      all.push_back({.if_well = true});
      ++i;
    } else if (std::string_view("&|<>$`\\()*?{}#!").find(c) != std::string_view::npos) {
      return std::nullopt;
    } else {
      word += c;
      in_word = true;
    }
  }
  end_command();
  if (all.back().if_well) return std::nullopt;
  all.pop_back();
  return all;
}

// "30", "1.5", "2m"; nothing inside: forever.
std::optional<std::optional<Duration>> sleep_time(std::string_view text) {
  if (text == "infinity" || text == "inf") return std::optional<Duration>{};
  double amount = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), amount);
  if (error != std::errc() || amount < 0 || amount > 1e9) return std::nullopt;
  const std::string_view unit(end, static_cast<std::size_t>(text.data() + text.size() - end));
  double seconds = 0;
  if (unit.empty() || unit == "s")
    seconds = amount;
  else if (unit == "m")
    seconds = amount * 60;
  else if (unit == "h")
    seconds = amount * 3600;
  else if (unit == "d")
    seconds = amount * 86400;
  else
    return std::nullopt;
  return std::optional<Duration>(stretched(1s, seconds));
}

// Carries out one command; false where it is not understood.
bool carry_out(const Words& words, Performance& so_far, bool& over) {
  std::string_view name = words.front();
  if (const std::size_t slash = name.rfind('/'); slash != name.npos) name.remove_prefix(slash + 1);
  if (name == "sleep") {
    for (std::size_t i = 1; i < words.size(); ++i) {
      const auto time = sleep_time(words[i]);
      if (!time) return false;
      if (!*time)
        so_far.lasts.reset();
      else if (so_far.lasts)
        *so_far.lasts = std::min(*so_far.lasts + **time, kAges);
    }
    so_far.exit_code = 0;
    over = !so_far.lasts;
    return words.size() > 1;
  }
  if (name == "pause" && words.size() == 1) {
    so_far.lasts.reset();
    over = true;
    return true;
  }
  if (name == "echo") {
    std::size_t from = 1;
    const bool no_newline = words.size() > 1 && words[1] == "-n";
    if (no_newline) ++from;
    for (std::size_t i = from; i < words.size(); ++i) {
      if (i > from) so_far.output += ' ';
      so_far.output += words[i];
    }
    if (!no_newline) so_far.output += '\n';
    so_far.exit_code = 0;
    return true;
  }
  if (name == "true" || name == ":" || (name == "set" && words.size() > 1)) {
    so_far.exit_code = 0;
    return true;
  }
  if (name == "false") {
    so_far.exit_code = 1;
    return true;
  }
  if (name == "exit") {
    over = true;
    if (words.size() == 1) return true;
    int code = 0;
    const auto [end, error] =
        std::from_chars(words[1].data(), words[1].data() + words[1].size(), code);
    if (error != std::errc() || *end != '\0') return false;
    so_far.exit_code = code & 255;
    return true;
  }
  return false;
}

}  // namespace

std::optional<Performance> perform(json::Slice container) {
  Words line;
  for (const json::Slice word : container["command"].elements()) line.push_back(word.text());
  for (const json::Slice word : container["args"].elements()) line.push_back(word.text());
  if (line.empty()) return std::nullopt;
  std::vector<Simple> commands;
  std::string_view name = line.front();
  if (const std::size_t slash = name.rfind('/'); slash != name.npos) name.remove_prefix(slash + 1);
  if (name == "sh" || name == "bash" || name == "ash") {
    if (line.size() < 3 || line[1].empty() || line[1].front() != '-' || line[1].back() != 'c')
      return std::nullopt;
    auto script = commands_of(line[2]);
    if (!script) return std::nullopt;
    commands = std::move(*script);
  } else {
    commands.push_back({std::move(line)});
  }
  Performance done;
  bool over = false;
  for (const Simple& each : commands) {
    if (over) break;
    if (each.if_well && done.exit_code != 0) continue;
    if (!carry_out(each.words, done, over)) return std::nullopt;
  }
  return done;
}

}  // namespace berth::lab
