// SPDX-License-Identifier: Apache-2.0
// Writes on their way to the journal.
#pragma once

#include <vector>

#include "apiserver/store/store.h"

namespace berth::apiserver {

struct Store::Pending {
  Table* table = nullptr;
  Entry* entry = nullptr;
  kube::Revision revision = 0;
  std::int64_t row_before = 0;  // what undoing it gives back
  Done<Committed> done = {};
};

// A batch: what is collected while the one before is being committed.
struct Store::Collected {
  std::uint64_t number = 1;
  std::vector<Pending> writes = {};
  std::vector<JournalRow> rows = {};  // the last version of each
  kube::Revision reserved = 0;
};

}  // namespace berth::apiserver
