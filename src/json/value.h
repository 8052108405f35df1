// SPDX-License-Identifier: Apache-2.0
// A document as a tree that can be changed: Boost.JSON in an arena, read and printed our way. Costs
// about four times its text, so it is for what is being edited (patches, defaulting), never for
// what is kept. Only json/, apiserver/ and tests include this.
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include <boost/json/array.hpp>
#include <boost/json/monotonic_resource.hpp>
#include <boost/json/object.hpp>
#include <boost/json/string.hpp>
#include <boost/json/value.hpp>

#include "base/result.h"
#include "json/limits.h"

namespace berth::json {

using Value = boost::json::value;  // kinds used: null, bool, int64, double, string, array, object
using List = boost::json::array;
using Dict = boost::json::object;  // keeps the order of its members

// Memory for the values of one request; given back all at once. Values must not outlive it.
// Thread-compatible.
class Arena {
 public:
  Arena() { reset(); }
  Arena(const Arena&) = delete;
  Arena& operator=(const Arena&) = delete;

  boost::json::storage_ptr storage() { return &*memory_; }
  // Made anew: released, it would go on doubling the size of its blocks, without end.
  void reset() { memory_.emplace(first_, sizeof first_); }

 private:
  unsigned char first_[4096];
  std::optional<boost::json::monotonic_resource> memory_;
};

// Whole numbers that fit are int64, all others double, as in Kubernetes' decoder: a number beyond
// 64 bits loses digits, one too large for a double is refused. Of members with the same name the
// last one wins.
Result<Value> parse(std::string_view text, Arena&, const Limits& = {});
// The same for bytes that a Cursor has checked before.
Value parse_good(std::string_view good_json, Arena&);

void append_value(std::string& out, const Value&);
std::string print(const Value&);

// Same kinds, same values; the order of members does not matter. 1 and 1.0 differ.
bool equal(const Value&, const Value&);

// Removes a member and keeps the order of the others.
void erase(Dict&, std::string_view key);
// Levels of arrays and objects: 0 for a scalar, 1 for {}.
unsigned depth_of(const Value&);

// Takes every member that is null out of every object. k8s 1.36: where a patch brings something
// new, this holds even inside of arrays; RFC 7386 takes those as they are.
void drop_nulls(Value&);

}  // namespace berth::json
