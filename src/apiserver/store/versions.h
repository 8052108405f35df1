// SPDX-License-Identifier: Apache-2.0
// The versions of one object that somebody may still ask for. Nearly always there is one, so that
// one stands inline.
#pragma once

#include <algorithm>
#include <cstddef>
#include <iterator>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "base/check.h"
#include "kube/object.h"

namespace berth::apiserver {

// Where a version stands in the declared indexes: (which index, value). Shared by the versions that
// stand in the same places.
using IndexValues = std::vector<std::pair<std::size_t, std::string>>;

struct Version {
  kube::Revision revision = 0;
  kube::Object object = {};                        // not valid: there is none from here on
  std::shared_ptr<const IndexValues> values = {};  // null: none
};

// Revisions rise. Never empty once something was pushed and not popped. Thread-compatible.
class VersionChain {
 public:
  bool empty() const { return newest_.revision == 0; }
  const Version& newest() const { return newest_; }
  // What held at a revision; null before the first version that is kept.
  const Version* at(kube::Revision revision) const {
    if (newest_.revision <= revision) return empty() ? nullptr : &newest_;
    if (older_ == nullptr) return nullptr;
    const auto begin = older_->versions.begin() + static_cast<std::ptrdiff_t>(older_->begin);
    const auto after =
        std::upper_bound(begin, older_->versions.end(), revision,
                         [](kube::Revision r, const Version& v) { return r < v.revision; });
    return after == begin ? nullptr : &*std::prev(after);
  }
  void push(Version next) {
    BERTH_CHECK(next.revision > newest_.revision, "revisions rise");
    if (!empty()) {
      if (older_ == nullptr) older_ = std::make_unique<Older>();
      older_->versions.push_back(std::move(newest_));
    }
    newest_ = std::move(next);
  }
  Version pop() {  // takes the newest back
    Version popped = std::exchange(newest_, Version());
    if (older_ != nullptr) {
      newest_ = std::move(older_->versions.back());
      older_->versions.pop_back();
      drop_if_empty();
    }
    return popped;
  }
  // Drops versions that only revisions below `floor` can ask for; `dropped` is told each.
  template <class F>
  void drop_below(kube::Revision floor, F&& dropped) {
    while (older_ != nullptr) {
      const std::size_t next = older_->begin + 1;
      const kube::Revision after =
          next < older_->versions.size() ? older_->versions[next].revision : newest_.revision;
      if (after > floor) return;
      dropped(std::exchange(older_->versions[older_->begin], Version()));
      older_->begin = next;
      // What is dropped from the front is moved up only when half is gone: O(1) each.
      if (older_->begin * 2 >= older_->versions.size() && !drop_if_empty()) {
        older_->versions.erase(older_->versions.begin(),
                               older_->versions.begin() + static_cast<std::ptrdiff_t>(next));
        older_->begin = 0;
      }
    }
  }
  std::size_t size() const {
    return empty() ? 0 : 1 + (older_ == nullptr ? 0 : older_->versions.size() - older_->begin);
  }

 private:
  struct Older {
    std::vector<Version> versions;  // oldest first
    std::size_t begin = 0;
  };
  bool drop_if_empty() {
    if (older_->begin < older_->versions.size()) return false;
    older_.reset();
    return true;
  }
  Version newest_;
  std::unique_ptr<Older> older_;  // null: none; else not empty
};

}  // namespace berth::apiserver
