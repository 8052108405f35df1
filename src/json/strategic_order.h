// SPDX-License-Identifier: Apache-2.0
// In which order a strategic merge leaves the items of a list. Private to the merge.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "json/value.h"

namespace berth::json {

inline constexpr const char* kDirective = "$patch";

bool is_text(const Value&, std::string_view text);
bool has_directive(const Value&);
bool says_delete(const Value&);

// An element of a list, with what tells it from the others: its merge key's value, or itself.
struct Item {
  Value value;
  std::string identity;
};

// Where an identity stands in a list for the first time.
using Ranks = std::unordered_map<std::string, std::size_t>;

Ranks ranks_of(const std::vector<std::string>& identities);

// Items of the patch in the patch's order, the server's own between them where the live list's
// order says so; the patch's come first otherwise. Items that say "delete" stay behind their group.
List arrange(std::vector<Item> from_patch, std::vector<Item> server_only, const Ranks& patch_order,
             const Ranks& server_order, const boost::json::storage_ptr& storage);

// The live list's order after scalars of a patch were added to it.
// k8s 1.36: duplicates are dropped by moving the last item into their place. That happens in the
// live list's own memory where it has room for the patch's items, and the order is read from there.
// (A Go list that grew has room for a power of two, up to 512.)
std::vector<std::string> order_without_duplicates(const std::vector<std::string>& live,
                                                  const std::vector<std::string>& patch);

}  // namespace berth::json
