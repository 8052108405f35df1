// SPDX-License-Identifier: Apache-2.0
#include "scheduler/framework/shape_table.h"

#include <algorithm>
#include <cstring>
#include <vector>

#include "base/check.h"
#include "scheduler/cache/owner_state.h"

namespace berth::scheduler {
namespace {

constexpr std::size_t kMostSeen = 8192;
constexpr std::uint64_t kSweepEvery = 4096;  // questions

void append_number(std::string& out, std::uint64_t number) {
  char bytes[sizeof number];
  std::memcpy(bytes, &number, sizeof number);
  out.append(bytes, sizeof bytes);
}

}  // namespace

std::size_t ShapeTable::SightHash::operator()(const SightRef& sight) const {
  std::size_t hash = std::hash<const void*>()(sight.spec);
  const auto mix = [&hash](std::size_t more) { hash = hash * 0x9e3779b97f4a7c15ull ^ more; };
  mix(std::hash<const void*>()(sight.labels));
  mix(std::hash<std::string_view>()(sight.ns));
  mix(std::hash<std::string_view>()(sight.controller));
  return hash;
}

ShapeTable::ShapeTable(const Profile& profile, ClusterState& cluster, Limits limits)
    : profile_(profile), cluster_(cluster), limits_(limits) {}
ShapeTable::~ShapeTable() = default;

void ShapeTable::clear() {
  seen_.clear();
  set_numbers_.clear();
  set_texts_.clear();
  shapes_.clear();
}

std::shared_ptr<Shape> ShapeTable::of(const Pod& pod) {
  if (++use_ % kSweepEvery == 0) sweep();
  const std::array<std::uint64_t, 2> epochs = {cluster_.shape_epoch(), cluster_.owners().epoch()};
  if (epochs != epochs_) {
    seen_.clear();
    epochs_ = epochs;
  }
  // Volumes belong to one pod and may be part of what a plugin adds to the key.
  const bool ordinary = !pod.volumes && pod.node_name.empty();
  if (ordinary) {
    const std::string_view controller =
        pod.controller ? std::string_view(pod.controller->uid) : std::string_view();
    const SightRef sight{pod.spec.get(), pod.labels.get(), pod.ns, controller, pod.deleting};
    if (const auto found = seen_.find(sight); found != seen_.end()) {
      found->second->used = use_;
      return found->second->shape;
    }
  }
  Entry& entry = find_or_compile(pod);
  entry.used = use_;
  std::shared_ptr<Shape> shape = entry.shape;
  if (shapes_.size() > limits_.shapes) {
    sweep();
  } else if (ordinary && cluster_.shape_epoch() == epochs_[0]) {
    if (seen_.size() >= kMostSeen) seen_.clear();
    seen_.emplace(Sight{pod.spec, pod.labels, pod.ns,
                        pod.controller ? pod.controller->uid : std::string(), pod.deleting},
                  &entry);
  }
  return shape;
}

ShapeTable::Entry& ShapeTable::find_or_compile(const Pod& pod) {
  std::string key = key_of(pod);
  std::shared_ptr<Shape> shape;
  // A plugin that asks for a set that the pod itself is in changes what the pod is in. The second
  // time that set is there.
  for (int round = 0; round < 3; ++round) {
    if (const auto found = shapes_.find(key); found != shapes_.end()) return *found->second;
    auto fresh = std::make_shared<Shape>();
    fresh->spec = pod.spec;
    fresh->ns = pod.ns;
    fresh->parts.reserve(profile_.slots());
    for (const std::unique_ptr<Plugin>& plugin : profile_.plugins())
      fresh->parts.push_back(plugin->compile(pod, cluster_));
    shape = std::move(fresh);
    std::string now = key_of(pod);
    if (now == key) break;
    key = std::move(now);
  }
  std::unique_ptr<Entry>& entry = shapes_[key];
  if (!entry) entry = std::make_unique<Entry>();
  entry->shape = std::move(shape);
  return *entry;
}

std::string ShapeTable::key_of(const Pod& pod) {
  std::string key;
  append_number(key, reinterpret_cast<std::uintptr_t>(pod.spec.get()));
  append_number(key, pod.ns.size());
  key += pod.ns;
  std::vector<std::uint64_t> sets;
  for (const PodSet* set : cluster_.sets_of(pod)) sets.push_back(number_of(*set));
  std::sort(sets.begin(), sets.end());
  append_number(key, sets.size());
  for (std::uint64_t number : sets) append_number(key, number);
  for (const std::unique_ptr<Plugin>& plugin : profile_.plugins()) {
    const std::size_t before = key.size();
    plugin->shape_key(pod, cluster_, key);
    if (key.size() != before) append_number(key, plugin->slot());
  }
  return key;
}

// Addresses are used again when a set is gone; numbers are not.
std::uint64_t ShapeTable::number_of(const PodSet& set) {
  if (numbered_at_ != cluster_.shape_epoch()) {
    set_numbers_.clear();
    numbered_at_ = cluster_.shape_epoch();
  }
  std::uint64_t& number = set_numbers_[&set];
  if (number == 0) {
    std::uint64_t& by_text = set_texts_[set.spec().text()];
    if (by_text == 0) by_text = ++last_number_;
    number = by_text;
  }
  return number;
}

void ShapeTable::sweep() {
  seen_.clear();
  std::vector<std::uint64_t> uses;
  for (const auto& [key, entry] : shapes_) uses.push_back(entry->used);
  std::uint64_t oldest = use_ > limits_.idle ? use_ - limits_.idle : 0;
  if (uses.size() > limits_.shapes) {  // keep three quarters, the latest
    const auto cut =
        uses.begin() + static_cast<std::ptrdiff_t>(uses.size() - limits_.shapes * 3 / 4);
    std::nth_element(uses.begin(), cut, uses.end());
    oldest = std::max(oldest, *cut);
  }
  std::erase_if(shapes_, [oldest](const auto& item) { return item.second->used < oldest; });
  if (set_texts_.size() > 8 * limits_.shapes) clear();  // mostly of sets that are gone
}

}  // namespace berth::scheduler
