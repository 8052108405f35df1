// SPDX-License-Identifier: Apache-2.0
// get and list.
#include <algorithm>

#include "apiserver/serve/call.h"
#include "apiserver/serve/convert.h"
#include "apiserver/serve/scaling.h"
#include "apiserver/serve/selecting.h"
#include "apiserver/serve/waiting.h"
#include "apiserver/store/list_run.h"

namespace berth::apiserver {
namespace {

using kube::Object;

void get(const CallPtr& call) {
  const kube::ApiRequest& asked = call->request;
  if (call->row->computed != nullptr) {
    std::optional<Object> made = call->row->computed->get(asked.ns, asked.name);
    if (!made) return call->answer(not_found(call->kind(), asked.name));
    return call->answer(std::move(*made));
  }
  const Object* found = call->core.store.get(call->table(), KeyRef(asked.ns, asked.name));
  if (found == nullptr) return call->answer(not_found(call->kind(), asked.name));
  Result<Object> own = as_asked(*call->row, *found);
  if (own && call->sub != nullptr && call->sub->name == "scale") own = scale_of(*call->row, *own);
  if (!own) return call->answer(std::move(own.error()));
  call->answer(std::move(*own));
}

void list_computed(const CallPtr& call, const Selector& selector) {
  kube::ObjectList list;
  list.revision = call->core.store.published();
  for (Object& each : call->row->computed->list(call->request.ns))
    if (selector.matches(each)) list.items.push_back(std::move(each));
  kube::ApiReply reply;
  reply.body = std::move(list);
  call->answer(std::move(reply));
}

// A list in steps, so that no other request waits long.
class Listing final : public std::enable_shared_from_this<Listing> {
 public:
  Listing(CallPtr call, ListSpec spec) : call_(std::move(call)), spec_(std::move(spec)) {}

  void start() {
    const kube::Revision needed = std::max(spec_.plan.at_least, spec_.plan.exactly);
    when_there(*call_, needed, [self = shared_from_this()] { self->begin(); });
  }

 private:
  void begin() {
    auto run = call_->core.store.begin_list(std::move(spec_));
    if (!run) return refuse(std::move(run.error()));
    run_.emplace(std::move(*run));
    step();
  }

  void step() {
    const auto complete = run_->step(Store::kStep);
    if (!complete) return refuse(complete.error());
    if (!*complete) return call_->core.scope.post([self = shared_from_this()] { self->step(); });
    Page page = run_->take();
    kube::ObjectList list{.revision = page.revision,
                          .continue_token = std::move(page.continue_token),
                          .remaining = page.remaining,
                          .items = std::move(page.items)};
    if (call_->row->stored_as) {
      for (Object& item : list.items) {
        Result<Object> own = as_asked(*call_->row, item);
        if (!own) return call_->answer(std::move(own.error()));
        item = std::move(*own);
      }
    }
    kube::ApiReply reply;
    reply.body = std::move(list);
    call_->answer(std::move(reply));
  }

  void refuse(ListFailure failure) {
    if (!failure.fresh_token.empty())
      failure.error.about =
          std::make_shared<const About>(About{.continue_token = std::move(failure.fresh_token)});
    call_->answer(std::move(failure.error));
  }

  CallPtr call_;
  ListSpec spec_;
  std::optional<ListRun> run_;
};

}  // namespace

void serve_get(CallPtr call) {
  const std::string& text =
      call->request.options.resource_version ? *call->request.options.resource_version : "";
  if (text.empty() || text == "0") return get(call);
  const Result<kube::Revision> revision = parse_revision(text);
  if (!revision) return call->answer(unlike_a_list(revision.error()));
  Call& waits = *call;
  when_there(waits, *revision, [call = std::move(call)] { get(call); });
}

void serve_list(CallPtr call) {
  Result<ListPlan> plan = plan_list(call->request.options);
  if (!plan) return call->answer(std::move(plan.error()));
  Result<Selector> selector = selector_of(*call->row, call->request.options);
  if (!selector) return call->answer(std::move(selector.error()));
  if (call->row->computed != nullptr) return list_computed(call, *selector);
  ListSpec spec{.kind = call->table(),
                .range = {.ns = call->request.ns},
                .selector = std::move(*selector),
                .plan = std::move(*plan)};
  std::make_shared<Listing>(std::move(call), std::move(spec))->start();
}

}  // namespace berth::apiserver
