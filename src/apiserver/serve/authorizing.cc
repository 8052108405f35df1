// SPDX-License-Identifier: Apache-2.0
#include "apiserver/serve/authorizing.h"

#include "base/lower.h"
#include "kube/field_selector.h"

namespace berth::apiserver {
namespace {

Result<Ok> decide(Core& core, const kube::User& user, const Attributes& wanted) {
  const Decision decision = core.authorizer.authorize(user, wanted);
  if (decision.allowed) return Ok{};
  return tl::unexpected(forbidden(user, wanted, decision.reason));
}

}  // namespace

Result<Ok> authorize(const Call& call, std::string_view verb) {
  const kube::ApiRequest& asked = call.request;
  if (call.row == nullptr) {
    const std::string method = lower(asked.raw_method);
    const std::string_view path =
        std::string_view(asked.raw_path).substr(0, asked.raw_path.find('?'));
    return decide(call.core, asked.user, {.verb = method, .path = path});
  }
  Attributes wanted{.verb = verb.empty() ? verb_name(asked.verb) : verb,
                    .group = call.row->kind.group,
                    .version = call.row->kind.version,
                    .resource = call.row->kind.plural,
                    .subresource = asked.subresource,
                    .ns = asked.ns,
                    .name = asked.name};
  // k8s 1.36: a namespace is in itself.
  if (call.row->id == kube::kNamespace) wanted.ns = asked.name;
  // Who may list or watch one name need not be allowed to see all.
  std::string name;
  if ((asked.verb == kube::Verb::kList || asked.verb == kube::Verb::kWatch) && asked.name.empty() &&
      !asked.options.field_selector.empty())
    if (const auto fields = kube::FieldSelector::parse(asked.options.field_selector)) {
      name = fields->required("metadata.name").value_or("");
      if (name.find_first_of("/%") == std::string::npos && name != "." && name != "..")
        wanted.name = name;
    }
  return decide(call.core, asked.user, wanted);
}

}  // namespace berth::apiserver
