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

#include <sys/types.h>

#include "berth_up.h"
#include "wire.h"

namespace berth::e2e {

// Works on a thread of its own from its making to its end. Thread-safe.
class Neighbour {
 public:
  Neighbour(const Access&, pid_t server);
  ~Neighbour();
  Neighbour(const Neighbour&) = delete;
  Neighbour& operator=(const Neighbour&) = delete;

  // Each is: create, read, list, patch, see it in a watch, delete; and a pod that comes to run.
  std::size_t rounds() const { return rounds_; }
  std::vector<std::string> complaints() const;
  // The most CPU time that the server used while a request was not answered, or while a watch did
  // not show what it was to show, since the last call. Other work on the machine is not in it.
  std::chrono::milliseconds longest_wait() {
    return std::chrono::milliseconds(longest_.exchange(0));
  }

 private:
  void run(const Access&);
  bool round(conformance::Wire&, conformance::Stream& maps, conformance::Stream& pods);
  bool does(conformance::Wire&, int code, const char* method, const std::string& target,
            const std::string& body = {}, const char* type = "application/json");
  bool sees(conformance::Stream&, const std::string& name, const std::string& text);
  std::chrono::milliseconds server_cpu();
  void waited_since(std::chrono::milliseconds server_cpu);
  void complain(std::string);

  pid_t server_;
  std::atomic<bool> stop_ = false;
  std::atomic<std::size_t> rounds_ = 0;
  std::atomic<std::int64_t> longest_ = 0;  // ms
  mutable std::mutex mutex_;
  std::vector<std::string> complaints_;
  std::thread thread_;
};

}  // namespace berth::e2e
