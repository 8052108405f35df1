// SPDX-License-Identifier: Apache-2.0
// What becomes of slots, in numbers. Everything but conflicts is told from changes of objects, one
// after another, so whoever replays a watch gets the same values.
#pragma once

#include <deque>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include "base/metrics.h"
#include "policy/slots/ledger.h"
#include "runtime/observer.h"

namespace berth::controllers {

// Loop-confined to the home's. The metrics outlive it.
class SlotsMetrics final : public runtime::Observer {
 public:
  explicit SlotsMetrics(Metrics&);

  std::vector<kube::KindId> kinds() const override;
  void begin() override;
  void changed(const runtime::Change&, WallTime now) override;
  void outdated(kube::KindId) override;

 private:
  void testbed(const runtime::Change&);
  void ledger(const runtime::Change&, WallTime now);
  void pod(const runtime::Change&, WallTime now);

  Labelled<Gauge> slots_, bytes_;
  Labelled<Counter> grants_;
  Histogram wait_, handover_;
  Counter conflicts_;
  std::map<kube::Key, slots::Ledger> ledgers_;
  std::map<kube::Key, WallTime> submitted_;  // Schedulings
  // When ghosts left a node, by Testbed and node: the executors in their places come next.
  std::map<std::pair<kube::Key, std::string>, std::deque<WallTime>> left_;
};

}  // namespace berth::controllers
