// SPDX-License-Identifier: Apache-2.0
// Counters, gauges and histograms of one process, shown in Prometheus' text format. Look a metric
// up once and keep the handle: using it is lock-free (histograms: one short lock).
#pragma once

#include <initializer_list>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

namespace prometheus {
class Counter;
class Gauge;
class Histogram;
}  // namespace prometheus

namespace berth {

namespace detail {
struct MetricFamily;
}

// Handles are two words at most, copied freely, thread-safe, and valid as long as their Metrics.
class Counter {
 public:
  void add(double by = 1) const;  // by >= 0
  double value() const;

 private:
  friend class Metrics;
  template <class>
  friend class Labelled;
  explicit Counter(prometheus::Counter* own) : own_(own) {}
  prometheus::Counter* own_;
};

class Gauge {
 public:
  void set(double) const;
  void add(double by) const;
  double value() const;

 private:
  friend class Metrics;
  template <class>
  friend class Labelled;
  explicit Gauge(prometheus::Gauge* own) : own_(own) {}
  prometheus::Gauge* own_;
};

class Histogram {
 public:
  void observe(double) const;

 private:
  friend class Metrics;
  template <class>
  friend class Labelled;
  explicit Histogram(prometheus::Histogram* own) : own_(own) {}
  prometheus::Histogram* own_;
};

// One metric of several, told apart by the values of its labels.
template <class Metric>
class Labelled {
 public:
  Metric with(std::initializer_list<std::string_view> values) const;  // in the order of the labels

 private:
  friend class Metrics;
  explicit Labelled(detail::MetricFamily* own) : own_(own) {}
  detail::MetricFamily* own_;
};

using LabelNames = std::vector<std::string>;

// Thread-safe. Asking for the same metric again gives the same one; asking for it with other
// labels, another type or a name that Prometheus refuses is a failed check: names come from code.
class Metrics {
 public:
  Metrics();
  ~Metrics();
  Metrics(const Metrics&) = delete;
  Metrics& operator=(const Metrics&) = delete;

  Counter counter(std::string_view name, std::string_view help);
  Labelled<Counter> counters(std::string_view name, std::string_view help, LabelNames);
  Gauge gauge(std::string_view name, std::string_view help);
  Labelled<Gauge> gauges(std::string_view name, std::string_view help, LabelNames);
  Histogram histogram(std::string_view name, std::string_view help, std::vector<double> buckets);
  Labelled<Histogram> histograms(std::string_view name, std::string_view help, LabelNames,
                                 std::vector<double> buckets);

  std::string exposition() const;  // sorted by name and labels

 private:
  struct Impl;
  std::unique_ptr<Impl> impl_;
};

// start, start * factor, …: `count` upper bounds. start > 0, factor > 1, count > 0.
std::vector<double> exponential_buckets(double start, double factor, int count);

}  // namespace berth
