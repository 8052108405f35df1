// SPDX-License-Identifier: Apache-2.0
#include "base/metrics.h"

#include <algorithm>
#include <map>
#include <mutex>
#include <sstream>
#include <utility>

#include <fmt/format.h>
#include <prometheus/counter.h>
#include <prometheus/family.h>
#include <prometheus/gauge.h>
#include <prometheus/histogram.h>
#include <prometheus/registry.h>
#include <prometheus/text_serializer.h>

#include "base/check.h"

namespace berth {
namespace {

bool is_name(std::string_view text, bool colons) {
  const auto letter = [&](char c) {
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_' || (colons && c == ':');
  };
  return !text.empty() && letter(text.front()) &&
         std::all_of(text.begin(), text.end(),
                     [&](char c) { return letter(c) || (c >= '0' && c <= '9'); });
}

std::string joined(const LabelNames& labels) {
  return fmt::format("{{{}}}", fmt::join(labels, ","));
}

}  // namespace

namespace detail {

struct MetricFamily {
  enum class Type { kCounter, kGauge, kHistogram };
  std::string name;
  Type type;
  LabelNames labels;
  std::vector<double> buckets;
  void* own = nullptr;  // prometheus::Family of `type`, owned by the registry

  template <class T>
  T& add(std::initializer_list<std::string_view> values) {
    BERTH_CHECK(values.size() == labels.size(),
                fmt::format("metric {} takes values for {}", name, joined(labels)));
    prometheus::Labels pairs;
    auto label = labels.begin();
    for (const std::string_view value : values) pairs.emplace(*label++, value);
    auto& family = *static_cast<prometheus::Family<T>*>(own);
    if constexpr (std::is_same_v<T, prometheus::Histogram>)
      return family.Add(pairs, buckets);
    else
      return family.Add(pairs);
  }
};

}  // namespace detail

using Family = detail::MetricFamily;

struct Metrics::Impl {
  template <class Builder>
  auto& build(Builder builder, std::string_view name, std::string_view help) {
    return builder.Name(std::string(name)).Help(std::string(help)).Register(registry);
  }

  Family& family(std::string_view name, std::string_view help, Family::Type type, LabelNames labels,
                 std::vector<double> buckets = {}) {
    const std::lock_guard lock(mutex);
    const auto found = families.find(name);
    if (found != families.end()) {
      Family& known = found->second;
      BERTH_CHECK(known.type == type && known.labels == labels && known.buckets == buckets,
                  fmt::format("metric {} exists with another type, other buckets or labels {}",
                              name, joined(known.labels)));
      return known;
    }
    BERTH_CHECK(is_name(name, true), fmt::format("metric name {}", name));
    for (const std::string& label : labels)
      BERTH_CHECK(is_name(label, false) && !label.starts_with("__") && label != "le" &&
                      std::count(labels.begin(), labels.end(), label) == 1,
                  fmt::format("label {} of metric {}", label, name));
    BERTH_CHECK(std::is_sorted(buckets.begin(), buckets.end()),
                fmt::format("buckets of metric {} do not rise", name));
    Family& added = families[std::string(name)];
    added = Family{std::string(name), type, std::move(labels), std::move(buckets)};
    switch (type) {
      case Family::Type::kCounter:
        added.own = &build(prometheus::BuildCounter(), name, help);
        break;
      case Family::Type::kGauge:
        added.own = &build(prometheus::BuildGauge(), name, help);
        break;
      case Family::Type::kHistogram:
        added.own = &build(prometheus::BuildHistogram(), name, help);
        break;
    }
    return added;
  }
  std::mutex mutex;
  std::map<std::string, Family, std::less<>> families;  // nodes stay where they are
  prometheus::Registry registry;
};

void Counter::add(double by) const {
  BERTH_CHECK(by >= 0, "a counter never falls");
  own_->Increment(by);
}
double Counter::value() const { return own_->Value(); }
void Gauge::set(double value) const { own_->Set(value); }
void Gauge::add(double by) const { own_->Increment(by); }
double Gauge::value() const { return own_->Value(); }
void Histogram::observe(double value) const { own_->Observe(value); }

template <>
Counter Labelled<Counter>::with(std::initializer_list<std::string_view> values) const {
  return Counter(&own_->add<prometheus::Counter>(values));
}
template <>
Gauge Labelled<Gauge>::with(std::initializer_list<std::string_view> values) const {
  return Gauge(&own_->add<prometheus::Gauge>(values));
}
template <>
Histogram Labelled<Histogram>::with(std::initializer_list<std::string_view> values) const {
  return Histogram(&own_->add<prometheus::Histogram>(values));
}

Metrics::Metrics() : impl_(std::make_unique<Impl>()) {}
Metrics::~Metrics() = default;

Counter Metrics::counter(std::string_view name, std::string_view help) {
  return counters(name, help, {}).with({});
}
Labelled<Counter> Metrics::counters(std::string_view name, std::string_view help,
                                    LabelNames labels) {
  return Labelled<Counter>(&impl_->family(name, help, Family::Type::kCounter, std::move(labels)));
}
Gauge Metrics::gauge(std::string_view name, std::string_view help) {
  return gauges(name, help, {}).with({});
}
Labelled<Gauge> Metrics::gauges(std::string_view name, std::string_view help, LabelNames labels) {
  return Labelled<Gauge>(&impl_->family(name, help, Family::Type::kGauge, std::move(labels)));
}
Histogram Metrics::histogram(std::string_view name, std::string_view help,
                             std::vector<double> buckets) {
  return histograms(name, help, {}, std::move(buckets)).with({});
}
Labelled<Histogram> Metrics::histograms(std::string_view name, std::string_view help,
                                        LabelNames labels, std::vector<double> buckets) {
  return Labelled<Histogram>(
      &impl_->family(name, help, Family::Type::kHistogram, std::move(labels), std::move(buckets)));
}

std::string Metrics::exposition() const {
  std::vector<prometheus::MetricFamily> families = impl_->registry.Collect();
  // The registry keeps them in hash maps.
  std::sort(families.begin(), families.end(),
            [](const auto& a, const auto& b) { return a.name < b.name; });
  for (prometheus::MetricFamily& family : families)
    std::sort(family.metric.begin(), family.metric.end(),
              [](const auto& a, const auto& b) { return a.label < b.label; });
  std::ostringstream out;
  out.imbue(std::locale::classic());
  prometheus::TextSerializer().Serialize(out, families);
  return out.str();
}

std::vector<double> exponential_buckets(double start, double factor, int count) {
  BERTH_CHECK(start > 0 && factor > 1 && count > 0);
  std::vector<double> buckets;
  for (double bound = start; count > 0; --count, bound *= factor) buckets.push_back(bound);
  return buckets;
}

}  // namespace berth
