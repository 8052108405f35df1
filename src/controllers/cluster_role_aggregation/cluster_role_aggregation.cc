// SPDX-License-Identifier: Apache-2.0
// Makes the rules of a ClusterRole that is the sum of others.
#include <algorithm>
#include <set>

#include "controllers/pod_template.h"
#include "json/writer.h"
#include "kube/label_selector.h"
#include "runtime/controller.h"

namespace berth::controllers {
namespace {

using namespace runtime;  // NOLINT: a controller speaks its language
using kube::kClusterRole;
using kube::LabelSelector;

void wake_sums(const View& view, const Change&, std::vector<Key>& wake) {
  for (const Object* role : view.list(kClusterRole))
    if (role->member("aggregationRule").is_object()) wake.push_back(role->key());
}

class ClusterRoleAggregation final : public Controller {
 public:
  Spec spec() const override {
    Spec spec("clusterrole-aggregation-controller");
    spec.reconciles(kClusterRole, &wake_sums).patches(kClusterRole);
    return spec;
  }

  Plan reconcile(const View& view, const Key& key, WallTime) const override {
    const Object* sum = view.get(kClusterRole, key);
    if (sum == nullptr || !sum->member("aggregationRule").is_object()) return Plan::done();
    json::Writer w;
    w.array();
    std::set<std::string> seen;
    for (const json::Slice one :
         sum->member("aggregationRule")["clusterRoleSelectors"].elements()) {
      const auto selector = LabelSelector::from_json(one);
      if (!selector) return Plan().reason("a selector is bad: " + selector.error().message);
      for (const Object* role : view.list(kClusterRole)) {
        if (role->name() == sum->name() || !selector->matches(role->labels())) continue;
        for (const json::Slice rule : role->member("rules").elements())
          if (seen.insert(canonical(rule)).second) w.raw(rule.raw());
      }
    }
    w.end();
    const std::string rules = w.take();
    if (canonical(json::Slice(rules)) == canonical(sum->member("rules"))) return Plan::done();
    return Plan().patch(*sum, R"({"rules":)" + rules + "}");
  }
};

}  // namespace

std::unique_ptr<Controller> make_cluster_role_aggregation() {
  return std::make_unique<ClusterRoleAggregation>();
}

}  // namespace berth::controllers
