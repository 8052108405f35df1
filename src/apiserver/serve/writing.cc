// SPDX-License-Identifier: Apache-2.0
#include "apiserver/serve/writing.h"

#include <algorithm>
#include <charconv>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "apiserver/kinds/strategy.h"
#include "apiserver/serve/authorizing.h"
#include "apiserver/serve/convert.h"
#include "apiserver/serve/patching.h"
#include "apiserver/serve/pod_parts.h"
#include "apiserver/serve/scaling.h"
#include "base/check.h"
#include "json/writer.h"

namespace berth::apiserver {
namespace {

using kube::Verb;

constexpr int kMostAttempts = 5;
constexpr int kMostNames = 8;

bool is_apply(const kube::ApiRequest& asked) {
  return asked.verb == Verb::kPatch && asked.options.patch_type == kube::PatchType::kApply;
}

}  // namespace

Writing::Writing(CallPtr call)
    : call_(std::move(call)),
      core_(call_->core),
      row_(*call_->row),
      target_(target_of(*call_)),
      arena_(core_) {}

Writing::~Writing() {
  // What lives in the arena goes before it is given back.
  chain_.reset();
  edit_.reset();
  posted_.reset();
}

Writing::Target Writing::target_of(const Call& call) {
  if (call.sub == nullptr) return Target::kMain;
  if (call.sub->name == "scale") return Target::kScale;
  if (call.sub->name == "finalize") return Target::kFinalize;
  if (call.sub->name == "ephemeralcontainers") return Target::kEphemeral;
  if (call.sub->name == "resize") return Target::kResize;
  return Target::kStatus;
}

void Writing::attempt() {
  ++attempts_;
  call_->warnings.clear();
  if (Result<Ok> made = prepare(); !made) return refuse(std::move(made.error()));
  chain_.emplace(*call_, creating_ ? Operation::kCreate : Operation::kUpdate,
                 creating_ ? std::string(Peek(edit_->metadata())["name"].text()) : key_.name,
                 posted_ ? nullptr : &*edit_, old_, posted_ ? &*posted_ : nullptr);
  chain_->mutate(
      [self = shared_from_this()](Result<Ok> done) { self->on_mutated(std::move(done)); });
}

void Writing::again() {
  chain_.reset();
  edit_.reset();
  posted_.reset();
  (*arena_).reset();
  attempt();
}

Result<Ok> Writing::prepare() {
  if (Result<Ok> found = find_old(); !found) return found;
  if (target_ == Target::kScale) return read_scale();
  if (is_apply(call_->request)) {
    if (Result<Ok> applied = read_applied(); !applied) return applied;
    return check_identity();
  }
  if (Result<Ok> read = read_new(); !read) return read;
  fill(row_, *edit_);
  if (Result<Ok> same = check_identity(); !same) return same;
  if (call_->request.verb != Verb::kPatch) dedup_owners(false);
  note_update(row_, *edit_, manager());
  return Ok{};
}

ManagerNote Writing::manager() const {
  return {.manager = call_->request.options.field_manager,
          .subresource = call_->request.subresource,
          .now = core_.wall()};
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
  const bool may =
      target_ == Target::kMain &&
      (asked.verb == Verb::kUpdate ? row_.create_on_update
                                   : asked.options.patch_type == kube::PatchType::kApply);
  if (!may) return tl::unexpected(not_found(row_.kind, asked.name));
  creating_ = true;
  return authorize(*call_, "create");
}

Result<Ok> Writing::read_new() {
  const Form form = Form::of(row_);
  const bool patch = call_->request.verb == Verb::kPatch;
  if (patch) {
    if (Result<Ok> fine = check_patch_options(*call_, form); !fine) return fine;
    if (call_->request.options.patch_type == kube::PatchType::kApply)
      return fail(Reason::kUnsupportedMediaType, "415: Unsupported Media Type");
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
  return Ok{};
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
  for (auto at = owners->begin(); at != owners->end();) {
    const bool seen =
        std::any_of(owners->begin(), at, [&](const json::Value& e) { return json::equal(e, *at); });
    if (!seen) {
      ++at;
      continue;
    }
    doubled.emplace_back(Peek(*at)["uid"].text());
    at = owners->erase(at);
  }
  if (doubled.empty()) return;
  call_->warnings.push_back(fmt::format(
      ".metadata.ownerReferences contains duplicate entries{}; API server dedups owner references "
      "in 1.20+, and may reject such requests as early as 1.24; please fix your requests; "
      "duplicate "
      "UID(s) observed: {}",
      after_admission ? " after mutating admission happens" : "", fmt::join(doubled, ", ")));
}

bool Writing::overtaken() const {
  if (creating_) return false;
  const kube::Object* now = core_.store.get(call_->table(), KeyRef(key_), View::kTip);
  return now == nullptr || now->revision() != old_.revision();
}

void Writing::on_mutated(Result<Ok> done) {
  if (!done) return refuse(std::move(done.error()));
  if (chain_->waited() && overtaken()) {
    if (attempts_ < kMostAttempts) return again();
    return refuse(modified(row_.kind, key_.name));
  }
  if (Result<Ok> settled = settle(); !settled) return refuse(std::move(settled.error()));
  chain_->validate(
      [self = shared_from_this()](Result<Ok> valid) { self->on_validated(std::move(valid)); });
}

Result<Ok> Writing::settle() {
  if (posted_) {
    if (Result<Ok> scaled = write_scale(row_, *edit_, *posted_); !scaled) return scaled;
    note_update(row_, *edit_, manager());
  } else {
    dedup_owners(true);
  }
  return creating_ ? settle_new() : settle_update();
}

Result<Ok> Writing::settle_new() {
  generated_ = Peek(edit_->metadata())["name"].text().empty();
  const Birth birth{.ns = row_.kind.namespaced ? key_.ns : "",
                    .uid = core_.new_uid(),
                    .name_suffix = core_.name_suffix(),
                    .now = chain_->call.now};
  if (Result<Ok> begun = begin_create(row_, *edit_, birth); !begun) return begun;
  key_.name = Peek(edit_->metadata())["name"].text();
  chain_->call.name = key_.name;
  if (const Findings findings = check_create(row_, *edit_); !findings.empty()) {
    return tl::unexpected(invalid_error(findings));
  }
  return Ok{};
}

// The version that the client means is the one that there is.
Result<Ok> Writing::check_revision() {
  json::Dict& metadata = edit_->metadata();
  const std::string text{Peek(metadata)["resourceVersion"].text()};
  kube::Revision revision = 0;
  const char* const end = text.data() + text.size();
  if (const auto [stop, error] = std::from_chars(text.data(), end, revision);
      !text.empty() && (error != std::errc() || stop != end))
    return tl::unexpected(plain_error(fmt::format(
        "strconv.ParseUint: parsing {}: {}", json::quoted(text),
        error == std::errc::result_out_of_range ? "value out of range" : "invalid syntax")));
  if (revision == 0) {
    if (!row_.unconditional_update)
      return tl::unexpected(
          invalid_about(row_.kind.plural, row_.kind.group, key_.name,
                        {{"FieldValueInvalid", "Invalid value: 0: must be specified for an update",
                          "metadata.resourceVersion"}}));
    metadata["resourceVersion"] = std::to_string(old_.revision());
    return Ok{};
  }
  if (revision != old_.revision()) return tl::unexpected(modified(row_.kind, key_.name));
  return Ok{};
}

Result<Ok> Writing::settle_update() {
  json::Dict& metadata = edit_->metadata();
  const std::string_view uid = Peek(metadata)["uid"].text();
  if (call_->request.verb == Verb::kUpdate && !posted_ && !uid.empty() && uid != old_.uid())
    return tl::unexpected(uid_mismatch(row_.kind, key_, uid, old_.uid()));
  with_revision_ =
      call_->request.verb == Verb::kUpdate && !Peek(metadata)["resourceVersion"].text().empty();
  if (Result<Ok> same = check_revision(); !same) return same;
  Findings findings;
  switch (target_) {
    case Target::kMain:
    case Target::kScale:
      begin_update(row_, *edit_);
      findings = check_update(row_, *edit_);
      break;
    case Target::kStatus:
      begin_status_update(row_, *edit_);
      findings = check_status_update(row_, *edit_);
      break;
    case Target::kFinalize:
      begin_finalize(row_, *edit_);
      findings = check_status_update(row_, *edit_);
      break;
    case Target::kEphemeral:
      begin_ephemeral(row_, *edit_);
      findings = check_ephemeral(*edit_);
      break;
    case Target::kResize:
      begin_resize(row_, *edit_);
      findings = check_resize(*edit_);
      break;
  }
  if (findings.empty()) return Ok{};
  return tl::unexpected(invalid_error(findings));
}

// k8s 1.36: of two kinds over the same objects, that one is named as which they are stored.
Error Writing::invalid_error(const Findings& findings) const {
  const KindRow* stored = call_->kinds->find(call_->table());
  const kube::Kind& told = stored == nullptr ? row_.kind : stored->kind;
  Error error = findings.error(told, key_.name);
  complete(error, told, key_.name);
  return error;
}

void Writing::on_validated(Result<Ok> valid) {
  if (!valid) return refuse(std::move(valid.error()));
  if (chain_->waited() && overtaken()) {
    if (!with_revision_ && attempts_ < kMostAttempts) return again();
    return refuse(modified(row_.kind, key_.name));
  }
  commit();
}

void Writing::commit() {
  if (creating_)
    commit_new();
  else
    commit_update();
}

void Writing::commit_new() {
  if (const kube::Object* there = core_.store.get(call_->table(), KeyRef(key_), View::kTip)) {
    if (generated_ && attempts_ < kMostNames) return again();
    Error error = already_exists(row_.kind, key_.name);
    if (there->deleting()) error.message = "object is being deleted: " + error.message;
    return refuse(std::move(error));
  }
  if (call_->request.options.dry_run) {
    Result<kube::Object> made = std::move(*edit_).commit(0);
    if (!made) return refuse(std::move(made.error()));
    return call_->answer(std::move(*made), 201);
  }
  core_.store.write(
      {.kind = call_->table(),
       .key = key_,
       .expect = Write::Expect::kAbsent,
       .next = [this](kube::Revision revision) { return as_stored(row_, *edit_, revision); }},
      core_.scope.done<Committed>(core_.options.request_limit,
                                  [self = shared_from_this()](Result<Committed> done) {
                                    self->on_committed(std::move(done));
                                  }));
}

// Nothing holds it back any more.
bool Writing::completes_deletion() {
  if (!old_.deleting()) return false;
  if (Peek(edit_->metadata())["finalizers"].size() > 0) return false;
  if (old_.metadata()["deletionGracePeriodSeconds"].integer().value_or(0) != 0) return false;
  return row_.id != kube::kNamespace || Peek(edit_->body())["spec"]["finalizers"].size() == 0;
}

void Writing::commit_update() {
  const bool removes = completes_deletion();
  if (!removes && !edit_->changed()) {
    // What the reply shows has to be there for all to see.
    if (old_.revision() <= core_.store.published()) return reply(old_);
    core_.store.when_published(
        old_.revision(), core_.scope.done<Ok>(core_.options.request_limit,
                                              [self = shared_from_this()](Result<Ok> there) {
                                                if (!there)
                                                  return self->refuse(std::move(there.error()));
                                                self->reply(self->old_);
                                              }));
    return;
  }
  if (removes || call_->request.options.dry_run) {
    Result<kube::Object> made = std::move(*edit_).commit(old_.revision());
    if (!made) return refuse(std::move(made.error()));
    if (call_->request.options.dry_run) return reply(*made);
    core_.store.write(
        {.kind = call_->table(),
         .key = key_,
         .uid = std::string(old_.uid()),
         .revision = old_.revision()},
        core_.scope.done<Committed>(
            core_.options.request_limit,
            [self = shared_from_this(), made = std::move(*made)](Result<Committed> done) {
              if (!done) return self->refuse(std::move(done.error()));
              self->reply(made);
            }));
    return;
  }
  core_.store.write(
      {.kind = call_->table(),
       .key = key_,
       .expect = Write::Expect::kPresent,
       .uid = std::string(old_.uid()),
       .revision = old_.revision(),
       .next = [this](kube::Revision revision) { return as_stored(row_, *edit_, revision); }},
      core_.scope.done<Committed>(core_.options.request_limit,
                                  [self = shared_from_this()](Result<Committed> done) {
                                    self->on_committed(std::move(done));
                                  }));
}

void Writing::on_committed(Result<Committed> done) {
  if (!done) return refuse(std::move(done.error()));
  const Result<kube::Object> own = as_asked(row_, done->object);
  if (!own) return refuse(own.error());
  reply(*own);
}

void Writing::reply(const kube::Object& object) {
  if (target_ != Target::kScale) return call_->answer(object, creating_ ? 201 : 200);
  Result<kube::Object> scale = scale_of(row_, object);
  if (!scale) return refuse(std::move(scale.error()));
  call_->answer(std::move(*scale));
}

void Writing::refuse(Error error) {
  complete(error, row_.kind, key_.name);
  call_->answer(std::move(error));
}

void serve_write(CallPtr call) { std::make_shared<Writing>(std::move(call))->start(); }

}  // namespace berth::apiserver
