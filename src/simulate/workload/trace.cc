// SPDX-License-Identifier: Apache-2.0
#include "simulate/workload/trace.h"

#include <algorithm>
#include <array>
#include <charconv>
#include <cmath>
#include <optional>

#include <fmt/format.h>

namespace berth::simulate {
namespace {

constexpr std::size_t kAbsent = static_cast<std::size_t>(-1);
constexpr double kMostSeconds = 1e9, kMostAmount = 1e12;

std::vector<std::string_view> cells_of(std::string_view line) {
  std::vector<std::string_view> cells;
  while (true) {
    const std::size_t comma = line.find(',');
    cells.push_back(line.substr(0, comma));
    if (comma == line.npos) return cells;
    line.remove_prefix(comma + 1);
  }
}

// Not negative, and no more than `most`.
std::optional<double> number(std::string_view text, double most) {
  double value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc() || end != text.data() + text.size() || !(value >= 0) || value > most)
    return std::nullopt;
  return value;
}

Duration seconds(double value) { return Duration(static_cast<Duration::rep>(value * 1e9)); }

struct Columns {
  std::size_t name = kAbsent, cpu = kAbsent, memory = kAbsent;
  std::size_t created = kAbsent, deleted = kAbsent, scheduled = kAbsent;
};

Result<Columns> columns_of(std::string_view header, std::string_view file_name) {
  Columns columns;
  const std::array<std::pair<std::string_view, std::size_t*>, 6> known{
      {{"name", &columns.name},
       {"cpu_milli", &columns.cpu},
       {"memory_mib", &columns.memory},
       {"creation_time", &columns.created},
       {"deletion_time", &columns.deleted},
       {"scheduled_time", &columns.scheduled}}};
  const std::vector<std::string_view> names = cells_of(header);
  for (const auto& [name, place] : known) {
    const auto found = std::find(names.begin(), names.end(), name);
    if (found != names.end())
      *place = static_cast<std::size_t>(found - names.begin());
    else if (name != "scheduled_time")
      return fail(Reason::kInvalid,
                  fmt::format("{}:1: no column {}; a trace has name, cpu_milli, memory_mib, "
                              "creation_time and deletion_time",
                              file_name, name));
  }
  return columns;
}

void sort(Trace& trace) {
  std::stable_sort(trace.pods.begin(), trace.pods.end(),
                   [](const TracePod& a, const TracePod& b) { return a.arrives < b.arrives; });
}

}  // namespace

Result<Trace> read_trace(std::string_view csv, std::string_view file_name) {
  Trace trace;
  std::optional<Columns> columns;
  for (int line_number = 1; !csv.empty(); ++line_number) {
    const std::size_t end = std::min(csv.find('\n'), csv.size());
    std::string_view line = csv.substr(0, end);
    csv.remove_prefix(std::min(end + 1, csv.size()));
    if (line.ends_with('\r')) line.remove_suffix(1);
    if (line.empty()) continue;
    if (!columns) {
      Result<Columns> read = columns_of(line, file_name);
      if (!read) return tl::unexpected(std::move(read.error()));
      columns = *read;
      continue;
    }
    const std::vector<std::string_view> cells = cells_of(line);
    const auto cell = [&](std::size_t column) {
      return column < cells.size() ? cells[column] : std::string_view();
    };
    const auto bad = [&](std::string_view what, std::size_t column) {
      return fail(Reason::kInvalid, fmt::format("{}:{}: {} is \"{}\", which is no such number",
                                                file_name, line_number, what, cell(column)));
    };
    const auto cpu = number(cell(columns->cpu), kMostAmount);
    const auto memory = number(cell(columns->memory), kMostAmount);
    const auto created = number(cell(columns->created), kMostSeconds);
    const auto deleted = number(cell(columns->deleted), kMostSeconds);
    if (!cpu) return bad("cpu_milli", columns->cpu);
    if (!memory) return bad("memory_mib", columns->memory);
    if (!created) return bad("creation_time", columns->created);
    if (!deleted) return bad("deletion_time", columns->deleted);
    std::optional<double> began = created;
    if (columns->scheduled != kAbsent) {
      if (cell(columns->scheduled).empty()) {
        ++trace.left_out;  // it never ran
        continue;
      }
      began = number(cell(columns->scheduled), kMostSeconds);
      if (!began) return bad("scheduled_time", columns->scheduled);
    }
    const Duration runs = seconds(*deleted) - seconds(*began);
    if (runs <= Duration{}) {
      ++trace.left_out;
      continue;
    }
    trace.pods.push_back({.name = std::string(cell(columns->name)),
                          .arrives = seconds(*created),
                          .runs = runs,
                          .cpu_milli = static_cast<std::int64_t>(*cpu),
                          .memory_mib = static_cast<std::int64_t>(*memory)});
  }
  if (!columns) return fail(Reason::kInvalid, fmt::format("{}: is empty", file_name));
  sort(trace);
  return trace;
}

Trace cut(const Trace& trace, Duration from, Duration length) {
  Trace part{.pods = {}, .left_out = trace.left_out};
  for (TracePod pod : trace.pods) {
    if (pod.arrives >= from + length || pod.arrives + pod.runs <= from) continue;
    if (pod.arrives < from) pod.runs -= from - pod.arrives;
    pod.arrives = std::max(pod.arrives, from) - from;
    part.pods.push_back(std::move(pod));
  }
  return part;
}

Trace fitting(Trace trace, std::int64_t node_cpu_milli, std::int64_t node_memory_mib) {
  const std::size_t before = trace.pods.size();
  std::erase_if(trace.pods, [&](const TracePod& pod) {
    return pod.cpu_milli > node_cpu_milli || pod.memory_mib > node_memory_mib;
  });
  trace.left_out += before - trace.pods.size();
  return trace;
}

Trace made_up_trace(Random random, std::int64_t cluster_cpu_milli, Duration length) {
  constexpr std::array<std::int64_t, 6> kCores{1, 1, 2, 2, 4, 8};
  constexpr double kMeanCores = 3;
  // Evenly on a logarithmic scale, from two minutes to four hours.
  constexpr double kShortest = 120, kLongest = 4 * 3600;
  const double span = std::log(kLongest / kShortest);
  const double mean_seconds = (kLongest - kShortest) / span;
  const double cores = static_cast<double>(cluster_cpu_milli) / 1000;
  const double most_rate = 0.75 * cores / (kMeanCores * mean_seconds);  // arrivals a second
  Trace trace;
  // Arrivals at the highest rate, of which those stay that the hour allows.
  for (double at = 0; at < std::chrono::duration<double>(length).count();) {
    at += -std::log(1 - random.unit()) / most_rate;
    const double hour = std::fmod(at / 3600, 24);
    const double load = 0.5 - 0.25 * std::cos((hour - 2) * 3.14159265358979323846 / 12);
    const bool stays = random.unit() < load / 0.75;
    const std::int64_t size = kCores[random.below(kCores.size())];
    const double runs = kShortest * std::exp(span * random.unit());
    if (!stays || seconds(at) >= length) continue;
    trace.pods.push_back({.name = fmt::format("made-up-{}", trace.pods.size()),
                          .arrives = seconds(at),
                          .runs = seconds(runs),
                          .cpu_milli = size * 1000,
                          .memory_mib = size * 2048});
  }
  return trace;
}

}  // namespace berth::simulate
