// SPDX-License-Identifier: Apache-2.0
// One long conversation, held with the real server and written down, held again with ours: the same
// requests in the same order, from the HTTP request to the body of the reply.
#include <regex>

#include <gtest/gtest.h>

#include "apiserver/admission/steps.h"
#include "apiserver/http/request.h"
#include "apiserver/serve/test_server.h"
#include "golden_file.h"
#include "json/value.h"
#include "kube/status.h"

namespace berth::apiserver {
namespace {

struct Said {
  int code = 0;
  std::string body;
  std::vector<std::string> warnings;
};

std::string list_json(const KindRow& row, const kube::ObjectList& list) {
  json::Writer w;
  w.object().member("kind").string(row.kind.kind + "List");
  w.member("apiVersion").string(row.kind.api_version()).member("metadata").object();
  w.member("resourceVersion").string(std::to_string(list.revision));
  if (!list.continue_token.empty()) w.member("continue").string(list.continue_token);
  if (list.remaining) w.member("remainingItemCount").integer(*list.remaining);
  w.end().member("items").array();
  for (const kube::Object& item : list.items) w.raw(item.json());
  w.end().end();
  return w.take();
}

Said say(TestServer& server, json::Slice asked) {
  net::HttpRequest http{.method = asked["method"].text(), .target = asked["path"].text()};
  http.body = asked["body"].text();
  http.headers.set("Accept", "application/json");
  http.headers.set("User-Agent", "probe");
  if (asked["content"]) http.headers.set("Content-Type", asked["content"].text());
  const auto refused = [](Error error) {
    if (error.code == 0) error.code = http_code_of(error.reason);
    return Said{error.code, kube::status_json(error), {}};
  };
  Result<Incoming> in = read_request(std::move(http), {}, server.kinds.now(), {});
  if (!in) return refused(in.error());
  Result<kube::ApiReply> reply = server.call(std::move(in->request), 10s);
  if (!reply) return refused(reply.error());
  Said said{reply->code, "", reply->warnings};
  if (const auto* object = std::get_if<kube::Object>(&reply->body)) said.body = object->json();
  if (const auto* text = std::get_if<std::string>(&reply->body)) said.body = *text;
  if (const auto* list = std::get_if<kube::ObjectList>(&reply->body))
    said.body = list_json(*in->row, *list);
  return said;
}

// Without what differs at every run, and with keys in order.
std::string settled(json::Slice value, std::string_view path = "") {
  if (value.is_object()) {
    std::map<std::string, std::string> members;
    for (auto at = value.members().begin(); at != nullptr; ++at) {
      const auto [key, member] = *at;
      if (path.ends_with("/metadata") &&
          (key == "managedFields" || key == "resourceVersion" || key == "continue"))
        continue;
      // Items of lists say what they are, or do not.
      if (path.ends_with("/items/") && (key == "kind" || key == "apiVersion")) continue;
      std::string text = settled(member, std::string(path) + "/" + std::string(key));
      if (key == "details" && text == "{}") continue;
      members[std::string(key)] = std::move(text);
    }
    std::string out = "{";
    for (const auto& [key, text] : members) out += (out.size() > 1 ? ", " : "") + key + ": " + text;
    return out + "}";
  }
  if (value.is_array()) {
    std::string out = "[";
    for (auto at = value.elements().begin(); at != nullptr; ++at)
      out += (out.size() > 1 ? ", " : "") + settled(*at, std::string(path) + "/");
    return out + "]";
  }
  if (!value.is_string()) return std::string(value.raw());
  static const std::regex kUid("[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}"),
      kTime(R"(20\d\d-\d\d-\d\dT\d\d:\d\d:\d\d(\.\d+)?Z)"),
      kRevision(R"((current: |object meta: |in record \()\d+)"),
      kShown(R"((patch: )?Invalid value: "\{.*\}": )");
  std::string text = value.text();
  text = std::regex_replace(text, kUid, "UID");
  text = std::regex_replace(text, kTime, "TIME");
  text = std::regex_replace(text, kRevision, "$01");
  // A patched document stands in the message, with its managedFields.
  text = std::regex_replace(text, kShown, "$1Invalid value: {…}: ");
  return json::quoted(text);
}

std::vector<std::string> plain(json::Slice headers) {
  std::vector<std::string> out;
  for (auto at = headers.elements().begin(); at != nullptr; ++at) {
    std::string text;
    const std::string header = (*at).text();
    for (std::size_t i = 7; i + 1 < header.size(); ++i)
      if (header[i] != '\\' || header[i - 1] == '\\') text += header[i];
    out.push_back(text);
  }
  return out;
}

TEST(Answers, AreThoseOfTheRealServer) {
  TestServer server;
  server.admission.steps.push_back(namespace_lifecycle(server.store()));
  for (const std::string_view ns : {"default", "kube-system"})
    ASSERT_TRUE(
        server.create(kube::kNamespace, "", fmt::format(R"({{"metadata":{{"name":"{}"}}}})", ns))
            .has_value());
  const std::map<std::string, std::string> differences = known_differences();
  std::size_t same = 0;
  for (const std::string& line : golden_lines("answers")) {
    const json::Slice golden{std::string_view(line)};
    const std::string name = golden["name"].text();
    const Said said = say(server, golden);
    const std::string ours =
        fmt::format("{} {}", said.code, settled(json::Slice(std::string_view(said.body))));
    const std::string theirs =
        fmt::format("{} {}", golden["code"].integer().value_or(0), settled(golden["reply"]));
    const bool equal = ours == theirs && said.warnings == plain(golden["warnings"]);
    if (differences.contains(name)) {
      EXPECT_FALSE(equal) << name << " is no longer a difference";
      continue;
    }
    EXPECT_EQ(ours, theirs) << name << "\n" << golden["body"].text();
    EXPECT_EQ(said.warnings, plain(golden["warnings"])) << name;
    same += equal ? 1 : 0;
  }
  EXPECT_GT(same, 200U);
}

}  // namespace
}  // namespace berth::apiserver
