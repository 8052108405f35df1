// SPDX-License-Identifier: Apache-2.0
#include "target.h"

#include <cstdlib>

#include <fmt/format.h>

#include "berth_up.h"
#include "control_plane.h"

namespace berth::conformance {
namespace {

// The controllers that have a counterpart in `berth up`.
constexpr const char* kControllers =
    "deployment-controller,replicaset-controller,replicationcontroller-controller,"
    "statefulset-controller,job-controller,"
    "namespace-controller,serviceaccount-controller,garbage-collector-controller,"
    "disruption-controller,node-lifecycle-controller,taint-eviction-controller,"
    "pod-garbage-collector-controller,ttl-after-finished-controller,resourcequota-controller,"
    "persistentvolume-binder-controller,root-ca-certificate-publisher-controller,"
    "persistentvolumeclaim-protection-controller,persistentvolume-protection-controller,"
    "clusterrole-aggregation-controller,cronjob-controller,daemonset-controller";

class RealTarget final : public Target {
 public:
  Result<Ok> start() {
    auto plane = e2e::ControlPlane::start(
        {.etcd_flags = {}, .api_server_flags = {}, .service_accounts = true});
    if (!plane) return tl::unexpected(plane.error());
    plane_ = std::move(*plane);
    const auto file = [&](const char* name) { return (plane_->folder().path() / name).string(); };
    const std::string kubeconfig = "--kubeconfig=" + plane_->kubeconfig().string();
    const std::vector<std::pair<const char*, std::vector<std::string>>> programs = {
        {"kube-controller-manager",
         {kubeconfig, std::string("--controllers=") + kControllers, "--leader-elect=false",
          "--secure-port=0", "--use-service-account-credentials=false",
          "--root-ca-file=" + file("ca.crt"),
          "--service-account-private-key-file=" + file("server.key"), "--kube-api-qps=5000",
          "--kube-api-burst=5000"}},
        {"kube-scheduler",
         {kubeconfig, "--leader-elect=false", "--secure-port=0", "--kube-api-qps=5000",
          "--kube-api-burst=5000"}},
        {"kwok",
         {kubeconfig, "--manage-nodes-with-annotation-selector=kwok.x-k8s.io/node=fake",
          "--node-lease-duration-seconds=40", "--node-ip=10.255.0.1", "--cidr=10.128.0.0/9",
          "--config=" BERTH_SOURCE_DIR "/tests/e2e/scheduler/kwok.yaml", "-v", "WARN"}},
    };
    for (const auto& [name, args] : programs) {
      auto child = plane_->start_program(name, args);
      if (!child) return tl::unexpected(child.error());
      helpers_.push_back(std::move(*child));
    }
    return read_kubeconfig(plane_->kubeconfig().string());
  }
  // Those who use the API server end before it does.
  ~RealTarget() override { helpers_.clear(); }
  std::string log_tails() const override { return plane_->log_tails(10); }

 private:
  std::unique_ptr<e2e::ControlPlane> plane_;
  std::vector<std::unique_ptr<e2e::Child>> helpers_;
};

class EmbeddedTarget final : public Target {
 public:
  Result<Ok> start() {
    auto up = e2e::BerthUp::start({.flags = {"--nodes", "0"}});
    if (!up) return tl::unexpected(up.error());
    up_ = *std::move(up);
    return read_kubeconfig(up_->kubeconfig().string());
  }
  std::string log_tails() const override { return up_->log_tail(); }

 private:
  std::unique_ptr<e2e::BerthUp> up_;
};

class GivenTarget final : public Target {
 public:
  Result<Ok> start(const std::string& path) { return read_kubeconfig(path); }
};

std::string choice() {
  const char* given = std::getenv("BERTH_CONFORMANCE");
  return given != nullptr ? given : "embedded";
}

template <class T, class... Args>
Result<std::unique_ptr<Target>> started(Args... args) {
  auto target = std::make_unique<T>();
  if (auto up = target->start(args...); !up) return tl::unexpected(up.error());
  return std::unique_ptr<Target>(std::move(target));
}

Result<std::unique_ptr<Target>> start() {
  if (choice() == "real") return started<RealTarget>();
  if (choice() == "embedded") return started<EmbeddedTarget>();
  return started<GivenTarget>(choice());
}

Result<std::unique_ptr<Target>>& instance() {
  static Result<std::unique_ptr<Target>> target = start();
  return target;
}

}  // namespace

const Result<std::unique_ptr<Target>>& Target::shared() { return instance(); }
void Target::stop_shared() {
  if (instance()) instance()->reset();
}
bool Target::embedded() { return choice() == "embedded"; }

Result<Ok> Target::read_kubeconfig(const std::string& path) {
  auto access = e2e::access_from(path);
  if (!access) return tl::unexpected(access.error());
  access_ = *std::move(access);
  return Ok{};
}

}  // namespace berth::conformance
