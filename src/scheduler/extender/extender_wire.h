// SPDX-License-Identifier: Apache-2.0
// What is said to an extender and what it answers (k8s.io/kube-scheduler/extender/v1). Pure. The Go
// types carry no JSON names, so requests have capitals and replies are read without case.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "kube/object.h"

namespace berth::scheduler {

using NodeNames = std::shared_ptr<const std::vector<std::string>>;

// A pod and the nodes to choose from, in the order of the search.
struct ExtenderArgs {
  kube::Object pod = {};
  NodeNames names = {};                  // always all of them
  std::vector<kube::Object> nodes = {};  // the same nodes; only where !node_cache_capable
};

struct ExtenderFilterResult {
  struct Kept {
    std::string name;
    kube::Object node;  // as the extender wrote it; not valid() where it answered names
  };
  std::vector<Kept> kept;  // in the extender's order, which decides ties
  std::map<std::string, std::string, std::less<>> failed, unresolvable;  // node -> message
};

struct HostScore {
  std::string host;
  std::int64_t score = 0;  // 0..10 by convention; not enforced
  friend bool operator==(const HostScore&, const HostScore&) = default;
};

struct ExtenderVictims {
  std::vector<kube::Object> pods = {};  // only where !node_cache_capable
  std::vector<std::string> uids = {};   // always
  std::int64_t pdb_violations = 0;
};
using VictimsByNode = std::map<std::string, ExtenderVictims, std::less<>>;

struct ExtenderPreemptArgs {
  kube::Object pod = {};
  VictimsByNode victims = {};
};

struct ExtenderBindArgs {
  std::string name, ns, uid, node;
};

std::string extender_request(const ExtenderArgs&, bool names_only);
std::string extender_request(const ExtenderPreemptArgs&, bool uids_only);
std::string extender_request(const ExtenderBindArgs&);

// The replies. Whatever follows the first JSON value is not looked at, as Go's decoder does. An
// error says what was expected where.
//
// `from` is the extender's URL, for messages. k8s 1.36: names count only if the extender caches
// nodes; whole nodes always count, whether we know them or not, and neither means "none".
Result<ExtenderFilterResult> read_filter_reply(std::string_view text, const ExtenderArgs& asked,
                                               bool names_only, std::string_view from);
Result<std::vector<HostScore>> read_prioritize_reply(std::string_view text);
Result<VictimsByNode> read_preempt_reply(std::string_view text);  // with uids, without pods
Result<Ok> read_bind_reply(std::string_view text);

// Finds the end of the first JSON value in text that arrives piece by piece, so that nobody waits
// for, or holds, what comes behind it. Checks no more than brackets and quotes. Thread-compatible.
class ValueEnd {
 public:
  enum class Found : std::uint8_t { kNotYet, kEnd, kGarbage };
  Found feed(std::string_view piece);           // after kNotYet only
  std::size_t length() const { return seen_; }  // with kEnd: up to the end of the value

 private:
  std::size_t seen_ = 0;
  std::size_t depth_ = 0;
  bool started_ = false, string_ = false, escaped_ = false;
};

}  // namespace berth::scheduler
