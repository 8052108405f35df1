// SPDX-License-Identifier: Apache-2.0
#include "json/strategic_order.h"

#include <algorithm>
#include <bit>
#include <iterator>
#include <optional>
#include <utility>

namespace berth::json {

namespace {

std::optional<std::size_t> rank(const Ranks& ranks, const Item& item) {
  const auto found = ranks.find(item.identity);
  if (found == ranks.end()) return std::nullopt;
  return found->second;
}

void sort_by(const Ranks& ranks, std::vector<Item>& items) {
  const bool all_known =
      std::all_of(items.begin(), items.end(), [&](const Item& item) { return rank(ranks, item); });
  if (all_known || items.size() > 20) {
    std::stable_sort(items.begin(), items.end(),
                     [&](const Item& a, const Item& b) { return rank(ranks, a) < rank(ranks, b); });
    return;
  }
  // k8s 1.36: what the order does not name counts as less than anything else, even than another
  // such item. That is no order at all; the result is that of Go's sort, by insertion in short
  // lists.
  for (std::size_t i = 1; i < items.size(); ++i)
    for (std::size_t j = i; j > 0; --j) {
      const auto a = rank(ranks, items[j]);
      const auto b = rank(ranks, items[j - 1]);
      if (a && b && *a >= *b) break;
      std::swap(items[j], items[j - 1]);
    }
}

}  // namespace

bool is_text(const Value& value, std::string_view text) {
  return value.is_string() &&
         std::string_view(value.get_string().data(), value.get_string().size()) == text;
}

bool has_directive(const Value& value) {
  return value.is_object() && value.get_object().contains(kDirective);
}

bool says_delete(const Value& value) {
  return has_directive(value) && is_text(value.get_object().at(kDirective), "delete");
}

Ranks ranks_of(const std::vector<std::string>& identities) {
  Ranks ranks;
  for (std::size_t i = 0; i < identities.size(); ++i) ranks.try_emplace(identities[i], i);
  return ranks;
}

List arrange(std::vector<Item> from_patch, std::vector<Item> server_only, const Ranks& patch_order,
             const Ranks& server_order, const boost::json::storage_ptr& storage) {
  const auto settle = [](const Ranks& order, std::vector<Item>& items) {
    const auto deletes = std::stable_partition(
        items.begin(), items.end(), [](const Item& item) { return !says_delete(item.value); });
    std::vector<Item> last(std::make_move_iterator(deletes), std::make_move_iterator(items.end()));
    items.erase(deletes, items.end());
    sort_by(order, items);
    std::move(last.begin(), last.end(), std::back_inserter(items));
  };
  settle(patch_order, from_patch);
  settle(server_order, server_only);

  List out(storage);
  out.reserve(from_patch.size() + server_only.size());
  std::size_t mine = 0;
  std::size_t theirs = 0;
  while (mine < server_only.size() || theirs < from_patch.size()) {
    bool take_mine = theirs == from_patch.size();
    if (!take_mine && mine < server_only.size()) {
      const auto a = rank(server_order, server_only[mine]);
      const auto b = rank(server_order, from_patch[theirs]);
      take_mine = a && b && *a < *b;
    }
    out.push_back(std::move(take_mine ? server_only[mine++].value : from_patch[theirs++].value));
  }
  return out;
}

std::vector<std::string> order_without_duplicates(const std::vector<std::string>& live,
                                                  const std::vector<std::string>& patch) {
  if (live.empty() || live.size() > 512 || live.size() + patch.size() > std::bit_ceil(live.size()))
    return live;
  std::vector<std::string> both = live;
  both.insert(both.end(), patch.begin(), patch.end());
  std::size_t size = both.size();
  for (std::size_t i = 0; i < size; ++i)
    for (std::size_t j = i + 1; j < size;) {
      if (both[i] == both[j]) {
        both[j] = both[--size];
      } else {
        ++j;
      }
    }
  both.resize(live.size());
  return both;
}

}  // namespace berth::json
