// SPDX-License-Identifier: Apache-2.0
// The external-scheduler interface over HTTP: as the thesis' client knows it under /external, where
// the namespace is hidden, and the same with namespaces under /external/v1/namespaces. Under
// /external/v1 itself it is the configured one.
#pragma once

#include <memory>
#include <string>

#include "client/api.h"
#include "gateway/feeds.h"
#include "gateway/routes.h"
#include "gateway/stomp_session.h"
#include "gateway/timelines.h"

namespace berth::gateway {

struct RestOptions {
  std::string ns = "default";  // what /external means
  // The thesis answers 304 to the deletion of nothing. True: 404, as under /external/v1.
  bool strict_status = false;
};

// Loop-confined to the gateway's; outlives its routes. What it refers to outlives it.
class Rest {
 public:
  Rest(Scope&, client::Api&, Feeds&, Auth&, Timelines&, RestOptions);

  void mount(Routes&);
  // For STOMP's SEND: asks for the right first.
  Submit submit();

 private:
  struct Place {
    std::string prefix = {}, ns = {};  // ns "": the path's {ns}
    bool thesis = false;
  };
  void mount(Routes&, const Place&);
  void mount_testbeds(Routes&, const Place&);
  void mount_jobs(Routes&, const Place&);
  void mount_schedulings(Routes&, const Place&);
  std::string ns_of(const Place&, const Request&) const;
  std::vector<Access> submit_rights(const std::string& ns, const std::string& name) const;
  void put_scheduling(std::string ns, std::string body, const kube::User&, bool dry_run,
                      Done<kube::Object>);

  Scope& scope_;
  client::Api& api_;
  Feeds& feeds_;
  Auth& auth_;
  Timelines& timelines_;
  RestOptions options_;
};

}  // namespace berth::gateway
