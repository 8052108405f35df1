// SPDX-License-Identifier: Apache-2.0
// A pod's runtime class tells what the runtime itself needs, and on which nodes it is.
#include <fmt/format.h>

#include "apiserver/admission/refusal.h"
#include "apiserver/admission/steps.h"

namespace berth::apiserver {

namespace {

bool tolerates_more(Peek wide, Peek narrow) {
  if (same(wide, narrow)) return true;
  const auto text = [](Peek of, std::string_view field) { return of[field].text(); };
  if (text(narrow, "key") != text(wide, "key") &&
      !(text(wide, "key").empty() && text(wide, "operator") == "Exists"))
    return false;
  if (text(narrow, "effect") != text(wide, "effect") && !text(wide, "effect").empty()) return false;
  if (text(wide, "effect") == "NoExecute" && wide["tolerationSeconds"] &&
      (!narrow["tolerationSeconds"] ||
       narrow["tolerationSeconds"].integer_or(0) > wide["tolerationSeconds"].integer_or(0)))
    return false;
  if (text(wide, "operator") == "Exists") return true;
  const bool equals = text(wide, "operator").empty() || text(wide, "operator") == "Equal";
  const bool both = text(narrow, "operator").empty() || text(narrow, "operator") == "Equal";
  return equals && both && text(wide, "value") == text(narrow, "value");
}

// Leaves out what another one covers; of equals the first stays.
json::List merged(const json::List& all, boost::json::storage_ptr storage) {
  json::List out(std::move(storage));
  for (std::size_t i = 0; i < all.size(); ++i) {
    bool covered = false;
    for (const json::Value& taken : out) covered = covered || tolerates_more(taken, all[i]);
    for (std::size_t j = i + 1; j < all.size(); ++j)
      covered = covered || (!same(all[i], all[j]) && tolerates_more(all[j], all[i]));
    if (!covered) out.push_back(all[i]);
  }
  return out;
}

class RuntimeClass final : public AdmissionStep {
 public:
  explicit RuntimeClass(const Store& store) : store_(store) {}
  std::string_view name() const override { return "RuntimeClass"; }

  Result<Ok> mutate(AdmissionCall& call) override {
    if (!concerns(call)) return Ok{};
    auto found = find(call);
    if (!found) return tl::unexpected(found.error());
    if (!found->valid()) return Ok{};
    json::Dict& spec = make_dict(call.edit->body(), "spec");
    if (auto ok = set_overhead(call, spec, found->member("overhead")); !ok) return ok;
    return set_scheduling(call, spec, found->member("scheduling"));
  }

  Result<Ok> validate(AdmissionCall& call) override {
    if (!concerns(call)) return Ok{};
    auto found = find(call);
    if (!found) return tl::unexpected(found.error());
    const Peek overhead = spec_of(call)["overhead"];
    if (found->valid() && found->member("overhead").is_object()) {
      json::Arena scratch;
      if (!same(overhead, fixed(found->member("overhead"), scratch)))
        return tl::unexpected(refusal(call, kMismatch));
    } else if (overhead) {
      return tl::unexpected(refusal(
          call,
          "pod rejected: Pod Overhead set without corresponding RuntimeClass defined Overhead"));
    }
    return Ok{};
  }

 private:
  static constexpr std::string_view kMismatch =
      "pod rejected: Pod's Overhead doesn't match RuntimeClass's defined Overhead";

  static bool concerns(const AdmissionCall& call) {
    return call.is(kube::kPod) && call.operation == Operation::kCreate && call.edit != nullptr;
  }
  // Not valid: none is named.
  Result<kube::Object> find(AdmissionCall& call) const {
    const Peek named = spec_of(call)["runtimeClassName"];
    if (!named) return kube::Object();
    const kube::Object* found = store_.get(kube::kRuntimeClass, {"", named.text()}, View::kTip);
    if (found != nullptr) return *found;
    return tl::unexpected(refusal(
        call, fmt::format("pod rejected: RuntimeClass {} not found", json::quoted(named.text()))));
  }
  static json::Value fixed(json::Slice overhead, json::Arena& arena) {
    const json::Slice amounts = overhead["podFixed"];
    return amounts ? json::parse_good(amounts.raw(), arena) : json::Value(nullptr);
  }

  static Result<Ok> set_overhead(AdmissionCall& call, json::Dict& spec, json::Slice overhead) {
    if (!overhead.is_object()) return Ok{};
    json::Arena scratch;
    const json::Value wanted = fixed(overhead, scratch);
    if (Peek(spec)["overhead"].size() > 0 && !same(Peek(spec)["overhead"], wanted))
      return tl::unexpected(refusal(call, kMismatch));
    if (!wanted.is_null()) spec["overhead"] = wanted;
    return Ok{};
  }

  static Result<Ok> set_scheduling(AdmissionCall& call, json::Dict& spec, json::Slice scheduling) {
    if (!scheduling.is_object()) return Ok{};
    for (const auto [key, value] : scheduling["nodeSelector"].members()) {
      json::Dict& selector = make_dict(spec, "nodeSelector");
      const Peek given = Peek(selector)[key];
      if (given && given.text() != value.text())
        return tl::unexpected(
            refusal(call, fmt::format("conflict: runtimeClass.scheduling.nodeSelector[{}] = {}; "
                                      "pod.spec.nodeSelector[{}] = {}",
                                      key, value.text(), key, given.text())));
      selector[bj(key)] = bj(value.text());
    }
    json::Arena scratch;
    json::List all(scratch.storage());
    for (const json::Value& each : Peek(spec)["tolerations"].elements()) all.push_back(each);
    for (const json::Slice each : scheduling["tolerations"].elements())
      all.push_back(json::parse_good(each.raw(), scratch));
    if (!all.empty()) spec["tolerations"] = merged(all, spec.storage());
    return Ok{};
  }

  const Store& store_;
};

}  // namespace

Step runtime_class(const Store& store) { return std::make_unique<RuntimeClass>(store); }

}  // namespace berth::apiserver
