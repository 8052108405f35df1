// SPDX-License-Identifier: Apache-2.0
// NodeAffinityArgs.addedAffinity: a v1.NodeAffinity, checked where it is written.
#include <algorithm>

#include <fmt/format.h>

#include "json/writer.h"
#include "kube/node_selector.h"
#include "scheduler/config/parts.h"

namespace berth::scheduler {
namespace {

using json::Slice;

void read_requirements(Fields& in, Problems& problems, std::string_view key,
                       const std::vector<std::string_view>& operators) {
  in.each(key, [&](Slice element, const std::string& path) {
    Fields fields(problems, element, path);
    std::string name, op;
    fields.text("key", name);
    fields.text("operator", op);
    fields.texts("values");
    fields.finish();
    if (std::find(operators.begin(), operators.end(), op) == operators.end())
      fields.complain("operator", fmt::format("{} is not one of {}", json::quoted(op),
                                              fmt::join(operators, ", ")));
  });
}

// Types and operators first; then what only the selector knows, unless something is wrong already.
void check_term(Fields& in, Problems& problems, Slice term, bool counts) {
  const std::size_t before = problems.count();
  read_requirements(in, problems, "matchExpressions",
                    {"In", "NotIn", "Exists", "DoesNotExist", "Gt", "Lt"});
  read_requirements(in, problems, "matchFields", {"In", "NotIn"});
  if (!counts || problems.count() != before || !term.is_object()) return;
  const kube::NodeSelectorTerm made = kube::NodeSelectorTerm::from_json(term);
  if (made.error()) problems.add(in.path(), made.error()->message);
}

}  // namespace

void check_node_affinity(Problems& problems, Slice affinity, const std::string& path) {
  Fields in(problems, affinity, path);
  in.object("requiredDuringSchedulingIgnoredDuringExecution", [&](Fields& required) {
    required.each("nodeSelectorTerms", [&](Slice term, const std::string& place) {
      Fields fields(problems, term, place);
      check_term(fields, problems, term, true);
      fields.finish();
    });
  });
  in.each("preferredDuringSchedulingIgnoredDuringExecution",
          [&](Slice preferred, const std::string& place) {
            Fields fields(problems, preferred, place);
            std::int32_t weight = 0;
            fields.integer("weight", weight);
            fields.object("preference", [&](Fields& preference) {
              check_term(preference, problems, preferred["preference"], weight != 0);
            });
            fields.finish();
          });
  in.finish();
}

}  // namespace berth::scheduler
