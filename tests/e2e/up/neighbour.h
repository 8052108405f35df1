// SPDX-License-Identifier: Apache-2.0
// A client that means no harm and does its work while others do: writes, reads, watches, and has
// pods run.
#pragma once

#include <atomic>
#include <chrono>
#include <mutex>
#include <string>
#include <thread>
#include <vector>

#include "berth_up.h"
#include "wire.h"

namespace berth::e2e {

// Works on a thread of its own from its making to its end. Thread-safe.
class Neighbour {
 public:
  explicit Neighbour(const Access&);
  ~Neighbour();
  Neighbour(const Neighbour&) = delete;
  Neighbour& operator=(const Neighbour&) = delete;

  // Each is: create, read, list, patch, see it in a watch, delete; and a pod that comes to run.
  std::size_t rounds() const { return rounds_; }
  std::vector<std::string> complaints() const;
  // The longest that a request took, or that a watch did not show what it was to show, since the
  // last call.
  std::chrono::milliseconds longest_wait() {
    return std::chrono::milliseconds(longest_.exchange(0));
  }

 private:
  void run(const Access&);
  bool round(conformance::Wire&, conformance::Stream& maps, conformance::Stream& pods);
  bool does(conformance::Wire&, int code, const char* method, const std::string& target,
            const std::string& body = {}, const char* type = "application/json");
  bool sees(conformance::Stream&, const std::string& name, const std::string& text);
  void waited_since(std::chrono::steady_clock::time_point);
  void complain(std::string);

  std::atomic<bool> stop_ = false;
  std::atomic<std::size_t> rounds_ = 0;
  std::atomic<std::int64_t> longest_ = 0;  // ms
  mutable std::mutex mutex_;
  std::vector<std::string> complaints_;
  std::thread thread_;
};

}  // namespace berth::e2e
