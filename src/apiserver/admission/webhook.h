// SPDX-License-Identifier: Apache-2.0
// One webhook of a configuration, ready to be asked: whether it wants to hear of a request, what
// it is sent, and what its answer means.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "apiserver/admission/admission.h"
#include "apiserver/admission/match_conditions.h"
#include "apiserver/admission/webhook_caller.h"
#include "apiserver/kinds/registry.h"
#include "apiserver/store/store.h"
#include "kube/label_selector.h"

namespace berth::apiserver {

struct WebhookRule {
  std::vector<std::string> operations, groups, versions, resources;
  std::string scope;  // "*", "Namespaced", "Cluster"
};

struct Webhook {
  std::string id;  // of the configuration, by which it is reinvoked
  std::string name;
  WebhookTarget target;
  std::vector<WebhookRule> rules;
  kube::LabelSelector namespaces, objects;
  std::vector<MatchCondition> conditions;
  std::string problem;  // why it cannot be asked at all; "": it can
  std::string review_version;
  bool ignore_failure = false, equivalent = false, reinvoke = false, dry_runs = false;
  Duration timeout{};
};

// Those of a Mutating- or ValidatingWebhookConfiguration, in their order.
std::vector<Webhook> webhooks_of(const kube::Object& configuration);

// False: by its rules it never hears of this. For who would do without a request.
bool may_ask(const Webhook&, Operation, const kube::Kind&, std::string_view subresource);

// How a webhook is asked: perhaps under another version's name than the request's.
struct WebhookInvocation {
  const Webhook* hook = nullptr;
  const KindRow* as = nullptr;
};
// Nothing: it does not want to hear of it. An error where its namespace is not there, or where its
// conditions cannot be told and it must not be passed over.
Result<std::optional<WebhookInvocation>> invocation_of(const Webhook&, const AdmissionCall&,
                                                       const Store&, const Kinds&);

// An AdmissionReview in JSON.
std::string review_of(const WebhookInvocation&, const AdmissionCall&, std::string_view uid);

struct WebhookVerdict {
  bool allowed = false;
  std::string patch = {};  // JSON, of RFC 6902
  std::vector<std::string> warnings = {};
  Error denial = {};  // where it is not allowed
};
// The error says what is wrong with the answer.
Result<WebhookVerdict> verdict_of(const Webhook&, std::string_view reply, std::string_view uid,
                                  bool mutating);

// "Internal error occurred: failed calling webhook "x": …"
Error failed_calling(const Webhook&, std::string_view why);

}  // namespace berth::apiserver
