// SPDX-License-Identifier: Apache-2.0
// The next version of an object, while a request is making it. Only the segments that are touched
// are parsed, and only those are written again; the others are shared with the version before.
#pragma once

#include <optional>
#include <string>

#include "apiserver/edit/peek.h"
#include "base/result.h"
#include "json/value.h"
#include "kube/object.h"

namespace berth::apiserver {

// Thread-compatible; must not outlive its arena. The version it starts from is kept alive.
class Edit {
 public:
  Edit(const kube::Object& from, json::Arena&);
  // Something new: a whole document, which must be an object. kind and apiVersion are not kept,
  // they are the kind's.
  Edit(kube::KindId, json::Value document, json::Arena&);

  kube::KindId kind() const { return kind_; }
  const kube::Object& from() const { return from_; }  // not valid() for something new
  json::Arena& arena() const { return arena_; }

  json::Dict& metadata();
  json::Dict& body();     // every top-level member but kind, apiVersion, metadata and status
  json::Value& status();  // null: there is none

  // Whether the segment may differ from the version before.
  bool touches_metadata() const { return metadata_.has_value(); }
  bool touches_body() const { return body_.has_value(); }
  bool touches_status() const { return status_.has_value(); }

  // The version before, to compare with; absent for something new.
  Peek was_metadata();
  Peek was_body();
  Peek was_status();

  // A whole document in place of what there is (PUT, or the outcome of a patch).
  void replace(json::Value document);
  // Takes the segment as it was in the version before, whatever has been done to it.
  void restore_body();
  void restore_status();

  std::string text();  // the whole document as it stands now

  // Differs from the version before in more than its resourceVersion. What is not new and has not
  // changed keeps its revision and makes no event.
  bool changed() const;
  // Fails on metadata that no object can have; validation finds that before.
  Result<kube::Object> commit(kube::Revision) &&;

 private:
  void take(json::Value document);
  bool status_changed() const;

  kube::KindId kind_;
  kube::Object from_;
  json::Arena& arena_;
  std::optional<json::Dict> metadata_, body_;  // once touched
  std::optional<json::Value> status_;
  std::optional<json::Value> was_metadata_, was_body_, was_status_;  // once asked for
};

}  // namespace berth::apiserver
