// SPDX-License-Identifier: Apache-2.0
// Who manages which fields of an object: metadata.managedFields, read and written.
#pragma once

#include <map>
#include <string>
#include <string_view>

#include "apiserver/apply/field_set.h"
#include "apiserver/edit/peek.h"
#include "base/result.h"
#include "json/value.h"

namespace berth::apiserver {

struct Manager {
  std::string name;
  bool applies = false;  // its operation is Apply, otherwise Update
  std::string api_version;
  std::string subresource = {};
  std::string time = {};  // RFC 3339; "": not known
  FieldSet fields = {};

  // Tells managers apart, and orders them as Kubernetes does: an applier is the same one whatever
  // its version.
  std::string id() const;
  std::string shown() const;  // as conflicts name it: "x" with subresource "status" using apps/v1
};

using Managers = std::map<std::string, Manager>;  // by id

// The error is why it cannot be read.
Result<Managers> read_managers(Peek managed_fields);
Result<Manager> read_manager(Peek entry, std::size_t index);
// In the order in which Kubernetes writes them; null: there are none.
json::Value write_managers(const Managers&, json::Arena&);
// One of them with these fieldsV1, and several in that order.
json::Value write_manager(const Manager&, std::string_view fields, json::Arena&);
void sort_entries(json::List&);

inline constexpr std::size_t kMostUpdaters = 10;
// At most that many that update; the oldest become one.
void merge_oldest(Managers&);

}  // namespace berth::apiserver
