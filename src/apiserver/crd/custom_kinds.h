// SPDX-License-Identifier: Apache-2.0
// Follows the CustomResourceDefinitions in the store: accepts their names, serves their kinds, and
// when one is deleted takes its objects away before it goes itself.
#pragma once

#include <map>
#include <set>
#include <string>
#include <vector>

#include "apiserver/crd/custom_rows.h"
#include "apiserver/kinds/registry.h"
#include "apiserver/store/store.h"
#include "base/log.h"
#include "base/scope.h"

namespace berth::apiserver {

// Loop-confined to the store's executor; outlives its scope. What the store has is served when the
// constructor returns.
class CustomKinds final : private WatchSink {
 public:
  CustomKinds(Scope& parent, Store&, KindRegistry&, Logger);
  CustomKinds(const CustomKinds&) = delete;
  CustomKinds& operator=(const CustomKinds&) = delete;

 private:
  struct Served {
    kube::Object definition;  // as it was compiled
    kube::KindId table;       // as which its objects are stored, whatever version is marked later
  };

  void ready(WatchId) override;
  void look_soon();
  void look();
  void drain(WatchId&);
  void settle();
  void accept(const kube::Object& definition, std::vector<kube::Object>& all);
  void serve(const kube::Object& definition);
  bool make_room_for(const CustomNames&);
  kube::KindId table_of(const kube::Kind& stored) const;
  void withdraw_others(const std::vector<kube::Object>& all);
  void clean_up(const kube::Object& definition);
  std::size_t remove_instances(kube::KindId table);
  void watch_instances(kube::KindId table);
  void write(const kube::Object& old, kube::Object next);
  void erase(const kube::Object& old);
  std::vector<kube::Object> list(kube::KindId, std::size_t limit) const;
  Done<Committed> answer(std::string name);
  WallTime now() const { return scope_.executor().clock().wall(); }

  Scope& scope_;
  Store& store_;
  KindRegistry& kinds_;
  Logger log_;
  WatchId watch_ = WatchId::kNone;
  std::map<kube::KindId, WatchId> instances_;  // of definitions that are going
  std::map<std::string, Served> served_;       // by name
  std::set<std::string> in_flight_;            // keys of writes that are not answered yet
  std::size_t learnt_ = 0;                     // kinds
  bool looking_ = false;
};

}  // namespace berth::apiserver
