// SPDX-License-Identifier: Apache-2.0
// Turns a pod's priority class into the number that schedulers read.
#include <fmt/format.h>

#include "apiserver/admission/refusal.h"
#include "apiserver/admission/steps.h"

namespace berth::apiserver {

namespace {

class Priority final : public AdmissionStep {
 public:
  explicit Priority(const Store& store) : store_(store) {}
  std::string_view name() const override { return "Priority"; }

  Result<Ok> mutate(AdmissionCall& call) override {
    if (!call.is(kube::kPod) || call.edit == nullptr) return Ok{};
    json::Dict* spec = dict_in(call.edit->body(), "spec");
    if (spec == nullptr) return Ok{};
    if (call.operation == Operation::kUpdate) return keep(call, *spec);
    if (call.operation == Operation::kCreate) return resolve(call, *spec);
    return Ok{};
  }

  Result<Ok> validate(AdmissionCall& call) override {
    if (!call.is(kube::kPriorityClass) || call.edit == nullptr) return Ok{};
    if (!Peek(call.edit->body())["globalDefault"].boolean()) return Ok{};
    const std::optional<kube::Object> already = global_default();
    if (!already || (call.operation == Operation::kUpdate && already->name() == call.name))
      return Ok{};
    return tl::unexpected(refusal(
        call,
        fmt::format("PriorityClass {} is already marked as default. Only one default can exist",
                    already->name())));
  }

 private:
  // What create has resolved stays when an update leaves it out.
  static Result<Ok> keep(AdmissionCall& call, json::Dict& spec) {
    const Peek was = call.edit->was_body()["spec"];
    for (const std::string_view field : {"priority", "preemptionPolicy"})
      if (!Peek(spec)[field] && was[field]) spec[bj(field)] = *was[field].value();
    return Ok{};
  }

  Result<Ok> resolve(AdmissionCall& call, json::Dict& spec) const {
    const std::string wanted{Peek(spec)["priorityClassName"].text()};
    std::int64_t value = 0;
    std::string policy = "PreemptLowerPriority";
    if (std::optional<kube::Object> held = wanted.empty() ? global_default() : find(wanted)) {
      value = held->member("value").integer().value_or(0);
      policy = held->member("preemptionPolicy").text();
      spec["priorityClassName"] = bj(held->name());
    } else if (!wanted.empty()) {
      return tl::unexpected(
          refusal(call, fmt::format("no PriorityClass with name {} was found", wanted)));
    }
    if (const Peek given = Peek(spec)["priority"]; given && given.integer_or(0) != value)
      return tl::unexpected(refusal(
          call, fmt::format("the integer value of priority ({}) must not be provided in pod spec; "
                            "priority admission controller computed {} from the given "
                            "PriorityClass name",
                            given.integer_or(0), value)));
    spec["priority"] = value;
    if (policy.empty()) return Ok{};
    if (const Peek given = Peek(spec)["preemptionPolicy"]; given && given.text() != policy)
      return tl::unexpected(refusal(
          call, fmt::format("the string value of PreemptionPolicy ({}) must not be provided in pod "
                            "spec; priority admission controller computed {} from the given "
                            "PriorityClass name",
                            given.text(), policy)));
    spec["preemptionPolicy"] = bj(policy);
    return Ok{};
  }

  std::optional<kube::Object> find(const std::string& name) const {
    const kube::Object* found = store_.get(kube::kPriorityClass, {"", name}, View::kTip);
    return found == nullptr ? std::nullopt : std::optional(*found);
  }
  // The lowest, where a race has left more than one.
  std::optional<kube::Object> global_default() const {
    std::optional<kube::Object> lowest;
    for (kube::Object& each : all_at_tip(store_, kube::kPriorityClass)) {
      if (!each.member("globalDefault").boolean()) continue;
      if (!lowest || each.member("value").integer().value_or(0) <
                         lowest->member("value").integer().value_or(0))
        lowest = std::move(each);
    }
    return lowest;
  }

  const Store& store_;
};

}  // namespace

Step priority(const Store& store) { return std::make_unique<Priority>(store); }

}  // namespace berth::apiserver
