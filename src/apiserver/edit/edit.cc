// SPDX-License-Identifier: Apache-2.0
#include "apiserver/edit/edit.h"

#include <utility>

#include "base/check.h"

namespace berth::apiserver {
namespace {

json::Dict parsed(json::Slice object, json::Arena& arena) {
  return std::move(json::parse_good(object.raw(), arena).as_object());
}

std::string printed(const json::Dict& dict) {
  std::string out = "{";
  for (const auto& member : dict) {
    if (out.size() > 1) out += ',';
    json::append_value(out, json::Value(member.key()));
    out += ':';
    json::append_value(out, member.value());
  }
  out += '}';
  return out;
}

// Equal bytes, or the same values in another spelling or order; `but` is not looked at.
bool unchanged(const json::Dict& now, json::Slice before, std::string_view but,
               json::Arena& arena) {
  // What was only read prints as it was.
  if (but.empty() && printed(now) == before.raw()) return true;
  const json::Dict old = parsed(before, arena);
  std::size_t counted = 0;
  for (const auto& member : now) {
    const std::string_view key(member.key().data(), member.key().size());
    if (key == but) continue;
    const json::Value* other = old.if_contains(member.key());
    if (other == nullptr || !json::equal(member.value(), *other)) return false;
    ++counted;
  }
  return counted == old.size() - (but.empty() ? 0 : old.count({but.data(), but.size()}));
}

}  // namespace

Edit::Edit(const kube::Object& from, json::Arena& arena)
    : kind_(from.kind()), from_(from), arena_(arena) {}

Edit::Edit(kube::KindId kind, json::Value document, json::Arena& arena)
    : kind_(kind), arena_(arena) {
  take(std::move(document));
}

json::Dict& Edit::metadata() {
  if (!metadata_) metadata_ = parsed(from_.metadata(), arena_);
  return *metadata_;
}

json::Dict& Edit::body() {
  if (!body_) body_ = parsed(from_.body(), arena_);
  return *body_;
}

json::Value& Edit::status() {
  if (!status_)
    status_ = from_.status() ? json::parse_good(from_.status().raw(), arena_)
                             : json::Value(nullptr, arena_.storage());
  return *status_;
}

namespace {

Peek once(std::optional<json::Value>& kept, json::Slice bytes, json::Arena& arena) {
  if (!bytes) return {};
  if (!kept) kept = json::parse_good(bytes.raw(), arena);
  return *kept;
}

}  // namespace

Peek Edit::was_metadata() {
  return from_.valid() ? once(was_metadata_, from_.metadata(), arena_) : Peek();
}
Peek Edit::was_body() { return from_.valid() ? once(was_body_, from_.body(), arena_) : Peek(); }
Peek Edit::was_status() {
  return from_.valid() ? once(was_status_, from_.status(), arena_) : Peek();
}

void Edit::replace(json::Value document) { take(std::move(document)); }

void Edit::restore_body() {
  BERTH_CHECK(from_.valid(), "what is new has no version before");
  body_.reset();
}

void Edit::restore_status() {
  BERTH_CHECK(from_.valid(), "what is new has no version before");
  status_.reset();
}

void Edit::take(json::Value document) {
  BERTH_CHECK(document.is_object(), "a document is an object");
  json::Dict& members = document.as_object();
  metadata_.emplace(arena_.storage());
  body_.emplace(arena_.storage());
  status_.emplace(nullptr, arena_.storage());
  for (auto& member : members) {
    const std::string_view key(member.key().data(), member.key().size());
    if (key == "kind" || key == "apiVersion") continue;
    if (key == "metadata") {
      if (member.value().is_object()) *metadata_ = std::move(member.value().as_object());
    } else if (key == "status") {
      *status_ = std::move(member.value());
    } else {
      body_->emplace(member.key(), std::move(member.value()));
    }
  }
}

std::string Edit::text() {
  std::string out(kube::json_head(kind_));
  out += ",\"metadata\":";
  out += metadata_ ? printed(*metadata_) : std::string(from_.metadata().raw());
  const std::string body = body_ ? printed(*body_) : std::string(from_.body().raw());
  if (body != "{}") {
    out += ',';
    out.append(body, 1, body.size() - 2);
  }
  if (!status_ && from_.status()) {
    out += ",\"status\":";
    out += from_.status().raw();
  } else if (status_ && !status_->is_null()) {
    out += ",\"status\":";
    json::append_value(out, *status_);
  }
  out += '}';
  return out;
}

bool Edit::status_changed() const {
  if (status_->is_null() || !from_.status()) return !status_->is_null() || from_.status();
  return json::print(*status_) != from_.status().raw() &&
         !json::equal(*status_, json::parse_good(from_.status().raw(), arena_));
}

bool Edit::changed() const {
  if (!from_.valid()) return true;
  // Those first that change most often.
  if (status_ && status_changed()) return true;
  if (body_ && !unchanged(*body_, from_.body(), {}, arena_)) return true;
  return metadata_ && !unchanged(*metadata_, from_.metadata(), "resourceVersion", arena_);
}

Result<kube::Object> Edit::commit(kube::Revision revision) && {
  std::string metadata, body, status;
  kube::Segments segments;
  if (metadata_) segments.metadata = metadata = printed(*metadata_);
  if (body_) segments.body = body = printed(*body_);
  if (status_) segments.status = status = json::print(*status_);
  return from_.valid() ? from_.next(revision, segments)
                       : kube::Object::assemble(kind_, revision, segments);
}

}  // namespace berth::apiserver
