// SPDX-License-Identifier: Apache-2.0
// pods/eviction: a deletion that disruption budgets may refuse. Everything between reading the pod
// and deleting it happens in one turn, so nobody comes in between.
#include <fmt/format.h>

#include "apiserver/edit/edit.h"
#include "apiserver/serve/body.h"
#include "apiserver/serve/chain.h"
#include "apiserver/serve/conditions.h"
#include "apiserver/serve/deletion.h"
#include "kube/disruption_budget_view.h"
#include "kube/time.h"

namespace berth::apiserver {
namespace {

using kube::DisruptionBudgetView;
using kube::Object;

constexpr std::size_t kMostDisrupted = 2'000;

Error refused(std::string why, std::optional<Duration> retry_after) {
  return {.reason = Reason::kTooManyRequests,
          .message = "Cannot evict pod as it would violate the pod's disruption budget.",
          .retry_after = retry_after,
          .causes = {{"DisruptionBudget", std::move(why), ""}}};
}

Error not_seen_yet(std::string_view budget) {
  return refused(
      fmt::format("The disruption budget {} is still being processed by the server.", budget),
      std::chrono::seconds(10));
}

Error forbidden_by(std::string_view budget, std::string_view why) {
  return {.reason = Reason::kForbidden,
          .message = fmt::format("poddisruptionbudget.policy \"{}\" is forbidden: {}", budget, why),
          .about = std::make_shared<const About>(About{
              .name = std::string(budget), .group = "policy", .kind = "poddisruptionbudget"})};
}

bool ready(const Object& pod) {
  for (const json::Slice each : pod.status()["conditions"].elements())
    if (each["type"].equals("Ready")) return each["status"].equals("True");
  return false;
}

bool finished(const Object& pod) {
  const json::Slice phase = pod.status()["phase"];
  return phase.equals("Succeeded") || phase.equals("Failed");
}

// Nothing that runs is disrupted.
bool needs_no_budget(const Object& pod) {
  return finished(pod) || pod.status()["phase"].equals("Pending") || pod.deleting();
}

std::string why_none_allowed(const DisruptionBudgetView& budget) {
  const std::string name(budget.object().name());
  json::Slice condition;
  for (const json::Slice each : budget.object().status()["conditions"].elements())
    if (each["type"].equals("DisruptionAllowed")) condition = each;
  const std::string message = condition["message"].text();
  const bool explained = condition["status"].equals("False") && !message.empty();
  if (explained && condition["reason"].equals("SyncFailed"))
    return fmt::format(
        "The disruption budget {} does not allow evicting pods currently because it failed sync: "
        "{}",
        name, message);
  if (budget.current_healthy() <= budget.desired_healthy())
    return fmt::format("The disruption budget {} needs {} healthy pods and has {} currently", name,
                       budget.desired_healthy(), budget.current_healthy());
  if (explained)
    return fmt::format("The disruption budget {} does not allow evicting pods currently ({}): {}",
                       name, condition["reason"].text(), message);
  return fmt::format("The disruption budget {} does not allow evicting pods currently", name);
}

// One eviction. Kept by what it waits for.
class Eviction final : public std::enable_shared_from_this<Eviction> {
 public:
  explicit Eviction(CallPtr call) : call_(std::move(call)), core_(call_->core), arena_(core_) {}
  ~Eviction() {
    chain_.reset();
    eviction_.reset();
  }

  void start() {
    Form form = Form::of("policy/v1", "Eviction");
    form.also_version = "v1beta1";
    Result<json::Value> read = read_body(*call_, form, *arena_);
    if (!read) return call_->answer(std::move(read.error()));
    eviction_.emplace(std::move(*read));
    const Peek metadata = Peek(*eviction_)["metadata"];
    const std::string_view ns = metadata["namespace"].text();
    if (!ns.empty() && ns != call_->request.ns)
      return call_->answer(bad_request(
          "the namespace of the provided object does not match the namespace sent on the request"));
    chain_.emplace(*call_, Operation::kCreate, call_->request.name, nullptr, Object(), &*eviction_);
    chain_->mutate(
        [self = shared_from_this()](Result<Ok> done) { self->on_mutated(std::move(done)); });
  }

 private:
  void on_mutated(Result<Ok> done) {
    if (!done) return call_->answer(std::move(done.error()));
    if (!Peek(*eviction_)["metadata"]["name"].is(call_->request.name))
      return call_->answer(bad_request("name in URL does not match name in Eviction object"));
    if (const json::Value* options = Peek(*eviction_)["deleteOptions"].value()) {
      Result<DeleteWish> wish = delete_options_in(*options);
      if (!wish) return call_->answer(std::move(wish.error()));
      wish_ = std::move(*wish);
    }
    wish_.dry_run |= call_->request.options.dry_run;
    chain_->validate([self = shared_from_this()](Result<Ok> valid) {
      if (!valid) return self->call_->answer(std::move(valid.error()));
      self->decide();
    });
  }

  void decide() {
    const Object* found = core_.store.get(kube::kPod, KeyRef(call_->key()), View::kTip);
    if (found == nullptr) return call_->answer(not_found(call_->kind(), call_->request.name));
    const Object pod = *found;
    if (!needs_no_budget(pod))
      if (Result<Ok> may = ask_budget(pod); !may) return call_->answer(std::move(may.error()));
    remove(pod);
  }

  std::vector<DisruptionBudgetView> budgets_of(const Object& pod) const {
    std::vector<DisruptionBudgetView> out;
    auto page = core_.store.list(
        {.kind = kube::kPodDisruptionBudget, .range = {.ns = std::string(pod.ns())}});
    if (!page) return out;
    for (const Object& listed : page->items) {
      // The list is of what all can see; what is on its way counts here.
      const Object* tip = core_.store.get(kube::kPodDisruptionBudget, KeyRef(listed), View::kTip);
      if (tip == nullptr) continue;
      DisruptionBudgetView budget(*tip);
      const auto selector = budget.selector();
      if (selector && selector->matches(pod.labels())) out.push_back(std::move(budget));
    }
    return out;
  }

  // Takes one disruption from the budget that covers the pod, if there is one.
  Result<Ok> ask_budget(const Object& pod) {
    const std::vector<DisruptionBudgetView> budgets = budgets_of(pod);
    if (budgets.empty()) return Ok{};
    if (budgets.size() > 1)
      return tl::unexpected(
          plain_error("This pod has more than one PodDisruptionBudget, which the eviction "
                      "subresource does not support."));
    const DisruptionBudgetView& budget = budgets.front();
    // A pod that is not healthy is no loss where the others suffice.
    if (!ready(pod) &&
        (budget.always_allows_unhealthy() ||
         (budget.desired_healthy() > 0 && budget.current_healthy() >= budget.desired_healthy())))
      return Ok{};
    const std::string name(budget.object().name());
    if (budget.observed_generation() < budget.object().generation())
      return tl::unexpected(not_seen_yet(name));
    if (budget.disruptions_allowed() < 0)
      return tl::unexpected(forbidden_by(name, "pdb disruptions allowed is negative"));
    if (budget.disrupted_pods().size() > kMostDisrupted)
      return tl::unexpected(forbidden_by(
          name, "DisruptedPods map too big - too many evictions not confirmed by PDB controller"));
    if (budget.disruptions_allowed() == 0)
      return tl::unexpected(refused(why_none_allowed(budget), std::nullopt));
    if (!wish_.dry_run) charge(budget.object(), pod);
    return Ok{};
  }

  void charge(const Object& budget, const Object& pod) {
    Edit edit(budget, *arena_);
    json::Dict& status = edit.status().as_object();
    const std::int64_t left = Peek(status)["disruptionsAllowed"].integer_or(0) - 1;
    status["disruptionsAllowed"] = left;
    make_dict(status, "disruptedPods")[bj(pod.name())] = kube::time_text(core_.wall());
    if (left == 0) set_disruption_allowed(status, core_.wall());
    write(budget, edit);
  }

  void write(const Object& old, Edit& edit) {
    if (!edit.changed()) return;
    core_.store.write(
        {.kind = old.kind(),
         .key = old.key(),
         .expect = Write::Expect::kPresent,
         .uid = std::string(old.uid()),
         .revision = old.revision(),
         .next = [&edit](kube::Revision revision) { return std::move(edit).commit(revision); }},
        // The deletion that follows tells how it went.
        core_.scope.done<Committed>(kNoLimit, [](const Result<Committed>&) {}));
  }

  void remove(Object pod) {
    if (Result<Ok> hold = check_preconditions(call_->kind(), pod, wish_); !hold)
      return call_->answer(std::move(hold.error()));
    if (!wish_.dry_run) {
      Edit edit(pod, *arena_);
      set_pod_condition(edit,
                        {.type = "DisruptionTarget",
                         .status = "True",
                         .reason = "EvictionByEvictionAPI",
                         .message = "Eviction API: evicting"},
                        core_.wall());
      write(pod, edit);
      pod = *core_.store.get(kube::kPod, KeyRef(call_->key()), View::kTip);
    }
    erase(core_, *call_->row, pod, wish_,
          core_.scope.done<Erased>(kNoLimit, [self = shared_from_this()](Result<Erased> done) {
            if (!done) return self->call_->answer(std::move(done.error()));
            self->call_->answer(success({}, 201));
          }));
  }

  CallPtr call_;
  Core& core_;
  Borrowed arena_;
  DeleteWish wish_;
  std::optional<json::Value> eviction_;
  std::optional<Chain> chain_;
};

}  // namespace

void serve_eviction(CallPtr call) { std::make_shared<Eviction>(std::move(call))->start(); }

}  // namespace berth::apiserver
