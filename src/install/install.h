// SPDX-License-Identifier: Apache-2.0
// What a cluster needs before Berth works in it, as manifests in the order to apply them.
#pragma once

#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/result.h"
#include "controllers/batchjob/job_kind.h"

namespace berth::install {

struct InstallOptions {
  std::string ns = "berth-system";
  std::string image = "berth:dev";
  // What to install: names of parts(). Definitions and the namespace come with any of them.
  std::vector<std::string> parts = {"controllers", "gateway"};
  std::vector<controllers::JobKind> job_kinds = {};  // besides those that are built in
  // Of BatchJobs. Where Berth's scheduler is installed too, it is who places executors.
  controllers::ExecutorOptions executors = {};
  // Where the controllers work, and may; none: everywhere.
  std::vector<std::string> namespaces = {};
  // What the gateway takes calls to be about that name no namespace; "": the first of those, else
  // "default".
  std::string external_ns = {};
  // The operator may ask kubelets to snapshot containers. nodes/proxy is a right to much more than
  // that, so it is none of the usual ones.
  bool container_snapshots = false;
};

std::vector<std::string> parts();  // "controllers", "gateway", "extender", "scheduler"
// A stream of YAML documents. An error names a part that there is not.
Result<std::string> manifests(const InstallOptions&);
// The rights of the controllers: the sum of what they declare.
std::string controllers_role(const std::vector<controllers::JobKind>& job_kinds = {});
// The same for who works in some namespaces: a small ClusterRole for nodes, classes and the sight
// of pods, and a Role with its binding in each.
std::vector<std::string> controllers_roles(const InstallOptions&);

// The files of deploy/, as they were when this was built: name, text.
extern const std::span<const std::pair<std::string_view, std::string_view>> kDeployFiles;

}  // namespace berth::install
