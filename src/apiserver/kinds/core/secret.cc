// SPDX-License-Identifier: Apache-2.0
#include "apiserver/edit/edit.h"
#include "apiserver/kinds/cells.h"
#include "apiserver/kinds/rules.h"
#include "base/base64.h"

namespace berth::apiserver {
namespace {

constexpr std::size_t kMost = 1 << 20;

void fill_secret(Edit& edit) {
  set_default(edit.body(), "type", "Opaque");
  // Text is written, data is read.
  const json::Dict* texts = dict_in(edit.body(), "stringData");
  if (texts == nullptr) return;
  std::vector<std::pair<std::string, std::string>> encoded;
  for (const auto& text : *texts)
    encoded.emplace_back(sv(text.key()), base64(Peek(text.value()).text()));
  json::Dict& data = make_dict(edit.body(), "data");
  for (const auto& [key, value] : encoded) data[key] = value;
  json::erase(edit.body(), "stringData");
}

// The keys that a type of secret must have.
void check_keys(std::string_view type, Peek data, Findings& findings) {
  const auto need = [&](std::string_view key) {
    if (data[key].value() == nullptr) findings.required(Path("data").key(key));
  };
  if (type == "kubernetes.io/dockercfg") need(".dockercfg");
  if (type == "kubernetes.io/dockerconfigjson") need(".dockerconfigjson");
  if (type == "kubernetes.io/ssh-auth" && data["ssh-privatekey"].text().empty())
    findings.required(Path("data").key("ssh-privatekey"));
  if (type == "kubernetes.io/basic-auth" && !data["username"] && !data["password"]) {
    need("username");
    need("password");
  }
  if (type == "kubernetes.io/tls") {
    need("tls.crt");
    need("tls.key");
  }
}

void check_secret(Edit& edit, Findings& findings) {
  const Peek data = Peek(edit.body())["data"];
  std::size_t bytes = 0;
  for (const auto& entry : data.members()) {
    must_be(&check_config_key, sv(entry.key()), Path("data").key(sv(entry.key())), findings);
    bytes += Peek(entry.value()).text().size() / 4 * 3;
  }
  if (bytes > kMost) findings.too_long(Path("data"), kMost);
  const std::string_view type = Peek(edit.body())["type"].text();
  constexpr std::string_view kAccount = "kubernetes.io/service-account.name";
  if (type == "kubernetes.io/service-account-token" &&
      Peek(edit.metadata())["annotations"][kAccount].text().empty())
    findings.required((Path("metadata") / "annotations").key(kAccount));
  check_keys(type, data, findings);
}

void check_frozen(Edit& edit, Findings& findings) {
  const std::string_view type = Peek(edit.body())["type"].text();
  if (type != edit.was_body()["type"].text())
    findings.invalid(Path("type"), type, "field is immutable");
  if (!edit.was_body()["immutable"].boolean()) return;
  constexpr std::string_view kWhy = "field is immutable when `immutable` is set";
  if (!Peek(edit.body())["immutable"].boolean()) findings.forbidden(Path("immutable"), kWhy);
  if (!same(Peek(edit.body())["data"], edit.was_body()["data"]))
    findings.forbidden(Path("data"), kWhy);
}

}  // namespace

KindRow secret() {
  return Kind("v1", "Secret", "secrets")
      .name_column()
      .column("Type", text("type"))
      .column("Data", count("data"))
      .age_column()
      .selectable("type")
      .fill(&fill_secret)
      .check_create(&check_secret)
      .check_update(&check_frozen)
      .check_update(&check_secret);
}

}  // namespace berth::apiserver
