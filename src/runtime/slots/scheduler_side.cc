// SPDX-License-Identifier: Apache-2.0
#include "runtime/slots/scheduler_side.h"

#include <string_view>

#include <fmt/format.h>

namespace berth::runtime {
namespace {

std::string tls_of(const SchedulerSide& side) {
  if (!side.url.starts_with("https:")) return "";
  std::string text = "  enableHTTPS: true\n  tlsConfig:\n";
  text +=
      side.ca_file.empty() ? "    insecure: true\n" : fmt::format("    caFile: {}\n", side.ca_file);
  if (!side.cert_file.empty())
    text += fmt::format("    certFile: {}\n    keyFile: {}\n", side.cert_file, side.key_file);
  return text;
}

// Beside the slots, at the same address.
std::string scavengers_url(std::string_view slots) {
  while (slots.ends_with('/')) slots.remove_suffix(1);
  if (slots.ends_with("/slots")) slots.remove_suffix(std::string_view("/slots").size());
  return std::string(slots) + "/scavengers";
}

}  // namespace

std::string kube_scheduler_config(const SchedulerSide& side) {
  std::string text =
      "apiVersion: kubescheduler.config.k8s.io/v1\n"
      "kind: KubeSchedulerConfiguration\n";
  if (!side.kubeconfig.empty())
    text += fmt::format("clientConnection: {{kubeconfig: {}}}\n", side.kubeconfig);
  if (!side.scheduler_name.empty())
    text += fmt::format(
        "leaderElection: {{leaderElect: true, resourceName: {0}}}\n"
        "profiles:\n"
        "- schedulerName: {0}\n",
        side.scheduler_name);
  text += fmt::format(
      "extenders:\n"
      "- urlPrefix: {}\n"
      "  filterVerb: filter\n"
      "  preemptVerb: preempt\n"
      "  nodeCacheCapable: true\n"
      "  httpTimeout: 2s\n"
      "  # While it is away {} wait.\n"
      "  ignorable: false\n",
      side.url,
      side.managed || !side.scheduler_name.empty() ? "executors" : "this scheduler's pods");
  if (side.managed)
    text +=
        "  managedResources:\n"
        "  - {name: berth.dev/slot, ignoredByScheduler: true}\n";
  text += tls_of(side);
  // A second scheduler for executors interrupts nobody else.
  if (!side.scheduler_name.empty()) return text;
  text += fmt::format(
      "- urlPrefix: {}\n"
      "  preemptVerb: preempt\n"
      "  nodeCacheCapable: true\n"
      "  httpTimeout: 1s\n"
      "  # While it is away scavengers are interrupted in the scheduler's own order.\n"
      "  ignorable: true\n",
      scavengers_url(side.url));
  return text + tls_of(side);
}

}  // namespace berth::runtime
