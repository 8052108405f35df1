// SPDX-License-Identifier: Apache-2.0
#include "kube/schema.h"

#include <algorithm>
#include <set>
#include <vector>

#include <gtest/gtest.h>

#include "kube/schema/messages.h"

namespace berth::kube {
namespace {

using json::Field;
using json::FieldType;
using json::ListType;
using json::Message;
using json::Shape;

// "core.v1.PodSpec" or "meta.v1.ObjectMeta", and a field of it.
const Field& field(std::string_view message, std::string_view name) {
  const std::string full = message.starts_with("meta.")
                               ? fmt::format("io.k8s.apimachinery.pkg.apis.{}", message)
                               : fmt::format("io.k8s.api.{}", message);
  const Message* found = find_message(full);
  if (found == nullptr || found->find(name) == nullptr) {
    static const Field kNone;
    ADD_FAILURE() << full << " has no field " << name;
    return kNone;
  }
  return *found->find(name);
}

TEST(Schema, MergesListsAsTheApiSays) {
  struct Row {
    std::string_view message;
    std::string_view field;
    bool merge;
    bool retain_keys;
    std::string_view merge_key;
    ListType list_type;
    std::string_view map_keys;
  };
  const Row rows[] = {
      {"core.v1.PodSpec", "containers", true, false, "name", ListType::kMap, "name"},
      {"core.v1.PodSpec", "volumes", true, true, "name", ListType::kMap, "name"},
      {"core.v1.PodSpec", "tolerations", false, false, "", ListType::kAtomic, ""},
      {"core.v1.PodSpec", "topologySpreadConstraints", true, false, "topologyKey", ListType::kMap,
       "topologyKey,whenUnsatisfiable"},
      {"core.v1.Container", "ports", true, false, "containerPort", ListType::kMap,
       "containerPort,protocol"},
      {"core.v1.Container", "args", false, false, "", ListType::kAtomic, ""},
      {"core.v1.ServiceSpec", "ports", true, false, "port", ListType::kMap, "port,protocol"},
      {"core.v1.NodeSpec", "podCIDRs", true, false, "", ListType::kSet, ""},
      {"core.v1.NodeSpec", "taints", false, false, "", ListType::kAtomic, ""},
      {"core.v1.NodeStatus", "addresses", true, false, "type", ListType::kMap, "type"},
      {"core.v1.PodStatus", "conditions", true, false, "type", ListType::kMap, "type"},
      {"apps.v1.DeploymentSpec", "strategy", false, true, "", ListType::kUnstated, ""},
      {"apps.v1.DeploymentStatus", "conditions", true, false, "type", ListType::kMap, "type"},
      {"meta.v1.ObjectMeta", "finalizers", true, false, "", ListType::kSet, ""},
      {"meta.v1.ObjectMeta", "ownerReferences", true, false, "uid", ListType::kMap, "uid"},
      {"meta.v1.ObjectMeta", "managedFields", false, false, "", ListType::kAtomic, ""},
  };
  for (const Row& row : rows) {
    SCOPED_TRACE(fmt::format("{}.{}", row.message, row.field));
    const Field& found = field(row.message, row.field);
    EXPECT_EQ(found.patch_merge, row.merge);
    EXPECT_EQ(found.patch_retain_keys, row.retain_keys);
    EXPECT_EQ(found.merge_key, row.merge_key);
    EXPECT_EQ(found.list_type, row.list_type);
    EXPECT_EQ(found.list_map_keys, row.map_keys);
  }
}

TEST(Schema, NumbersFieldsAsProtobufDoes) {
  struct Row {
    std::string_view message;
    std::string_view field;
    int number;
    std::vector<int> wrappers;
  };
  const Row rows[] = {
      {"core.v1.Pod", "metadata", 1, {}},
      {"core.v1.Pod", "spec", 2, {}},
      {"core.v1.Pod", "status", 3, {}},
      {"core.v1.Pod", "kind", 0, {}},  // travels in the envelope
      {"core.v1.PodSpec", "containers", 2, {}},
      {"core.v1.PodSpec", "nodeName", 10, {}},
      {"meta.v1.ObjectMeta", "uid", 5, {}},
      {"core.v1.Volume", "name", 1, {}},
      {"core.v1.Volume", "emptyDir", 2, {2}},
      {"core.v1.Probe", "httpGet", 2, {1}},
      {"core.v1.EphemeralContainer", "image", 2, {1}},
      {"admissionregistration.v1.NamedRuleWithOperations", "resourceNames", 1, {}},
      {"admissionregistration.v1.NamedRuleWithOperations", "operations", 1, {2}},
      {"admissionregistration.v1.NamedRuleWithOperations", "apiGroups", 1, {2, 2}},
      {"meta.v1.APIResource", "verbs", 1, {4}},  // a list in a message of its own
  };
  for (const Row& row : rows) {
    SCOPED_TRACE(fmt::format("{}.{}", row.message, row.field));
    const Field& found = field(row.message, row.field);
    EXPECT_EQ(found.number, row.number);
    std::vector<int> wrappers;
    for (const int wrapper : found.wrappers)
      if (wrapper != 0) wrappers.push_back(wrapper);
    EXPECT_EQ(wrappers, row.wrappers);
  }
}

TEST(Schema, KnowsTheTypesOfFields) {
  struct Row {
    std::string_view message;
    std::string_view field;
    FieldType type;
    Shape shape;
    bool optional;
    bool omit_empty;
  };
  using enum FieldType;
  const Row rows[] = {
      {"core.v1.ResourceRequirements", "requests", kQuantity, Shape::kMap, false, true},
      {"core.v1.EmptyDirVolumeSource", "sizeLimit", kQuantity, Shape::kSingle, true, true},
      {"core.v1.Secret", "data", kBytes, Shape::kMap, false, true},
      {"core.v1.PodSpec", "priority", kInteger, Shape::kSingle, true, true},
      {"core.v1.PodSpec", "hostNetwork", kBool, Shape::kSingle, false, true},
      {"core.v1.PodSpec", "containers", kMessage, Shape::kList, false, false},
      {"core.v1.Container", "resources", kMessage, Shape::kSingle, false, false},
      {"core.v1.HTTPGetAction", "port", kIntOrString, Shape::kSingle, false, false},
      {"core.v1.Toleration", "key", kString, Shape::kSingle, false, true},
      {"core.v1.Event", "eventTime", kMicroTime, Shape::kSingle, false, false},
      {"apps.v1.ControllerRevision", "data", kAny, Shape::kSingle, false, false},
      {"coordination.v1.LeaseSpec", "renewTime", kMicroTime, Shape::kSingle, true, true},
      {"authentication.v1.UserInfo", "extra", kAny, Shape::kMap, false, true},
      {"meta.v1.ObjectMeta", "creationTimestamp", kTime, Shape::kSingle, false, true},
      {"meta.v1.ObjectMeta", "annotations", kString, Shape::kMap, false, true},
      {"meta.v1.ManagedFieldsEntry", "fieldsV1", kFieldsV1, Shape::kSingle, true, true},
  };
  for (const Row& row : rows) {
    SCOPED_TRACE(fmt::format("{}.{}", row.message, row.field));
    const Field& found = field(row.message, row.field);
    EXPECT_EQ(found.type, row.type);
    EXPECT_EQ(found.shape, row.shape);
    EXPECT_EQ(found.optional, row.optional);
    EXPECT_EQ(found.omit_empty, row.omit_empty);
  }
}

TEST(Schema, HasATableForEveryBuiltInKind) {
  for (const KindId id : {kPod,
                          kNode,
                          kNamespace,
                          kService,
                          kReplicationController,
                          kPersistentVolume,
                          kPersistentVolumeClaim,
                          kConfigMap,
                          kSecret,
                          kServiceAccount,
                          kEndpoints,
                          kCoreEvent,
                          kLimitRange,
                          kResourceQuota,
                          kPodTemplate,
                          kDeployment,
                          kReplicaSet,
                          kStatefulSet,
                          kDaemonSet,
                          kJob,
                          kCronJob,
                          kPodDisruptionBudget,
                          kPriorityClass,
                          kStorageClass,
                          kCsiNode,
                          kCsiDriver,
                          kCsiStorageCapacity,
                          kVolumeAttachment,
                          kLease,
                          kEvent,
                          kResourceClaim,
                          kResourceSlice,
                          kDeviceClass,
                          kCustomResourceDefinition,
                          kRole,
                          kRoleBinding,
                          kClusterRole,
                          kClusterRoleBinding,
                          kMutatingWebhookConfiguration,
                          kValidatingWebhookConfiguration}) {
    const Message* message = schema_of(id);
    ASSERT_NE(message, nullptr) << kind_of(id).kind;
    EXPECT_TRUE(message->name.ends_with("." + kind_of(id).kind)) << message->name;
    EXPECT_NE(message->find("metadata"), nullptr) << message->name;
  }
  EXPECT_EQ(schema_of(kPod), find_message("io.k8s.api.core.v1.Pod"));
  EXPECT_EQ(schema_of(learn_kind({"example.com", "v1", "Pod", "pods"})), nullptr);
  EXPECT_EQ(find_message("io.k8s.api.core.v1.Nothing"), nullptr);
}

// What a generator can get wrong without any test of a single field seeing it.
TEST(Schema, IsWellFormed) {
  std::size_t bytes = 0;
  for (std::size_t i = 0; i < schema::kMessages.size(); ++i) {
    const Message& message = *schema::kMessages[i];
    SCOPED_TRACE(message.name);
    EXPECT_TRUE(i == 0 || schema::kMessages[i - 1]->name < message.name);
    EXPECT_EQ(find_message(message.name), &message);
    bytes += sizeof(Message) + message.fields.size_bytes();
    std::set<std::vector<int>> numbers;
    for (std::size_t f = 0; f < message.fields.size(); ++f) {
      const Field& each = message.fields[f];
      SCOPED_TRACE(each.name);
      EXPECT_FALSE(each.name.empty());
      EXPECT_TRUE(f == 0 || message.fields[f - 1].name < each.name);
      EXPECT_TRUE(each.number == 0 ||
                  numbers.insert({each.wrappers[0], each.wrappers[1], each.number}).second);
      EXPECT_TRUE(each.type != FieldType::kMessage || each.message != nullptr);
      EXPECT_TRUE(each.message == nullptr || find_message(each.message->name) == each.message);
      if (!each.merge_key.empty()) {
        EXPECT_TRUE(each.patch_merge);
        EXPECT_NE(each.message->find(each.merge_key), nullptr);
      }
      EXPECT_EQ(each.list_type == ListType::kMap, !each.list_map_keys.empty());
      for (std::size_t at = 0; at < each.list_map_keys.size();) {
        const std::size_t end =
            std::min(each.list_map_keys.find(',', at), each.list_map_keys.size());
        EXPECT_NE(each.message->find(each.list_map_keys.substr(at, end - at)), nullptr);
        at = end + 1;
      }
    }
  }
  EXPECT_TRUE(std::is_sorted(
      schema::kKinds.begin(), schema::kKinds.end(), [](const auto& a, const auto& b) {
        return std::tie(a.group, a.version, a.kind) < std::tie(b.group, b.version, b.kind);
      }));
  EXPECT_GT(bytes, 200U << 10);
  EXPECT_LT(bytes, 512U << 10);
}

TEST(Schema, HoldsNoMessageThatNoDocumentUses) {
  std::set<const Message*> seen;
  std::vector<const Message*> left;
  for (const Message* message : schema::kMessages)
    if (message->find("apiVersion") != nullptr || message->name.ends_with(".WatchEvent"))
      left.push_back(message);
  for (const schema::KindRow& row : schema::kKinds) left.push_back(row.message);
  while (!left.empty()) {
    const Message* message = left.back();
    left.pop_back();
    if (!seen.insert(message).second) continue;
    for (const Field& each : message->fields)
      if (each.message != nullptr) left.push_back(each.message);
  }
  for (const Message* message : schema::kMessages)
    EXPECT_TRUE(seen.contains(message)) << message->name;
  EXPECT_GT(seen.size(), 500U);
}

}  // namespace
}  // namespace berth::kube
