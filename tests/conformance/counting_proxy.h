// SPDX-License-Identifier: Apache-2.0
// Hands bytes on between a client and a server and counts those that come back, whatever they are:
// the only way to see from outside how large an answer was on the wire.
#pragma once

#include <atomic>
#include <cstdint>
#include <thread>

namespace berth::conformance {

// Serves one connection. Thread-safe.
class CountingProxy {
 public:
  explicit CountingProxy(std::uint16_t server_port);  // on 127.0.0.1
  ~CountingProxy();                                   // ends the connection
  std::uint16_t port() const { return port_; }
  std::size_t received() const { return received_; }  // bytes from the server so far

 private:
  void run(std::uint16_t server_port);
  int listener_ = -1;
  std::uint16_t port_ = 0;
  std::atomic<std::size_t> received_ = 0;
  std::atomic<bool> stop_ = false;
  std::thread thread_;
};

}  // namespace berth::conformance
