// SPDX-License-Identifier: Apache-2.0
// Whether anybody in the cluster wants a say in what simulated kubelets report of pods. Where
// nobody does, a status needs no request: it would be taken apart, merged, checked and put together
// only to give the very bytes it came with.
#pragma once

#include <array>
#include <optional>

#include "apiserver/store/store.h"

namespace berth::lab {

// Loop-confined to the store's executor. The store outlives it.
class Objectors final : private apiserver::WatchSink {
 public:
  explicit Objectors(apiserver::Store&);
  ~Objectors() override;
  bool any() const;

 private:
  void ready(apiserver::WatchId) override;
  void follow(std::size_t which);
  bool look() const;

  apiserver::Store& store_;
  std::array<apiserver::WatchId, 3> watches_{};
  mutable std::optional<bool> any_;  // nothing: something changed
};

}  // namespace berth::lab
