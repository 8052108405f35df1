// SPDX-License-Identifier: Apache-2.0
// RFC 6902 with the readings of kube-apiserver (its JSON patch library, v4): marked "k8s 1.36".
#include <charconv>
#include <optional>
#include <vector>

#include <fmt/format.h>

#include "json/patch.h"
#include "json/value.h"
#include "json/writer.h"

namespace berth::json {

namespace {

constexpr std::size_t kMaxOperations = 10'000;
constexpr std::size_t kMaxCopiedBytes = std::size_t{3} << 20;
// How deep the document may be thought to be before it is measured; moves only ever guess.
constexpr unsigned kMeasureFrom = 500;

// One token of a pointer, "~1" and "~0" decoded.
std::string decode(std::string_view token) {
  std::string out;
  for (std::size_t i = 0; i < token.size(); ++i) {
    const char next = token[i] == '~' && i + 1 < token.size() ? token[i + 1] : '\0';
    if (next == '0' || next == '1') {
      out.push_back(next == '0' ? '~' : '/');
      ++i;
    } else {
      out.push_back(token[i]);
    }
  }
  return out;
}

// k8s 1.36: what stands before the first slash is ignored, and a pointer without one points
// nowhere.
std::optional<std::vector<std::string>> split(std::string_view pointer) {
  std::size_t slash = pointer.find('/');
  if (slash == std::string_view::npos) return std::nullopt;
  std::vector<std::string> tokens;
  while (slash != std::string_view::npos) {
    const std::size_t next = pointer.find('/', slash + 1);
    tokens.push_back(decode(pointer.substr(slash + 1, next - slash - 1)));
    slash = next;
  }
  return tokens;
}

// k8s 1.36: an index is whatever Go's Atoi reads ("+1", "01"), and negative ones count from the
// end.
std::optional<std::size_t> index_in(const std::string& token, std::size_t size) {
  std::string_view digits = token;
  if (digits.starts_with('+')) digits.remove_prefix(1);
  if (digits.starts_with('-') && token.starts_with('+')) return std::nullopt;
  std::int64_t index = 0;
  const auto read = std::from_chars(digits.data(), digits.data() + digits.size(), index);
  if (read.ec != std::errc{} || read.ptr != digits.data() + digits.size()) return std::nullopt;
  const auto count = static_cast<std::int64_t>(size);
  if (index < 0) index += count;
  if (index < 0 || index >= count) return std::nullopt;
  return static_cast<std::size_t>(index);
}

// What a member is called, or an element counted, in its container.
Value* child(Value& container, const std::string& token) {
  if (container.is_object()) return container.get_object().if_contains(token);
  if (!container.is_array()) return nullptr;
  List& list = container.get_array();
  const auto index = index_in(token, list.size());
  return index ? &list[*index] : nullptr;
}

class Patch {
 public:
  Patch(Value& root, const Dict& operation, boost::json::storage_ptr storage)
      : root_(root), operation_(operation), storage_(std::move(storage)) {}

  Result<Ok> apply(std::size_t& copied, unsigned& depth) {
    const std::string_view op = text("op").value_or("unknown");
    const std::optional<std::string_view> path = text("path");
    if (op != "add" && op != "remove" && op != "replace" && op != "move" && op != "copy" &&
        op != "test")
      return invalid(fmt::format("there is no operation {}", quoted(op)));
    if (!path) return invalid(fmt::format("{} needs a path", op));
    path_ = *path;
    op_ = op;
    if (op == "add") return add(value(), depth);
    if (op == "remove") return remove(path_).map([](const Value&) { return Ok{}; });
    if (op == "replace") return replace(depth);
    if (op == "test") return test();

    const std::optional<std::string_view> from = text("from");
    if (!from) return invalid(fmt::format("{} needs a from", op));
    if (op == "copy") return copy(*from, copied, depth);
    Result<Value> moved = remove(*from);
    if (!moved) return tl::unexpected(std::move(moved.error()));
    return add(std::move(*moved), depth);
  }

 private:
  std::optional<std::string_view> text(const char* key) const {
    const Value* found = operation_.if_contains(key);
    if (found == nullptr || !found->is_string()) return std::nullopt;
    return std::string_view(found->get_string().data(), found->get_string().size());
  }

  // k8s 1.36: an operation without a value has the value null.
  Value value() const {
    const Value* found = operation_.if_contains("value");
    return found == nullptr ? Value(nullptr, storage_) : Value(*found, storage_);
  }

  tl::unexpected<Error> refuse(std::string_view why) const {
    return invalid(fmt::format("{} {}: {}", op_, quoted(path_), why));
  }

  // The array or object that holds what the pointer names; leaves the last token in `last`.
  Value* holder(std::string_view pointer, std::string& last) {
    auto tokens = split(pointer);
    if (!tokens) return nullptr;
    Value* at = &root_;
    for (std::size_t i = 0; i + 1 < tokens->size() && at != nullptr; ++i)
      at = child(*at, (*tokens)[i]);
    if (at == nullptr || !at->is_structured()) return nullptr;
    last = std::move(tokens->back());
    levels_ = static_cast<unsigned>(tokens->size());
    return at;
  }

  Result<Ok> add(Value added, unsigned& depth) {
    std::string last;
    Value* const into = holder(path_, last);
    if (into == nullptr) return refuse("the parent is missing");
    depth = std::max(depth, levels_ + (op_ == "move" ? depth : depth_of(added)));
    if (into->is_object()) {
      into->get_object().insert_or_assign(last, std::move(added));
      return Ok{};
    }
    List& list = into->get_array();
    const auto index = last == "-" ? list.size() : index_in(last, list.size() + 1);
    if (!index) return refuse("there is no such index");
    list.insert(list.begin() + static_cast<std::ptrdiff_t>(*index), std::move(added));
    return Ok{};
  }

  Result<Value> remove(std::string_view pointer) {
    std::string last;
    Value* const from = holder(pointer, last);
    Value* const found = from == nullptr ? nullptr : child(*from, last);
    if (found == nullptr) return refuse("there is nothing to remove");
    Value removed = std::move(*found);
    if (from->is_object()) {
      erase(from->get_object(), last);
    } else {
      List& list = from->get_array();
      list.erase(list.begin() + (found - list.data()));
    }
    return removed;
  }

  Result<Ok> replace(unsigned& depth) {
    Value with = value();
    if (path_.empty()) {
      if (!with.is_structured()) return refuse("a document must be an object or an array");
      depth = depth_of(with);
      root_ = std::move(with);
      return Ok{};
    }
    std::string last;
    Value* const in = holder(path_, last);
    if (in == nullptr) return refuse("the parent is missing");
    depth = std::max(depth, levels_ + depth_of(with));
    if (in->is_object()) {
      in->get_object().insert_or_assign(last,
                                        std::move(with));  // k8s 1.36: also when it was missing
      return Ok{};
    }
    Value* const found = child(*in, last);
    if (found == nullptr) return refuse("there is no such index");
    *found = std::move(with);
    return Ok{};
  }

  Result<Ok> copy(std::string_view from, std::size_t& copied, unsigned& depth) {
    std::string last;
    Value* const holds = holder(from, last);
    if (holds == nullptr) return refuse(fmt::format("{} is missing", quoted(from)));
    const Value* const found = child(*holds, last);
    if (found == nullptr && holds->is_array())
      return refuse(fmt::format("there is no index {}", quoted(from)));
    // k8s 1.36: a missing member is copied as null.
    Value value = found == nullptr ? Value(nullptr, storage_) : Value(*found, storage_);
    copied += found == nullptr ? 0 : print(value).size();
    if (copied > kMaxCopiedBytes)
      return refuse(fmt::format("copies add up to more than {} bytes", kMaxCopiedBytes));
    return add(std::move(value), depth);
  }

  // k8s 1.36: a missing member equals null.
  Result<Ok> test() {
    const Value expected = value();
    if (path_.empty()) {
      if (equal(root_, expected)) return Ok{};
      return refuse("the test failed");
    }
    std::string last;
    Value* const in = holder(path_, last);
    if (in == nullptr) return refuse("the parent is missing");
    const Value* const found = child(*in, last);
    if (found == nullptr && in->is_array()) return refuse("there is no such index");
    if (found == nullptr ? expected.is_null() : equal(*found, expected)) return Ok{};
    return refuse("the test failed");
  }

  Value& root_;
  const Dict& operation_;
  boost::json::storage_ptr storage_;
  std::string_view op_;
  std::string_view path_;
  unsigned levels_ = 0;  // tokens of the last pointer that was followed
};

}  // namespace

Result<std::string> json_patch(std::string_view document, std::string_view patch) {
  Arena arena;
  Result<Value> root = parse(document, arena);
  if (!root) return tl::unexpected(std::move(root.error()));
  if (!root->is_structured()) return invalid("only an object or an array can be patched");
  const Result<Value> operations = parse(patch, arena);
  if (!operations) return tl::unexpected(operations.error());
  if (operations->is_null()) return print(*root);
  if (!operations->is_array())
    return fail(Reason::kBadRequest, "a JSON patch is an array of operations");
  const List& list = operations->get_array();
  for (const Value& operation : list)
    if (!operation.is_object() && !operation.is_null())
      return fail(Reason::kBadRequest, "each operation of a JSON patch is an object");
  if (list.size() > kMaxOperations)
    return fail(Reason::kRequestEntityTooLarge,
                fmt::format("The allowed maximum operations in a JSON patch is {}, got {}",
                            kMaxOperations, list.size()));

  const Dict none(arena.storage());
  std::size_t copied = 0;
  unsigned depth = Limits{}.max_depth;
  for (std::size_t i = 0; i < list.size(); ++i) {
    const Dict& operation = list[i].is_object() ? list[i].get_object() : none;
    Result<Ok> applied = Patch(*root, operation, arena.storage()).apply(copied, depth);
    if (applied && depth > kMeasureFrom) {
      depth = depth_of(*root);
      if (depth > Limits{}.max_depth) applied = invalid("nested too deeply");
    }
    if (!applied)
      return invalid(fmt::format("JSON patch operation {}: {}", i, applied.error().message));
  }
  if (depth_of(*root) > Limits{}.max_depth)
    return invalid("the patched document is nested too deeply");
  return print(*root);
}

}  // namespace berth::json
