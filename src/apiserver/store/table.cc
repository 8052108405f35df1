// SPDX-License-Identifier: Apache-2.0
#include "apiserver/store/table.h"

#include <algorithm>
#include <utility>

#include "base/check.h"

namespace berth::apiserver {

using kube::Object;
using kube::Revision;

Table::Table(kube::KindId kind, Revision floor, std::vector<const IndexSpec*> indexes)
    : kind_(kind), floor_(floor) {
  for (const IndexSpec* spec : indexes) indexes_.push_back({spec});
}

std::size_t Table::live_in(std::string_view ns) const {
  const auto found = live_by_ns_.find(ns);
  return found == live_by_ns_.end() ? 0 : found->second;
}

Entry* Table::find(std::string_view key) {
  const auto found = by_key_.find(key);
  return found == by_key_.end() ? nullptr : found->second;
}
const Entry* Table::find(std::string_view key) const {
  const auto found = by_key_.find(key);
  return found == by_key_.end() ? nullptr : found->second;
}

Entry& Table::find_or_make(std::string_view key) {
  const auto [at, made] = entries_.try_emplace(std::string(key));
  if (made) {
    at->second.key = at->first;
    by_key_.emplace(at->first, &at->second);
  }
  return at->second;
}

std::shared_ptr<const IndexValues> Table::values_of(const Object& object,
                                                    const Entry& entry) const {
  if (indexes_.empty() || !object.valid()) return nullptr;
  const Version* last = entry.versions.empty() ? nullptr : &entry.versions.newest();
  const bool same_body = last != nullptr && object.shares_body(last->object);
  IndexValues found;
  std::vector<std::string> values;
  for (std::size_t i = 0; i < indexes_.size(); ++i) {
    if (same_body && indexes_[i].spec->of == IndexSpec::Of::kBody) {
      if (last->values == nullptr) continue;
      for (const auto& [index, value] : *last->values)
        if (index == i) found.emplace_back(i, value);
      continue;
    }
    values.clear();
    indexes_[i].spec->values(object, values);
    for (std::string& value : values)
      if (!value.empty()) found.emplace_back(i, std::move(value));
  }
  if (found.empty()) return nullptr;
  std::sort(found.begin(), found.end());
  found.erase(std::unique(found.begin(), found.end()), found.end());
  if (last != nullptr && last->values != nullptr && *last->values == found) return last->values;
  return std::make_shared<const IndexValues>(std::move(found));
}

void Table::join(Entry& entry, const Version& version) {
  if (version.values == nullptr) return;
  for (const auto& [index, value] : *version.values) {
    ByText<Members>& members = indexes_[index].members;
    auto found = members.find(std::string_view(value));
    if (found == members.end()) found = members.try_emplace(value).first;
    ++found->second[&entry];
  }
}

void Table::leave(Entry& entry, const Version& version) {
  if (version.values == nullptr) return;
  for (const auto& [index, value] : *version.values) {
    const auto found = indexes_[index].members.find(std::string_view(value));
    const auto member = found->second.find(&entry);
    if (--member->second > 0) continue;
    found->second.erase(member);
    if (found->second.empty()) indexes_[index].members.erase(found);
  }
}

void Table::push(Entry& entry, Revision revision, Object object) {
  std::shared_ptr<const IndexValues> values = values_of(object, entry);
  entry.versions.push({revision, std::move(object), std::move(values)});
  join(entry, entry.versions.newest());
}

void Table::pop(Entry& entry) {
  leave(entry, entry.versions.pop());
  const VersionChain& left = entry.versions;
  // Its deletion may have left the history while the version above it kept it here.
  if (left.empty() || (!left.newest().object.valid() && left.newest().revision <= floor_))
    erase(entry);
}

void Table::erase(Entry& entry) {
  while (!entry.versions.empty()) leave(entry, entry.versions.pop());
  by_key_.erase(entry.key);
  entries_.erase(entries_.find(entry.key));
}

std::uint64_t Table::publish(Entry& entry, Revision revision, Instant now) {
  const Version* after = entry.versions.at(revision);
  BERTH_CHECK(after != nullptr && after->revision == revision, "what is published was written");
  const Version* before = entry.versions.at(revision - 1);
  HistoryEvent event{.revision = revision, .entry = &entry, .at = now};
  if (before != nullptr) event.before = before->object;
  event.deleted = !after->object.valid();
  if (event.deleted) {
    BERTH_CHECK(event.before.valid(), "only what is there is deleted");
    event.after = *event.before.next(revision);
  } else {
    event.after = after->object;
  }
  event.bytes = sizeof(HistoryEvent);
  if (event.before.valid()) event.bytes += event.before.bytes_beyond(event.after);
  if (event.deleted) event.bytes += event.after.bytes();
  history_bytes_ += event.bytes;
  if (event.deleted || !event.before.valid()) {
    auto here = live_by_ns_.find(entry.ns());
    if (here == live_by_ns_.end()) here = live_by_ns_.try_emplace(std::string(entry.ns())).first;
    if (event.deleted) {
      --live_;
      if (--here->second == 0) live_by_ns_.erase(here);
    } else {
      ++live_;
      ++here->second;
    }
  }
  BERTH_CHECK(history_.empty() || history_.back().revision < revision, "in order, once");
  history_.push_back(std::move(event));
  return end() - 1;
}

void Table::restore(std::string_view key, Object object, std::int64_t row) {
  Entry& entry = find_or_make(key);
  BERTH_CHECK(entry.versions.empty(), "one row an object");
  entry.row = row;
  ++live_;
  ++live_by_ns_[std::string(entry.ns())];
  const Revision revision = object.revision();
  push(entry, revision, std::move(object));
}

std::uint64_t Table::place_after(Revision revision) const {
  const auto found =
      std::upper_bound(history_.begin(), history_.end(), revision,
                       [](Revision r, const HistoryEvent& event) { return r < event.revision; });
  return first_ + static_cast<std::uint64_t>(found - history_.begin());
}

void Table::drop_oldest() {
  HistoryEvent& event = history_.front();
  Entry& entry = *event.entry;
  entry.versions.drop_below(event.revision, [&](const Version& version) { leave(entry, version); });
  if (event.deleted && entry.versions.newest().revision == event.revision) erase(entry);
  floor_ = event.revision;
  history_bytes_ -= event.bytes;
  history_.pop_front();
  ++first_;
}

void Table::raise_floor(Revision floor) {
  while (!history_.empty() && history_.front().revision <= floor) drop_oldest();
  floor_ = std::max(floor_, floor);
}

std::optional<std::size_t> Table::index_of(std::string_view field) const {
  for (std::size_t i = 0; i < indexes_.size(); ++i)
    if (indexes_[i].spec->field == field) return i;
  return std::nullopt;
}

const Table::Members* Table::members(std::size_t index, std::string_view value) const {
  const auto found = indexes_[index].members.find(value);
  return found == indexes_[index].members.end() ? nullptr : &found->second;
}

bool Table::has_value(const Object& object, std::size_t index, std::string_view value) const {
  std::vector<std::string> values;
  indexes_[index].spec->values(object, values);
  return std::find(values.begin(), values.end(), value) != values.end();
}

}  // namespace berth::apiserver
