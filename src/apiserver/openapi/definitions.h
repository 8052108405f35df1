// SPDX-License-Identifier: Apache-2.0
// The schemas of an OpenAPI document, from the tables of the built-in kinds and from CRDs.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <string_view>

#include "apiserver/kinds/kind_row.h"
#include "json/schema.h"

namespace berth::apiserver {

enum class OpenApiVersion : std::uint8_t { kV2, kV3 };

// Collects schemas and all that they refer to. Thread-compatible.
class Definitions {
 public:
  explicit Definitions(OpenApiVersion version) : version_(version) {}

  // Each gives the name under which the schema is found.
  std::string add(const KindRow&);
  std::string add_list(const KindRow&);
  std::string add(const json::Message&);
  // A built-in kind, or "" where there is none: ("autoscaling", "v1", "Scale").
  std::string add(std::string_view group, std::string_view version, std::string_view kind);

  std::string add_object(std::string_view name);  // of which nothing more is known

  // {"$ref":"#/…/NAME"}
  std::string ref(std::string_view name) const;
  // By name, as JSON.
  const std::map<std::string, std::string, std::less<>>& all() const { return schemas_; }

 private:
  std::string element(const json::Message& of, const json::Field&);
  std::string property(const json::Message& of, const json::Field&);
  std::string special(std::string_view name, std::string_view schema);
  std::string held(std::string_view name, bool optional) const;  // a reference inside of a schema

  OpenApiVersion version_;
  std::map<std::string, std::string, std::less<>> schemas_;
};

// "org.example.v1.Ship" of example.org/v1 Ship.
std::string custom_name(const kube::Kind&);

}  // namespace berth::apiserver
