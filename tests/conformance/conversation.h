// SPDX-License-Identifier: Apache-2.0
// What checks are made of: requests in a namespace of their own, and what they expect of the
// answers. Checks that are only that stand in cases/ (see script.h); those that need threads,
// sockets or bytes of their own are C++ and use this directly:
//   post("pods", "@pod p").expect(201).has("{spec: {nodeName: <absent>}}");
#pragma once

#include <chrono>
#include <memory>
#include <string>

#include <gtest/gtest.h>

#include "json/slice.h"
#include "matcher.h"
#include "script.h"
#include "target.h"
#include "wire.h"

namespace berth::conformance {

// An answer. Immutable but for the variables that has() sets.
class Reply {
 public:
  Reply(std::string request, Result<net::HttpResponse> response, Variables& variables)
      : request_(std::move(request)), response_(std::move(response)), variables_(&variables) {}

  const Reply& expect(int code) const;
  const Reply& has(std::string_view yaml) const;  // as in cases/
  const Reply& header(std::string_view name, std::string_view value) const;
  const Reply& fails(int code, std::string_view reason, std::string_view message) const;

  int code() const { return response_ ? response_->status : 0; }
  const std::string& body() const;
  const net::Headers& headers() const { return response_->headers; }
  json::Slice operator[](std::string_view key) const { return json::Slice(body())[key]; }
  std::string told() const;  // request and answer, for people

 private:
  std::string request_;
  Result<net::HttpResponse> response_;
  Variables* variables_;
};

// Thread-compatible: a thread of its own needs a conversation of its own (see another()).
class Conversation {
 public:
  Conversation(const Access& access, Variables variables);
  std::unique_ptr<Conversation> another() const;  // in the same namespace

  // "pods/p", "apps/v1:deployments" or "/an/absolute/path".
  std::string target(std::string_view path) const;
  Reply send(net::HttpRequest, As = As::kAdmin);  // target and body as they stand
  Reply call(std::string method, std::string_view path, std::string_view body = "",
             std::string content_type = "application/json");
  Reply get(std::string_view path) { return call("GET", path); }
  Reply post(std::string_view path, std::string_view body) { return call("POST", path, body); }
  Reply put(std::string_view path, std::string_view body) { return call("PUT", path, body); }
  Reply patch(std::string type, std::string_view path, std::string_view body);
  Reply erase(std::string_view path, std::string_view body = "") {
    return call("DELETE", path, body);
  }
  // GETs until the answer has this, as long as patience() lasts.
  void until(std::string_view path, std::string_view yaml);
  Result<std::unique_ptr<Stream>> watch(std::string_view path);

  Wire& wire() { return wire_; }
  Variables& variables() { return variables_; }
  const std::string& ns() const { return variables_.at("NS"); }
  std::string fill(std::string_view text) const { return filled(text, variables_); }

 private:
  const Access& access_;
  Variables variables_;
  Wire wire_;
};

const Templates& templates();
// How long to wait for what others have to do first: half a minute, or BERTH_CONFORMANCE_PATIENCE
// seconds.
std::chrono::seconds patience();
std::string patch_type(std::string_view name);  // "merge" -> "application/merge-patch+json"

// The fixture: a namespace of its own, with its service account. Skips where there is no server.
class Conformance : public ::testing::Test {
 protected:
  void SetUp() override;
  void TearDown() override;
  Conversation& talk() { return *talk_; }
  static const Access& access() { return (*Target::shared())->access(); }
  Reply get(std::string_view path) { return talk_->get(path); }
  Reply post(std::string_view path, std::string_view body) { return talk_->post(path, body); }
  Reply put(std::string_view path, std::string_view body) { return talk_->put(path, body); }
  Reply patch(std::string type, std::string_view path, std::string_view body) {
    return talk_->patch(std::move(type), path, body);
  }
  Reply erase(std::string_view path, std::string_view body = "") {
    return talk_->erase(path, body);
  }
  std::string fill(std::string_view text) const { return talk_->fill(text); }

 private:
  std::unique_ptr<Conversation> talk_;
};

}  // namespace berth::conformance
