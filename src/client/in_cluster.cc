// SPDX-License-Identifier: Apache-2.0
#include "client/in_cluster.h"

#include <fmt/format.h>

#include "client/one_line.h"

namespace berth::client {
namespace {

const std::string kServiceAccount = "/var/run/secrets/kubernetes.io/serviceaccount/";

}  // namespace

Result<ClusterConfig> in_cluster(const Surroundings& surroundings) {
  const std::string host = surroundings.env("KUBERNETES_SERVICE_HOST");
  const std::string port = surroundings.env("KUBERNETES_SERVICE_PORT");
  if (host.empty() || port.empty())
    return fail(Reason::kNotFound,
                "not in a pod: KUBERNETES_SERVICE_HOST and KUBERNETES_SERVICE_PORT are not set");
  ClusterConfig out;
  out.origin = "in-cluster";
  out.token = {
      .data = "", .file = kServiceAccount + "token", .place = "in-cluster: service account token"};
  if (Result<std::string> token = surroundings.read_file(out.token.file); !token)
    return fail(token.error().reason,
                fmt::format("{}: cannot read {}: {}; set automountServiceAccountToken in the pod",
                            out.token.place, out.token.file, token.error().message));

  const bool ipv6 = host.find(':') != std::string::npos;
  out.server = fmt::format("https://{}{}{}:{}", ipv6 ? "[" : "", host, ipv6 ? "]" : "", port);
  Result<net::Url> url = net::parse_url(out.server);
  if (!url)
    return invalid(fmt::format("in-cluster: KUBERNETES_SERVICE_HOST and _PORT make no URL: {}",
                               url.error().message));
  out.url = std::move(*url);
  // k8s 1.36: without a CA of its own the pod falls back to the system's.
  if (surroundings.read_file(kServiceAccount + "ca.crt"))
    out.ca = {.data = "", .file = kServiceAccount + "ca.crt", .place = "in-cluster: ca.crt"};

  // k8s 1.36: POD_NAMESPACE goes before the service account's.
  out.ns = surroundings.env("POD_NAMESPACE");
  if (out.ns.empty())
    out.ns = one_line(surroundings.read_file(kServiceAccount + "namespace").value_or(""));
  out.ns_given = !out.ns.empty();
  if (!out.ns_given) out.ns = "default";
  return out;
}

}  // namespace berth::client
