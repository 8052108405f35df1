// SPDX-License-Identifier: Apache-2.0
#include "simulate/measures.h"

#include <algorithm>
#include <cmath>

#include "kube/pod_requests.h"
#include "kube/pod_view.h"

namespace berth::simulate {
namespace {

double seconds(Duration span) { return std::chrono::duration<double>(span).count(); }

}  // namespace

void Level::add(double change, Instant at) {
  pass(at);
  now_ += change;
}

void Level::pass(Instant until) {
  while (last_ < until) {
    const auto bucket = static_cast<std::size_t>((last_ - begin_) / bucket_);
    const Instant end = begin_ + static_cast<Duration::rep>(bucket + 1) * bucket_;
    const Instant next = std::min(until, end);
    if (sums_.size() <= bucket) sums_.resize(bucket + 1);
    const double area = now_ * seconds(next - last_);
    sums_[bucket] += area;
    integral_ += area;
    last_ = next;
  }
}

double Level::mean() const { return last_ == begin_ ? now_ : integral_ / seconds(last_ - begin_); }

std::vector<double> Level::means() const {
  std::vector<double> means;
  for (const double sum : sums_) means.push_back(sum / seconds(bucket_));
  if (!means.empty() && (last_ - begin_) % bucket_ != Duration{}) means.pop_back();
  return means;
}

Measures::Measures(Instant begin, Duration bucket)
    : ordinary_(begin, bucket), scavenging_(begin, bucket), now_(begin) {}

void Measures::on_pod(const kube::Object& pod, bool gone, bool ordinary, Instant at) {
  now_ = at;
  auto found = pods_.find(pod.uid());
  if (found == pods_.end()) {
    if (gone) return;
    found = pods_.emplace(std::string(pod.uid()), Pod{.created = at, .ordinary = ordinary}).first;
    if (const auto requests = kube::pod_requests(pod))
      if (const auto cpu = requests->find("cpu"); cpu != requests->end())
        found->second.cores = static_cast<double>(cpu->second.milli_value()) / 1000;
  }
  Pod& known = found->second;
  const kube::PodView view(pod);
  if (!known.placed && view.assigned()) known.placed = at;
  const bool holds = !gone && view.assigned() && !view.finished();
  if (holds != known.holds)
    (known.ordinary ? ordinary_ : scavenging_).add(holds ? known.cores : -known.cores, at);
  known.holds = holds;
  if (gone && !known.ordinary) pods_.erase(found);
}

void Measures::end(Instant at) {
  now_ = at;
  ordinary_.pass(at);
  scavenging_.pass(at);
}

std::vector<Duration> Measures::waits() const {
  std::vector<Duration> waits;
  for (const auto& [uid, pod] : pods_)
    if (pod.ordinary) waits.push_back(pod.placed.value_or(now_) - pod.created);
  std::sort(waits.begin(), waits.end());
  return waits;
}

std::size_t Measures::never_placed() const {
  return static_cast<std::size_t>(std::count_if(pods_.begin(), pods_.end(), [](const auto& each) {
    return each.second.ordinary && !each.second.placed;
  }));
}

Duration quantile(const std::vector<Duration>& ascending, double share) {
  if (ascending.empty()) return {};
  const auto rank = std::ceil(share * static_cast<double>(ascending.size()));
  const auto place = static_cast<std::size_t>(std::max(rank, 1.0)) - 1;
  return ascending[std::min(place, ascending.size() - 1)];
}

}  // namespace berth::simulate
