// SPDX-License-Identifier: Apache-2.0
#include "rules.h"

#include <algorithm>

#include <fmt/format.h>

namespace berth::layering {
namespace {

// Who may include whom, besides itself. docs/architecture.md draws the same.
struct Folder {
  std::string_view name;
  std::vector<std::string_view> may_include;
};
const Folder kFolders[] = {
    {"base", {}},
    {"json", {"base"}},
    {"net", {"base"}},
    {"kube", {"base", "json"}},
    {"client", {"base", "json", "net", "kube"}},
    {"policy", {"base", "json", "kube"}},
    {"runtime", {"base", "json", "kube", "client", "policy"}},
    {"apiserver", {"base", "json", "net", "kube"}},
    {"lab", {"base", "json", "net", "kube", "client", "runtime", "apiserver"}},
    {"scheduler", {"base", "json", "net", "kube", "client", "policy", "runtime"}},
    {"controllers", {"base", "json", "net", "kube", "client", "policy", "runtime"}},
    {"cluster",
     {"base", "json", "net", "kube", "client", "policy", "runtime", "scheduler", "controllers",
      "apiserver", "lab"}},
    {"gateway",
     {"base", "json", "net", "kube", "client", "policy", "runtime", "scheduler", "controllers"}},
    {"simulate",
     {"base", "json", "net", "kube", "client", "policy", "runtime", "scheduler", "controllers",
      "apiserver", "lab", "cluster", "gateway"}},
    {"perf",
     {"base", "json", "net", "kube", "client", "policy", "runtime", "scheduler", "controllers",
      "apiserver", "lab"}},
    {"install", {"base", "json", "kube", "policy", "runtime", "controllers"}},
    {"cli",
     {"base", "json", "net", "kube", "client", "policy", "runtime", "scheduler", "controllers",
      "apiserver", "lab", "cluster", "gateway", "simulate", "perf", "install"}},
};

// On purpose: a plan is judged by the very code that will place the pod.
struct Exception {
  std::string_view from;
  std::string_view to;
};
constexpr Exception kExceptions[] = {
    {"controllers/rescheduler/", "scheduler/framework/"},
    {"controllers/rescheduler/", "scheduler/cache/"},
    {"controllers/scavenger/", "scheduler/framework/"},
    {"controllers/scavenger/", "scheduler/cache/"},
};

// Which folder a library belongs to. An empty owner means any folder, but in .cc files only.
struct Library {
  std::string_view header;  // as its includes begin
  std::string_view owner;
  // May include the owner's headers that show the library.
  std::vector<std::string_view> guests = {};
};
const Library kLibraries[] = {
    {"boost/asio", "net"},
    {"boost/beast", "net"},
    {"openssl/", "net"},
    {"zlib.h", "net"},
    {"boost/json", "json", {"apiserver", "lab", "cluster"}},
    {"yaml.h", "json"},
    {"prometheus/", "base"},
    {"CLI/", "cli"},
    {"sqlite3.h", "apiserver"},
    {"boost/", ""},
    {"re2/", ""},
    {"lemon/", ""},
};

struct Forbidden {
  std::string_view word;
  bool in_tests;  // tests may not use it either
  std::vector<std::string_view> except = {};
};
const Forbidden kForbidden[] = {
    {"steady_clock", true, {"net/loop.cc", "net/asio_loop.h"}},
    {"system_clock", true, {"net/loop.cc"}},
    {"high_resolution_clock", true},
    {"clock_gettime", true, {"base/cpu_time.cc"}},
    {"gettimeofday", true},
    {"timespec_get", true},
    {"localtime", true},
    {"localtime_r", true},
    {"sleep_for", true},
    {"sleep_until", true},
    {"usleep", true},
    {"nanosleep", true},
    {"random_device", true, {"base/random.cc"}},
    {"mt19937", true},
    {"mt19937_64", true},
    {"default_random_engine", true},
    {"srand", true},
    {"rand", true},
    {"drand48", true},
    {"getrandom", true},
    {"arc4random", true},
    {"get_id", false},
    {"pthread_self", false, {"net/loop.cc"}},  // it names the thread
};

bool is_test(std::string_view file) { return file.ends_with("_test.cc"); }
bool is_header(std::string_view file) { return file.ends_with(".h"); }
std::string_view folder_of(std::string_view path) { return path.substr(0, path.find('/')); }
// "controllers/testbed" of "controllers/testbed/plan.h", "" of files directly in a folder.
std::string_view part_of(std::string_view path) {
  const std::size_t first = path.find('/');
  const std::size_t second = first == path.npos ? path.npos : path.find('/', first + 1);
  return second == path.npos ? std::string_view{} : path.substr(0, second);
}

const Folder* folder_named(std::string_view name) {
  const auto found = std::find_if(std::begin(kFolders), std::end(kFolders),
                                  [&](const Folder& folder) { return folder.name == name; });
  return found == std::end(kFolders) ? nullptr : found;
}

bool is_word(char c) {
  return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_';
}

// The length of a raw string's opening, R"x(, at `at`; 0 if there is none.
std::size_t raw_opening(std::string_view text, std::size_t at) {
  if (text.substr(at, 2) != "R\"" || (at > 0 && is_word(text[at - 1]))) return 0;
  const std::size_t open = text.find('(', at);
  return open == text.npos ? 0 : open - at + 1;
}

}  // namespace

std::vector<Include> includes_of(std::string_view text) {
  std::vector<Include> found;
  int number = 0;
  while (!text.empty()) {
    ++number;
    const std::size_t end = std::min(text.find('\n'), text.size());
    std::string_view line = text.substr(0, end);
    text.remove_prefix(std::min(end + 1, text.size()));
    const std::size_t hash = line.find_first_not_of(" \t");
    if (hash == line.npos || line[hash] != '#') continue;
    const std::size_t word = line.find_first_not_of(" \t", hash + 1);
    if (word == line.npos || !line.substr(word).starts_with("include")) continue;
    const std::size_t open = line.find_first_of("<\"", word);
    if (open == line.npos) continue;
    const std::size_t close = line.find(line[open] == '<' ? '>' : '"', open + 1);
    if (close != line.npos)
      found.push_back({std::string(line.substr(open + 1, close - open - 1)), number});
  }
  return found;
}

std::string wrong_direction(std::string_view file, std::string_view include) {
  const std::string_view from = folder_of(file), to = folder_of(include);
  const Folder* folder = folder_named(from);
  if (folder == nullptr) return fmt::format("folder {} is not in the table of {}", from, __FILE__);
  if (folder_named(to) == nullptr) return {};  // a library
  for (const Exception& exception : kExceptions)
    if (file.starts_with(exception.from) && include.starts_with(exception.to)) return {};
  if (from == to) {
    const std::string_view one = part_of(file), other = part_of(include);
    if (from == "controllers" && one != other && !one.empty() && !other.empty())
      return "controllers meet through API objects, never include each other";
    return {};
  }
  const auto& allowed = folder->may_include;
  if (std::find(allowed.begin(), allowed.end(), to) != allowed.end()) return {};
  return fmt::format("{} may not include {}", from, to);
}

std::string misplaced_library(std::string_view file, std::string_view include, bool borrowed) {
  for (const Library& library : kLibraries) {
    if (!include.starts_with(library.header)) continue;
    const std::string_view folder = folder_of(file);
    if (library.owner.empty())
      return is_header(file) ? fmt::format("{} belongs in .cc files", library.header)
                             : std::string();
    if (folder == library.owner) return {};
    if (borrowed &&
        (std::count(library.guests.begin(), library.guests.end(), folder) > 0 || is_test(file)))
      return {};
    return fmt::format("{} belongs to {}", library.header, library.owner);
  }
  return {};
}

std::vector<std::string> real_time_or_chance(std::string_view file, std::string_view text) {
  std::vector<std::string> complaints;
  const std::string code = code_of(text);
  for (const Forbidden& rule : kForbidden) {
    if (!rule.in_tests && is_test(file)) continue;
    if (std::find(rule.except.begin(), rule.except.end(), file) != rule.except.end()) continue;
    for (std::size_t at = code.find(rule.word); at != code.npos;
         at = code.find(rule.word, at + 1)) {
      const std::size_t end = at + rule.word.size();
      if ((at > 0 && is_word(code[at - 1])) || (end < code.size() && is_word(code[end]))) continue;
      const auto line =
          1 + std::count(code.begin(), code.begin() + static_cast<std::ptrdiff_t>(at), '\n');
      complaints.push_back(
          fmt::format("{}:{}: {}; ask the Clock, Executor or Random", file, line, rule.word));
    }
  }
  return complaints;
}

std::string code_of(std::string_view text) {
  std::string code;
  std::size_t at = 0;
  // Skips up to and with `end`, keeping line breaks.
  const auto skip_past = [&](std::string_view end, bool escapes) {
    while (at < text.size() && !text.substr(at).starts_with(end)) {
      if (escapes && text[at] == '\\') ++at;
      if (at < text.size() && text[at] == '\n') code += '\n';
      ++at;
    }
    at = std::min(at + end.size(), text.size());
  };
  while (at < text.size()) {
    const char c = text[at];
    if (text.substr(at).starts_with("//")) {
      at = std::min(text.find('\n', at), text.size());
    } else if (text.substr(at).starts_with("/*")) {
      at += 2;
      skip_past("*/", false);
    } else if (const std::size_t length = raw_opening(text, at); length > 0) {
      const std::string end = fmt::format("){}\"", text.substr(at + 2, length - 3));
      at += length;
      skip_past(end, false);
      code += "\"\"";
    } else if (c == '"' || (c == '\'' && (at == 0 || !is_word(text[at - 1])))) {  // not 1'000
      ++at;
      skip_past(std::string_view(&c, 1), true);
      (code += c) += c;
    } else {
      code += c;
      ++at;
    }
  }
  return code;
}

}  // namespace berth::layering
