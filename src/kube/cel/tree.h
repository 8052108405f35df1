// SPDX-License-Identifier: Apache-2.0
// A document as expressions see it, whatever holds it: an editable tree or bytes.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <string>
#include <string_view>

#include "json/slice.h"

namespace berth::cel {

enum class Shape : std::uint8_t { kAbsent, kNull, kBool, kInt, kDouble, kText, kList, kMap };

class Node;

// How one kind of document is read. Stateless.
struct TreeOps {
  Shape (*shape)(const Node&);
  bool (*boolean)(const Node&);
  std::int64_t (*integer)(const Node&);
  double (*number)(const Node&);  // also of an integer
  // Into the document, or into `scratch`.
  std::string_view (*text)(const Node&, std::string& scratch);
  std::size_t (*size)(const Node&);
  Node (*element)(const Node&, std::size_t);
  Node (*member)(const Node&, std::string_view key);
  // In the document's order, until it says false. Elements have no key.
  void (*each)(const Node&, const std::function<bool(std::string_view key, const Node&)>&);
};

// A view of one value; valid as long as the document.
class Node {
 public:
  Node() = default;
  Node(const TreeOps& ops, const void* at, std::size_t more = 0)
      : ops_(&ops), at_(at), more_(more) {}
  const void* at() const { return at_; }
  std::size_t more() const { return more_; }

  Shape shape() const { return ops_ == nullptr ? Shape::kAbsent : ops_->shape(*this); }
  bool present() const { return shape() != Shape::kAbsent; }
  bool boolean() const { return ops_->boolean(*this); }
  std::int64_t integer() const { return ops_->integer(*this); }
  double number() const { return ops_->number(*this); }
  std::string_view text(std::string& scratch) const { return ops_->text(*this, scratch); }
  std::size_t size() const { return ops_->size(*this); }
  Node element(std::size_t index) const { return ops_->element(*this, index); }
  Node member(std::string_view key) const { return ops_->member(*this, key); }
  void each(const std::function<bool(std::string_view, const Node&)>& visit) const {
    ops_->each(*this, visit);
  }

 private:
  const TreeOps* ops_ = nullptr;
  const void* at_ = nullptr;
  std::size_t more_ = 0;
};

Node node_of(json::Slice);

}  // namespace berth::cel
