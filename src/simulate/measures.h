// SPDX-License-Identifier: Apache-2.0
// How a cluster fared, told from the history of its pods alone.
#pragma once

#include <map>
#include <optional>
#include <string>
#include <vector>

#include "base/time.h"
#include "kube/object.h"

namespace berth::simulate {

// An amount that changes in steps: its integral, and its mean in each of many equal spans.
class Level {
 public:
  Level(Instant begin, Duration bucket) : begin_(begin), last_(begin), bucket_(bucket) {}

  void add(double change, Instant at);
  void pass(Instant until);                      // nothing has changed since
  double integral() const { return integral_; }  // amount x seconds
  double mean() const;                           // since the beginning
  std::vector<double> means() const;             // of the spans that have ended

 private:
  Instant begin_, last_;
  Duration bucket_;
  double now_ = 0, integral_ = 0;
  std::vector<double> sums_;
};

// Thread-compatible.
class Measures {
 public:
  Measures(Instant begin, Duration bucket);

  // Every change of a pod, in order. `ordinary`: it is none of those that make way.
  void on_pod(const kube::Object& pod, bool gone, bool ordinary, Instant at);
  void end(Instant at);

  const Level& ordinary() const { return ordinary_; }      // cores that are held
  const Level& scavenging() const { return scavenging_; }  // cores that are held
  // From creation to a node, of ordinary pods, ascending; who has none yet has waited until the
  // end.
  std::vector<Duration> waits() const;
  std::size_t never_placed() const;

 private:
  struct Pod {
    Instant created{};
    std::optional<Instant> placed = {};
    double cores = 0;
    bool holds = false, ordinary = false;
  };
  Level ordinary_, scavenging_;
  Instant now_;
  std::map<std::string, Pod, std::less<>> pods_;  // by uid
};

// The smallest that is not exceeded by this share of them; zero of nothing.
Duration quantile(const std::vector<Duration>& ascending, double share);

}  // namespace berth::simulate
