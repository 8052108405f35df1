// SPDX-License-Identifier: Apache-2.0
// Protobuf bodies of every built-in kind, against what Kubernetes' own types make of them
// (tools/protobuf wrote both down).
#include "kube/protobuf.h"

#include <gtest/gtest.h>

#include "apiserver/edit/conform.h"
#include "golden_file.h"
#include "json/slice.h"
#include "json/value.h"
#include "kube/schema.h"

namespace berth::apiserver {
namespace {

std::string from_hex(std::string_view text) {
  const auto digit = [](char c) { return c <= '9' ? c - '0' : c - 'a' + 10; };
  std::string out;
  for (std::size_t i = 0; i + 1 < text.size(); i += 2)
    out += static_cast<char>(digit(text[i]) * 16 + digit(text[i + 1]));
  return out;
}

// As the server reads it: decoded, then brought into the form of its kind.
std::string as_stored(const std::string& document, json::Arena& arena) {
  auto value = json::parse(document, arena);
  if (!value) return value.error().message;
  const json::Slice read(document);
  const bool options = read["kind"].equals("DeleteOptions");
  const json::Message* type =
      options ? kube::find_message("io.k8s.apimachinery.pkg.apis.meta.v1.DeleteOptions")
              : kube::schema_of(kube::guess_kind(read["apiVersion"].text(), read["kind"].text()));
  if (type == nullptr) return "no table of " + read["kind"].text();
  if (const auto conformed = conform(*value, *type); !conformed) return conformed.error().message;
  return json::print(*value);
}

TEST(Protobuf, EveryKindReadsAsKubernetesTypesReadIt) {
  std::size_t cases = 0;
  for (const std::string& line : golden_lines("protobuf")) {
    const json::Slice each(line);
    const std::string name = each["name"].text();
    const auto read = kube::protobuf_to_json(from_hex(each["protobuf"].text()));
    ASSERT_TRUE(read) << name << ": " << read.error().message;
    json::Arena arena;
    const std::string ours = as_stored(*read, arena);
    auto expected = json::parse(each["json"].raw(), arena);
    auto actual = json::parse(ours, arena);
    ASSERT_TRUE(expected && actual) << name << ": " << ours;
    EXPECT_TRUE(json::equal(*expected, *actual))
        << name << "\n ours " << ours << "\n real " << json::print(*expected);
    ++cases;
  }
  EXPECT_GT(cases, 200u);
}

TEST(Protobuf, ABodyCutAnywhereIsRefusedOrReadsAsSomethingShorter) {
  for (const std::string& line : golden_lines("protobuf")) {
    const json::Slice each(line);
    if (!each["name"].text().ends_with("Lease full")) continue;
    const std::string body = from_hex(each["protobuf"].text());
    for (std::size_t size = 0; size < body.size(); ++size) {
      const auto read = kube::protobuf_to_json(std::string_view(body).substr(0, size));
      if (read)
        EXPECT_TRUE(json::check(*read)) << *read;
      else
        EXPECT_EQ(read.error().reason, Reason::kBadRequest);
    }
  }
}

}  // namespace
}  // namespace berth::apiserver
