// SPDX-License-Identifier: Apache-2.0
// What a write starts from: what the client sent, and the version before.
#include <map>
#include <set>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "apiserver/kinds/strategy.h"
#include "apiserver/serve/authorizing.h"
#include "apiserver/serve/convert.h"
#include "apiserver/serve/patching.h"
#include "apiserver/serve/scaling.h"
#include "apiserver/serve/writing.h"
#include "json/slice.h"

namespace berth::apiserver {
namespace {

using kube::Verb;

bool is_apply(const kube::ApiRequest& asked) {
  return asked.verb == Verb::kPatch && asked.options.patch_type == kube::PatchType::kApply;
}

// The same text for equal values: the order of an object's members does not count.
std::string whatever_order(const json::Value& value) {
  if (!value.is_object()) return json::print(value);
  std::map<std::string_view, std::string> members;
  for (const auto& member : value.get_object())
    members.emplace(sv(member.key()), json::print(member.value()));
  return fmt::format("{}", members);
}

// Whose user agent it would be, were it a process of its own.
std::string component_of(std::string_view user) {
  if (user.starts_with("system:serviceaccount:kube-system:")) return "kube-controller-manager";
  constexpr std::string_view kSystem = "system:";
  return std::string(user.starts_with(kSystem) ? user.substr(kSystem.size()) : "");
}

}  // namespace

Result<Ok> Writing::prepare() {
  if (Result<Ok> found = find_old(); !found) {
    // k8s 1.36: what is put is read, and its name looked at, before anything is looked up.
    if (call_->request.verb == Verb::kUpdate)
      if (Result<Ok> read = check_put(); !read) return read;
    return found;
  }
  if (target_ == Target::kScale) return read_scale();
  if (is_apply(call_->request)) {
    if (Result<Ok> applied = read_applied(); !applied) return applied;
    return check_identity();
  }
  if (Result<Ok> read = read_new(); !read) return read;
  if (Result<Ok> same = check_identity(); !same) return same;
  if (call_->request.verb != Verb::kPatch) dedup_owners(false);
  note_update(row_, *edit_, manager());
  return Ok{};
}

ManagerNote Writing::manager() const {
  const kube::ApiRequest& asked = call_->request;
  std::string name = asked.options.field_manager;
  if (name.empty() && !call_->outside()) name = component_of(asked.user.name);
  return {.manager = std::move(name),
          .subresource = asked.subresource,
          .now = core_.wall(),
          .follows = call_->outside()};
}

Result<Ok> Writing::find_old() {
  const kube::ApiRequest& asked = call_->request;
  key_ = call_->key();
  creating_ = asked.verb == Verb::kCreate;
  old_ = {};
  if (creating_) return Ok{};
  if (const kube::Object* found = core_.store.get(call_->table(), KeyRef(key_), View::kTip)) {
    Result<kube::Object> own = as_asked(row_, *found);
    if (!own) return tl::unexpected(std::move(own.error()));
    old_ = std::move(*own);
    return Ok{};
  }
  const bool may = target_ == Target::kMain &&
                   (asked.verb == Verb::kUpdate ? row_.create_on_update : is_apply(asked));
  if (!may) return tl::unexpected(not_found(row_.kind, asked.name));
  creating_ = true;
  return authorize(*call_, "create");
}

Result<Ok> Writing::check_put() {
  if (target_ == Target::kScale) {
    const Form form = Form::of("autoscaling/v1", "Scale");
    if (auto read = read_body(*call_, form, *arena_); !read)
      return tl::unexpected(std::move(read.error()));
    return Ok{};
  }
  Result<json::Value> document = read_body(*call_, Form::of(row_), *arena_);
  if (!document) return tl::unexpected(std::move(document.error()));
  edit_.emplace(row_.id, std::move(*document), *arena_);
  return check_identity();
}

Result<Ok> Writing::read_new() {
  const Form form = Form::of(row_);
  const bool patch = call_->request.verb == Verb::kPatch;
  if (patch) {
    if (Result<Ok> fine = check_patch_options(*call_, form); !fine) return fine;
    if (read_part()) return Ok{};
  }
  Result<json::Value> document =
      patch ? read_patch(*call_, form, old_.json(), *arena_) : read_body(*call_, form, *arena_);
  if (!document) return tl::unexpected(std::move(document.error()));
  if (creating_) {
    edit_.emplace(row_.id, std::move(*document), *arena_);
  } else {
    edit_.emplace(old_, *arena_);
    edit_->replace(std::move(*document));
  }
  fill(row_, *edit_);
  // What its defaults make too large is not looked at any further: that takes longest of all.
  constexpr std::size_t kLarge = std::size_t{1} << 20;
  if (bytes_of(call_->request).size() > kLarge) return check_size(edit_->text().size());
  return Ok{};
}

// Most patches of a status touch nothing else, and what they do not touch need not be parsed and
// printed again. False: it takes the whole document, for this patch or to say what is wrong.
bool Writing::read_part() {
  const kube::PatchType type = call_->request.options.patch_type;
  if (target_ != Target::kStatus || type == kube::PatchType::kJson || row_.decode) return false;
  const std::string_view patch = bytes_of(call_->request);
  if (!json::check(patch, core_.options.json)) return false;
  const json::Slice members(patch);
  if (!members.is_object()) return false;
  for (auto at = members.members().begin(); at != nullptr; ++at)
    if (const auto key = (*at).key;
        key != "status" && key != "metadata" && key != "kind" && key != "apiVersion")
      return false;
  std::string part(kube::json_head(row_.id));
  part += fmt::format(",\"metadata\":{}", old_.metadata().raw());
  if (old_.status()) part += fmt::format(",\"status\":{}", old_.status().raw());
  part += '}';
  const std::size_t warned = call_->warnings.size();
  Result<json::Value> document = read_patch(*call_, Form::of(row_), part, *arena_);
  if (!document) {
    call_->warnings.resize(warned);
    return false;
  }
  edit_.emplace(old_, *arena_);
  edit_->replace(std::move(*document));
  fill(row_, *edit_);
  edit_->restore_body();
  return true;
}

// Server-side apply: its own way to the next version, decoded and filled.
Result<Ok> Writing::read_applied() {
  if (Result<Ok> fine = check_patch_options(*call_, Form::of(row_)); !fine) return fine;
  Result<json::Value> patch = read_applied_text(*call_, *arena_);
  if (!patch) return tl::unexpected(std::move(patch.error()));
  const std::string uid{Peek(*patch)["metadata"]["uid"].text()};
  if (creating_ && !uid.empty())
    return tl::unexpected(conflict(
        row_.kind, key_.name,
        fmt::format("uid mismatch: the provided object specified uid {}, and no existing object "
                    "was found",
                    uid)));
  if (creating_) {
    json::Value empty(json::Dict((*arena_).storage()));
    json::Dict& metadata = make_dict(empty.as_object(), "metadata");
    metadata["name"] = key_.name;
    if (!key_.ns.empty()) metadata["namespace"] = key_.ns;
    edit_.emplace(row_.id, std::move(empty), *arena_);
  } else {
    edit_.emplace(old_, *arena_);
  }
  return apply_patch(row_, *edit_, std::move(*patch), manager(), call_->request.options.force);
}

// A Scale is read and written in place of what it scales.
Result<Ok> Writing::read_scale() {
  const Form form = Form::of("autoscaling/v1", "Scale");
  const bool patch = call_->request.verb == Verb::kPatch;
  Result<json::Value> document = fail(Reason::kUnknown, "");
  if (patch) {
    if (Result<Ok> fine = check_patch_options(*call_, form); !fine) return fine;
    const Result<kube::Object> scale = scale_of(row_, old_);
    if (!scale) return tl::unexpected(scale.error());
    document = read_patch(*call_, form, scale->json(), *arena_);
  } else {
    document = read_body(*call_, form, *arena_);
  }
  if (!document) return tl::unexpected(std::move(document.error()));
  posted_.emplace(std::move(*document));
  edit_.emplace(old_, *arena_);
  return Ok{};
}

Result<Ok> Writing::check_identity() {
  json::Dict& metadata = edit_->metadata();
  const std::string_view ns = Peek(metadata)["namespace"].text();
  const std::string_view wanted = row_.kind.namespaced ? std::string_view(key_.ns) : "";
  if (ns.empty()) {
    if (!wanted.empty()) metadata["namespace"] = bj(wanted);
  } else if (ns != wanted) {
    if (row_.kind.namespaced)
      return tl::unexpected(bad_request(
          "the namespace of the provided object does not match the namespace sent on the request"));
    json::erase(metadata, "namespace");
  }
  if (call_->request.verb == Verb::kCreate) {
    for (const std::string_view field : {"uid", "creationTimestamp", "deletionTimestamp",
                                         "deletionGracePeriodSeconds", "selfLink"})
      json::erase(metadata, field);
    return Ok{};
  }
  const std::string_view name = Peek(metadata)["name"].text();
  if (name.empty())
    return tl::unexpected(bad_request(fmt::format(
        "the name of the object ({} based on URL) was undeterminable: name must be provided",
        key_.name)));
  if (name != key_.name)
    return tl::unexpected(bad_request(fmt::format(
        "the name of the object ({}) does not match the name on the URL ({})", name, key_.name)));
  return Ok{};
}

void Writing::dedup_owners(bool after_admission) {
  json::List* owners = list_in(edit_->metadata(), "ownerReferences");
  if (owners == nullptr || owners->size() < 2) return;
  std::vector<std::string> doubled;
  std::set<std::string> seen;
  std::size_t kept = 0;
  for (std::size_t i = 0; i < owners->size(); ++i) {
    json::Value& owner = (*owners)[i];
    if (!seen.insert(whatever_order(owner)).second)
      doubled.emplace_back(Peek(owner)["uid"].text());
    else if (const std::size_t to = kept++; to != i)
      (*owners)[to] = std::move(owner);
  }
  if (doubled.empty()) return;
  owners->erase(owners->begin() + static_cast<std::ptrdiff_t>(kept), owners->end());
  call_->warnings.push_back(fmt::format(
      ".metadata.ownerReferences contains duplicate entries{}; API server dedups owner references "
      "in 1.20+, and may reject such requests as early as 1.24; please fix your requests; "
      "duplicate "
      "UID(s) observed: {}",
      after_admission ? " after mutating admission happens" : "", fmt::join(doubled, ", ")));
}

}  // namespace berth::apiserver
