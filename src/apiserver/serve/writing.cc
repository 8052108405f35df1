// SPDX-License-Identifier: Apache-2.0
#include "apiserver/serve/writing.h"

#include <charconv>

#include <fmt/format.h>

#include "apiserver/kinds/strategy.h"
#include "apiserver/serve/convert.h"
#include "apiserver/serve/pod_parts.h"
#include "apiserver/serve/scaling.h"
#include "json/writer.h"

namespace berth::apiserver {
namespace {

using kube::Verb;

constexpr int kMostAttempts = 5;
constexpr int kMostNames = 8;

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
  // Before a quota is charged for a name that is taken.
  if (creating_ && generated_ && attempts_ < kMostNames &&
      core_.store.get(call_->table(), KeyRef(key_), View::kTip) != nullptr)
    return again();
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
    Result<kube::Object> made = bounded(std::move(*edit_).commit(0));
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
    Result<kube::Object> made = bounded(std::move(*edit_).commit(old_.revision()));
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
  if (call_->table() == kube::kCoreEvent) core_.events.note(done->object);
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
