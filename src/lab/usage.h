// SPDX-License-Identifier: Apache-2.0
// How much simulated containers use, as a function of time: evaluated when somebody asks, never
// ticked.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/random.h"
#include "base/result.h"
#include "kube/object.h"

namespace berth::lab {

// One amount over time. A value; immutable.
//   250m                                                constant
//   phases 100m/5m 800m/10m 200m                        one after another, the last one stays
//   phases repeat 100m/5m 800m/10m                      and again from the beginning
//   seasonal base=200m amplitude=100m period=24h peak=14h   a wave over the time of day
//   trace every=1m 100m 250m 150m                       measured points, lines between them
// Any of them with noise=10%: that much more or less, drawn anew every 15 seconds.
class UsageModel {
 public:
  static Result<UsageModel> parse(std::string_view text);
  static UsageModel constant(double amount);
  // `age`: since the container was started; `chance`: the container's own stream.
  double at(Duration age, WallTime now, const Random& chance) const;

 private:
  enum class Type : std::uint8_t { kConstant, kPhases, kSeasonal, kTrace };
  struct Phase {
    double amount = 0;
    std::optional<Duration> lasts = {};
  };
  Type type_ = Type::kConstant;
  std::vector<Phase> phases_ = {};  // constant: one; trace: the points
  bool repeats_ = false;
  double amplitude_ = 0, noise_ = 0;
  Duration period_{}, peak_{};  // of phases the period is all of them
};

struct Usage {
  double cores = 0, bytes = 0;
};

// KWOK's ResourceUsage and ClusterResourceUsage from files, in a subset: values, and expressions of
// the form that KWOK ships (an annotation's value, or else a quantity).
class UsageRules {
 public:
  // Adds those of a file, other documents left out. Errors name file and line.
  Result<Ok> add(std::string_view text, std::string_view file_name);

  // What the container uses now. Annotations come first, berth.dev/usage-cpu before
  // kwok.x-k8s.io/usage-cpu, then rules; else half of what it requests, or next to nothing.
  Usage usage(const kube::Object& pod, json::Slice container, WallTime started, WallTime now,
              const Random& chance) const;

 private:
  struct Amount {
    std::string annotation = {};  // "": none
    double otherwise = 0;
  };
  struct Rule {
    std::vector<std::string> namespaces = {}, names = {};  // empty: all
    std::vector<std::string> containers = {};
    std::optional<Amount> cpu = {}, memory = {};
  };
  const Amount* find(const kube::Object& pod, std::string_view container,
                     std::optional<Amount> Rule::*which) const;
  std::vector<Rule> rules_;
};

}  // namespace berth::lab
