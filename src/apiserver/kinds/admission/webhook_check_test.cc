// SPDX-License-Identifier: Apache-2.0
#include "apiserver/kinds/admission/webhook_check.h"

#include <gtest/gtest.h>

#include "apiserver/kinds/kinds.h"
#include "apiserver/kinds/strategy.h"

namespace berth::apiserver {
namespace {

struct Row {
  const char* name;
  bool mutating;
  const char* hooks;
  const char* text;
};
class WebhookChecks : public testing::TestWithParam<Row> {};

TEST_P(WebhookChecks, SayWhatTheRealServerSays) {
  const KindRow& row = *find_built_in(GetParam().mutating ? kube::kMutatingWebhookConfiguration
                                                          : kube::kValidatingWebhookConfiguration);
  json::Arena arena;
  json::Value document = json::parse_good(
      std::string(R"({"metadata":{"name":"v"},"webhooks":[)") + GetParam().hooks + "]}", arena);
  ASSERT_TRUE(decode(row, document));
  Edit edit(row.id, std::move(document), arena);
  fill(row, edit);
  Findings findings;
  check_webhooks(edit, GetParam().mutating, findings);
  EXPECT_EQ(findings.empty() ? "" : findings.error(row.kind, "v").message, GetParam().text);
}

constexpr const char* kRest =
    R"("clientConfig":{"url":"https://127.0.0.1:1/x"},"sideEffects":"None","admissionReviewVersions":["v1"])";
const std::string kGood = std::string(R"({"name":"a.example.com",)") + kRest + "}";
const std::string kTwice = kGood + "," + kGood;
const std::string kRules =
    std::string(R"({"name":"v.example.com",)") + kRest +
    R"(,"rules":[{"operations":["FLY","*"],"apiGroups":["*","a"],"apiVersions":[],"resources":["*","pods"],"scope":"Moon"},{"operations":[],"apiGroups":[""],"apiVersions":["v1"],"resources":["pods/*","pods/status"]}]})";

INSTANTIATE_TEST_SUITE_P(
    , WebhookChecks,
    testing::Values(
        Row{"Good", true, kGood.c_str(), ""},
        Row{"Bare", false, R"({"name":"x"})",
            R"(ValidatingWebhookConfiguration.admissionregistration.k8s.io "v" is invalid: [webhooks[0].name: Invalid value: "x": should be a domain with at least three segments separated by dots, webhooks[0].sideEffects: Required value: must specify one of None, NoneOnDryRun, webhooks[0].clientConfig: Required value: exactly one of url or service is required, webhooks[0].admissionReviewVersions: Required value: must specify one of v1, v1beta1])"},
        Row{"BadChoices", true,
            R"({"name":"v.example.com","clientConfig":{"url":"http://x/"},"sideEffects":"None","timeoutSeconds":60,"failurePolicy":"Maybe","matchPolicy":"No","reinvocationPolicy":"Often","admissionReviewVersions":["v7"]})",
            R"(MutatingWebhookConfiguration.admissionregistration.k8s.io "v" is invalid: [webhooks[0].failurePolicy: Unsupported value: "Maybe": supported values: "Fail", "Ignore", webhooks[0].matchPolicy: Unsupported value: "No": supported values: "Equivalent", "Exact", webhooks[0].timeoutSeconds: Invalid value: 60: the timeout value must be between 1 and 30 seconds, webhooks[0].reinvocationPolicy: Unsupported value: "Often": supported values: "IfNeeded", "Never", webhooks[0].clientConfig.url: Invalid value: "http": 'https' is the only allowed URL scheme; desired format: https://host[/path], webhooks[0].admissionReviewVersions: Invalid value: ["v7"]: must include at least one of v1, v1beta1])"},
        Row{"SideEffects", false,
            R"({"name":"v.example.com","clientConfig":{"url":"https://x/"},"sideEffects":"Some","admissionReviewVersions":["v1"]})",
            R"(ValidatingWebhookConfiguration.admissionregistration.k8s.io "v" is invalid: webhooks[0].sideEffects: Unsupported value: "Some": supported values: "None", "NoneOnDryRun")"},
        Row{"Twice", true, kTwice.c_str(),
            R"(MutatingWebhookConfiguration.admissionregistration.k8s.io "v" is invalid: webhooks[1].name: Duplicate value: "a.example.com")"},
        Row{"BadRules", true, kRules.c_str(),
            R"(MutatingWebhookConfiguration.admissionregistration.k8s.io "v" is invalid: [webhooks[0].rules[0].operations: Invalid value: ["FLY","*"]: if '*' is present, must not specify other operations, webhooks[0].rules[0].operations[0]: Unsupported value: "FLY": supported values: "*", "CONNECT", "CREATE", "DELETE", "UPDATE", webhooks[0].rules[0].apiGroups: Invalid value: ["*","a"]: if '*' is present, must not specify other API groups, webhooks[0].rules[0].apiVersions: Required value, webhooks[0].rules[0].resources: Invalid value: ["*","pods"]: if '*' is present, must not specify other resources without subresources, webhooks[0].rules[0].scope: Unsupported value: "Moon": supported values: "*", "Cluster", "Namespaced", webhooks[0].rules[1].operations: Required value, webhooks[0].rules[1].resources[1]: Invalid value: "pods/status": if 'pods/*' is present, must not specify pods/status])"}),
    [](const auto& each) { return each.param.name; });

}  // namespace
}  // namespace berth::apiserver
