// SPDX-License-Identifier: Apache-2.0
// Events are of interest for a while only: an hour after its last change one goes by itself.
#pragma once

#include <deque>

#include "apiserver/store/store.h"
#include "base/scope.h"

namespace berth::apiserver {

// Loop-confined to the store's. No timer runs while there are no events.
class EventExpiry {
 public:
  EventExpiry(Scope& scope, Store& store, Duration after)
      : scope_(scope), store_(store), after_(after) {}

  void note(const kube::Object& event);  // as it was just written
  void note_all();                       // that are there already: from now on

 private:
  struct Due {
    Instant at;
    kube::Key key;
    kube::Revision revision;
  };
  void arm();
  void expire();

  Scope& scope_;
  Store& store_;
  Duration after_;
  std::deque<Due> due_;  // by time, as all live equally long
  bool armed_ = false;
};

}  // namespace berth::apiserver
