// SPDX-License-Identifier: Apache-2.0
// Objects, lists and events as the client wants to see them: whole, as a table's rows, or their
// metadata alone. All of it is appended as JSON, so that a long list can leave in pieces.
#pragma once

#include <memory>
#include <string>

#include "apiserver/http/accept.h"
#include "apiserver/kinds/registry.h"
#include "base/time.h"
#include "kube/api.h"

namespace berth::apiserver {

// Thread-compatible.
class Renderer {
 public:
  // `row` is what was asked for.
  Renderer(std::shared_ptr<const Kinds> kinds, const KindRow& row, const Wanted& wanted)
      : kinds_(std::move(kinds)), row_(row), wanted_(wanted) {}

  // NotAcceptable for one object as a list of metadata, or a list as one object's.
  Result<Ok> possible(bool list) const;

  void object(const kube::Object&, WallTime now, std::string& out);
  void list_begin(const kube::ObjectList&, std::string& out);
  void item(const kube::Object&, bool first, WallTime now, std::string& out);
  void list_end(std::string& out);
  void event(const kube::WatchEvent&, WallTime now, std::string& out);  // with its line's end
  // The same in slices, so that nobody who watches and does not read holds a copy of a large
  // object: goes on after the first `told` bytes for about `most`, and is told the same `now` each
  // time. True: that was the end of it.
  bool event(const kube::WatchEvent&, WallTime now, std::size_t most, std::size_t& told,
             std::string& out);

 private:
  struct ListMeta {
    kube::Revision revision = 0;
    std::string_view continue_token = {};
    std::optional<std::int64_t> remaining = {};
  };
  const std::vector<Column>& columns_for(kube::KindId) const;
  void whole(const kube::Object&, bool with_kind, std::string& out) const;
  std::string partial_head() const;
  void partial(const kube::Object&, std::string& out) const;
  void table_begin(kube::KindId, const ListMeta&, bool headers, std::string& out) const;
  void row_head(const kube::Object&, WallTime now, std::string& out) const;
  Include included(const kube::Object&) const;  // in its row
  void table_row(const kube::Object&, WallTime now, std::string& out) const;

  std::shared_ptr<const Kinds> kinds_;
  const KindRow& row_;
  Wanted wanted_;
  bool told_columns_ = false;  // of a watched table, only the first event says them
};

}  // namespace berth::apiserver
