// SPDX-License-Identifier: Apache-2.0
// What is known about a message (a JSON object of a fixed type): the one table behind strategic
// merge, strict field checks, pruning, protobuf transcoding and server-side apply. Built-in kinds
// come from generated tables (kube/schema), custom ones from their CRD.
#pragma once

#include <cstdint>
#include <span>
#include <string_view>

namespace berth::json {

enum class FieldType : std::uint8_t {
  kString,
  kBytes,
  kBool,
  kInteger,
  kNumber,
  kMessage,  // another table: `message`
  kAny,      // anything (RawExtension, JSON schema values); `message`, if any, is its protobuf form
  kQuantity,
  kIntOrString,
  kTime,
  kMicroTime,
  kDuration,
  kFieldsV1,
};

enum class Shape : std::uint8_t {
  kSingle,
  kList,
  kMap
};  // map: string keys, values of the field's type

enum class ListType : std::uint8_t { kUnstated, kAtomic, kSet, kMap };

struct Message;

struct Field {
  std::string_view name;  // JSON name
  FieldType type = FieldType::kAny;
  Shape shape = Shape::kSingle;
  std::uint16_t number = 0;  // protobuf number; 0 when there is none
  // Protobuf numbers of the messages around it that JSON does not show (Go's embedded structs),
  // outermost first; 0: none.
  std::uint8_t wrappers[2] = {};
  bool optional = false;           // absent differs from zero (a pointer in Go)
  bool omit_empty = false;         // not written when empty; a struct in Go never is (but omitzero)
  bool patch_merge = false;        // patchStrategy contains "merge"
  bool patch_retain_keys = false;  // patchStrategy contains "retainKeys"
  bool patch_replace = false;      // patchStrategy contains "replace"
  std::string_view merge_key = {};           // patchMergeKey
  ListType list_type = ListType::kUnstated;  // kAtomic: also of maps and messages
  std::string_view list_map_keys = {};       // comma-separated
  const Message* message = nullptr;          // for kMessage
  // What Kubernetes' decoder calls a scalar's type, which its complaints show, where that is not
  // string, int32, bool or float64.
  std::string_view go_type = {};
};

struct Message {
  std::string_view name;          // "io.k8s.api.core.v1.PodSpec"
  std::span<const Field> fields;  // sorted by name
  const Field* find(std::string_view json_name) const;
};

}  // namespace berth::json
