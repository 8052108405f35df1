// SPDX-License-Identifier: Apache-2.0
// A Kubernetes document that never changes: its JSON bytes in three shared segments (metadata,
// body, status) and the offsets of its metadata. Unknown fields are kept. Nothing is interned and
// no tree is built.
#pragma once

#include <array>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "base/time.h"
#include "json/limits.h"
#include "json/slice.h"
#include "kube/kind.h"

namespace berth::kube {

// A resourceVersion as the integer it is; 0 where there is none.
using Revision = std::uint64_t;

// "namespace/name", or "name" for what has no namespace. A value to keep; KeyRef is the view.
struct Key {
  std::string ns;
  std::string name;
  std::string text() const { return ns.empty() ? name : ns + "/" + name; }
  friend auto operator<=>(const Key&, const Key&) = default;
};

// A reference among ownerReferences.
struct OwnerRef {
  std::string api_version, kind, name, uid;
  bool controller = false;
  bool block_owner_deletion = false;
};

// What another version has of its own, as good JSON; what is not given is shared.
struct Segments {
  std::optional<std::string_view> metadata = {};  // an object
  std::optional<std::string_view> body = {};      // an object: {"spec":{…},"data":{…}}
  std::optional<std::string_view> status = {};    // "" or "null": none
};

struct Doc;  // object.cc
struct ObjectList;

// Immutable, thread-safe; a handle of 8 bytes, copying is one increment. A default-made Object is
// empty: only valid() may be asked.
class Object {
 public:
  Object() = default;
  // `json` is one object; its bytes are copied. kind and apiVersion in it, if present, must be the
  // kind's.
  static Result<Object> parse(KindId, std::string_view json, const json::Limits& = {});
  // The same when the kind is not known beforehand; it is taken (and learnt, if need be) from
  // apiVersion and kind.
  static Result<Object> parse(std::string_view json, const json::Limits& = {});
  Object(const Object&) noexcept;
  Object(Object&&) noexcept;
  Object& operator=(Object) noexcept;
  ~Object();

  bool valid() const { return doc_ != nullptr; }
  KindId kind() const;
  Revision revision() const;
  std::string_view uid() const;
  std::string_view ns() const;  // points into the metadata segment, as all views below
  std::string_view name() const;
  Key key() const { return {std::string(ns()), std::string(name())}; }
  std::int64_t generation() const;
  bool deleting() const;  // has a deletionTimestamp
  std::optional<WallTime> created() const;
  std::optional<WallTime> deleted() const;
  json::Slice labels() const;
  json::Slice annotations() const;
  std::string label(std::string_view key) const;  // "" when absent
  std::string annotation(std::string_view key) const;
  std::vector<OwnerRef> owners() const;
  std::optional<OwnerRef> controller() const;  // the owner with controller: true
  std::vector<std::string> finalizers() const;

  json::Slice metadata() const;  // {} when there is none
  json::Slice status() const;    // absent when there is none
  json::Slice body() const;      // an object of all other top-level members; {} when there are none
  json::Slice member(std::string_view) const;  // "spec", "data", "rules": any one of them
  std::array<std::string_view, 9> json_parts()
      const;  // the whole document as a gather list, no allocation; unused parts are empty
  std::string json() const;   // the same, joined
  std::size_t bytes() const;  // memory this handle keeps alive, shared segments counted whole
  std::size_t bytes_beyond(const Object& other) const;  // without the segments `other` has too

  bool shares_body(const Object& other) const;  // the same bytes, not only equal ones

  Object without_managed_fields() const;  // shares body and status

  // The next version of this object. `revision` is written into its metadata; 0 leaves the
  // resourceVersion that stands there. Fails on metadata that no object can have.
  Result<Object> next(Revision, const Segments& = {}) const;
  // An object made of segments alone.
  static Result<Object> assemble(KindId, Revision, const Segments&);

 private:
  friend Result<ObjectList> parse_list(KindId, std::string_view, bool, const json::Limits&);
  explicit Object(Doc* doc) : doc_(doc) {}
  static Result<Object> make(KindId, const Doc* from, Revision, const Segments&);
  Doc* doc_ = nullptr;
};

struct ObjectList {
  Revision revision = 0;
  std::string continue_token;
  std::optional<std::int64_t> remaining;
  std::vector<Object> items;
};

// A PodList, NodeList or List as one pass over its bytes, which are copied; a caller that reads
// page by page never holds more than its objects and one page. `keep_managed_fields` false cuts
// them while reading. max_bytes bounds each item, not the list.
Result<ObjectList> parse_list(KindId, std::string_view json, bool keep_managed_fields = true,
                              const json::Limits& = {});

}  // namespace berth::kube
