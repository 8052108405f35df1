// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>

#include "apiserver/kinds/core/pod_check.h"
#include "apiserver/kinds/core/resources_check.h"
#include "apiserver/kinds/object_meta.h"
#include "apiserver/kinds/rules.h"

namespace berth::apiserver {
namespace {

void check_items(Peek items, const Path& at, Findings& findings) {
  for (std::size_t i = 0; i < items.size(); ++i) {
    if (items[i]["key"].text().empty()) findings.required(at[i] / "key");
    if (items[i]["path"].text().empty()) findings.required(at[i] / "path");
    must_be_local_path(items[i]["path"].text(), at[i] / "path", findings);
    must_be_mode(items[i]["mode"], at[i] / "mode", findings);
  }
}

void check_downward_file(Peek file, const Path& at, Findings& findings) {
  if (file["path"].text().empty()) findings.required(at / "path");
  must_be_local_path(file["path"].text(), at / "path", findings);
  if (file["fieldRef"]) {
    check_field_ref(file["fieldRef"], true, at / "fieldRef", findings);
    if (file["resourceFieldRef"])
      findings.invalid(at, "resource",
                       "fieldRef and resourceFieldRef can not be specified simultaneously");
  } else if (file["resourceFieldRef"]) {
    check_resource_field_ref(file["resourceFieldRef"], true, at / "resourceFieldRef", findings);
  } else {
    findings.required(at, "one of fieldRef and resourceFieldRef is required");
  }
  must_be_mode(file["mode"], at / "mode", findings);
}

void check_projected(Peek projected, const Path& at, Findings& findings) {
  must_be_mode(projected["defaultMode"], at / "defaultMode", findings);
  std::set<std::string_view> paths;
  const auto note = [&](std::string_view path, std::string_view told) {
    if (!path.empty() && !paths.insert(path).second)
      findings.invalid(at, told, "conflicting duplicate paths");
  };
  const Peek sources = projected["sources"];
  for (std::size_t i = 0; i < sources.size(); ++i) {
    const Path here = (at / "sources")[i];
    int kinds = 0;
    for (const std::string_view kind : {"secret", "configMap"}) {
      const Peek source = sources[i][kind];
      if (!source) continue;
      ++kinds;
      const std::string_view name = source["name"].text();
      if (name.empty()) findings.required(here / kind / "name");
      const Peek items = source["items"];
      check_items(items, here / kind / "items", findings);
      for (const json::Value& item : items.elements()) note(Peek(item)["path"].text(), name);
    }
    if (const Peek source = sources[i]["downwardAPI"]) {
      ++kinds;
      for (const json::Value& item : source["items"].elements()) {
        check_downward_file(item, here / "downwardAPI", findings);
        note(Peek(item)["path"].text(), Peek(item)["path"].text());
      }
    }
    if (const Peek token = sources[i]["serviceAccountToken"]) {
      ++kinds;
      const Path token_at = here / "serviceAccountToken";
      const std::int64_t seconds = token["expirationSeconds"].integer_or(0);
      if (seconds < 600)
        findings.invalid(token_at / "expirationSeconds", seconds,
                         "may not specify a duration less than 10 minutes");
      if (seconds > (std::int64_t{1} << 32))
        findings.invalid(token_at / "expirationSeconds", seconds,
                         "may not specify a duration larger than 2^32 seconds");
      if (token["path"].text().empty())
        findings.required(at / "path");
      else
        must_be_local_path(token["path"].text(), at / "path", findings);
    }
    for (const std::string_view kind : {"clusterTrustBundle", "podCertificate"})
      if (sources[i][kind]) ++kinds;
    if (kinds > 1) findings.forbidden(here, "may not specify more than 1 volume type per source");
  }
}

void check_host_path(Peek source, const Path& at, Findings& findings) {
  if (source["path"].text().empty()) return findings.required(at / "path");
  must_not_step_back(source["path"].text(), at / "path", findings);
  const std::string_view type = source["type"].text();
  if (!one_of(type, {"", "BlockDevice", "CharDevice", "Directory", "DirectoryOrCreate", "File",
                     "FileOrCreate", "Socket"}))
    findings.not_supported(at / "type", type,
                           {"", "BlockDevice", "CharDevice", "Directory", "DirectoryOrCreate",
                            "File", "FileOrCreate", "Socket"});
}

void check_csi(Peek source, const Path& at, Findings& findings) {
  const std::string driver(source["driver"].text());
  if (driver.empty()) {
    findings.required(at / "driver");
  } else {
    if (driver.size() > 63) findings.too_long(at / "driver", 63);
    std::string lower = driver;
    for (char& c : lower)
      if (c >= 'A' && c <= 'Z') c = static_cast<char>(c - 'A' + 'a');
    complain(kube::check_dns_subdomain(lower), driver, at / "driver", findings);
  }
  if (const Peek secret = source["nodePublishSecretRef"]) {
    if (secret["name"].text().empty())
      findings.required(at / "nodePublishSecretRef" / "name");
    else
      must_be(&kube::check_dns_subdomain, secret["name"].text(), at / "name", findings);
  }
}

void check_ephemeral(Peek source, const Path& at, Findings& findings) {
  const Peek claim = source["volumeClaimTemplate"];
  const Path here = at / "volumeClaimTemplate";
  if (!claim) return findings.required(here);
  check_annotations(claim["metadata"]["annotations"], here / "metadata" / "annotations", findings);
  check_labels(claim["metadata"]["labels"], here / "metadata" / "labels", findings);
  for (const auto& field : claim["metadata"].members())
    if (!one_of(sv(field.key()), {"annotations", "labels"}))
      findings.forbidden(here / "metadata" / sv(field.key()), "cannot be set");
  check_claim_spec(claim["spec"], here / "spec", findings);
}

// Fields that the older volume types cannot do without.
void check_required(Peek source, std::string_view kind, const Path& at, Findings& findings) {
  constexpr std::pair<std::string_view, std::string_view> kRequired[] = {
      {"gcePersistentDisk", "pdName"},
      {"awsElasticBlockStore", "volumeID"},
      {"glusterfs", "endpoints"},
      {"glusterfs", "path"},
      {"rbd", "monitors"},
      {"rbd", "image"},
      {"cinder", "volumeID"},
      {"cephfs", "monitors"},
      {"quobyte", "registry"},
      {"quobyte", "volume"},
      {"flexVolume", "driver"},
      {"azureFile", "secretName"},
      {"azureFile", "shareName"},
      {"vsphereVolume", "volumePath"},
      {"photonPersistentDisk", "pdID"},
      {"portworxVolume", "volumeID"},
      {"azureDisk", "diskName"},
      {"azureDisk", "diskURI"},
      {"storageos", "volumeName"},
      {"scaleIO", "gateway"},
      {"scaleIO", "system"},
      {"scaleIO", "volumeName"},
      {"iscsi", "targetPortal"},
      {"iscsi", "iqn"},
      {"gitRepo", "repository"},
  };
  for (const auto& [type, field] : kRequired)
    if (type == kind && source[field].text().empty() && source[field].size() == 0)
      findings.required(at / field);
}

void check_source(const PodRules& rules, Peek volume, std::string_view kind, const Path& volume_at,
                  const Path& at, Findings& findings) {
  const Peek source = volume[kind];
  if (kind == "emptyDir") {
    if (source["sizeLimit"] && quantity(source["sizeLimit"]).sign() < 0)
      findings.forbidden(at / "sizeLimit", "SizeLimit field must be a valid resource quantity");
  } else if (kind == "hostPath") {
    check_host_path(source, at, findings);
  } else if (kind == "secret" || kind == "configMap") {
    const std::string_view name = kind == "secret" ? "secretName" : "name";
    if (source[name].text().empty()) findings.required(at / name);
    must_be_mode(source["defaultMode"], at / "defaultMode", findings);
    check_items(source["items"], at / "items", findings);
  } else if (kind == "nfs") {
    if (source["server"].text().empty()) findings.required(at / "server");
    if (source["path"].text().empty()) findings.required(at / "path");
    if (!source["path"].text().starts_with('/'))
      findings.invalid(at / "path", source["path"].text(), "must be an absolute path");
  } else if (kind == "persistentVolumeClaim") {
    if (source["claimName"].text().empty()) findings.required(at / "claimName");
  } else if (kind == "downwardAPI") {
    must_be_mode(source["defaultMode"], at / "defaultMode", findings);
    for (const json::Value& item : source["items"].elements())
      check_downward_file(item, at, findings);
  } else if (kind == "projected") {
    check_projected(source, at, findings);
  } else if (kind == "csi") {
    check_csi(source, at, findings);
  } else if (kind == "ephemeral") {
    check_ephemeral(source, at, findings);
    const std::string_view pod = rules.metadata["name"].text(), name = volume["name"].text();
    if (!pod.empty() && !name.empty()) {
      const std::string claim = fmt::format("{}-{}", pod, name);
      for (const std::string& why : kube::check_dns_subdomain(claim))
        findings.invalid(volume_at / "name", name, fmt::format("PVC name \"{}\": {}", claim, why));
    }
  } else if (kind == "image") {
    if (rules.is_pod && source["reference"].text().empty()) findings.required(at / "reference");
    must_be_one_of(source["pullPolicy"].text(), {"Always", "IfNotPresent", "Never"},
                   at / "pullPolicy", findings);
  } else {
    check_required(source, kind, at, findings);
  }
}

constexpr std::string_view kSources[] = {"emptyDir",
                                         "hostPath",
                                         "gitRepo",
                                         "gcePersistentDisk",
                                         "awsElasticBlockStore",
                                         "secret",
                                         "nfs",
                                         "iscsi",
                                         "glusterfs",
                                         "flocker",
                                         "persistentVolumeClaim",
                                         "rbd",
                                         "cinder",
                                         "cephfs",
                                         "quobyte",
                                         "downwardAPI",
                                         "fc",
                                         "flexVolume",
                                         "configMap",
                                         "azureFile",
                                         "vsphereVolume",
                                         "photonPersistentDisk",
                                         "portworxVolume",
                                         "azureDisk",
                                         "storageos",
                                         "projected",
                                         "scaleIO",
                                         "csi",
                                         "ephemeral",
                                         "image"};

}  // namespace

void check_volumes(PodRules& rules, const Path& at, Findings& findings) {
  const Peek volumes = rules.spec["volumes"];
  std::set<std::string> created;
  if (const std::string_view pod = rules.metadata["name"].text(); !pod.empty())
    for (const json::Value& each : volumes.elements())
      if (Peek(each)["ephemeral"])
        created.insert(fmt::format("{}-{}", pod, Peek(each)["name"].text()));
  for (std::size_t i = 0; i < volumes.size(); ++i) {
    const Peek volume = volumes[i];
    const std::string_view name = volume["name"].text();
    const std::size_t before = findings.size();
    bool found = false;
    for (const std::string_view kind : kSources) {
      if (!volume[kind]) continue;
      // k8s 1.36: a few places are told with names of their own.
      if (found && kind != "emptyDir")
        findings.forbidden(at[i] / (kind == "downwardAPI" ? "downwarAPI"
                                    : kind == "cephfs"    ? "cephFS"
                                                          : kind),
                           "may not specify more than 1 volume type");
      else
        check_source(rules, volume, kind, at[i],
                     at[i] / (kind == "gcePersistentDisk" ? "persistentDisk" : kind), findings);
      found = true;
    }
    if (!found) findings.required(at[i], "must specify a volume type");
    if (name.empty())
      findings.required(at[i] / "name");
    else
      must_be(&kube::check_dns_label, name, at[i] / "name", findings);
    if (rules.volumes.contains(name)) findings.duplicate(at[i] / "name", name);
    if (findings.size() == before) rules.volumes.emplace(name, volume);
    const std::string_view claim = volume["persistentVolumeClaim"]["claimName"].text();
    if (created.contains(std::string(claim)))
      findings.invalid(at[i] / "persistentVolumeClaim" / "claimName", claim,
                       "must not reference a PVC that gets created for an ephemeral volume");
  }
}

}  // namespace berth::apiserver
