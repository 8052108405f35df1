// SPDX-License-Identifier: Apache-2.0
#include "apiserver/edit/edit.h"
#include "apiserver/kinds/cells.h"
#include "apiserver/kinds/rules.h"

namespace berth::apiserver {
namespace {

constexpr std::size_t kMost = 1 << 20;

void entries(const kube::Object& object, WallTime, json::Writer& w) {
  w.integer(
      static_cast<std::int64_t>(object.member("data").size() + object.member("binaryData").size()));
}

void check_config(Edit& edit, Findings& findings) {
  const Peek data = Peek(edit.body())["data"], binary = Peek(edit.body())["binaryData"];
  std::size_t bytes = 0;
  for (const auto& entry : data.members()) {
    const Path at = Path("data").key(sv(entry.key()));
    must_be(&check_config_key, sv(entry.key()), at, findings);
    if (binary[sv(entry.key())])
      findings.invalid(at, sv(entry.key()), "duplicate of key present in binaryData");
    bytes += Peek(entry.value()).text().size();
  }
  for (const auto& entry : binary.members()) {
    must_be(&check_config_key, sv(entry.key()), Path("binaryData").key(sv(entry.key())), findings);
    bytes += Peek(entry.value()).text().size() / 4 * 3;
  }
  if (bytes > kMost) findings.too_long(Path("[]"), kMost);
}

void check_frozen(Edit& edit, Findings& findings) {
  if (!edit.was_body()["immutable"].boolean()) return;
  constexpr std::string_view kWhy = "field is immutable when `immutable` is set";
  if (!Peek(edit.body())["immutable"].boolean()) findings.forbidden(Path("immutable"), kWhy);
  for (const std::string_view field : {"data", "binaryData"})
    if (!same(Peek(edit.body())[field], edit.was_body()[field]))
      findings.forbidden(Path(field), kWhy);
}

}  // namespace

KindRow config_map() {
  return Kind("v1", "ConfigMap", "configmaps")
      .short_name("cm")
      .name_column()
      .column("Data", &entries)
      .age_column()
      .check_create(&check_config)
      .check_update(&check_frozen)
      .check_update(&check_config);
}

}  // namespace berth::apiserver
