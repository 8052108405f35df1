// SPDX-License-Identifier: Apache-2.0
// A cluster as it was listed once, for whoever asks a question and goes: Testbeds, jobs,
// Schedulings, ledgers, nodes and pods.
#pragma once

#include <map>
#include <string_view>
#include <vector>

#include "runtime/view.h"

namespace berth::controllers {

// With the indexes of controllers/slot_sight.h. Thread-compatible.
class Listed final : public runtime::Lookup {
 public:
  void add(const kube::Object&);

  const kube::Object* get(kube::KindId, const kube::Key&) const override;
  std::vector<const kube::Object*> list(kube::KindId) const override;
  std::vector<const kube::Object*> list(kube::KindId, std::string_view ns) const override;
  std::vector<const kube::Object*> by_index(kube::KindId, std::string_view index,
                                            std::string_view value) const override;
  kube::Revision seen(kube::KindId) const override { return 0; }

 private:
  std::map<kube::KindId, std::map<kube::Key, kube::Object>> objects_;
};

}  // namespace berth::controllers
