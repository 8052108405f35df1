// SPDX-License-Identifier: Apache-2.0
// A client of the control plane for test threads: calls that wait for their answers.
#pragma once

#include <filesystem>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "base/log.h"
#include "client/api.h"
#include "client/connect.h"
#include "kube/object.h"
#include "test_loop.h"

namespace berth::e2e {

// Thread-compatible: one test thread uses it.
class Session {
 public:
  static Result<std::unique_ptr<Session>> open(const std::filesystem::path& kubeconfig);
  ~Session();

  TestLoop& loop() { return loop_; }
  client::Transport& transport() { return *cluster_->transport; }
  client::Api& api() { return *api_; }  // on the loop only

  // session.ask<Object>([&](client::Api& api, auto done) { api.get(kPod, key, std::move(done)); })
  template <class T>
  Result<T> ask(Fn<void(client::Api&, Done<T>)> start) {
    return loop_.ask<T>(120s, [&](Done<T> done) { start(*api_, std::move(done)); });
  }
  // Straight to the transport: no retries.
  Result<kube::ApiReply> once(kube::ApiRequest, Duration limit);
  Result<kube::Object> get(kube::KindId, const kube::Key&);
  Result<kube::Object> create(kube::KindId, const std::string& ns, std::string json,
                              kube::Options = {});
  Result<kube::Object> patch(kube::KindId, const kube::Key&, std::string patch,
                             kube::PatchType = kube::PatchType::kMerge,
                             std::string subresource = "", kube::Options = {});
  Result<Ok> erase(kube::KindId, const kube::Key&, kube::Options = {});
  Result<kube::ObjectList> list_all(kube::KindId, const std::string& ns, kube::Options = {});

 private:
  Session() = default;
  TestLoop loop_;
  // Warnings only: retries while a server is away are what tests are about.
  Logger log_{stderr_sink(), loop_.executor().clock(), LogLevel::kError};
  std::unique_ptr<client::Cluster> cluster_;
  std::unique_ptr<client::Api> api_;
};

// What must be equal between an informer's store and a fresh list.
struct Kept {
  kube::Revision revision = 0;
  std::string json;  // without managedFields
  friend bool operator==(const Kept&, const Kept&) = default;
};
using Contents = std::map<kube::Key, Kept>;
Contents contents_of(const kube::ObjectList&);
// The first few differences, for people; "" when there are none.
std::string difference(const Contents& store, const Contents& list);

struct NewObject {
  kube::KindId kind;
  std::string ns, json;
};
// Many at once, started in the order given. The first that is refused is the error.
Result<Ok> create_all(Session&, std::vector<NewObject>);

// Creates bench::new_pod_json(0..count) with many requests under way. Pods that exist already count
// as created.
Result<Ok> create_pods(Session&, const std::string& ns, std::size_t count);

}  // namespace berth::e2e
