// SPDX-License-Identifier: Apache-2.0
#include "apiserver/admission/webhooks.h"

#include <gmock/gmock.h>

#include "apiserver/admission/admission_lab.h"
#include "base/base64.h"
#include "kube/status.h"

namespace berth::apiserver {
namespace {

// Changes nothing, and counts.
class CountingStep final : public AdmissionStep {
 public:
  std::string_view name() const override { return "Counting"; }
  Result<Ok> mutate(AdmissionCall&) override {
    ++runs;
    return Ok{};
  }
  int runs = 0;
};

class WebhooksTest : public testing::Test {
 protected:
  WebhooksTest() {
    auto step = std::make_unique<CountingStep>();
    counting = step.get();
    steps.push_back(std::move(step));
    lab.ns("default", R"(,"labels":{"team":"a"})");
  }

  // A webhook of a configuration of its own; `more` are further members of it.
  void configure(
      std::string_view kind, std::string_view name, std::string_view more = "",
      std::string_view rules =
          R"([{"operations":["CREATE","UPDATE"],"apiGroups":[""],"apiVersions":["v1"],"resources":["pods"],"scope":"*"}])") {
    lab.put(fmt::format(
        R"({{"apiVersion":"admissionregistration.k8s.io/v1","kind":"{0}WebhookConfiguration","metadata":{{"name":"{1}"}},"webhooks":[{{"name":"{1}.example.com","clientConfig":{{"service":{{"name":"hooks","namespace":"sys","path":"/{1}","port":443}}}},"rules":{2},"sideEffects":"None","admissionReviewVersions":["v1"],"matchPolicy":"Equivalent","timeoutSeconds":10{3}{4}}}]}})",
        kind, name, rules, more.empty() ? "" : ",", more));
  }
  // What it answers: members of the response beside its uid.
  void answer(std::string_view name, std::string_view response) {
    caller.handle(fmt::format("https://hooks.sys.svc:443/{}", name), [this, response = std::string(
                                                                                response)](
                                                                         std::string_view review) {
      reviews.emplace_back(review);
      return fmt::format(
          R"({{"apiVersion":"admission.k8s.io/v1","kind":"AdmissionReview","response":{{"uid":{},{}}}}})",
          json::Slice(review)["request"]["uid"].raw(), response);
    });
  }
  static std::string patch(std::string_view operations) {
    return fmt::format(R"("allowed":true,"patchType":"JSONPatch","patch":"{}")",
                       base64(operations));
  }
  Result<Ok> run(Trial& trial, bool mutating = true) {
    Result<Ok> outcome = fail(Reason::kUnknown, "no answer");
    auto done = lab.scope.done<Ok>(1h, [&](Result<Ok> r) { outcome = std::move(r); });
    if (mutating)
      hooks.mutate(*trial.call, std::move(done));
    else
      hooks.validate(*trial.call, std::move(done));
    lab.world.run_until_idle(1h);
    return outcome;
  }
  std::unique_ptr<Trial> pod(std::string_view metadata = "") {
    return lab.create(fmt::format(
        R"({{"apiVersion":"v1","kind":"Pod","metadata":{{"name":"web"{}}},"spec":{{"containers":[{{"name":"c","image":"i"}}]}}}})",
        metadata));
  }

  AdmissionLab lab;
  KindRegistry kinds;
  LocalWebhookCaller caller;
  std::vector<std::unique_ptr<AdmissionStep>> steps;
  CountingStep* counting = nullptr;
  ClusterWebhooks hooks{lab.scope, lab.store, kinds, caller, Random(1), steps};
  std::vector<std::string> reviews;
};

TEST_F(WebhooksTest, NobodyIsAskedWhereNobodyIsConfigured) {
  const auto trial = pod();
  EXPECT_FALSE(hooks.mutates(*trial->call));
  EXPECT_FALSE(hooks.validates(*trial->call));
  configure("Mutating", "m");
  EXPECT_TRUE(hooks.mutates(*trial->call));
  EXPECT_FALSE(hooks.validates(*trial->call));
  lab.drop(kube::kMutatingWebhookConfiguration, {"", "m"});
  EXPECT_FALSE(hooks.mutates(*trial->call));
}

TEST_F(WebhooksTest, SendsWhatTheRealServerSends) {
  configure("Mutating", "m");
  answer("m", R"("allowed":true,"warnings":["careful"])");
  const auto trial = lab.create(
      R"({"apiVersion":"v1","kind":"Pod","metadata":{"name":"web"},"spec":{}})", "default",
      {.name = "jane", .uid = "u", .groups = {"dev"}, .extra = {{"scope", {"a"}}}});
  ASSERT_TRUE(run(*trial));
  ASSERT_EQ(reviews.size(), 1U);
  const json::Slice review(reviews[0]), request = review["request"];
  EXPECT_EQ(review["apiVersion"].text(), "admission.k8s.io/v1");
  EXPECT_EQ(review["kind"].text(), "AdmissionReview");
  EXPECT_EQ(request["uid"].text().size(), 36U);
  EXPECT_EQ(request["kind"].raw(), R"({"group":"","version":"v1","kind":"Pod"})");
  EXPECT_EQ(request["resource"].raw(), R"({"group":"","version":"v1","resource":"pods"})");
  EXPECT_EQ(request["requestKind"].raw(), request["kind"].raw());
  EXPECT_EQ(request["name"].text(), "web");
  EXPECT_EQ(request["namespace"].text(), "default");
  EXPECT_EQ(request["operation"].text(), "CREATE");
  EXPECT_EQ(request["userInfo"].raw(),
            R"({"username":"jane","uid":"u","groups":["dev"],"extra":{"scope":["a"]}})");
  EXPECT_EQ(request["object"]["kind"].text(), "Pod");
  EXPECT_EQ(request["object"]["apiVersion"].text(), "v1");
  EXPECT_TRUE(request["oldObject"].is_null());
  EXPECT_EQ(request["dryRun"].raw(), "false");
  EXPECT_EQ(request["options"].raw(), R"({"kind":"CreateOptions","apiVersion":"meta.k8s.io/v1"})");
  EXPECT_EQ(trial->call->warnings, std::vector<std::string>{"careful"});
}

TEST_F(WebhooksTest, AppliesPatchesDefaultsWhatTheyBringAndRunsTheStepsAgain) {
  configure("Mutating", "m");
  answer(
      "m",
      patch(R"([{"op":"add","path":"/spec/containers/-","value":{"name":"side","image":"s"}}])"));
  const auto trial = pod();
  ASSERT_TRUE(run(*trial));
  EXPECT_EQ(trial->at("/spec/containers/1/name"), R"("side")");
  EXPECT_EQ(trial->at("/spec/containers/1/imagePullPolicy"), R"("Always")");
  EXPECT_EQ(counting->runs, 1);
}

TEST_F(WebhooksTest, AsksThoseAgainWhoWantToSeeLaterChanges) {
  configure("Mutating", "a", R"("reinvocationPolicy":"IfNeeded")");
  configure("Mutating", "b");
  configure("Mutating", "c", R"("reinvocationPolicy":"IfNeeded")");
  answer("a", R"("allowed":true)");
  answer("b", patch(R"([{"op":"add","path":"/metadata/labels","value":{"b":"was here"}}])"));
  answer("c", R"("allowed":true)");
  const auto trial = pod();
  ASSERT_TRUE(run(*trial));
  // a, b, c; then a, because b changed something after it. c came after b.
  EXPECT_EQ(reviews.size(), 4U);
  EXPECT_EQ(json::Slice(reviews[3])["request"]["object"]["metadata"]["labels"]["b"].text(),
            "was here");
  EXPECT_EQ(counting->runs, 1);
}

TEST_F(WebhooksTest, DeniesInTheWebhooksWords) {
  configure("Mutating", "m");
  const auto denied = [&](std::string_view response) {
    answer("m", response);
    return run(*pod()).error();
  };
  const Error plain = denied(R"("allowed":false)");
  EXPECT_EQ(plain.message,
            R"(admission webhook "m.example.com" denied the request without explanation)");
  EXPECT_EQ(plain.code, 400);
  const Error told =
      denied(R"("allowed":false,"status":{"message":"no","code":403,"reason":"Forbidden"})");
  EXPECT_EQ(told.message, R"(admission webhook "m.example.com" denied the request: no)");
  EXPECT_EQ(told.code, 403);
  EXPECT_EQ(told.reason, Reason::kForbidden);
  const std::string told_status = kube::status_json(told);
  EXPECT_FALSE(json::Slice(told_status)["details"]);
  const Error own =
      denied(R"("allowed":false,"status":{"code":418,"reason":"Teapot","details":{"name":"it"}})");
  EXPECT_EQ(own.message, R"(admission webhook "m.example.com" denied the request: Teapot)");
  const std::string status = kube::status_json(own);
  EXPECT_EQ(json::Slice(status)["reason"].text(), "Teapot");
  EXPECT_EQ(json::Slice(status)["details"].raw(), R"({"name":"it"})");
}

struct BadReply {
  const char* name;
  bool mutating;
  const char* reply;  // $ is the uid
  const char* why;
};
class BadReplies : public WebhooksTest, public testing::WithParamInterface<BadReply> {};

TEST_P(BadReplies, FailTheRequestUnlessFailuresAreIgnored) {
  const BadReply& row = GetParam();
  const char* kind = row.mutating ? "Mutating" : "Validating";
  std::string uid;
  const auto with_uid = [&](std::string text) {
    if (const std::size_t at = text.find('$'); at != std::string::npos) text.replace(at, 1, uid);
    return text;
  };
  caller.handle("https://hooks.sys.svc:443/m", [&](std::string_view review) {
    uid = json::Slice(review)["request"]["uid"].text();
    return with_uid(row.reply);
  });
  configure(kind, "m");
  const auto failed = run(*pod(), row.mutating);
  ASSERT_FALSE(failed);
  EXPECT_EQ(failed.error().reason, Reason::kInternalError);
  EXPECT_EQ(failed.error().message,
            fmt::format("Internal error occurred: failed calling webhook \"m.example.com\": {}",
                        with_uid(row.why)));
  configure(kind, "m", R"("failurePolicy":"Ignore")");
  EXPECT_TRUE(run(*pod(), row.mutating));
}

INSTANTIATE_TEST_SUITE_P(
    , BadReplies,
    testing::Values(
        BadReply{"NoResponse", true,
                 R"({"apiVersion":"admission.k8s.io/v1","kind":"AdmissionReview"})",
                 "received invalid webhook response: webhook response was absent"},
        BadReply{
            "AnotherUid", true,
            R"({"apiVersion":"admission.k8s.io/v1","kind":"AdmissionReview","response":{"uid":"","allowed":true}})",
            R"(received invalid webhook response: expected response.uid="$", got "")"},
        BadReply{
            "AnotherVersion", true,
            R"({"apiVersion":"admission.k8s.io/v2","kind":"AdmissionReview","response":{"uid":"$","allowed":true}})",
            "received invalid webhook response: expected webhook response of admission.k8s.io/v1, "
            "Kind=AdmissionReview, got admission.k8s.io/v2, Kind=AdmissionReview"},
        BadReply{
            "APatchWithoutItsType", true,
            R"({"apiVersion":"admission.k8s.io/v1","kind":"AdmissionReview","response":{"uid":"$","allowed":true,"patch":"W10="}})",
            "received invalid webhook response: webhook returned response.patch but not "
            "response.patchType"},
        BadReply{
            "APatchThatIsNone", true,
            R"({"apiVersion":"admission.k8s.io/v1","kind":"AdmissionReview","response":{"uid":"$","allowed":true,"patch":"!!","patchType":"JSONPatch"}})",
            "received undecodable patch in webhook response"},
        BadReply{
            "APatchOfAJudge", false,
            R"({"apiVersion":"admission.k8s.io/v1","kind":"AdmissionReview","response":{"uid":"$","allowed":true,"patch":"W10=","patchType":"JSONPatch"}})",
            "received invalid webhook response: validating webhook may not return response.patch"}),
    [](const auto& each) { return each.param.name; });

TEST_F(WebhooksTest, AWebhookThatNobodyReachesFailsTheRequest) {
  configure("Validating", "v");
  EXPECT_EQ(
      run(*pod(), false).error().message,
      R"(Internal error occurred: failed calling webhook "v.example.com": failed to call webhook: Post "https://hooks.sys.svc:443/v": nobody listens there)");
}

// Never answers.
class SilentCaller final : public WebhookCaller {
 public:
  void call(const WebhookTarget&, std::string, Duration, Done<std::string> done) override {
    held.push_back(std::move(done));
  }
  std::vector<Done<std::string>> held;
};

TEST_F(WebhooksTest, AWebhookHasItsTimeAndNoMore) {
  configure("Mutating", "m", R"("timeoutSeconds":3)");
  SilentCaller silent;
  ClusterWebhooks slow(lab.scope, lab.store, kinds, silent, Random(1), steps);
  const auto trial = pod();
  const Instant before = lab.world.loop("api").clock().now();
  std::optional<Instant> after;
  Result<Ok> outcome;
  slow.mutate(*trial->call, lab.scope.done<Ok>(1h, [&](Result<Ok> r) {
    outcome = std::move(r);
    after = lab.world.loop("api").clock().now();
  }));
  lab.world.run_until_idle(1h);
  ASSERT_TRUE(after);
  EXPECT_GE(*after - before, 3s);
  EXPECT_LT(*after - before, 4s);
  EXPECT_THAT(outcome.error().message, testing::HasSubstr("context deadline exceeded"));
}

TEST_F(WebhooksTest, ADryRunAsksOnlyThoseWithoutSideEffects) {
  configure("Mutating", "m");
  answer("m", R"("allowed":true)");
  const auto trial = pod();
  trial->request.options.dry_run = true;
  EXPECT_TRUE(run(*trial));
  EXPECT_EQ(json::Slice(reviews[0])["request"]["dryRun"].raw(), "true");
  configure("Mutating", "m", R"("sideEffects":"Some")");
  const auto refused_run = run(*trial);
  EXPECT_EQ(refused_run.error().reason, Reason::kBadRequest);
  EXPECT_EQ(refused_run.error().message,
            R"(admission webhook "m.example.com" does not support dry run)");
}

struct MatchRow {
  const char* name;
  const char* rules;  // "": those of configure()
  const char* more;
  const char* metadata;
  bool asked;
};
class WebhookMatches : public WebhooksTest, public testing::WithParamInterface<MatchRow> {};

TEST_P(WebhookMatches, ByRulesAndSelectors) {
  const MatchRow& row = GetParam();
  if (*row.rules == '\0')
    configure("Mutating", "m", row.more);
  else
    configure("Mutating", "m", row.more, row.rules);
  EXPECT_EQ(hooks.mutates(*pod(row.metadata)->call), row.asked);
}

INSTANTIATE_TEST_SUITE_P(
    , WebhookMatches,
    testing::Values(
        MatchRow{
            "Everything",
            R"([{"operations":["*"],"apiGroups":["*"],"apiVersions":["*"],"resources":["*"]}])", "",
            "", true},
        MatchRow{
            "AnotherOperation",
            R"([{"operations":["DELETE"],"apiGroups":["*"],"apiVersions":["*"],"resources":["*"]}])",
            "", "", false},
        MatchRow{
            "AnotherGroup",
            R"([{"operations":["*"],"apiGroups":["apps"],"apiVersions":["*"],"resources":["*"]}])",
            "", "", false},
        MatchRow{
            "OnlySubresources",
            R"([{"operations":["*"],"apiGroups":[""],"apiVersions":["v1"],"resources":["pods/status"]}])",
            "", "", false},
        MatchRow{
            "WithSubresources",
            R"([{"operations":["*"],"apiGroups":[""],"apiVersions":["v1"],"resources":["pods/*"]}])",
            "", "", true},
        MatchRow{
            "ClusterScope",
            R"([{"operations":["*"],"apiGroups":["*"],"apiVersions":["*"],"resources":["*"],"scope":"Cluster"}])",
            "", "", false},
        MatchRow{"ItsNamespace", "", R"("namespaceSelector":{"matchLabels":{"team":"a"}})", "",
                 true},
        MatchRow{"AnotherNamespace", "", R"("namespaceSelector":{"matchLabels":{"team":"b"}})", "",
                 false},
        MatchRow{"ItsLabels", "", R"("objectSelector":{"matchLabels":{"app":"x"}})",
                 R"(,"labels":{"app":"x"})", true},
        MatchRow{"OtherLabels", "", R"("objectSelector":{"matchLabels":{"app":"x"}})", "", false},
        MatchRow{
            "ItsConditions", "",
            R"("matchConditions":[{"name":"a","expression":"request.operation == 'CREATE' && oldObject == null"},{"name":"b","expression":"has(object.metadata.labels) && object.metadata.labels.app == 'x'"}])",
            R"(,"labels":{"app":"x"})", true},
        MatchRow{
            "OneConditionIsFalse", "",
            R"("matchConditions":[{"name":"a","expression":"object.nope == 1"},{"name":"b","expression":"'system:masters' in request.userInfo.groups && false"}])",
            "", false}),
    [](const auto& each) { return each.param.name; });

TEST_F(WebhooksTest, ItsOwnConfigurationsAreNeverAskedAbout) {
  configure("Mutating", "m", "",
            R"([{"operations":["*"],"apiGroups":["*"],"apiVersions":["*"],"resources":["*"]}])");
  EXPECT_FALSE(hooks.mutates(
      *lab.create(
              R"({"apiVersion":"admissionregistration.k8s.io/v1","kind":"MutatingWebhookConfiguration","metadata":{"name":"x"}})")
           ->call));
}

TEST_F(WebhooksTest, ConditionsThatCannotBeAreRefused) {
  const auto said = [&](std::string_view conditions) {
    const auto trial = lab.create(fmt::format(
        R"({{"apiVersion":"admissionregistration.k8s.io/v1","kind":"MutatingWebhookConfiguration","metadata":{{"name":"x"}},"webhooks":[{{"name":"a.b.c","matchConditions":[{}]}}]}})",
        conditions));
    return refused(webhook_configurations()->validate(*trial->call));
  };
  const std::string head =
      R"(MutatingWebhookConfiguration.admissionregistration.k8s.io "x" is invalid: )";
  EXPECT_EQ(said(R"({"name":"n","expression":"object.spec.x == 1 && request.dryRun"})"), "");
  EXPECT_EQ(
      said(R"({"name":"n","expression":"object"})"),
      head +
          R"(webhooks[0].matchConditions[0].expression: Invalid value: "object": must evaluate to bool)");
  EXPECT_EQ(
      said(R"({"name":"n","expression":"obj == 1"})"),
      head +
          R"(webhooks[0].matchConditions[0].expression: Invalid value: "obj == 1": compilation failed: ERROR: <input>:1:1: undeclared reference to 'obj' (in container ''))"
          "\n | obj == 1\n | ^");
  EXPECT_THAT(said(R"({"name":"n","expression":"request.who == 'x'"})"),
              testing::HasSubstr("undefined field 'who'"));
  EXPECT_EQ(said(R"({"name":"","expression":"true"},{"name":"a","expression":" "})"),
            head +
                "[webhooks[0].matchConditions[0].name: Required value, "
                "webhooks[0].matchConditions[1].expression: Required value]");
  EXPECT_EQ(said(R"({"name":"a","expression":"true"},{"name":"a","expression":"true"})"),
            head + R"(webhooks[0].matchConditions[1].name: Duplicate value: "a")");
}

TEST_F(WebhooksTest, ConditionsThatCannotBeToldFailOrAreIgnoredAsItsPolicySays) {
  constexpr std::string_view kCondition =
      R"("matchConditions":[{"name":"n","expression":"object.spec.nope == 1"}])";
  configure("Mutating", "m", kCondition);
  auto trial = pod();
  const auto failed = run(*trial);
  ASSERT_FALSE(failed);
  EXPECT_EQ(failed.error().reason, Reason::kForbidden);
  EXPECT_THAT(
      failed.error().message,
      testing::HasSubstr(
          R"(is forbidden: expression 'object.spec.nope == 1' resulted in error: no such key: nope)"));
  configure("Mutating", "m", fmt::format(R"({},"failurePolicy":"Ignore")", kCondition));
  EXPECT_FALSE(hooks.mutates(*pod()->call));
}

TEST_F(WebhooksTest, JudgesAreAskedAtTheSameTimeAndTheFirstRefusalCounts) {
  configure("Validating", "a");
  configure("Validating", "b");
  configure("Validating", "c");
  answer("a", R"("allowed":true,"warnings":["w"])");
  answer("b", R"("allowed":false,"status":{"message":"first"})");
  answer("c", R"("allowed":false,"status":{"message":"second"})");
  const auto trial = pod();
  EXPECT_EQ(run(*trial, false).error().message,
            R"(admission webhook "b.example.com" denied the request: first)");
  EXPECT_EQ(reviews.size(), 3U);
  EXPECT_EQ(trial->call->warnings, std::vector<std::string>{"w"});
}

}  // namespace
}  // namespace berth::apiserver
