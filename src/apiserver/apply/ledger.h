// SPDX-License-Identifier: Apache-2.0
// What one write does to the managers of an object whose fields are followed.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "apiserver/apply/apply.h"
#include "apiserver/apply/managers.h"
#include "apiserver/apply/walk.h"

namespace berth::apiserver {

// Thread-compatible; for one write. The row outlives it.
class Ledger {
 public:
  Ledger(const KindRow&, const ManagerNote&);

  Managers managers = {};

  // What differs belongs to the manager, and to nobody else.
  void update(const json::Value& live, const json::Value& next, const std::string& name);

  // A new object's only manager, as an entry; null: there is nothing to manage. No value: update()
  // has to find it.
  std::optional<json::Value> create(const KindRow&, Edit&, const json::Value& empty,
                                    const std::string& name) const;

  // The same as update() where only few of the managers are concerned: the others' entries stay as
  // they stand. Between `live` and `next` segments may be left out that are equal. No value: it
  // takes update().
  std::optional<json::Value> update_some(json::List entries, const json::Value& live,
                                         const json::Value& next, const std::string& name,
                                         json::Arena&);

  struct Conflict {
    std::string manager, shown;  // its id, and as messages name it
    std::vector<PathElement> path;
  };

  // The merged document; nothing where it is the live one. Conflicts, unless forced, leave the
  // managers as they are.
  std::optional<json::Value> apply(const json::Value& live, const json::Value& config,
                                   const std::string& name, bool force,
                                   std::vector<Conflict>& conflicts,
                                   const boost::json::storage_ptr&);

 private:
  void fit();
  Manager updater(const std::string& name) const;
  // What a write gave another value, and what it took away, as far as the endpoint takes notice.
  struct Change {
    FieldSet touched, gone;
  };
  Change noticed(Comparison) const;
  void hand_over(const Change&, const std::string& name);
  void take_from_others(const Change&, const std::string& own);
  json::Value pruned(const json::Value& merged_now, const FieldSet& last_fields,
                     const boost::json::storage_ptr&) const;

  Type type_;
  FieldSet reset_;  // what the endpoint takes no notice of
  std::string version_, now_, subresource_;
};

}  // namespace berth::apiserver
