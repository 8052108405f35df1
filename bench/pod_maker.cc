// SPDX-License-Identifier: Apache-2.0
#include "pod_maker.h"

#include <fmt/format.h>

namespace berth::bench {
namespace {

// A step of splitmix64: well-spread bits out of an index, the same on every machine.
std::uint64_t mix(std::uint64_t x) {
  x += 0x9e3779b97f4a7c15u;
  x = (x ^ (x >> 30)) * 0xbf58476d1ce4e5b9u;
  x = (x ^ (x >> 27)) * 0x94d049bb133111ebu;
  return x ^ (x >> 31);
}

std::string uuid(std::uint64_t seed) {
  const std::uint64_t a = mix(seed), b = mix(a);
  return fmt::format("{:08x}-{:04x}-4{:03x}-{:04x}-{:012x}", a >> 32, (a >> 16) & 0xffff, a & 0xfff,
                     0x8000 | (b >> 50), b & 0xffff'ffff'ffff);
}

constexpr const char* kTeams[] = {"payments", "search", "checkout", "identity", "media"};

struct Names {
  explicit Names(std::size_t index)
      : bits(mix(index)),
        team(kTeams[bits % 5]),
        app(fmt::format("{}-api-{}", team, index / 50)),
        hash(fmt::format("{:09x}", mix(index / 50) & 0xf'ffff'ffff)),
        name(fmt::format("{}-{}-{:05x}", app, hash, index)) {}
  std::uint64_t bits;
  std::string team, app, hash, name;
};

std::string labels(const Names& n) {
  return fmt::format(
      R"({{"app.kubernetes.io/component":"backend","app.kubernetes.io/instance":"{0}","app.kubernetes.io/name":"{1}","app.kubernetes.io/version":"2.{2}.0","pod-template-hash":"{3}","team":"{1}"}})",
      n.app, n.team, n.bits % 17, n.hash);
}

constexpr const char* kSpecAfterNode =
    R"("securityContext":{"runAsUser":10001,"runAsNonRoot":true,"fsGroup":10001},"schedulerName":"default-scheduler","tolerations":[{"key":"node.kubernetes.io/not-ready","operator":"Exists","effect":"NoExecute","tolerationSeconds":300},{"key":"node.kubernetes.io/unreachable","operator":"Exists","effect":"NoExecute","tolerationSeconds":300}],"priority":0,"enableServiceLinks":true,"preemptionPolicy":"PreemptLowerPriority")";

std::string spec(const Names& n, const std::string& node) {
  std::string out = fmt::format(
      R"({{"volumes":[{{"name":"config","configMap":{{"name":"{0}-config","defaultMode":420}}}}],"containers":[{{"name":"server","image":"registry.example.com/{1}/api:2.{2}.0","args":["--listen=:8080","--config=/etc/{1}/config.yaml","--log-level=info"],"ports":[{{"name":"http","containerPort":8080,"protocol":"TCP"}}],"env":[{{"name":"POD_NAME","valueFrom":{{"fieldRef":{{"apiVersion":"v1","fieldPath":"metadata.name"}}}}}},{{"name":"GOMEMLIMIT","value":"{3}MiB"}}],"resources":{{"limits":{{"memory":"{3}Mi"}},"requests":{{"cpu":"{4}m","memory":"{3}Mi"}}}},"volumeMounts":[{{"name":"config","readOnly":true,"mountPath":"/etc/{1}"}}],"readinessProbe":{{"httpGet":{{"path":"/ready","port":"http","scheme":"HTTP"}},"timeoutSeconds":1,"periodSeconds":10,"successThreshold":1,"failureThreshold":3}},"terminationMessagePath":"/dev/termination-log","terminationMessagePolicy":"File","imagePullPolicy":"IfNotPresent"}}],"restartPolicy":"Always","terminationGracePeriodSeconds":30,"dnsPolicy":"ClusterFirst",)",
      n.app, n.team, n.bits % 17, 250 << (n.bits % 4), 100 + 50 * (n.bits % 9));
  if (!node.empty())
    out += fmt::format(
        R"("serviceAccountName":"default","serviceAccount":"default","nodeName":"{}",)", node);
  out += kSpecAfterNode;
  out += '}';
  return out;
}

}  // namespace

std::string pod_json(std::size_t index) {
  const Names n(index);
  const std::string node = fmt::format("worker-{:04}", n.bits % 5000);
  const std::string time =
      fmt::format("2026-03-{:02}T{:02}:{:02}:{:02}Z", 1 + n.bits % 28, (n.bits >> 8) % 24,
                  (n.bits >> 16) % 60, (n.bits >> 24) % 60);
  const auto octet = [&](unsigned shift) { return (n.bits >> shift) % 250 + 1; };
  std::string out;
  out.reserve(3600);
  out += fmt::format(
      R"({{"metadata":{{"name":"{}","generateName":"{}-{}-","namespace":"{}","uid":"{}","resourceVersion":"{}","generation":1,"creationTimestamp":"{}","labels":{},"annotations":{{"prometheus.io/scrape":"true"}},"ownerReferences":[{{"apiVersion":"apps/v1","kind":"ReplicaSet","name":"{}-{}","uid":"{}","controller":true,"blockOwnerDeletion":true}}],)",
      n.name, n.app, n.hash, n.team, uuid(index), 1000000 + index, time, labels(n), n.app, n.hash,
      uuid(~(index / 50)));
  out += fmt::format(
      R"("managedFields":[{{"manager":"kube-controller-manager","operation":"Update","apiVersion":"v1","time":"{0}","fieldsType":"FieldsV1","fieldsV1":{{"f:metadata":{{"f:generateName":{{}},"f:labels":{{".":{{}},"f:pod-template-hash":{{}},"f:team":{{}}}},"f:ownerReferences":{{".":{{}},"k:{{\"uid\":\"{1}\"}}":{{}}}}}},"f:spec":{{"f:containers":{{"k:{{\"name\":\"server\"}}":{{".":{{}},"f:args":{{}},"f:image":{{}},"f:name":{{}},"f:resources":{{}}}}}},"f:restartPolicy":{{}}}}}}}}]}},"spec":)",
      time, uuid(~(index / 50)));
  out += spec(n, node);
  out += fmt::format(
      R"(,"status":{{"phase":"Running","conditions":[{{"type":"Initialized","status":"True","lastProbeTime":null,"lastTransitionTime":"{0}"}},{{"type":"Ready","status":"True","lastProbeTime":null,"lastTransitionTime":"{0}"}},{{"type":"PodScheduled","status":"True","lastProbeTime":null,"lastTransitionTime":"{0}"}}],"hostIP":"10.{1}.{2}.{3}","hostIPs":[{{"ip":"10.{1}.{2}.{3}"}}],"podIP":"10.{4}.{2}.{1}","podIPs":[{{"ip":"10.{4}.{2}.{1}"}}],"startTime":"{0}","containerStatuses":[{{"name":"server","state":{{"running":{{"startedAt":"{0}"}}}},"lastState":{{}},"ready":true,"restartCount":0,"image":"registry.example.com/{5}/api:2.{6}.0","imageID":"registry.example.com/{5}/api@sha256:{7:016x}{8:016x}","containerID":"containerd://{8:016x}{7:016x}","started":true}}],"qosClass":"Burstable"}}}})",
      time, octet(32), octet(40), octet(48), octet(56), n.team, n.bits % 17, mix(n.bits),
      mix(n.bits + 1));
  return out;
}

std::string pod_list_json(std::size_t from, std::size_t count, std::uint64_t revision,
                          const std::string& continue_token) {
  std::string out = fmt::format(
      R"({{"kind":"PodList","apiVersion":"v1","metadata":{{"resourceVersion":"{}"{}}},"items":[)",
      revision, continue_token.empty() ? "" : fmt::format(R"(,"continue":"{}")", continue_token));
  out.reserve(count * 3500 + 200);
  for (std::size_t i = 0; i < count; ++i) {
    if (i != 0) out += ',';
    out += pod_json(from + i);
  }
  out += "]}\n";
  return out;
}

std::string new_pod_json(std::size_t index) {
  const Names n(index);
  return fmt::format(
      R"({{"apiVersion":"v1","kind":"Pod","metadata":{{"name":"{}","labels":{},"annotations":{{"example.com/notes":"{}"}}}},"spec":{}}})",
      n.name, labels(n), std::string(1100, 'n'), spec(n, ""));
}

}  // namespace berth::bench
