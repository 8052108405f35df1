// SPDX-License-Identifier: Apache-2.0
#include "gateway/topics.h"

#include <charconv>

#include <fmt/format.h>

namespace berth::gateway {
namespace {

struct Row {
  std::string_view name, resource, kind;
  char letter;
};
constexpr Row kRows[] = {{"testbeds", "testbeds", "Testbed", 't'},
                         {"jobs", "batchjobs", "BatchJob", 'j'},
                         {"schedulings", "schedulings", "Scheduling", 's'}};

const Row& row(Topic topic) { return kRows[static_cast<std::size_t>(topic)]; }

}  // namespace

std::string_view name_of(Topic topic) { return row(topic).name; }
std::string_view resource_of(Topic topic) { return row(topic).resource; }

std::optional<Topic> topic_named(std::string_view name) {
  for (const Topic topic : kTopics)
    if (name_of(topic) == name) return topic;
  return std::nullopt;
}

kube::KindId kind_of(Topic topic) {
  static const auto kIds = [] {
    std::array<kube::KindId, kTopics.size()> ids{};
    for (const Topic each : kTopics)
      ids[static_cast<std::size_t>(each)] =
          kube::learn_kind({.group = std::string(kGroup),
                            .version = "v1alpha1",
                            .kind = std::string(row(each).kind),
                            .plural = std::string(row(each).resource)});
    return ids;
  }();
  return kIds[static_cast<std::size_t>(topic)];
}

std::string Cursor::text() const {
  std::string out;
  for (const Topic topic : kTopics)
    out += fmt::format("{}{}{}", out.empty() ? "" : ".", row(topic).letter, of(topic));
  return out;
}

std::optional<Cursor> Cursor::parse(std::string_view text) {
  Cursor cursor;
  for (const Topic topic : kTopics) {
    if (topic != kTopics.front()) {
      if (!text.starts_with('.')) return std::nullopt;
      text.remove_prefix(1);
    }
    if (!text.starts_with(row(topic).letter)) return std::nullopt;
    text.remove_prefix(1);
    const char* const end = text.data() + text.size();
    const auto [stop, problem] = std::from_chars(text.data(), end, cursor.of(topic));
    if (problem != std::errc()) return std::nullopt;
    text.remove_prefix(static_cast<std::size_t>(stop - text.data()));
  }
  if (!text.empty()) return std::nullopt;
  return cursor;
}

}  // namespace berth::gateway
