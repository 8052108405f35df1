// SPDX-License-Identifier: Apache-2.0
// Where a store keeps what must survive the process. A journal holds the current state only: one
// row an object. The store hands over one batch at a time and answers its writers once the batch is
// kept.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "base/result.h"
#include "base/scope.h"
#include "kube/object.h"

namespace berth::apiserver {

// One change of one row.
struct JournalRow {
  std::int64_t id = 0;
  kube::Object object = {};  // not valid: the row goes, if it was ever there
};

struct JournalBatch {
  std::vector<JournalRow> rows = {};  // each id at most once
  kube::Revision revision = 0;        // of the newest write so far
  kube::Revision reserved = 0;        // none above it was ever given out
};

// Something the journal had and has no longer.
struct Damage {
  std::string file;
  std::string key;  // "pods/default/web"; "" where it cannot be told
  std::string what;
  std::string text() const;
};

struct Recovered {
  kube::Revision revision = 0;  // of the newest write; 0: the journal is new
  kube::Revision reserved = 0;
  std::vector<JournalRow> rows = {};  // by id
  std::vector<Damage> lost = {};      // what a salvage could not save
};

enum class Recovery : std::uint8_t {
  kWhole,    // damage is an error that names what is damaged
  kSalvage,  // damage is left out, and told in `lost`; the journal is whole again afterwards
};

// recover() once, before everything else. At most one commit or probe at a time.
class Journal {
 public:
  virtual ~Journal() = default;
  virtual Result<Recovered> recover(Recovery = Recovery::kWhole) = 0;
  // All of the batch is kept, or nothing of it. An error says why, for the writers.
  virtual void commit(JournalBatch, Done<Ok>) = 0;
  // Could a batch be kept now? Asked after one could not.
  virtual void probe(Done<Ok>) = 0;
};

// "pods/default/web", "jobs.batch/default/sum": how a row is named to people.
std::string journal_key(const kube::Object&);
// The error of a recovery that found damage.
Error damaged(const std::string& place, const std::vector<Damage>&);

}  // namespace berth::apiserver
