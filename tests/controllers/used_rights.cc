// SPDX-License-Identifier: Apache-2.0
#include "used_rights.h"

#include <cstdlib>
#include <map>
#include <set>
#include <utility>

#include <fmt/format.h>
#include <gtest/gtest.h>

#include "controllers/registry.h"

namespace berth::controllers::stories {
namespace {

using Rights = std::set<std::string>;  // "patch pods./status"

struct Tally {
  std::map<std::string, Rights> declared, used;  // by controller
};
Tally& tally() {
  static Tally all;
  return all;
}

struct Exception {
  const char *controller, *right, *reason;
};
constexpr Exception kExceptions[] = {
    {"batchjob-controller", "patch flinkdeployments.flink.apache.org", "resized as Jobs are"},
    {"daemonset-controller", "delete controllerrevisions.apps",
     "beyond the limit of revisions: history.cc, which stateful_set_test.cc tests"},
    {"statefulset-controller", "delete controllerrevisions.apps",
     "beyond the limit of revisions: stateful_set_test.cc"},
    {"daemonset-controller", "patch pods.",
     "takes over orphans: ownership.cc, as in the stories of ReplicaSets"},
    {"namespace-controller", "delete *",
     "of a kind that has no deletecollection: namespace_cleaner_test.cc"},
    {"scavenger-controller", "delete mpijobs.kubeflow.org", "as Jobs go"},
    {"scavenger-queue-controller", "patch scavengerjobs.core.cerit.cz", "as of the other group"},
    {"scavenger-usage-controller", "patch scavengerjobs.core.cerit.cz/status",
     "as of the other group"},
    {"slot-allocator-controller", "tell", "a ledger that is full or cannot be read"},
    {"testbed-controller", "tell", "an executor that strays in"},
};

// Reads past the caches come as one, and so do events and their series.
std::string right(std::string_view verb, std::string_view resource) {
  if (resource == "events.events.k8s.io") return "tell";
  return fmt::format("{} {}", verb == "get" || verb == "list" ? "ask" : verb, resource);
}
std::string resource(kube::KindId id, const std::string& part) {
  const kube::Kind& kind = kube::kind_of(id);
  return fmt::format("{}.{}{}{}", kind.plural, kind.group, part.empty() ? "" : "/", part);
}

Rights declared_by(const runtime::Spec& spec) {
  Rights all;
  for (const runtime::CallSpec& call : spec.calls())
    all.insert(right(call.verb, resource(call.kind, call.subresource)));
  for (const std::string& verb : spec.any_kind())
    if (verb != "watch") all.insert(right(verb, "*"));
  if (spec.asks_scales()) all.insert(right("get", "*/scale"));
  return all;
}

std::string_view word_of(kube::Verb verb) {
  switch (verb) {
    case kube::Verb::kCreate:
      return "create";
    case kube::Verb::kUpdate:
      return "update";
    case kube::Verb::kPatch:
      return "patch";
    case kube::Verb::kDelete:
      return "delete";
    case kube::Verb::kDeleteCollection:
      return "deletecollection";
    default:
      return "get";
  }
}

class NoIdleRights final : public testing::Environment {
 public:
  void TearDown() override {
    if (std::getenv("BERTH_RIGHTS") == nullptr) return;
    for (const Registration& each : all_controllers()) {
      const std::string name(each.name);
      if (name.find("-alias-") != name.npos) continue;  // the same class, for the other group
      for (const std::string& one : tally().declared[name])
        EXPECT_NE(tally().used[name].contains(one), excepted(name, one))
            << name << " may \"" << one << "\": "
            << (excepted(name, one) ? "a story uses it, so it is no exception"
                                    : "no story uses it");
    }
  }

 private:
  static bool excepted(const std::string& controller, const std::string& right) {
    for (const Exception& each : kExceptions)
      if (controller == each.controller && right == each.right) return true;
    return false;
  }
};
[[maybe_unused]] testing::Environment* const kChecked =
    testing::AddGlobalTestEnvironment(new NoIdleRights);

}  // namespace

UsedRights::UsedRights(const runtime::Spec& spec, client::Transport& inner)
    : controller_(spec.name()), inner_(inner) {
  tally().declared.try_emplace(controller_, declared_by(spec));
}

void UsedRights::call(kube::ApiRequest request, Instant deadline, Done<kube::ApiReply> done) {
  if (request.verb != kube::Verb::kRaw) {
    Rights& used = tally().used[controller_];
    const std::string_view verb = word_of(request.verb);
    used.insert(right(verb, resource(request.kind, request.subresource)));
    used.insert(right(verb, request.subresource.empty() ? "*" : "*/" + request.subresource));
  }
  inner_.call(std::move(request), deadline, std::move(done));
}

}  // namespace berth::controllers::stories
