// SPDX-License-Identifier: Apache-2.0
#include "conversation.h"

#include <atomic>
#include <cstdlib>
#include <fstream>
#include <sstream>

#include <fmt/format.h>

#include "base/check.h"
#include "base/random.h"
#include "child.h"
#include "json/cursor.h"
#include "json/yaml.h"

namespace berth::conformance {
namespace {
const std::string kNothing;
}  // namespace

std::chrono::seconds patience() {
  const char* given = std::getenv("BERTH_CONFORMANCE_PATIENCE");
  return std::chrono::seconds(given != nullptr ? std::atoi(given) : 30);
}

const std::string& Reply::body() const { return response_ ? response_->body : kNothing; }

std::string Reply::told() const {
  if (!response_) return request_ + "\n  " + response_.error().message;
  return fmt::format("{}\n  -> {} {}", request_, response_->status,
                     response_->body.substr(0, 4000));
}

const Reply& Reply::expect(int code) const {
  EXPECT_EQ(this->code(), code) << told();
  return *this;
}

const Reply& Reply::has(std::string_view yaml) const {
  const auto expected = json::yaml_document_to_json(filled(yaml, *variables_));
  if (!expected) {
    ADD_FAILURE() << expected.error().message << " in " << yaml;
    return *this;
  }
  const bool good = json::check(body()).has_value();
  EXPECT_TRUE(good) << told();
  if (!good) return *this;
  const std::string why = mismatch(json::Slice(*expected), json::Slice(body()), *variables_);
  EXPECT_EQ(why, "") << told();
  return *this;
}

const Reply& Reply::header(std::string_view name, std::string_view value) const {
  const std::string_view actual = response_ ? response_->headers.get(name) : "";
  if (value == "<absent>")
    EXPECT_EQ(actual, "") << name << "\n" << told();
  else
    EXPECT_EQ(text_mismatch(filled(value, *variables_), actual, *variables_), "") << name << "\n"
                                                                                  << told();
  return *this;
}

const Reply& Reply::fails(int code, std::string_view reason, std::string_view message) const {
  expect(code);
  const json::Slice status(body());
  EXPECT_EQ(status["kind"].text(), "Status") << told();
  EXPECT_EQ(status["apiVersion"].text(), "v1") << told();
  EXPECT_EQ(status["metadata"].raw(), "{}") << told();
  EXPECT_EQ(status["status"].text(), "Failure") << told();
  EXPECT_EQ(status["reason"].text(), reason == "-" ? "" : reason) << told();
  EXPECT_EQ(status["code"].integer(), code) << told();
  EXPECT_EQ(text_mismatch(filled(message, *variables_), status["message"].text(), *variables_), "")
      << told();
  return *this;
}

Conversation::Conversation(const Access& access, Variables variables)
    : access_(access), variables_(std::move(variables)), wire_(access) {}

std::unique_ptr<Conversation> Conversation::another() const {
  return std::make_unique<Conversation>(access_, variables_);
}

std::string Conversation::target(std::string_view path) const {
  const std::string p = fill(path);
  if (p.starts_with('/')) return p;
  const std::size_t colon = p.substr(0, p.find('?')).find(':');
  if (colon == p.npos) return fmt::format("/api/v1/namespaces/{}/{}", ns(), p);
  return fmt::format("/apis/{}/namespaces/{}/{}", p.substr(0, colon), ns(), p.substr(colon + 1));
}

std::string patch_type(std::string_view name) {
  if (name == "apply") return "application/apply-patch+yaml";
  if (name == "strategic") return "application/strategic-merge-patch+json";
  return fmt::format("application/{}-patch+json", name);
}

Reply Conversation::send(net::HttpRequest request, As as) {
  std::string told =
      fmt::format("{} {} {}", request.method, request.target, request.body.substr(0, 1000));
  return Reply(std::move(told), wire_.call(std::move(request), as), variables_);
}

Reply Conversation::call(std::string method, std::string_view path, std::string_view body,
                         std::string content_type) {
  net::HttpRequest request{.method = std::move(method), .target = target(path)};
  request.headers.add("Accept", "application/json");
  if (!body.empty()) {
    auto json = body_json(fill(body), templates());
    EXPECT_TRUE(json) << json.error().message << " in " << body;
    request.body = json ? *json : "";
    request.headers.add("Content-Type", std::move(content_type));
  }
  return send(std::move(request));
}

Reply Conversation::patch(std::string type, std::string_view path, std::string_view body) {
  return call("PATCH", path, body, patch_type(type));
}

void Conversation::until(std::string_view path, std::string_view yaml) {
  const auto expected = json::yaml_document_to_json(fill(yaml));
  ASSERT_TRUE(expected) << expected.error().message << " in " << yaml;
  std::string why, told;
  const bool came = e2e::eventually(patience(), [&] {
    const Reply reply = get(path);
    told = reply.told();
    why = reply.body().empty()
              ? "no answer"
              : mismatch(json::Slice(*expected), json::Slice(reply.body()), variables_);
    return why.empty();
  });
  EXPECT_TRUE(came) << why << "\n" << told;
}

Result<std::unique_ptr<Stream>> Conversation::watch(std::string_view path) {
  net::HttpRequest request{.target = target(path)};
  request.headers.add("Accept", "application/json");
  return wire_.open(std::move(request));
}

const Templates& templates() {
  static const Templates all = [] {
    std::ifstream file(BERTH_SOURCE_DIR "/tests/conformance/cases/templates");
    std::stringstream text;
    text << file.rdbuf();
    auto parsed = parse_templates(text.str());
    BERTH_CHECK(parsed);
    return *parsed;
  }();
  return all;
}

void Conformance::SetUp() {
  const auto& server = Target::shared();
  if (!server && !Target::embedded() && server.error().reason == Reason::kNotFound)
    GTEST_SKIP() << server.error().message;
  ASSERT_TRUE(server) << server.error().message;
  static std::atomic<int> count = 0;
  const std::string ns =
      fmt::format("c{}-{:06x}", ++count, Random::from_entropy().next() & 0xffffff);
  talk_ = std::make_unique<Conversation>((*server)->access(), Variables{{"NS", ns}});
  post("/api/v1/namespaces", "{apiVersion: v1, kind: Namespace, metadata: {name: $NS}}")
      .expect(201);
  talk_->until("serviceaccounts/default", "{metadata: {name: default}}");
}

void Conformance::TearDown() {
  const auto& server = Target::shared();
  if (HasFatalFailure() && server) fmt::print("{}\n", (*server)->log_tails());
}

}  // namespace berth::conformance
