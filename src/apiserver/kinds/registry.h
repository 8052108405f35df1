// SPDX-License-Identifier: Apache-2.0
// Which kinds are served now: the built-in ones and what CRDs and the lab have added. Readers hold
// a snapshot that never changes; whoever adds a kind swaps it.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <span>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "apiserver/kinds/kind_row.h"

namespace berth::apiserver {

// Immutable, thread-safe.
class Kinds {
 public:
  explicit Kinds(std::vector<std::shared_ptr<const KindRow>> rows, std::uint64_t edition);

  const KindRow* find(kube::KindId) const;
  const KindRow* find(std::string_view group, std::string_view version,
                      std::string_view plural) const;
  bool serves(std::string_view group, std::string_view version) const;
  std::span<const KindRow* const> rows() const { return rows_; }  // for discovery
  std::uint64_t edition() const { return edition_; }              // rises with every swap

 private:
  std::vector<std::shared_ptr<const KindRow>> owned_;
  std::vector<const KindRow*> rows_;
  std::unordered_map<std::uint16_t, const KindRow*> by_id_;
  std::map<std::string, const KindRow*, std::less<>> by_path_;  // "apps/v1/deployments"
  std::uint64_t edition_;
};

// now() from any thread; changes from the API server's loop only.
class KindRegistry {
 public:
  KindRegistry();  // the built-in kinds

  std::shared_ptr<const Kinds> now() const;
  // All that one source (a CRD's name, "metrics.k8s.io") serves; replaces what it served before.
  // Nothing takes the source away.
  void serve(const std::string& source, std::vector<KindRow> rows);
  // Called after each change. The one listener is the server.
  void on_change(std::function<void()> listener) { changed_ = std::move(listener); }

 private:
  void swap();

  std::map<std::string, std::vector<std::shared_ptr<const KindRow>>> added_;
  std::uint64_t edition_ = 0;
  std::function<void()> changed_;
  mutable std::mutex mutex_;
  std::shared_ptr<const Kinds> now_;
};

}  // namespace berth::apiserver
