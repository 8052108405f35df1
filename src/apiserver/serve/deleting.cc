// SPDX-License-Identifier: Apache-2.0
// delete, and the same for all that a selector finds.
#include <algorithm>

#include "apiserver/edit/edit.h"
#include "apiserver/serve/chain.h"
#include "apiserver/serve/convert.h"
#include "apiserver/serve/deletion.h"
#include "apiserver/serve/selecting.h"
#include "apiserver/store/list_run.h"

namespace berth::apiserver {
namespace {

// One object, from finding it to its end. Kept by what it waits for.
class Deleting final : public std::enable_shared_from_this<Deleting> {
 public:
  using Then = Fn<void(Result<Erased>)>;
  Deleting(CallPtr call, kube::Key key, DeleteWish wish, Then then)
      : call_(std::move(call)),
        core_(call_->core),
        row_(stored_row(*call_)),
        key_(std::move(key)),
        wish_(std::move(wish)),
        then_(std::move(then)) {}

  void start() {
    ++attempts_;
    const kube::Object* found = core_.store.get(call_->table(), KeyRef(key_), View::kTip);
    if (found == nullptr) return finish(tl::unexpected(not_found(call_->kind(), key_.name)));
    old_ = *found;
    if (Result<Ok> hold = check_preconditions(call_->kind(), old_, wish_); !hold)
      return finish(tl::unexpected(std::move(hold.error())));
    Result<kube::Object> shown = as_asked(*call_->row, old_);
    if (!shown) return finish(tl::unexpected(std::move(shown.error())));
    chain_.emplace(*call_, Operation::kDelete, key_.name, nullptr, *shown, nullptr);
    chain_->mutate([self = shared_from_this()](Result<Ok> done) {
      if (!done) return self->finish(tl::unexpected(std::move(done.error())));
      self->chain_->validate([self](Result<Ok> valid) { self->on_validated(std::move(valid)); });
    });
  }

 private:
  // Two kinds over one table: what is deleted is what is stored.
  static const KindRow& stored_row(const Call& call) {
    const KindRow* stored = call.kinds->find(call.table());
    return stored == nullptr ? *call.row : *stored;
  }

  void on_validated(Result<Ok> valid) {
    if (!valid) return finish(tl::unexpected(std::move(valid.error())));
    if (chain_->waited()) {
      const kube::Object* now = core_.store.get(call_->table(), KeyRef(key_), View::kTip);
      if (now == nullptr || now->revision() != old_.revision()) {
        if (attempts_ < 5) return start();
        return finish(tl::unexpected(modified(call_->kind(), key_.name)));
      }
    }
    erase(core_, row_, old_, wish_,
          core_.scope.done<Erased>(kNoLimit, [self = shared_from_this()](Result<Erased> done) {
            self->finish(std::move(done));
          }));
  }

  void finish(Result<Erased> done) {
    if (done) {
      Result<kube::Object> shown = as_asked(*call_->row, done->object);
      if (shown)
        done->object = std::move(*shown);
      else
        done = tl::unexpected(std::move(shown.error()));
    }
    Then then = std::move(then_);
    then(std::move(done));
  }

  CallPtr call_;
  Core& core_;
  const KindRow& row_;
  kube::Key key_;
  DeleteWish wish_;
  Then then_;
  kube::Object old_;
  std::optional<Chain> chain_;
  int attempts_ = 0;
};

void reply(Call& call, const DeleteWish& wish, Result<Erased> done) {
  if (!done) return call.answer(std::move(done.error()));
  const bool accepted = !done->removed && wish.orphan_dependents && !*wish.orphan_dependents;
  if (!done->removed || shows_deleted(*call.row))
    return call.answer(std::move(done->object), accepted ? 202 : 200);
  call.answer(success({.name = std::string(done->object.name()),
                       .group = call.kind().group,
                       .kind = call.kind().plural,
                       .uid = std::string(done->object.uid())}));
}

void warn_of_orphans(Call& call, const DeleteWish& wish) {
  if (call.row->id == kube::kJob && !wish.orphan_dependents &&
      wish.propagation == kube::Propagation::kUnset)
    call.warnings.emplace_back(
        "child pods are preserved by default when jobs are deleted; set "
        "propagationPolicy=Background to remove them or set propagationPolicy=Orphan to suppress "
        "this warning");
}

// All that are there when it begins: found in steps, deleted a few at a time.
class Sweeping final : public std::enable_shared_from_this<Sweeping> {
 public:
  Sweeping(CallPtr call, ListRun run, DeleteWish wish)
      : call_(std::move(call)), run_(std::move(run)), wish_(std::move(wish)) {}

  void find() {
    const auto complete = run_.step(Store::kStep);
    if (!complete) return call_->answer(complete.error().error);
    if (!*complete) return call_->core.scope.post([self = shared_from_this()] { self->find(); });
    Page page = run_.take();
    found_ = {.revision = page.revision,
              .continue_token = std::move(page.continue_token),
              .remaining = page.remaining,
              .items = std::move(page.items)};
    go_on();
  }

 private:
  void go_on() {
    while (next_ < found_.items.size() && running_ < kAtOnce && !error_) {
      ++running_;
      std::make_shared<Deleting>(
          call_, found_.items[next_++].key(), wish_,
          [self = shared_from_this()](Result<Erased> done) { self->on_deleted(std::move(done)); })
          ->start();
    }
    if (running_ == 0) finish();
  }

  static constexpr std::size_t kAtOnce = 64;

  void on_deleted(Result<Erased> done) {
    if (!done && done.error().reason != Reason::kNotFound && !error_)
      error_ = std::move(done.error());
    --running_;
    // Not from within go_on(): an error may come in the same turn.
    if (!posted_) {
      posted_ = true;
      call_->core.scope.post([self = shared_from_this()] {
        self->posted_ = false;
        self->go_on();
      });
    }
  }

  void finish() {
    if (call_->answered()) return;
    if (error_) return call_->answer(std::move(*error_));
    for (kube::Object& each : found_.items) {
      Result<kube::Object> shown = as_asked(*call_->row, each);
      if (shown) each = std::move(*shown);
    }
    kube::ApiReply reply;
    reply.body = std::move(found_);
    call_->answer(std::move(reply));
  }

  CallPtr call_;
  ListRun run_;
  kube::ObjectList found_;
  DeleteWish wish_;
  std::size_t next_ = 0, running_ = 0;
  bool posted_ = false;
  std::optional<Error> error_;
};

}  // namespace

void serve_delete(CallPtr call) {
  Result<DeleteWish> wish = read_delete_options(*call);
  if (!wish) return call->answer(std::move(wish.error()));
  warn_of_orphans(*call, *wish);
  std::make_shared<Deleting>(call, call->key(), *wish, [call, wish = *wish](Result<Erased> done) {
    reply(*call, wish, std::move(done));
  })->start();
}

void serve_delete_collection(CallPtr call) {
  Result<DeleteWish> wish = read_delete_options(*call);
  if (!wish) return call->answer(std::move(wish.error()));
  Result<ListPlan> plan = plan_list(call->request.options);
  if (!plan) return call->answer(std::move(plan.error()));
  Result<Selector> selector = selector_of(*call->row, call->request.options);
  if (!selector) return call->answer(std::move(selector.error()));
  warn_of_orphans(*call, *wish);
  auto run = call->core.store.begin_list({.kind = call->table(),
                                          .range = {.ns = call->request.ns},
                                          .selector = std::move(*selector),
                                          .plan = std::move(*plan)});
  if (!run) return call->answer(std::move(run.error().error));
  std::make_shared<Sweeping>(std::move(call), std::move(*run), std::move(*wish))->find();
}

}  // namespace berth::apiserver
