// SPDX-License-Identifier: Apache-2.0
#include "lab/metrics_api.h"

#include <algorithm>
#include <cmath>

#include <fmt/format.h>

#include "apiserver/kinds/cells.h"
#include "json/writer.h"
#include "kube/pod_view.h"
#include "kube/time.h"
#include "lab/containers.h"

namespace berth::lab {
namespace {

// As metrics-server writes amounts: nano-cores, and kibibytes.
void write_usage(json::Writer& w, const Usage& usage) {
  w.member("usage").object();
  w.member("cpu").string(fmt::format("{}n", std::llround(std::min(usage.cores, 9e9) * 1e9)));
  w.member("memory").string(fmt::format("{}Ki", std::llround(usage.bytes / 1024)));
  w.end();
}

void write_head(json::Writer& w, const kube::Object& of, WallTime now) {
  w.object().member("metadata").object();
  w.member("creationTimestamp").string(kube::time_text(now));
  if (of.labels()) w.member("labels").raw(of.labels().raw());
  w.member("name").string(of.name());
  if (!of.ns().empty()) w.member("namespace").string(of.ns());
  w.end();
  w.member("timestamp").string(kube::time_text(now));
  w.member("window").string("15s");
}

class Source {
 public:
  Source(Lab& lab, std::shared_ptr<const UsageRules> rules)
      : lab_(lab), rules_(rules ? std::move(rules) : std::make_shared<const UsageRules>()) {}

  WallTime now() const { return lab_.wall(); }
  Lab& lab() { return lab_; }
  // Each container that runs, in the order of their names.
  std::vector<std::pair<std::string, Usage>> of_pod(const kube::Object& pod) const {
    std::vector<std::pair<std::string, Usage>> out;
    for (const Container& c : read_containers(pod))
      if (c.running())
        out.emplace_back(c.name, rules_->usage(pod, c.spec, c.started, now(), lab_.chance()));
    std::sort(out.begin(), out.end(),
              [](const auto& a, const auto& b) { return a.first < b.first; });
    return out;
  }
  Usage of_node(std::string_view node) const {
    Usage sum;
    for (const kube::Object& pod : lab_.pods_on(node))
      for (const auto& [name, usage] : of_pod(pod)) {
        sum.cores += usage.cores;
        sum.bytes += usage.bytes;
      }
    return sum;
  }

 private:
  Lab& lab_;
  std::shared_ptr<const UsageRules> rules_;
};

class PodMetrics final : public apiserver::Computed {
 public:
  PodMetrics(std::shared_ptr<Source> source, kube::KindId kind)
      : source_(std::move(source)), kind_(kind) {}

  std::vector<kube::Object> list(std::string_view ns) override {
    std::vector<kube::Object> out;
    for (const kube::Object& pod : source_->lab().pods_in(ns))
      if (auto made = make(pod)) out.push_back(std::move(*made));
    return out;
  }
  std::optional<kube::Object> get(std::string_view ns, std::string_view name) override {
    const kube::Object* pod = source_->lab().store().get(kube::kPod, {ns, name});
    return pod == nullptr ? std::nullopt : make(*pod);
  }

 private:
  std::optional<kube::Object> make(const kube::Object& pod) {
    const auto containers = source_->of_pod(pod);
    if (containers.empty()) return std::nullopt;
    json::Writer w;
    write_head(w, pod, source_->now());
    w.member("containers").array();
    for (const auto& [name, usage] : containers) {
      w.object().member("name").string(name);
      write_usage(w, usage);
      w.end();
    }
    w.end().end();
    Result<kube::Object> made = kube::Object::parse(kind_, w.text());
    return made ? std::optional(std::move(*made)) : std::nullopt;
  }
  std::shared_ptr<Source> source_;
  kube::KindId kind_;
};

class NodeMetrics final : public apiserver::Computed {
 public:
  NodeMetrics(std::shared_ptr<Source> source, kube::KindId kind)
      : source_(std::move(source)), kind_(kind) {}

  std::vector<kube::Object> list(std::string_view) override {
    std::vector<kube::Object> out;
    for (const kube::Object& node : source_->lab().beating_nodes()) out.push_back(make(node));
    return out;
  }
  std::optional<kube::Object> get(std::string_view, std::string_view name) override {
    // A node that is silent cannot be asked.
    const kube::Object* node = source_->lab().store().get(kube::kNode, {"", name});
    if (node == nullptr || !source_->lab().is_beating(name)) return std::nullopt;
    return make(*node);
  }

 private:
  kube::Object make(const kube::Object& node) {
    json::Writer w;
    write_head(w, node, source_->now());
    write_usage(w, source_->of_node(node.name()));
    w.end();
    return kube::Object::parse(kind_, w.text()).value();
  }
  std::shared_ptr<Source> source_;
  kube::KindId kind_;
};

}  // namespace

std::vector<apiserver::KindRow> metrics_kinds(Lab& lab, std::shared_ptr<const UsageRules> rules) {
  const auto source = std::make_shared<Source>(lab, std::move(rules));
  std::vector<apiserver::KindRow> rows;
  apiserver::KindRow nodes = apiserver::Kind("metrics.k8s.io/v1beta1", "NodeMetrics", "nodes")
                                 .cluster_scoped()
                                 .singular("")
                                 .only({"get", "list"})
                                 .name_column()
                                 .column("cpu", apiserver::text("usage.cpu"))
                                 .column("memory", apiserver::text("usage.memory"))
                                 .column("Window", apiserver::text("window"));
  nodes.computed = std::make_shared<NodeMetrics>(source, nodes.id);
  rows.push_back(std::move(nodes));
  apiserver::KindRow pods = apiserver::Kind("metrics.k8s.io/v1beta1", "PodMetrics", "pods")
                                .singular("")
                                .only({"get", "list"})
                                .name_column()
                                .column("Window", apiserver::text("window"));
  pods.computed = std::make_shared<PodMetrics>(source, pods.id);
  rows.push_back(std::move(pods));
  return rows;
}

}  // namespace berth::lab
