// SPDX-License-Identifier: Apache-2.0
// Somebody who changes a cluster all the time and does not care that the server dies under them.
#pragma once

#include <atomic>
#include <cstddef>
#include <string>
#include <vector>

#include "base/random.h"
#include "session.h"

namespace berth::e2e {

// Creates pods, patches each a few times and deletes about half, in an order drawn by the seed,
// with several objects under way. Every step is repeated until the server has said how it ended.
// Lives on the session's loop; progress() is for any thread.
class Writer {
 public:
  Writer(Session& session, std::string ns, std::size_t objects, std::uint64_t seed);
  ~Writer();
  void start();
  double progress() const { return static_cast<double>(done_) / static_cast<double>(total_); }
  bool finished() const { return done_ == total_; }
  std::size_t steps() const { return total_; }
  std::size_t repeated() const { return repeated_; }  // steps whose first attempt failed

 private:
  struct Work {
    std::size_t index = 0;
    std::string name;
    int patches = 0;
    bool erase = false;
    int step = 0;  // 0: create, 1..patches: patch, then erase
    bool again = false;
  };
  void next_object();
  void take_step(Work&);
  void after_step(Work&, const Error*);
  void retry(Work&);

  Session& session_;
  std::string ns_;
  Scope& scope_;
  std::vector<Work> work_;
  std::size_t next_ = 0, total_ = 0;
  std::atomic<std::size_t> done_{0}, repeated_{0};
};

}  // namespace berth::e2e
