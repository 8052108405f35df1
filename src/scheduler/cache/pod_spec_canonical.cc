// SPDX-License-Identifier: Apache-2.0
// A PodSpec as text that two specs share exactly when they are equal. Every text is written with
// its length and every list with its count, so no two specs run together.
#include <fmt/format.h>

#include "scheduler/cache/pod_fields.h"

namespace berth::scheduler {
namespace {

class Canonical {
 public:
  Canonical& operator<<(std::string_view text) {
    fmt::format_to(std::back_inserter(out_), "{}:", text.size());
    out_ += text;
    return *this;
  }
  Canonical& operator<<(const std::string& text) { return *this << std::string_view(text); }
  Canonical& operator<<(std::int64_t number) {
    fmt::format_to(std::back_inserter(out_), "{};", number);
    return *this;
  }
  Canonical& operator<<(const Resources& r) {
    *this << r.millicores << r.memory << r.disk << count(r.scalars);
    for (const auto& [name, amount] : r.scalars) *this << name << amount;
    return *this;
  }
  Canonical& operator<<(const HostPort& port) {
    return *this << port.ip << port.protocol << port.port;
  }
  Canonical& operator<<(const kube::Toleration& t) {
    *this << t.key << t.op << t.value << t.effect << std::int64_t{t.seconds.has_value()};
    return *this << t.seconds.value_or(0);
  }
  Canonical& operator<<(const kube::Requirement& r) {
    return *this << r.key() << static_cast<std::int64_t>(r.op()) << r.values();
  }
  Canonical& operator<<(const kube::LabelSelector& selector) {
    return *this << std::int64_t{selector.matches_nothing()} << selector.requirements();
  }
  Canonical& operator<<(const AffinityTerm& term) {
    *this << term.namespaces << std::int64_t{term.own_namespace};
    *this << std::int64_t{term.namespace_selector.has_value()};
    if (term.namespace_selector) *this << *term.namespace_selector;
    return *this << term.selector << term.topology_key << term.weight;
  }
  Canonical& operator<<(const PodAffinity& a) {
    return *this << a.required << a.required_anti << a.preferred << a.preferred_anti
                 << std::int64_t{a.stated} << a.error;
  }
  Canonical& operator<<(const SpreadConstraint& c) {
    return *this << c.max_skew << c.topology_key << std::int64_t{c.hard} << c.selector
                 << c.min_domains << std::int64_t{c.honor_affinity} << std::int64_t{c.honor_taints}
                 << c.match_label_keys;
  }
  template <class T>
  Canonical& operator<<(const std::vector<T>& list) {
    *this << count(list);
    for (const T& one : list) *this << one;
    return *this;
  }
  std::string take() { return std::move(out_); }

 private:
  template <class List>
  static std::int64_t count(const List& list) {
    return static_cast<std::int64_t>(list.size());
  }
  std::string out_;
};

}  // namespace

// Not written: what follows from the rest. node_selector, required_node_affinity and named_nodes
// follow from node_affinity_text.
std::string canonical_text(const PodSpec& spec, const std::string& preferred) {
  Canonical out;
  out << spec.scheduler_name << spec.priority << std::int64_t{spec.never_preempts};
  out << spec.asked << spec.asked_nonzero << spec.used;
  out << spec.used_nonzero_millicores << spec.used_nonzero_memory;
  out << spec.images << std::int64_t{spec.image_containers} << spec.host_ports << spec.tolerations;
  out << std::int64_t{spec.has_node_selector} << spec.node_affinity_text;
  out << std::int64_t{spec.has_preferred_node_affinity} << preferred;
  out << spec.affinity << spec.spread << spec.spread_error << spec.gates << spec.needed_features;
  out << std::int64_t{spec.has_resource_claims};
  return out.take();
}

}  // namespace berth::scheduler
