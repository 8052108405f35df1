// SPDX-License-Identifier: Apache-2.0
// Pods and nodes for tests, in few words: pod("web").cpu("500m").on("n1").compile(). They write
// manifests and run the real compiler. Only tests include this.
#pragma once

#include <cstdint>
#include <initializer_list>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <fmt/format.h>

#include "base/check.h"
#include "json/patch.h"
#include "json/writer.h"
#include "json/yaml.h"
#include "kube/kind.h"
#include "scheduler/cache/node.h"
#include "scheduler/cache/pod.h"

namespace berth::scheduler::test {

// Where a builder's compile() takes its compiler from when none is given: one for the test binary,
// so that equal specs of different tests are one object too.
inline PodCompiler& shared_compiler() {
  static PodCompiler compiler;
  return compiler;
}

// What builders share: a manifest that grows by merge patches (RFC 7386).
template <class Self>
class ManifestBuilder {
 public:
  // Merges YAML or JSON into the whole manifest; lists are replaced.
  Self& merge(std::string_view yaml) {
    const Result<std::string> json = berth::json::yaml_document_to_json(yaml);
    BERTH_CHECK(json.has_value(), json ? std::string() : json.error().message);
    Result<std::string> merged = berth::json::merge_patch(manifest_, *json);
    BERTH_CHECK(merged.has_value(), merged ? std::string() : merged.error().message);
    manifest_ = *std::move(merged);
    return self();
  }
  Self& spec(std::string_view yaml) { return under("spec", yaml); }
  Self& status(std::string_view yaml) { return under("status", yaml); }
  Self& metadata(std::string_view yaml) { return under("metadata", yaml); }

  Self& label(std::string_view key, std::string_view value) {
    return metadata(fmt::format("{{\"labels\":{{{}:{}}}}}", quoted(key), quoted(value)));
  }
  Self& annotation(std::string_view key, std::string_view value) {
    return metadata(fmt::format("{{\"annotations\":{{{}:{}}}}}", quoted(key), quoted(value)));
  }
  Self& uid(std::string_view uid) { return metadata(fmt::format("{{\"uid\":{}}}", quoted(uid))); }
  Self& revision(std::uint64_t revision) {
    return metadata(fmt::format("{{\"resourceVersion\":\"{}\"}}", revision));
  }

 protected:
  explicit ManifestBuilder(std::string manifest) : manifest_(std::move(manifest)) {}
  static std::string quoted(std::string_view text) {
    std::string out;
    berth::json::append_quoted(out, text);
    return out;
  }
  // A list member grows by one element.
  Self& push(std::string_view parent, std::string_view list, std::string_view element) {
    const berth::json::Slice now = berth::json::Slice(std::string_view(manifest_))[parent][list];
    std::string raw(now.present() ? now.raw() : "[]");
    raw.insert(raw.size() - 1, (raw == "[]" ? "" : ",") + std::string(element));
    return under(parent, fmt::format("{{{}:{}}}", quoted(list), raw));
  }
  Self& under(std::string_view member, std::string_view yaml) {
    const Result<std::string> json = berth::json::yaml_document_to_json(yaml);
    BERTH_CHECK(json.has_value(), json ? std::string() : json.error().message);
    return merge(fmt::format("{{{}:{}}}", quoted(member), *json));
  }
  kube::Object parse(kube::KindId kind, const std::string& manifest) const {
    Result<kube::Object> object = kube::Object::parse(kind, manifest);
    BERTH_CHECK(object.has_value(), object ? std::string() : object.error().message);
    return *std::move(object);
  }
  const std::string& manifest() const { return manifest_; }

 private:
  Self& self() { return static_cast<Self&>(*this); }
  std::string manifest_;
};

// A pod in namespace "default" with one container, named "main", and a uid like its name.
class PodBuilder : public ManifestBuilder<PodBuilder> {
 public:
  explicit PodBuilder(std::string_view name)
      : ManifestBuilder(fmt::format(
            R"({{"apiVersion":"v1","kind":"Pod","metadata":{{"name":{0},"namespace":"default","uid":{0}}},"spec":{{"schedulerName":"default-scheduler"}}}})",
            quoted(name))) {}

  PodBuilder& ns(std::string_view ns) {
    return metadata(fmt::format("{{\"namespace\":{}}}", quoted(ns)));
  }
  PodBuilder& cpu(std::string_view amount) { return request("cpu", amount); }
  PodBuilder& memory(std::string_view amount) { return request("memory", amount); }
  PodBuilder& request(std::string_view resource, std::string_view amount) {  // of "main"
    requests_.emplace_back(resource, amount);
    return *this;
  }
  PodBuilder& image(std::string_view image) {
    image_ = image;
    return *this;
  }
  PodBuilder& host_port(int port, std::string_view protocol = "TCP", std::string_view ip = "") {
    ports_.push_back(
        fmt::format(R"({{"containerPort":{0},"hostPort":{0},"protocol":{1},"hostIP":{2}}})", port,
                    quoted(protocol), quoted(ip)));
    return *this;
  }
  // Another container or init container, as YAML or JSON.
  PodBuilder& container(std::string_view yaml) {
    containers_.push_back(as_json(yaml));
    return *this;
  }
  PodBuilder& init_container(std::string_view yaml) {
    return push("spec", "initContainers", as_json(yaml));
  }

  PodBuilder& priority(std::int32_t priority) {
    return spec(fmt::format("priority: {}", priority));
  }
  PodBuilder& never_preempts() { return spec("preemptionPolicy: Never"); }
  PodBuilder& scheduler(std::string_view name) {
    return spec(fmt::format("{{\"schedulerName\":{}}}", quoted(name)));
  }
  PodBuilder& on(std::string_view node) {
    return spec(fmt::format("{{\"nodeName\":{}}}", quoted(node)));
  }
  PodBuilder& nominated(std::string_view node) {
    return status(fmt::format("{{\"nominatedNodeName\":{}}}", quoted(node)));
  }
  PodBuilder& started(std::string_view rfc3339) {
    return status(fmt::format("{{\"startTime\":{}}}", quoted(rfc3339)));
  }
  PodBuilder& phase(std::string_view phase) {
    return status(fmt::format("{{\"phase\":{}}}", quoted(phase)));
  }
  PodBuilder& deleting(std::string_view rfc3339 = "2026-01-02T03:04:05Z") {
    return metadata(fmt::format("{{\"deletionTimestamp\":{}}}", quoted(rfc3339)));
  }
  PodBuilder& controlled_by(std::string_view api_version, std::string_view kind,
                            std::string_view name) {
    return metadata(fmt::format(
        R"({{"ownerReferences":[{{"apiVersion":{},"kind":{},"name":{},"uid":{},"controller":true}}]}})",
        quoted(api_version), quoted(kind), quoted(name), quoted(name)));
  }
  PodBuilder& gate(std::string_view name) {
    return push("spec", "schedulingGates", fmt::format("{{\"name\":{}}}", quoted(name)));
  }
  // An empty key tolerates everything; an empty value means Exists.
  PodBuilder& toleration(std::string_view key, std::string_view value = "",
                         std::string_view effect = "") {
    return push("spec", "tolerations",
                fmt::format(R"({{"key":{},"operator":"{}","value":{},"effect":{}}})", quoted(key),
                            value.empty() ? "Exists" : "Equal", quoted(value), quoted(effect)));
  }
  PodBuilder& node_selector(std::string_view key, std::string_view value) {
    return spec(fmt::format("{{\"nodeSelector\":{{{}:{}}}}}", quoted(key), quoted(value)));
  }
  // A required node affinity of one term: the label is one of the values.
  PodBuilder& node_affinity(std::string_view key, std::initializer_list<std::string_view> values) {
    return affinity(
        "nodeAffinity",
        fmt::format(
            R"({{"requiredDuringSchedulingIgnoredDuringExecution":{{"nodeSelectorTerms":[{{"matchExpressions":[{{"key":{},"operator":"In","values":{}}}]}}]}}}})",
            quoted(key), list(values)));
  }
  PodBuilder& preferred_node(std::int32_t weight, std::string_view key,
                             std::initializer_list<std::string_view> values) {
    preferred_nodes_.push_back(fmt::format(
        R"({{"weight":{},"preference":{{"matchExpressions":[{{"key":{},"operator":"In","values":{}}}]}}}})",
        weight, quoted(key), list(values)));
    return affinity("nodeAffinity",
                    fmt::format(R"({{"preferredDuringSchedulingIgnoredDuringExecution":[{}]}})",
                                fmt::join(preferred_nodes_, ",")));
  }
  // Terms about pods with the label key=value; a weight makes them preferred.
  PodBuilder& near(std::string_view topology_key, std::string_view key, std::string_view value,
                   std::int32_t weight = 0) {
    return pod_term("podAffinity", near_, topology_key, key, value, weight);
  }
  PodBuilder& apart(std::string_view topology_key, std::string_view key, std::string_view value,
                    std::int32_t weight = 0) {
    return pod_term("podAntiAffinity", apart_, topology_key, key, value, weight);
  }
  // Spread pods with the label key=value.
  PodBuilder& spread(std::int32_t max_skew, std::string_view topology_key, bool hard,
                     std::string_view key, std::string_view value,
                     std::string_view more_yaml = "{}") {
    const std::string base = fmt::format(
        R"({{"maxSkew":{},"topologyKey":{},"whenUnsatisfiable":"{}","labelSelector":{{"matchLabels":{{{}:{}}}}}}})",
        max_skew, quoted(topology_key), hard ? "DoNotSchedule" : "ScheduleAnyway", quoted(key),
        quoted(value));
    return push("spec", "topologySpreadConstraints",
                *berth::json::merge_patch(base, as_json(more_yaml)));
  }
  PodBuilder& claim(std::string_view claim_name) {
    return volume(fmt::format(R"({{"name":{0},"persistentVolumeClaim":{{"claimName":{0}}}}})",
                              quoted(claim_name)));
  }
  PodBuilder& volume(std::string_view yaml) { return push("spec", "volumes", as_json(yaml)); }

  std::string json() const {
    std::string requests;
    for (const auto& [name, amount] : requests_)
      requests += fmt::format("{}{}:{}", requests.empty() ? "" : ",", quoted(name), quoted(amount));
    std::string main = fmt::format(
        R"({{"name":"main","image":{},"resources":{{"requests":{{{}}}}},"ports":[{}]}})",
        quoted(image_), requests, fmt::join(ports_, ","));
    // Whoever states containers in spec() has the last word.
    const berth::json::Slice stated =
        berth::json::Slice(std::string_view(manifest()))["spec"]["containers"];
    if (stated.present()) return manifest();
    for (const std::string& more : containers_) main += "," + more;
    return *berth::json::merge_patch(manifest(),
                                     fmt::format(R"({{"spec":{{"containers":[{}]}}}})", main));
  }
  kube::Object object() const { return parse(kube::kPod, json()); }
  PodPtr compile(PodCompiler& compiler = shared_compiler()) const {
    Result<PodPtr> pod = compiler.compile(object());
    BERTH_CHECK(pod.has_value(), pod ? std::string() : pod.error().message);
    return *std::move(pod);
  }
  operator PodPtr() const { return compile(); }  // NOLINT(google-explicit-constructor)

 private:
  struct PodTerms {
    std::vector<std::string> required, preferred;
  };
  static std::string as_json(std::string_view yaml) {
    Result<std::string> json = berth::json::yaml_document_to_json(yaml);
    BERTH_CHECK(json.has_value(), json ? std::string() : json.error().message);
    return *std::move(json);
  }
  static std::string list(std::initializer_list<std::string_view> values) {
    std::vector<std::string> texts;
    for (const std::string_view value : values) texts.push_back(quoted(value));
    return fmt::format("[{}]", fmt::join(texts, ","));
  }
  PodBuilder& affinity(std::string_view kind, std::string_view json) {
    return spec(fmt::format(R"({{"affinity":{{{}:{}}}}})", quoted(kind), json));
  }
  PodBuilder& pod_term(std::string_view kind, PodTerms& terms, std::string_view topology_key,
                       std::string_view key, std::string_view value, std::int32_t weight) {
    const std::string term =
        fmt::format(R"({{"topologyKey":{},"labelSelector":{{"matchLabels":{{{}:{}}}}}}})",
                    quoted(topology_key), quoted(key), quoted(value));
    if (weight == 0)
      terms.required.push_back(term);
    else
      terms.preferred.push_back(
          fmt::format(R"({{"weight":{},"podAffinityTerm":{}}})", weight, term));
    return affinity(
        kind,
        fmt::format(
            R"({{"requiredDuringSchedulingIgnoredDuringExecution":[{}],"preferredDuringSchedulingIgnoredDuringExecution":[{}]}})",
            fmt::join(terms.required, ","), fmt::join(terms.preferred, ",")));
  }

  std::vector<std::pair<std::string, std::string>> requests_;
  std::string image_ = "registry.example/main:1";
  std::vector<std::string> ports_, containers_, preferred_nodes_;
  PodTerms near_, apart_;
};

// A node with the hostname label and room for 110 pods.
class NodeBuilder : public ManifestBuilder<NodeBuilder> {
 public:
  explicit NodeBuilder(std::string_view name)
      : ManifestBuilder(fmt::format(
            R"({{"apiVersion":"v1","kind":"Node","metadata":{{"name":{0},"uid":{0},"labels":{{"kubernetes.io/hostname":{0}}}}},"status":{{"allocatable":{{"pods":"110"}}}}}})",
            quoted(name))) {}

  NodeBuilder& cpu(std::string_view amount) { return allocatable("cpu", amount); }
  NodeBuilder& memory(std::string_view amount) { return allocatable("memory", amount); }
  NodeBuilder& disk(std::string_view amount) { return allocatable("ephemeral-storage", amount); }
  NodeBuilder& pods(int count) { return allocatable("pods", std::to_string(count)); }
  NodeBuilder& allocatable(std::string_view resource, std::string_view amount) {
    return status(fmt::format(R"({{"allocatable":{{{}:{}}}}})", quoted(resource), quoted(amount)));
  }
  NodeBuilder& zone(std::string_view zone) { return label("topology.kubernetes.io/zone", zone); }
  NodeBuilder& region(std::string_view region) {
    return label("topology.kubernetes.io/region", region);
  }
  NodeBuilder& taint(std::string_view key, std::string_view value = "",
                     std::string_view effect = "NoSchedule") {
    return push("spec", "taints",
                fmt::format(R"({{"key":{},"value":{},"effect":{}}})", quoted(key), quoted(value),
                            quoted(effect)));
  }
  NodeBuilder& unschedulable(bool is = true) { return spec(fmt::format("unschedulable: {}", is)); }
  NodeBuilder& image(std::string_view name, std::int64_t bytes) {
    return push("status", "images",
                fmt::format(R"({{"names":[{}],"sizeBytes":{}}})", quoted(name), bytes));
  }
  NodeBuilder& condition(std::string_view type, std::string_view status_text) {
    return push("status", "conditions",
                fmt::format(R"({{"type":{},"status":{}}})", quoted(type), quoted(status_text)));
  }
  NodeBuilder& feature(std::string_view name) {
    return push("status", "declaredFeatures", quoted(name));
  }

  std::string json() const { return manifest(); }
  kube::Object object() const { return parse(kube::kNode, json()); }
  NodePtr compile(bool keep_document = false) const {
    Result<NodePtr> node = Node::compile(object(), keep_document);
    BERTH_CHECK(node.has_value(), node ? std::string() : node.error().message);
    return *std::move(node);
  }
  operator NodePtr() const { return compile(); }  // NOLINT(google-explicit-constructor)
};

inline PodBuilder pod(std::string_view name) { return PodBuilder(name); }
inline NodeBuilder node(std::string_view name) { return NodeBuilder(name); }

}  // namespace berth::scheduler::test
