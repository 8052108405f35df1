// SPDX-License-Identifier: Apache-2.0
// One entry of `extenders` in a KubeSchedulerConfiguration, read and validated by config/. Plain
// values; the names are the configuration's.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "base/time.h"

namespace berth::scheduler {

struct ExtenderTls {
  bool insecure = false;
  std::string server_name = {};
  std::string cert_file = {}, key_file = {}, ca_file = {};
  std::string cert_data = {}, key_data = {}, ca_data = {};  // PEM, decoded; wins over the file
  friend bool operator==(const ExtenderTls&, const ExtenderTls&) = default;
};

struct ManagedResource {
  std::string name = {};
  bool ignored_by_scheduler = false;
  friend bool operator==(const ManagedResource&, const ManagedResource&) = default;
};

struct ExtenderConfig {
  std::string url_prefix = {};
  // "": the extender does not take part there.
  std::string filter_verb = {}, preempt_verb = {}, prioritize_verb = {}, bind_verb = {};
  std::int64_t weight = 0;  // of its scores
  bool enable_https = false;
  ExtenderTls tls = {};
  Duration http_timeout = {};  // 0: kDefaultExtenderTimeout
  bool node_cache_capable = false;
  std::vector<ManagedResource> managed_resources = {};
  bool ignorable = false;
  friend bool operator==(const ExtenderConfig&, const ExtenderConfig&) = default;
};

inline constexpr Duration kDefaultExtenderTimeout = std::chrono::seconds(5);

}  // namespace berth::scheduler
