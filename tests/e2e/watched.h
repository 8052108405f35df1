// SPDX-License-Identifier: Apache-2.0
// An informer whose every delivery is checked: what a handler may rely on, as a state machine.
#pragma once

#include <map>
#include <memory>
#include <string>
#include <vector>

#include "client/informer.h"
#include "session.h"

namespace berth::e2e {

// Thread-compatible: one test thread uses it; the informer lives on the session's loop.
class Watched {
 public:
  Watched(Session& session, client::FeedOptions feed);
  ~Watched();

  bool synced();
  Contents contents();
  client::FeedStats stats();
  std::size_t delivered();
  std::vector<std::string> violations();  // of what an informer promises its handlers

 private:
  struct Known {
    bool present = false;
    kube::Revision highest = 0;
    std::string uid;
  };
  void on_added(const kube::Object&);
  void on_updated(const kube::Object& before, const kube::Object& after);
  void on_deleted(const kube::Object&);
  void rise(Known&, const kube::Object&, const char* what);

  Session& session_;
  Scope& scope_;
  std::unique_ptr<client::Informer<>> informer_;
  std::map<kube::Key, Known> known_;
  std::size_t delivered_ = 0;
  std::vector<std::string> violations_;
};

}  // namespace berth::e2e
