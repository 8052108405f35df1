// SPDX-License-Identifier: Apache-2.0
// Strategic merge patch as apimachinery's strategicpatch applies it. Its readings are kept where
// they are odd (marked "k8s 1.36"); where it depends on the order of a Go map, the patch's own
// order decides here; where it would panic, this refuses.
#include <algorithm>
#include <map>
#include <optional>
#include <utility>
#include <vector>

#include <fmt/format.h>

#include "json/patch.h"
#include "json/strategic_order.h"
#include "json/value.h"
#include "json/writer.h"

namespace berth::json {

namespace {

constexpr const char* kRetainKeys = "$retainKeys";
constexpr std::string_view kDeleteList = "$deleteFromPrimitiveList";
constexpr std::string_view kSetOrder = "$setElementOrder";

std::string_view key_of(const boost::json::key_value_pair& member) {
  return {member.key().data(), member.key().size()};
}

// A value for an error message.
std::string brief(const Value& value) {
  std::string text = print(value);
  if (text.size() <= 100) return text;
  std::size_t end = 97;
  while ((static_cast<unsigned char>(text[end]) & 0xC0) == 0x80)
    --end;  // not inside of a character
  return text.substr(0, end) + "...";
}

// A value as Go's %v shows it, which is how Kubernetes tells of a patch.
std::string go_text(const Value& value) {
  if (value.is_null()) return "<nil>";
  if (value.is_string()) return std::string(value.get_string());
  std::string out;
  if (value.is_array()) {
    for (const Value& each : value.get_array()) out += (out.empty() ? "" : " ") + go_text(each);
    return "[" + out + "]";
  }
  if (!value.is_object()) return print(value);
  std::map<std::string_view, const Value*> members;
  for (const auto& member : value.get_object()) members.emplace(key_of(member), &member.value());
  for (const auto& [key, inner] : members)
    out += fmt::format("{}{}:{}", out.empty() ? "" : " ", key, go_text(*inner));
  return "map[" + out + "]";
}

std::string unknown_directive(const Dict& patch) {
  const Value& directive = patch.at(kDirective);
  return fmt::format("unknown patch type: {} in map: {}",
                     directive.is_string() ? std::string(directive.get_string())
                                           : fmt::format("%!s({})", print(directive)),
                     go_text(Value(patch)));
}

// Takes out what carries a $patch directive. False: the value itself goes.
bool remove_directives(Value& value) {
  if (value.is_object()) {
    if (has_directive(value)) return false;
    Dict& dict = value.get_object();
    for (auto at = dict.begin(); at != dict.end();)
      at = remove_directives(at->value()) ? at + 1 : dict.stable_erase(at);
  } else if (value.is_array()) {
    List& list = value.get_array();
    list.erase(
        std::remove_if(list.begin(), list.end(), [](Value& v) { return !remove_directives(v); }),
        list.end());
  }
  return true;
}

// One application of a patch. Functions answer false once error_ is set.
class Merger {
 public:
  explicit Merger(boost::json::storage_ptr storage) : storage_(std::move(storage)) {}

  bool merge_map(Value& original, Dict& patch, const Message* schema);
  Error take_error() { return std::move(error_); }

 private:
  // What the schema says about a member that is an object or a list on both sides.
  struct Strategy {
    const Message* inner = nullptr;  // null: not a message, so nothing below it can be looked up
    bool merge = false;
    bool replace = false;
    std::string_view merge_key;
  };

  bool fail(Reason reason, std::string message) {
    error_ = {.reason = reason, .message = std::move(message)};
    return false;
  }
  bool bad_patch(std::string message) { return fail(Reason::kBadRequest, std::move(message)); }
  // kube-apiserver answers 500 to these, although the patch is at fault.
  bool cannot(std::string message) { return fail(Reason::kInternalError, std::move(message)); }

  bool look_up(const Message* schema, std::string_view key, bool list, Strategy& found);
  bool identify(const Value& item, std::string_view merge_key, std::string& identity);
  bool identify_all(const List&, std::string_view merge_key, std::vector<std::string>& identities);
  bool element_kind(const List& a, const List& b, bool& maps);
  bool retain_keys(Dict& original, Dict& patch);
  bool set_orders(Dict& original, Dict& patch, const Message* schema);
  bool set_order(Dict& original, Dict& patch, const Message* schema, std::string_view key,
                 const List& order);
  bool check_order(const List& patch, const List& order, std::string_view merge_key);
  bool merge_member(Dict& original, std::string_view key, Value& change, const Message* schema);
  bool merge_list(List& original, List& patch, const Strategy&, bool deletes,
                  std::vector<std::string>* live_order);
  bool merge_scalars(List& original, List& patch, bool deletes,
                     std::vector<std::string>* live_order);
  bool merge_items(List& original, List& patch, const Strategy&,
                   std::vector<std::string>* live_order);

  boost::json::storage_ptr storage_;
  Error error_;
};

bool same_ignoring_case(std::string_view a, std::string_view b) {
  const auto lower = [](char c) { return c >= 'A' && c <= 'Z' ? static_cast<char>(c + 32) : c; };
  return std::equal(a.begin(), a.end(), b.begin(), b.end(),
                    [&](char x, char y) { return lower(x) == lower(y); });
}

bool Merger::look_up(const Message* schema, std::string_view key, bool list, Strategy& found) {
  if (schema == nullptr)
    return cannot(
        fmt::format("cannot merge into {}: what holds it is not an API object", quoted(key)));
  const Field* field = schema->find(key);
  if (field == nullptr) {  // k8s 1.36: then any case will do
    const auto at = std::find_if(schema->fields.begin(), schema->fields.end(),
                                 [&](const Field& f) { return same_ignoring_case(f.name, key); });
    if (at == schema->fields.end())
      return cannot(fmt::format("unable to find api field {} in {}", quoted(key), schema->name));
    field = &*at;
  }
  // k8s 1.36: a pointer passes for a list, whatever it points to; so does text that is bytes.
  const bool is_list = field->shape == Shape::kList || field->optional ||
                       (field->shape == Shape::kSingle && field->type == FieldType::kBytes);
  if (list && !is_list)
    return cannot(fmt::format("{} of {} is not a list", quoted(key), schema->name));
  const bool message = field->type == FieldType::kMessage && field->shape != Shape::kMap &&
                       (field->shape == Shape::kList) == list;
  found = {.inner = message ? field->message : nullptr,
           .merge = field->patch_merge,
           .replace = field->patch_replace,
           .merge_key = field->merge_key};
  return true;
}

// Values are the same when Go's == says so: kinds must agree.
bool Merger::identify(const Value& item, std::string_view merge_key, std::string& identity) {
  const Value* value = &item;
  if (!merge_key.empty()) {
    if (!item.is_object())
      return cannot(fmt::format("a list with merge key \"{}\" holds {}", merge_key, brief(item)));
    value = item.get_object().if_contains({merge_key.data(), merge_key.size()});
    if (value == nullptr)
      return cannot(
          fmt::format("{} does not contain declared merge key: {}", brief(item), merge_key));
  }
  if (value->is_structured())
    return cannot(fmt::format("{} cannot tell elements of a list apart", brief(*value)));
  identity.clear();
  if (value->is_double()) {
    identity = "d";
    append_double(identity, value->get_double() == 0 ? 0 : value->get_double());
  } else {
    append_value(identity, *value);
  }
  return true;
}

bool Merger::identify_all(const List& list, std::string_view merge_key,
                          std::vector<std::string>& identities) {
  identities.resize(list.size());
  for (std::size_t i = 0; i < list.size(); ++i)
    if (!identify(list[i], merge_key, identities[i])) return false;
  return true;
}

bool Merger::element_kind(const List& a, const List& b, bool& maps) {
  const Value* first = nullptr;
  for (const List* list : {&a, &b})
    for (const Value& element : *list) {
      if (first == nullptr) first = &element;
      if (element.is_null() || element.kind() != first->kind())
        return cannot("list element types are not identical");
    }
  if (first == nullptr) return cannot("no elements in any of the given lists");
  if (first->is_array()) return fail(Reason::kInvalid, "lists of lists are not supported");
  maps = first->is_object();
  return true;
}

bool Merger::retain_keys(Dict& original, Dict& patch) {
  const auto found = patch.find(kRetainKeys);
  if (found == patch.end()) return true;
  const Value list = std::move(found->value());
  patch.stable_erase(found);
  if (!list.is_array()) return bad_patch("invalid patch format of retainKeys");
  std::vector<std::string> retained;
  if (!identify_all(list.get_array(), "", retained)) return false;
  const Ranks keep = ranks_of(retained);
  const auto kept = [&](std::string_view key) { return keep.contains(quoted(key)); };
  for (const auto& member : patch) {
    const std::string_view key = key_of(member);
    if (member.value().is_null() || key.starts_with(kDeleteList) || key.starts_with(kSetOrder))
      continue;
    if (!kept(key)) return bad_patch("invalid patch format of retainKeys");
  }
  for (auto at = original.begin(); at != original.end();)
    at = kept(key_of(*at)) ? at + 1 : original.stable_erase(at);
  return true;
}

// The items of the patch must come in the order that is asked for.
bool Merger::check_order(const List& patch, const List& order, std::string_view merge_key) {
  if (patch.empty() || order.empty()) return true;
  std::string wanted;
  std::string candidate;
  std::size_t at = 0;
  for (const Value& item : patch) {
    if (!merge_key.empty()) {
      if (!item.is_object())
        return cannot(fmt::format("a list with merge key \"{}\" holds {}", merge_key, brief(item)));
      if (says_delete(item)) continue;
    }
    bool fine = false;
    if (at < order.size()) {
      fine = has_directive(item);
      if (!fine && !identify(item, merge_key, wanted)) return false;
      for (; at < order.size() && !fine; ++at) {
        if (!identify(order[at], merge_key, candidate)) return false;
        fine = candidate == wanted;
      }
    }
    if (!fine) return cannot("the order in the patch's list does not match its $setElementOrder");
  }
  return true;
}

bool Merger::set_orders(Dict& original, Dict& patch, const Message* schema) {
  std::vector<std::string> keys;
  for (const auto& member : patch)
    if (key_of(member).starts_with(kSetOrder)) keys.emplace_back(key_of(member));
  for (const std::string& key : keys) {
    const Value order = std::move(patch.at(key));
    erase(patch, key);
    if (!order.is_array()) return cannot("$setElementOrder is not a list");
    if (key.size() <= kSetOrder.size() || key[kSetOrder.size()] != '/')
      return bad_patch("invalid patch format of setElementOrder list");
    if (!set_order(original, patch, schema, std::string_view(key).substr(kSetOrder.size() + 1),
                   order.get_array()))
      return false;
  }
  return true;
}

// Merges one list and puts its items into the given order; the list is then done with.
bool Merger::set_order(Dict& original, Dict& patch, const Message* schema, std::string_view key,
                       const List& order) {
  const boost::json::string_view name(key.data(), key.size());
  Value* const live = original.if_contains(name);
  Value* const change = patch.if_contains(name);
  if ((live != nullptr && !live->is_array()) || (change != nullptr && !change->is_array()))
    return cannot(fmt::format("{} has a $setElementOrder but is not a list", quoted(key)));
  Strategy strategy;
  if (!look_up(schema, key, true, strategy)) return false;
  const List none(storage_);
  const List& live_list = live == nullptr ? none : live->get_array();
  const List& patch_list = change == nullptr ? none : change->get_array();
  if (!check_order(patch_list, order, strategy.merge_key)) return false;
  if (live == nullptr && change == nullptr) return true;

  bool maps = false;
  if (!element_kind(live_list, patch_list, maps)) return false;
  std::vector<std::string> live_order;
  if (!identify_all(live_list, strategy.merge_key, live_order)) return false;
  if (live == nullptr) {
    remove_directives(*change);
    original.insert_or_assign(name, std::move(*change));
  } else if (change != nullptr) {
    if (!strategy.merge) {
      *live = std::move(*change);
    } else if (!merge_list(live->get_array(), change->get_array(), strategy, false, &live_order)) {
      return false;
    }
  }
  erase(patch, key);

  std::vector<std::string> wanted;
  if (!identify_all(order, strategy.merge_key, wanted)) return false;
  const Ranks patch_order = ranks_of(wanted);
  std::vector<Item> from_patch;
  std::vector<Item> server_only;
  Value& merged = original.at(name);
  for (Value& value : merged.get_array()) {
    std::string identity;
    if (!identify(value, strategy.merge_key, identity)) return false;
    auto& group = patch_order.contains(identity) ? from_patch : server_only;
    group.push_back({std::move(value), std::move(identity)});
  }
  merged = arrange(std::move(from_patch), std::move(server_only), patch_order, ranks_of(live_order),
                   storage_);
  return true;
}

bool Merger::merge_map(Value& original, Dict& patch, const Message* schema) {
  if (const Value* directive = patch.if_contains(kDirective)) {
    if (is_text(*directive, "replace")) {
      erase(patch, kDirective);
      original = std::move(patch);  // k8s 1.36: as it stands, with nulls and directives below
      return true;
    }
    if (is_text(*directive, "delete")) {
      original = Dict(storage_);  // k8s 1.36: the member stays, empty
      return true;
    }
    return cannot(unknown_directive(patch));
  }
  Dict& into = original.get_object();
  if (!retain_keys(into, patch)) return false;
  if (!set_orders(into, patch, schema)) return false;
  for (auto& member : patch)
    if (!merge_member(into, key_of(member), member.value(), schema)) return false;
  return true;
}

bool Merger::merge_member(Dict& original, std::string_view key, Value& change,
                          const Message* schema) {
  const bool deletes = key.starts_with(kDeleteList);
  if (deletes) {
    if (key.size() <= kDeleteList.size() || key[kDeleteList.size()] != '/')
      return bad_patch("invalid patch format of primitive list");
    // k8s 1.36: without a name after the slash the directive's own name is meant.
    if (key.size() > kDeleteList.size() + 1) key.remove_prefix(kDeleteList.size() + 1);
  }
  if (change.is_null()) {
    erase(original, key);
    return true;
  }
  Value* const live = original.if_contains({key.data(), key.size()});
  if (live == nullptr || live->kind() != change.kind() || !change.is_structured()) {
    if (deletes) return true;
    drop_nulls(change);
    if (remove_directives(change)) {
      original.insert_or_assign({key.data(), key.size()}, std::move(change));
    } else {
      erase(original, key);
    }
    return true;
  }
  Strategy strategy;
  if (!look_up(schema, key, change.is_array(), strategy)) return false;
  if (change.is_array()) {
    if (strategy.merge || deletes)
      return merge_list(live->get_array(), change.get_array(), strategy, deletes, nullptr);
  } else if (!strategy.replace) {
    return merge_map(*live, change.get_object(), strategy.inner);
  }
  *live = std::move(change);
  return true;
}

bool Merger::merge_list(List& original, List& patch, const Strategy& strategy, bool deletes,
                        std::vector<std::string>* live_order) {
  if (original.empty() && patch.empty()) return true;
  bool maps = false;
  if (!element_kind(original, patch, maps)) return false;
  if (maps) {
    if (strategy.merge_key.empty()) return cannot("cannot merge lists without merge key");
    return merge_items(original, patch, strategy, live_order);
  }
  if (!strategy.merge_key.empty() && !deletes)
    return cannot(fmt::format("a list with merge key \"{}\" holds scalars", strategy.merge_key));
  return merge_scalars(original, patch, deletes, live_order);
}

bool Merger::merge_scalars(List& original, List& patch, bool deletes,
                           std::vector<std::string>* live_order) {
  std::vector<std::string> live;
  std::vector<std::string> change;
  if (!identify_all(original, "", live) || !identify_all(patch, "", change)) return false;
  const Ranks patch_order = ranks_of(change);
  Ranks seen;
  std::vector<Item> from_patch;
  std::vector<Item> server_only;
  List left(storage_);
  for (std::size_t i = 0; i < original.size(); ++i) {
    if (patch_order.contains(live[i])) continue;
    if (deletes) {
      left.push_back(std::move(original[i]));
    } else if (seen.try_emplace(live[i], i).second) {
      server_only.push_back({std::move(original[i]), live[i]});
    }
  }
  if (deletes) {
    original = std::move(left);
    return true;
  }
  for (std::size_t i = 0; i < patch.size(); ++i)
    if (seen.try_emplace(change[i], i).second)
      from_patch.push_back({std::move(patch[i]), change[i]});
  const std::vector<std::string> order = order_without_duplicates(live, change);
  original = arrange(std::move(from_patch), std::move(server_only), patch_order, ranks_of(order),
                     storage_);
  if (live_order != nullptr) *live_order = order;
  return true;
}

// Lists of objects. `live_order`, when wanted, becomes the live list's order as set_order() must
// see it.
bool Merger::merge_items(List& original, List& patch, const Strategy& strategy,
                         std::vector<std::string>* live_order) {
  std::vector<Item> changes;
  Ranks deleted;
  bool replace = false;
  for (Value& value : patch) {
    Item item{std::move(value), {}};
    const Value* directive = item.value.get_object().if_contains(kDirective);
    if (directive == nullptr) {
      changes.push_back(std::move(item));
    } else if (is_text(*directive, "delete")) {
      if (!identify(item.value, strategy.merge_key, item.identity)) return false;
      deleted.try_emplace(std::move(item.identity), 0);
    } else if (is_text(*directive, "replace")) {
      replace = true;
    } else if (is_text(*directive, "merge")) {
      return cannot("merging lists cannot yet be specified in the patch");
    } else {
      return cannot(unknown_directive(item.value.get_object()));
    }
  }

  std::vector<Item> merged;
  const auto take_live = [&] {
    for (Value& value : original) {
      Item item{std::move(value), {}};
      if (!identify(item.value, strategy.merge_key, item.identity)) return false;
      if (!deleted.contains(item.identity)) merged.push_back(std::move(item));
    }
    return true;
  };
  if (!replace && !take_live()) return false;
  std::vector<std::string> server_identities;
  server_identities.reserve(merged.size());
  for (const Item& item : merged) server_identities.push_back(item.identity);

  Ranks place = ranks_of(server_identities);
  std::vector<std::string> patch_identities;
  for (Item& change : changes) {
    if (!identify(change.value, strategy.merge_key, change.identity)) return false;
    const auto [at, is_new] = place.try_emplace(change.identity, merged.size());
    if (replace) {
      server_identities.push_back(change.identity);
    } else {
      patch_identities.push_back(change.identity);
    }
    if (is_new || replace) {
      merged.push_back(std::move(change));  // k8s 1.36: with nulls and directives below
      continue;
    }
    Item& into = merged[at->second];
    if (!merge_map(into.value, change.value.get_object(), strategy.inner)) return false;
    if (!identify(into.value, strategy.merge_key, into.identity)) return false;
  }

  if (live_order != nullptr && !replace) {
    // k8s 1.36: new items take the places of deleted ones in the list that the order is read from.
    const std::size_t places = live_order->size();
    live_order->clear();
    for (const Item& item : merged)
      if (live_order->size() < places) live_order->push_back(item.identity);
  }
  const Ranks patch_order = ranks_of(patch_identities);
  std::vector<Item> from_patch;
  std::vector<Item> server_only;
  for (Item& item : merged)
    (patch_order.contains(item.identity) ? from_patch : server_only).push_back(std::move(item));
  original = arrange(std::move(from_patch), std::move(server_only), patch_order,
                     ranks_of(server_identities), storage_);
  return true;
}

}  // namespace

Result<std::string> strategic_merge_patch(std::string_view document, std::string_view patch,
                                          const Message& message) {
  Arena arena;
  Result<Value> original = parse(document, arena);
  if (!original) return tl::unexpected(std::move(original.error()));
  Result<Value> change = parse(patch, arena);
  if (!change) return tl::unexpected(std::move(change.error()));
  for (Value* value : {&*original, &*change}) {
    if (value->is_null()) *value = Dict(arena.storage());  // k8s 1.36: null reads as {}
    if (!value->is_object())
      return fail(Reason::kBadRequest, "a strategic merge patch and what it changes are objects");
  }
  Merger merger(arena.storage());
  if (!merger.merge_map(*original, change->get_object(), &message))
    return tl::unexpected(merger.take_error());
  return print(*original);
}

}  // namespace berth::json
