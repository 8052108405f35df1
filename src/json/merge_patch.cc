// SPDX-License-Identifier: Apache-2.0
// RFC 7386 with the readings of kube-apiserver (its JSON patch library, v4): marked "k8s 1.36".
#include <fmt/format.h>

#include "json/patch.h"
#include "json/value.h"

namespace berth::json {

namespace {

void merge(Dict& into, Dict& patch) {
  for (auto& member : patch) {
    Value& change = member.value();
    if (change.is_null()) {
      erase(into, {member.key().data(), member.key().size()});
      continue;
    }
    Value* const current = into.if_contains(member.key());
    if (current != nullptr && current->is_object()) {
      if (change.is_object()) {
        merge(current->get_object(), change.get_object());
      } else {
        *current = std::move(change);  // k8s 1.36: as it is, nulls included
      }
    } else {
      drop_nulls(change);
      into.insert_or_assign(member.key(), std::move(change));
    }
  }
}

Dict difference(const Dict& from, const Dict& to, const boost::json::storage_ptr& storage) {
  Dict patch(storage);
  for (const auto& member : from)
    if (!to.contains(member.key())) patch.emplace(member.key(), nullptr);
  for (const auto& member : to) {
    const Value* const before = from.if_contains(member.key());
    if (before != nullptr && before->is_object() && member.value().is_object()) {
      Dict inner = difference(before->get_object(), member.value().get_object(), storage);
      if (!inner.empty()) patch.emplace(member.key(), std::move(inner));
    } else if (before == nullptr || !equal(*before, member.value())) {
      patch.emplace(member.key(), member.value());
    }
  }
  return patch;
}

}  // namespace

Result<std::string> merge_patch(std::string_view document, std::string_view patch) {
  Arena arena;
  Result<Value> root = parse(document, arena);
  if (!root) return tl::unexpected(std::move(root.error()));
  Result<Value> change = parse(patch, arena);
  if (!change) return tl::unexpected(std::move(change.error()));
  if (root->is_null()) return fail(Reason::kBadRequest, "null cannot be patched");
  if (!change->is_structured())
    return fail(Reason::kBadRequest, "a merge patch is an object");  // k8s 1.36: or an array
  if (!root->is_object() || !change->is_object()) {
    drop_nulls(*change);
    return print(*change);
  }
  merge(root->get_object(), change->get_object());
  return print(*root);
}

Result<std::string> merge_patch_between(std::string_view from, std::string_view to) {
  Arena arena;
  const Result<Value> before = parse(from, arena);
  if (!before) return tl::unexpected(before.error());
  const Result<Value> after = parse(to, arena);
  if (!after) return tl::unexpected(after.error());
  if (!before->is_object() || !after->is_object())
    return fail(Reason::kBadRequest, "a merge patch leads from an object to an object");
  return print(difference(before->get_object(), after->get_object(), arena.storage()));
}

}  // namespace berth::json
