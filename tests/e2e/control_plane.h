// SPDX-License-Identifier: Apache-2.0
// A real etcd and kube-apiserver for one test: free loopback ports, throw-away certificates and
// token, everything in a temporary folder, gone when the test is gone.
#pragma once

#include <cstdint>
#include <filesystem>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "base/result.h"
#include "child.h"
#include "net/http_client.h"
#include "net/tls.h"
#include "real.h"
#include "test_loop.h"

namespace berth::e2e {

// The body of a reply 200, or what went wrong.
Result<std::string> exchange(TestLoop&, net::HttpClientOptions, net::HttpRequest);

// Thread-compatible.
class ControlPlane {
 public:
  struct Options {
    std::vector<std::string> etcd_flags, api_server_flags;  // on top of ours
    // Pods need a service account, so somebody has to run kube-controller-manager.
    bool service_accounts = false;
  };
  // Ready to serve when it returns. Fails with NotFound where the programs are not built.
  static Result<std::unique_ptr<ControlPlane>> start(Options);
  static Result<std::unique_ptr<ControlPlane>> start();
  ~ControlPlane();

  std::string url() const;  // "https://127.0.0.1:port"
  std::uint16_t port() const { return port_; }
  const std::string& token() const { return token_; }           // of "admin", in system:masters
  const net::KeyPair& authority() const { return authority_; }  // signs users: CN, and O for groups
  const std::filesystem::path& kubeconfig() const { return kubeconfig_; }  // with the token
  std::filesystem::path elsewhere_kubeconfig() const;  // for start_api_server_elsewhere()
  const TempFolder& folder() const { return folder_; }

  void kill_api_server();  // -9, as a machine loses power; etcd runs on
  // After a kill: the same server again, on the same port; or, where nobody who knows the old
  // address finds it, on another one, to change things behind a client's back.
  Result<Ok> start_api_server();
  Result<Ok> start_api_server_elsewhere();
  // Makes etcd forget every revision before the current one, which is the answer. kube-apiserver is
  // not told.
  Result<std::uint64_t> compact();

  Child& etcd() { return *etcd_; }
  Child& api_server() { return *api_server_; }
  // Any other component, its output in the folder.
  Result<std::unique_ptr<Child>> start_program(const std::string& name,
                                               std::vector<std::string> args);
  std::string log_tails(std::size_t lines = 20) const;  // for failure messages

 private:
  ControlPlane() = default;
  Result<Ok> start_etcd();
  Result<Ok> launch_api_server(std::uint16_t port);
  Result<std::string> get(std::uint16_t port, const std::string& path);
  Result<std::string> post_to_etcd(const std::string& path, std::string body);

  Options options_;
  TempFolder folder_;
  TestLoop loop_{"control-plane"};
  net::KeyPair authority_;
  std::string token_;
  std::filesystem::path kubeconfig_;
  std::uint16_t port_ = 0, elsewhere_ = 0, etcd_port_ = 0;
  std::unique_ptr<Child> etcd_, api_server_;
};

}  // namespace berth::e2e
