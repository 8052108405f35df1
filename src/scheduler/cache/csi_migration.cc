// SPDX-License-Identifier: Apache-2.0
#include "scheduler/cache/csi_migration.h"

#include <algorithm>
#include <set>
#include <vector>

#include <fmt/format.h>

#include "base/lower.h"
#include "json/writer.h"
#include "scheduler/cache/text_parts.h"

namespace berth::scheduler {
namespace {

constexpr InTreePlugin kPlugins[] = {
    {"gcePersistentDisk", "kubernetes.io/gce-pd", "pd.csi.storage.gke.io", true,
     "topology.gke.io/zone"},
    {"awsElasticBlockStore", "kubernetes.io/aws-ebs", "ebs.csi.aws.com", true,
     "topology.ebs.csi.aws.com/zone"},
    {"cinder", "kubernetes.io/cinder", "cinder.csi.openstack.org", true,
     "topology.cinder.csi.openstack.org/zone"},
    {"azureDisk", "kubernetes.io/azure-disk", "disk.csi.azure.com", true},
    {"azureFile", "kubernetes.io/azure-file", "file.csi.azure.com"},
    {"vsphereVolume", "kubernetes.io/vsphere-volume", "csi.vsphere.vmware.com"},
    {"portworxVolume", "kubernetes.io/portworx-volume", "pxd.portworx.com", true},
};

constexpr std::string_view kZone = "topology.kubernetes.io/zone",
                           kRegion = "topology.kubernetes.io/region",
                           kBetaZone = "failure-domain.beta.kubernetes.io/zone",
                           kBetaRegion = "failure-domain.beta.kubernetes.io/region";

Result<std::string> gce_region(const std::vector<std::string>& zones) {
  std::set<std::string> regions;
  for (const std::string& zone : zones) {
    const std::vector<std::string> parts = split(zone, "-");
    if (parts.size() != 3)
      return invalid(fmt::format(
          "zone in unexpected format, expected: {{locale}}-{{region}}-{{zone}}, got: {}", zone));
    regions.insert(parts[0] + "-" + parts[1]);
  }
  if (regions.size() != 1)
    return invalid(fmt::format("multiple or no regions gotten from zones, got: map[{}:{{}}]",
                               fmt::join(regions, ":{} ")));
  return *regions.begin();
}

// "aws://us-east-1a/vol-12345678", or the bare id.
Result<std::string> ebs_handle(const std::string& id) {
  constexpr std::string_view kScheme = "aws://";
  if (!id.starts_with(kScheme)) return id;
  const std::string_view rest = std::string_view(id).substr(kScheme.size());
  const std::size_t slash = rest.find('/');
  const std::string_view path =
      slash == std::string_view::npos ? std::string_view() : rest.substr(slash);
  const std::string_view volume = trimmed(path.substr(0, path.find_first_of("?#")), "/");
  if (!volume.starts_with("vol-") || volume.find('/') != std::string_view::npos)
    return invalid(fmt::format(
        "failed to translate Kubernetes ID to EBS Volume ID Invalid format for AWS volume ({})",
        id));
  return std::string(volume);
}

Result<CsiSource> source_of(const InTreePlugin& plugin, json::Slice source, std::string gce_place) {
  const auto made = [&plugin](std::string handle) -> Result<CsiSource> {
    return CsiSource{std::string(plugin.driver), std::move(handle)};
  };
  if (plugin.source == "gcePersistentDisk")
    return made(
        fmt::format("projects/UNSPECIFIED/{}/disks/{}", gce_place, source["pdName"].text()));
  if (plugin.source == "awsElasticBlockStore") {
    Result<std::string> handle = ebs_handle(source["volumeID"].text());
    if (!handle) return tl::unexpected(std::move(handle.error()));
    return made(*std::move(handle));
  }
  if (plugin.source == "azureDisk") {
    const json::Slice kind = source["kind"];
    if (kind.is_string() && lower(kind.text()) != "managed")
      return invalid(fmt::format("kind({}) is not supported in csi migration", kind.text()));
    return made(source["diskURI"].text());
  }
  return made(source["volumeID"].text());
}

// What topology is written in: GA labels, or the beta ones that preceded them.
struct Keys {
  std::string_view zone = kZone, region = kRegion;
};

template <class F>  // f(json::Slice requirement)
void for_each_requirement(json::Slice required, F&& f) {
  for (const json::Slice term : required["nodeSelectorTerms"].elements())
    for (const json::Slice requirement : term["matchExpressions"].elements()) f(requirement);
}

bool names_key(json::Slice required, std::string_view key) {
  bool found = false;
  for_each_requirement(required, [&](json::Slice r) { found = found || r["key"].equals(key); });
  return found;
}

bool has_values(json::Slice required, std::string_view key) {
  bool found = false;
  for_each_requirement(required, [&](json::Slice r) {
    found = found || (r["key"].equals(key) && r["values"].size());
  });
  return found;
}

Keys keys_of(json::Slice required, json::Slice labels) {
  const Keys beta{kBetaZone, kBetaRegion};
  if (names_key(required, kZone)) return {};
  if (names_key(required, kBetaZone)) return beta;
  if (labels[kZone]) return {};
  if (labels[kBetaZone]) return beta;
  return {};
}

}  // namespace

const InTreePlugin* in_tree_plugin(json::Slice holder) {
  for (const auto& [key, value] : holder.members()) {
    if (value.is_null()) continue;
    for (const InTreePlugin& plugin : kPlugins)
      if (plugin.source == key) return &plugin;
  }
  return nullptr;
}

const InTreePlugin* in_tree_plugin_named(std::string_view name) {
  for (const InTreePlugin& plugin : kPlugins)
    if (plugin.name == name) return &plugin;
  return nullptr;
}

Result<CsiSource> csi_source_of_inline(const InTreePlugin& plugin, json::Slice volume) {
  return source_of(plugin, volume[plugin.source], "zones/UNSPECIFIED");
}

Result<CsiSource> csi_source_of(const InTreePlugin& plugin, const kube::Object& volume) {
  std::string place = "zones/UNSPECIFIED";
  if (plugin.source == "gcePersistentDisk") {
    std::string label = volume.label(kBetaZone);
    if (label.empty()) label = volume.label(kZone);
    const std::vector<std::string> zones = split(label, "__");
    if (zones.size() > 1) {
      const Result<std::string> region = gce_region(zones);
      if (!region) return invalid("failed to get region from zones: " + region.error().message);
      place = "regions/" + *region;
    } else if (!zones[0].empty()) {
      place = "zones/" + zones[0];
    }
  }
  return source_of(plugin, volume.member("spec")[plugin.source], std::move(place));
}

std::optional<kube::NodeSelector> csi_affinity_of(const InTreePlugin& plugin,
                                                  const kube::Object& volume) {
  const json::Slice required = volume.member("spec")["nodeAffinity"]["required"];
  const bool stated = required.present() && !required.is_null();
  if (plugin.zone_key.empty())
    return stated ? std::optional(kube::NodeSelector::from_json(required)) : std::nullopt;

  const json::Slice labels = volume.labels();
  const Keys keys = keys_of(required, labels);
  std::set<std::string> zones;  // to add, from the volume's label
  const bool replace = has_values(required, keys.zone);
  // The beta region becomes the GA one: new nodes have only that.
  const bool old_regions = keys.region == kBetaRegion && has_values(required, kBetaRegion);
  if (!replace && labels[keys.zone])
    for (const std::string& zone : split(labels[keys.zone].text(), "__"))
      if (const std::string_view name = trimmed(zone); !name.empty()) zones.emplace(name);
  if (!stated && zones.empty()) return std::nullopt;

  json::Writer out;
  const auto add_zones = [&] {
    if (zones.empty()) return;
    out.object().member("key").string(plugin.zone_key).member("operator").string("In");
    out.member("values").array();
    for (const std::string& zone : zones) out.string(zone);
    out.end().end();
  };
  out.object().member("nodeSelectorTerms").array();
  for (const json::Slice term : required["nodeSelectorTerms"].elements()) {
    out.object().member("matchExpressions").array();
    for (const json::Slice requirement : term["matchExpressions"].elements()) {
      const std::string key = requirement["key"].text();
      std::string_view now = key;
      if (replace && key == keys.zone) now = plugin.zone_key;
      if (old_regions && key == kBetaRegion) now = kRegion;
      out.object().member("key").string(now);
      out.member("operator").string(requirement["operator"].text());
      if (requirement["values"]) out.member("values").raw(requirement["values"].raw());
      out.end();
    }
    add_zones();
    out.end();
    if (term["matchFields"]) out.member("matchFields").raw(term["matchFields"].raw());
    out.end();
  }
  if (required["nodeSelectorTerms"].size() == 0 && !zones.empty()) {
    out.object().member("matchExpressions").array();
    add_zones();
    out.end().end();
  }
  out.end().end();
  const std::string text = out.take();
  return kube::NodeSelector::from_json(json::Slice(std::string_view(text)));
}

}  // namespace berth::scheduler
