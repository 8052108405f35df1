// SPDX-License-Identifier: Apache-2.0
#include "apiserver/kinds/core/pod_fill.h"

#include <algorithm>

#include "apiserver/edit/peek.h"
#include "apiserver/kinds/core/resources_check.h"
#include "apiserver/kinds/rules.h"

namespace berth::apiserver {
namespace {

// A member that is absent or 0.
void set_number(json::Dict& of, std::string_view key, std::int64_t value) {
  if (Peek(of)[key].integer_or(0) == 0) of[bj(key)] = value;
}

void fill_http(json::Dict& handler) {
  if (json::Dict* http = dict_in(handler, "httpGet")) {
    set_default(*http, "path", "/");
    set_default(*http, "scheme", "HTTP");
  }
  if (json::Dict* grpc = dict_in(handler, "grpc"))
    if (!Peek(*grpc)["service"]) (*grpc)["service"] = "";
}

void fill_container(json::Dict& container) {
  set_default(container, "imagePullPolicy", bj(pull_policy_of(Peek(container)["image"].text())));
  set_default(container, "terminationMessagePath", "/dev/termination-log");
  set_default(container, "terminationMessagePolicy", "File");
  each_dict(container, "ports", [](json::Dict& port) { set_default(port, "protocol", "TCP"); });
  each_dict(container, "env", [](json::Dict& variable) {
    json::Dict* from = dict_in(variable, "valueFrom");
    if (from == nullptr) return;
    if (json::Dict* ref = dict_in(*from, "fieldRef")) set_default(*ref, "apiVersion", "v1");
    if (json::Dict* ref = dict_in(*from, "fileKeyRef")) set_default(*ref, "optional", false);
  });
  if (json::Dict* resources = dict_in(container, "resources"))
    for (const std::string_view kind : {"limits", "requests"}) round_amounts(*resources, kind);
  for (const std::string_view kind : {"livenessProbe", "readinessProbe", "startupProbe"})
    if (json::Dict* probe = dict_in(container, kind)) {
      set_number(*probe, "timeoutSeconds", 1);
      set_number(*probe, "periodSeconds", 10);
      set_number(*probe, "successThreshold", 1);
      set_number(*probe, "failureThreshold", 3);
      fill_http(*probe);
    }
  if (json::Dict* lifecycle = dict_in(container, "lifecycle"))
    for (const std::string_view hook : {"postStart", "preStop"})
      if (json::Dict* handler = dict_in(*lifecycle, hook)) fill_http(*handler);
}

void fill_downward(json::Dict& source) {
  each_dict(source, "items", [](json::Dict& item) {
    if (json::Dict* ref = dict_in(item, "fieldRef")) set_default(*ref, "apiVersion", "v1");
  });
}

void fill_volume(json::Dict& volume) {
  if (volume.size() == 1 && volume.contains("name")) volume["emptyDir"] = json::Dict();
  constexpr std::int64_t kReadable = 0644;
  for (const std::string_view kind : {"secret", "configMap", "downwardAPI", "projected"})
    if (json::Dict* source = dict_in(volume, kind)) set_default(*source, "defaultMode", kReadable);
  if (json::Dict* source = dict_in(volume, "downwardAPI")) fill_downward(*source);
  if (json::Dict* source = dict_in(volume, "hostPath"))
    if (!Peek(*source)["type"]) (*source)["type"] = "";
  if (json::Dict* source = dict_in(volume, "projected"))
    each_dict(*source, "sources", [](json::Dict& each) {
      if (json::Dict* downward = dict_in(each, "downwardAPI")) fill_downward(*downward);
      if (json::Dict* token = dict_in(each, "serviceAccountToken"))
        set_default(*token, "expirationSeconds", 3600);
    });
  if (json::Dict* source = dict_in(volume, "ephemeral"))
    if (json::Dict* claim = dict_in(*source, "volumeClaimTemplate"))
      if (json::Dict* spec = dict_in(*claim, "spec")) fill_claim_spec(*spec);
  if (json::Dict* source = dict_in(volume, "image"))
    set_default(*source, "pullPolicy", bj(pull_policy_of(Peek(*source)["reference"].text())));
  if (json::Dict* source = dict_in(volume, "iscsi"))
    set_default(*source, "iscsiInterface", "default");
  if (json::Dict* source = dict_in(volume, "rbd")) {
    set_default(*source, "pool", "rbd");
    set_default(*source, "user", "admin");
    set_default(*source, "keyring", "/etc/ceph/keyring");
  }
  if (json::Dict* source = dict_in(volume, "azureDisk")) {
    set_default(*source, "cachingMode", "ReadWrite");
    set_default(*source, "fsType", "ext4");
    set_default(*source, "readOnly", false);
    set_default(*source, "kind", "Shared");
  }
  if (json::Dict* source = dict_in(volume, "scaleIO")) {
    set_default(*source, "storageMode", "ThinProvisioned");
    set_default(*source, "fsType", "xfs");
  }
}

// What a limit says a request is, when the request is silent.
void fill_requests(json::Dict& resources) {
  const json::Dict* limits = dict_in(resources, "limits");
  if (limits == nullptr) return;
  json::Dict& requests = make_dict(resources, "requests");
  for (const auto& limit : *limits)
    if (!requests.contains(limit.key())) requests[limit.key()] = limit.value();
}

// What a pod as a whole asks for, where it says only a part: huge pages from its containers'
// limits, requests from its containers or else from its limits.
void fill_pod_level(json::Dict& spec) {
  json::Dict& resources = *dict_in(spec, "resources");
  const Peek limits = Peek(resources)["limits"], requests = Peek(resources)["requests"];
  if (limits.size() + requests.size() == 0) return;
  for (const auto& [name, amount] : aggregate_containers(Peek(spec), "limits"))
    if (is_huge_page(name) && !Peek(resources)["requests"][name] &&
        !Peek(resources)["limits"][name])
      make_dict(resources, "limits")[name] = bj(amount.text());
  if (Peek(resources)["limits"].size() == 0) return;
  json::Dict& asked = make_dict(resources, "requests");
  for (const auto& [name, amount] : aggregate_containers(Peek(spec), "requests"))
    if (!asked.contains(name) && is_pod_level_resource(name) && is_overcommit_allowed(name))
      asked[name] = bj(amount.text());
  for (const auto& limit : Peek(resources)["limits"].members())
    if (!asked.contains(limit.key()) && is_pod_level_resource(sv(limit.key())))
      asked[limit.key()] = limit.value();
  if (asked.empty()) json::erase(resources, "requests");
}

bool is_image_path(std::string_view path) {
  if (path.empty() || path.front() == '/' || path.back() == '/') return false;
  return std::all_of(path.begin(), path.end(), [](char c) {
    return (c >= 'a' && c <= 'z') || (c >= '0' && c <= '9') || c == '.' || c == '_' || c == '-' ||
           c == '/';
  });
}

}  // namespace

std::string_view pull_policy_of(std::string_view image) {
  constexpr std::string_view kAlways = "Always", kIfNotPresent = "IfNotPresent";
  const std::size_t digest = image.find('@');
  std::string_view name = image.substr(0, digest), tag;
  const std::size_t slash = name.rfind('/'), colon = name.rfind(':');
  if (colon != std::string_view::npos && (slash == std::string_view::npos || colon > slash)) {
    tag = name.substr(colon + 1);
    name = name.substr(0, colon);
  }
  // The part before the first slash is a host where it looks like one; hosts may be in capitals.
  if (const std::size_t first = name.find('/'); first != std::string_view::npos) {
    const std::string_view host = name.substr(0, first);
    if (host.find_first_of(".:") != std::string_view::npos || host == "localhost")
      name.remove_prefix(first + 1);
  }
  // k8s 1.36: what is no image name has no tag.
  if (!is_image_path(name)) return kIfNotPresent;
  if (tag.empty() && digest == std::string_view::npos) tag = "latest";
  return tag == "latest" ? kAlways : kIfNotPresent;
}

void round_amounts(json::Dict& of, std::string_view key) {
  json::Dict* amounts = dict_in(of, key);
  if (amounts == nullptr) return;
  for (auto& amount : *amounts) {
    const kube::Quantity exact = quantity(Peek(amount.value()));
    const kube::Quantity rounded = kube::Quantity::of(exact.milli_value(), exact.format(), -3);
    // What is too large for thousandths has no finer part either.
    if (exact == rounded || exact.value() > INT64_MAX / 1000) continue;
    amount.value() = bj(rounded.text());
  }
}

void fill_claim_spec(json::Dict& spec) {
  set_default(spec, "volumeMode", "Filesystem");
  if (json::Dict* resources = dict_in(spec, "resources"))
    for (const std::string_view kind : {"limits", "requests"}) round_amounts(*resources, kind);
}

void fill_pod_spec(json::Dict& spec) {
  set_default(spec, "dnsPolicy", "ClusterFirst");
  set_default(spec, "restartPolicy", "Always");
  if (!Peek(spec)["securityContext"]) spec["securityContext"] = json::Dict();
  set_default(spec, "terminationGracePeriodSeconds", 30);
  set_default(spec, "schedulerName", "default-scheduler");
  each_dict(spec, "volumes", fill_volume);
  for (const std::string_view list : {"initContainers", "containers", "ephemeralContainers"})
    each_dict(spec, list, fill_container);
  round_amounts(spec, "overhead");
  if (json::Dict* resources = dict_in(spec, "resources"))
    for (const std::string_view kind : {"limits", "requests"}) round_amounts(*resources, kind);
  // The two names of one field always agree.
  if (const std::string account{Peek(spec)["serviceAccountName"].text()}; !account.empty())
    spec["serviceAccount"] = account;
  else if (const std::string old{Peek(spec)["serviceAccount"].text()}; !old.empty())
    spec["serviceAccountName"] = old;
  // Fields of features that are off.
  for (const std::string_view field : {"schedulingGroup"}) json::erase(spec, field);
}

void fill_pod_template(json::Dict& pod_template) {
  if (json::Dict* spec = dict_in(pod_template, "spec")) fill_pod_spec(*spec);
}

void fill_only_pods(json::Dict& spec) {
  for (const std::string_view list : {"containers", "initContainers"})
    each_dict(spec, list, [](json::Dict& container) {
      if (json::Dict* resources = dict_in(container, "resources")) fill_requests(*resources);
    });
  if (dict_in(spec, "resources") != nullptr) fill_pod_level(spec);
  set_default(spec, "enableServiceLinks", true);
  if (Peek(spec)["hostNetwork"].boolean())
    for (const std::string_view list : {"containers", "initContainers"})
      each_dict(spec, list, [](json::Dict& container) {
        each_dict(container, "ports", [](json::Dict& port) {
          set_number(port, "hostPort", Peek(port)["containerPort"].integer_or(0));
        });
      });
  if (Peek(spec)["terminationGracePeriodSeconds"].integer_or(0) < 0)
    spec["terminationGracePeriodSeconds"] = 1;
}

}  // namespace berth::apiserver
