// SPDX-License-Identifier: Apache-2.0
// Who we are to the API server, kept fresh: files are read anew within a minute, plugins are asked
// again shortly before what they gave expires.
#pragma once

#include <atomic>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "base/log.h"
#include "base/runtime.h"
#include "base/scope.h"
#include "client/cluster_config.h"

namespace berth::client {

// What one request shows to the server. Immutable once handed out.
struct Secrets {
  std::string authorization;  // the header's value; "" for none
  net::TlsClientOptions tls;
};

// Loop-confined to its scope's executor. Files and plugins are read on a loop of their own, so a
// slow disk or plugin holds up only who waits for it.
class Credentials {
 public:
  // `loaded` is what tls_of gave when the configuration was checked.
  Credentials(Runtime&, Scope&, ClusterConfig, net::TlsClientOptions loaded, Surroundings,
              const Logger&);
  ~Credentials();

  // Fresh ones. Unauthorized (never sent) when there are none; what is merely old is given while
  // nothing newer can be had.
  void get(Done<std::shared_ptr<const Secrets>>);
  // The server answered 401 to these. True when others may be had by asking get() once more.
  bool rejected(const std::shared_ptr<const Secrets>&);

 private:
  struct Loaded {
    Secrets secrets;
    std::optional<WallTime> expires;
  };
  static Result<Loaded> load(const ClusterConfig&, const Surroundings&, const Clock&,
                             const std::atomic<bool>& stop);
  bool fresh() const;
  void reload();
  void on_loaded(Result<Loaded>);

  Runtime& runtime_;
  Scope& scope_;
  const Logger& log_;
  std::shared_ptr<const ClusterConfig> config_;
  std::shared_ptr<const Surroundings> surroundings_;
  std::shared_ptr<std::atomic<bool>> stop_ = std::make_shared<std::atomic<bool>>(false);
  bool files_ = false;  // something stands in a file
  std::shared_ptr<const Secrets> current_;
  Instant read_again_{};               // files
  std::optional<WallTime> ask_again_;  // a plugin
  std::optional<WallTime> expires_;
  std::optional<Instant> forced_;  // when a 401 last made us load
  bool refused_ = false;           // load before anything else is sent
  bool loading_ = false;
  std::vector<Done<std::shared_ptr<const Secrets>>> waiting_;
};

}  // namespace berth::client
