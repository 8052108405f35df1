// SPDX-License-Identifier: Apache-2.0
// Clients that write to a server which may die at any moment, and remember what it had promised.
#pragma once

#include <atomic>
#include <map>
#include <mutex>
#include <set>
#include <string>
#include <vector>

#include "base/random.h"
#include "berth_up.h"
#include "kube/object.h"
#include "wire.h"

namespace berth::e2e {

// A ConfigMap as it was answered, or as a list has it. value "": it is not there.
struct Version {
  kube::Revision revision = 0;
  std::string value = {};
};

// What is there, read through the API. Fails the test where an object is only half of one.
struct Everything {
  kube::Revision revision = 0;  // of the list
  std::map<std::string, Version> objects = {};
};
Result<Everything> everything(conformance::Wire&);

// One ConfigMap's story over all lives of the server. While its server lives, only its writer
// touches it.
struct Story {
  Version promised = {};
  bool asked = false;            // something was sent and not answered
  std::string asked_value = {};  // "": to delete it
};

// What all writers know together. Thread-safe.
class Promises {
 public:
  void answered(kube::Revision);
  kube::Revision newest() const { return newest_; }
  std::size_t writes() const { return writes_; }

  // The one object that all of them write.
  void shared_asked(const std::string& value);
  void shared_answered(const Version&);
  void check_shared(const Version& found);

 private:
  std::atomic<kube::Revision> newest_ = 0;
  std::atomic<std::size_t> writes_ = 0;
  std::mutex mutex_;
  Version shared_;
  std::set<std::string> shared_asked_;  // since the last check
};
inline constexpr const char* kShared = "shared";

// Creates, replaces, patches, applies and deletes ConfigMaps of its own, one request after the
// other on one connection.
class Scribe {
 public:
  Scribe(int number, Promises& promises, Random random)
      : number_(number), promises_(promises), random_(std::move(random)) {}
  // Until the server is gone, or `stop`. What else goes wrong is in `complaints`.
  void run(const Access&, const std::atomic<bool>& stop);
  // Compares with what is there after a restart, and goes on from that.
  void check(const Everything&);
  bool waits() const;  // something was sent, and the server died before it had answered

  std::vector<std::string> complaints;
  const std::map<std::string, Story>& stories() const { return stories_; }
  std::size_t unanswered_kept = 0, unanswered_gone = 0;

 private:
  bool write_own(conformance::Wire&);     // false: the server is gone
  bool write_shared(conformance::Wire&);  // the same
  std::string next_value();
  net::HttpRequest request_for(const std::string& name, const Story&, const std::string& value);

  int number_;
  Promises& promises_;
  Random random_;
  std::uint64_t values_ = 0;
  std::map<std::string, Story> stories_;
};

// A watch for as long as the server lives. Nobody may see what is gone afterwards.
class Witness {
 public:
  void run(const Access&, kube::Revision after, std::atomic<bool>& watching);
  void check(const Everything&, const std::vector<Scribe>&);
  std::vector<std::string> complaints;
  std::size_t seen() const { return last_.size(); }

 private:
  std::map<std::string, Version> last_;
};

}  // namespace berth::e2e
