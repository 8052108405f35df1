// SPDX-License-Identifier: Apache-2.0
// A door in a virtual world, for its tests: the connection and the server behind are the test's.
#pragma once

#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "apiserver/http/door.h"
#include "base/world.h"
#include "net/fake_client_for_test.h"

namespace berth::apiserver {

using net::FakeClient;

// A watch whose events the test gives.
struct FakeWatch {
  Done<kube::WatchStream::Batch> waiting = {};
  std::size_t reads = 0;
  bool ended = false;              // the reader has gone
  const Executor* home = nullptr;  // set: nothing may touch it anywhere else
  void give(std::vector<kube::WatchEvent>, bool end = false);
};

class DoorLab {
 public:
  explicit DoorLab(DoorOptions options = {});
  ~DoorLab();

  World world{1};
  Executor& io = world.loop("io");
  Executor& api = world.loop("api");
  Scope scope{io, "door"};
  KindRegistry kinds;
  // What stands behind the door: the test's answer to the last request.
  std::optional<kube::ApiRequest> request = {};
  Credentials credentials = {};
  std::function<Result<kube::ApiReply>(const kube::ApiRequest&)> answer = {};
  Done<kube::ApiReply> unanswered = {};  // where `answer` is not set
  std::unique_ptr<Door> door;

  // Sends a request and lets everything happen that can.
  std::shared_ptr<FakeClient> send(net::HttpRequest, std::string address = "127.0.0.1:1000",
                                   bool reads = true);
  std::shared_ptr<FakeClient> get(std::string target, std::string accept = "");
  void settle() { world.run_until_idle(std::chrono::seconds(1)); }

  kube::ApiReply watched(const std::shared_ptr<FakeWatch>&);
};

kube::Object config_map(std::string_view name, std::size_t bytes = 10);
kube::ApiReply reply_with(kube::Object, int code = 200);
kube::ApiReply reply_with(kube::ObjectList);

}  // namespace berth::apiserver
