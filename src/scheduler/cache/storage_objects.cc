// SPDX-License-Identifier: Apache-2.0
#include "scheduler/cache/storage_objects.h"

#include <algorithm>

#include <fmt/format.h>

#include "scheduler/cache/csi_migration.h"
#include "scheduler/cache/pod.h"
#include "scheduler/cache/text_parts.h"

namespace berth::scheduler {
namespace {

constexpr std::string_view kBetaClass = "volume.beta.kubernetes.io/storage-class",
                           kMigratedPlugins = "storage.alpha.kubernetes.io/migrated-plugins";

bool stated(json::Slice slice) { return slice.present() && !slice.is_null(); }

std::string class_of(const kube::Object& object) {
  const json::Slice beta = object.annotations()[kBetaClass];
  return beta ? beta.text() : object.member("spec")["storageClassName"].text();
}

std::string text_or(json::Slice slice, std::string_view otherwise) {
  return stated(slice) ? slice.text() : std::string(otherwise);
}

// The API server let it through; should it be unreadable all the same, it is nothing.
kube::Quantity quantity(json::Slice slice) {
  return kube::Quantity::from_json(slice).value_or(kube::Quantity());
}

std::optional<Volume::Pin> pin_of(json::Slice required) {
  const json::Slice terms = required["nodeSelectorTerms"];
  if (terms.size() != 1) return std::nullopt;
  for (const json::Slice requirement : terms[0]["matchExpressions"].elements()) {
    if (!requirement["operator"].equals("In")) continue;
    Volume::Pin pin{requirement["key"].text(), {}};
    for (const json::Slice value : requirement["values"].elements())
      pin.values.push_back(value.text());
    return pin;
  }
  return std::nullopt;
}

}  // namespace

std::vector<ZoneLabel> zones_of(json::Slice labels) {
  std::vector<ZoneLabel> out;
  for (const std::string_view key :
       {"failure-domain.beta.kubernetes.io/zone", "failure-domain.beta.kubernetes.io/region",
        "topology.kubernetes.io/zone", "topology.kubernetes.io/region"}) {
    const json::Slice label = labels[key];
    if (!label) continue;
    ZoneLabel zone{std::string(key), {}};
    bool readable = true;  // k8s 1.36: a label with an empty part is left out altogether
    for (const std::string& part : split(label.text(), "__")) {
      const std::string_view value = trimmed(part);
      readable = readable && !value.empty();
      zone.values.emplace(value);
    }
    if (readable) out.push_back(std::move(zone));
  }
  return out;
}

VolumePtr Volume::compile(const kube::Object& object) {
  auto made = std::make_shared<Volume>();
  const json::Slice spec = object.member("spec");
  made->object = object;
  made->name = object.name();
  made->revision = object.revision();
  made->class_name = class_of(object);
  made->capacity = quantity(spec["capacity"]["storage"]);
  made->mode = text_or(spec["volumeMode"], "Filesystem");
  made->attributes_class = spec["volumeAttributesClassName"].text();
  for (const json::Slice mode : spec["accessModes"].elements())
    made->access_modes.insert(mode.text());
  made->labels = Labels::from_json(object.labels());
  made->available = object.status()["phase"].equals("Available");
  made->deleting = object.deleting();
  if (const json::Slice ref = spec["claimRef"]; stated(ref))
    made->claim = {ref["namespace"].text(), ref["name"].text(), ref["uid"].text()};
  if (const json::Slice required = spec["nodeAffinity"]["required"]; stated(required)) {
    made->affinity = kube::NodeSelector::from_json(required);
    made->pin = pin_of(required);
  }
  made->zones = zones_of(object.labels());
  made->in_tree = in_tree_plugin(spec);
  if (const json::Slice csi = spec["csi"]; stated(csi)) {
    made->native_csi = true;
    made->driver = csi["driver"].text();
    made->handle = csi["volumeHandle"].text();
  }
  if (made->in_tree != nullptr && made->in_tree->migrated) {
    if (Result<CsiSource> source = csi_source_of(*made->in_tree, object); !source) {
      made->translation_error = source.error().message;
    } else {
      if (!made->native_csi) {
        made->driver = std::move(source->driver);
        made->handle = std::move(source->handle);
      }
      made->migrated_affinity = csi_affinity_of(*made->in_tree, object);
    }
  }
  return made;
}

ClaimPtr Claim::compile(const kube::Object& object) {
  auto made = std::make_shared<Claim>();
  const json::Slice spec = object.member("spec"), annotations = object.annotations();
  made->object = object;
  made->ns = object.ns();
  made->name = object.name();
  made->uid = object.uid();
  made->revision = object.revision();
  made->class_name = class_of(object);
  made->volume_name = spec["volumeName"].text();
  made->bound = !made->volume_name.empty() && annotations[storage::kBindCompleted].present();
  if (const json::Slice node = annotations[storage::kSelectedNode])
    made->selected_node = node.text();
  made->lost = object.status()["phase"].equals("Lost");
  made->deleting = object.deleting();
  if (const std::optional<kube::OwnerRef> owner = object.controller())
    made->controller_uid = owner->uid;
  for (const json::Slice mode : spec["accessModes"].elements())
    made->access_modes.push_back(mode.text());
  made->for_one_pod = std::find(made->access_modes.begin(), made->access_modes.end(),
                                "ReadWriteOncePod") != made->access_modes.end();
  if (const json::Slice request = spec["resources"]["requests"]["storage"]) {
    made->has_request = true;
    made->request = quantity(request);
  }
  made->mode = text_or(spec["volumeMode"], "Filesystem");
  made->attributes_class = spec["volumeAttributesClassName"].text();
  if (const json::Slice selector = spec["selector"]; stated(selector))
    made->selector = kube::LabelSelector::from_json(selector);
  return made;
}

std::string not_made_for(const Pod& pod, const Claim& claim) {
  return fmt::format("PVC {}/{} was not created for pod {}/{} (pod is not owner)", claim.ns,
                     claim.name, pod.ns, pod.name);
}

bool meant_for(const Volume& volume, const Claim& claim) {
  return volume.claim && volume.claim->name == claim.name && volume.claim->ns == claim.ns &&
         (volume.claim->uid.empty() || volume.claim->uid == claim.uid);
}

bool StorageClass::allows(const Labels& node) const {
  if (topologies.empty()) return true;
  return std::any_of(topologies.begin(), topologies.end(), [&node](const auto& term) {
    return term && !term->empty() &&
           std::all_of(term->begin(), term->end(),
                       [&node](const kube::Requirement& r) { return matches(r, node); });
  });
}

StorageClassPtr StorageClass::compile(const kube::Object& object) {
  auto made = std::make_shared<StorageClass>();
  made->name = object.name();
  made->provisioner = object.member("provisioner").text();
  if (const json::Slice mode = object.member("volumeBindingMode"); stated(mode))
    made->binding_mode = mode.text();
  for (const json::Slice term : object.member("allowedTopologies").elements()) {
    auto& requirements = made->topologies.emplace_back(std::in_place);
    for (const json::Slice expression : term["matchLabelExpressions"].elements()) {
      std::vector<std::string> values;
      for (const json::Slice value : expression["values"].elements())
        values.push_back(value.text());
      Result<kube::Requirement> requirement = kube::Requirement::make(
          expression["key"].text(), kube::Requirement::Op::kIn, std::move(values));
      if (!requirement) {
        requirements.reset();
        break;
      }
      requirements->push_back(*std::move(requirement));
    }
  }
  return made;
}

CsiNodePtr CsiNode::compile(const kube::Object& object) {
  auto made = std::make_shared<CsiNode>();
  made->name = object.name();
  for (const json::Slice driver : object.member("spec")["drivers"].elements())
    if (const auto count = driver["allocatable"]["count"].integer())
      made->limits[driver["name"].text()] = *count;
  if (const std::string plugins = object.annotation(kMigratedPlugins); !plugins.empty())
    for (std::string& plugin : split(plugins, ",")) made->migrated.insert(std::move(plugin));
  return made;
}

std::optional<std::int64_t> volume_limit(const kube::Object& object) {
  for (const char* member : {"maximumVolumeSize", "capacity"})
    if (const json::Slice amount = object.member(member); stated(amount))
      return quantity(amount).value();
  return std::nullopt;
}

CsiCapacity CsiCapacity::compile(const kube::Object& object) {
  CsiCapacity made;
  made.class_name = object.member("storageClassName").text();
  made.limit = volume_limit(object);
  if (const json::Slice topology = object.member("nodeTopology"); stated(topology))
    if (Result<kube::LabelSelector> selector = kube::LabelSelector::from_json(topology))
      made.topology = *std::move(selector);
  return made;
}

}  // namespace berth::scheduler
