// SPDX-License-Identifier: Apache-2.0
// Admission webhooks: a server of ours that the API server asks. Each check's webhooks see its own
// namespace only.
#include <functional>
#include <mutex>
#include <string>
#include <vector>

#include <fmt/format.h>

#include "base/base64.h"
#include "child.h"
#include "conversation.h"
#include "json/cursor.h"
#include "net/http_server.h"
#include "net/tls.h"

namespace berth::conformance {
namespace {

// Answers AdmissionReviews over TLS on a thread of its own, and keeps what it was asked.
class Webhook final : public net::HttpHandler {
 public:
  // The review's request -> members of its response besides uid: `"allowed":true`.
  using Judge = std::function<std::string(json::Slice request)>;

  explicit Webhook(Judge judge) : judge_(std::move(judge)) {
    const auto authority = net::make_authority("webhook");
    const auto pair = net::issue_certificate(
        *authority, {.common_name = "webhook", .ip_addresses = {"127.0.0.1"}});
    ca_ = authority->certificate_pem;
    auto server = net::HttpServer::start(
        loop_.executor(),
        {.tls = net::TlsServerOptions{.certificate_pem = pair->certificate_pem,
                                      .key_pem = pair->key_pem}},
        *this);
    EXPECT_TRUE(server);
    server_ = std::move(*server);
  }
  ~Webhook() override { server_.reset(); }

  void handle(net::HttpRequest request, const net::HttpPeer&, net::HttpReply reply) override {
    std::lock_guard lock(mutex_);
    asked_.push_back(request.body);
    targets_.push_back(request.target);
    const json::Slice asked = json::Slice(request.body)["request"];
    net::HttpResponse response;
    response.headers.add("Content-Type", "application/json");
    response.body = fmt::format(
        R"({{"apiVersion":"admission.k8s.io/v1","kind":"AdmissionReview","response":{{"uid":{},{}}}}})",
        echo_ ? asked["uid"].raw() : "\"other\"", judge_(asked));
    reply.send(std::move(response));
  }

  std::vector<std::string> asked() {
    std::lock_guard lock(mutex_);
    return asked_;
  }
  void forget() {
    std::lock_guard lock(mutex_);
    asked_.clear();
  }
  void echo_another_uid() { echo_ = false; }

  // The clientConfig of a webhook.
  std::string client() const {
    return fmt::format("{{url: \"https://127.0.0.1:{}/hook\", caBundle: {}}}", server_->port(),
                       base64(ca_));
  }

 private:
  Judge judge_;
  std::string ca_;
  bool echo_ = true;
  std::mutex mutex_;
  std::vector<std::string> asked_, targets_;
  e2e::TestLoop loop_{"webhook"};
  std::unique_ptr<net::HttpServer> server_;
};

class S05_webhooks : public Conformance {
 protected:
  void TearDown() override {
    for (const std::string& kind : made_)
      erase("/apis/admissionregistration.k8s.io/v1/" + kind + "/$NS");
    Conformance::TearDown();
  }

  // Registers a webhook of this kind ("mutating", "validating") and waits until it is in force.
  void install(const std::string& kind, Webhook& hook, const std::string& more = "") {
    install_at(kind, hook.client(), more);
    // Whoever asks first learns of it late: the API server has to see its configuration.
    EXPECT_TRUE(e2e::eventually(patience(), [&] {
      post("configmaps?dryRun=All", "@configmap probe");
      return !hook.asked().empty();
    }));
    hook.forget();
  }

  void install_at(const std::string& kind, const std::string& client, const std::string& more) {
    const bool mutating = kind == "mutating";
    made_.push_back(kind + "webhookconfigurations");
    const std::string body = fmt::format(
        "apiVersion: admissionregistration.k8s.io/v1\n"
        "kind: {}WebhookConfiguration\n"
        "metadata: {{name: $NS}}\n"
        "webhooks:\n"
        "- name: check.example.com\n"
        "  clientConfig: {}\n"
        "  rules: [{{apiGroups: [\"\"], apiVersions: [v1], operations: [\"*\"], resources: "
        "[configmaps, pods]}}]\n"
        "  namespaceSelector: {{matchLabels: {{kubernetes.io/metadata.name: $NS}}}}\n"
        "  admissionReviewVersions: [v1]\n"
        "  sideEffects: None\n{}",
        mutating ? "Mutating" : "Validating", client, more);
    post("/apis/admissionregistration.k8s.io/v1/" + made_.back(), body)
        .expect(201)
        .has("{webhooks: [{matchPolicy: Equivalent, objectSelector: {}, timeoutSeconds: <int>}]}");
  }

 private:
  std::vector<std::string> made_;
};

// JSON Patch, as a response carries it.
std::string patching(const std::string& patch) {
  return fmt::format(R"("allowed":true,"patchType":"JSONPatch","patch":"{}")", base64(patch));
}

TEST_F(S05_webhooks, AMutatingWebhookPatches) {
  Webhook hook([](json::Slice) {
    return patching(R"([{"op":"add","path":"/data/added","value":"by the webhook"}])");
  });
  install("mutating", hook);
  post("configmaps", "@configmap m").expect(201).has("{data: {key: value, added: by the webhook}}");
  get("configmaps/m").has("{data: {added: by the webhook}}");
}

TEST_F(S05_webhooks, AReviewTellsAllAboutTheRequest) {
  Webhook hook([](json::Slice) { return R"("allowed":true)"; });
  install("validating", hook);
  post("configmaps?fieldManager=tester", "@configmap m").expect(201);
  auto asked = hook.asked();
  ASSERT_EQ(asked.size(), 1U);
  const auto looks = [&](const std::string& review, const std::string& yaml) {
    Reply("review", net::HttpResponse{.status = 200, .headers = {}, .body = review},
          talk().variables())
        .has(yaml);
  };
  looks(
      asked[0],
      "{kind: AdmissionReview, apiVersion: admission.k8s.io/v1, request: {uid: <uid>, kind: "
      "{group: "
      "\"\", version: v1, kind: ConfigMap}, resource: {group: \"\", version: v1, resource: "
      "configmaps}, requestKind: {group: \"\", version: v1, kind: ConfigMap}, requestResource: "
      "{group: \"\", version: v1, resource: configmaps}, name: m, namespace: $NS, operation: "
      "CREATE, userInfo: {username: <text>, groups: <any>}, object: {kind: ConfigMap, apiVersion: "
      "v1, metadata: {name: m, namespace: $NS, uid: <uid>}, data: {key: value}}, oldObject: null, "
      "dryRun: false, options: "
      "{kind: CreateOptions, apiVersion: meta.k8s.io/v1, fieldManager: tester}}}");
  hook.forget();
  patch("merge", "configmaps/m", "{data: {key: other}}").expect(200);
  erase("configmaps/m").expect(200);
  asked = hook.asked();
  ASSERT_EQ(asked.size(), 2U);
  looks(asked[0],
        "{request: {operation: UPDATE, object: {data: {key: other}}, oldObject: {kind: ConfigMap, "
        "data: {key: "
        "value}}, options: {kind: UpdateOptions}}}");
  looks(asked[1],
        "{request: {operation: DELETE, object: null, oldObject: {data: {key: other}}, options: "
        "{kind: DeleteOptions}}}");
}

TEST_F(S05_webhooks, AValidatingWebhookRefuses) {
  Webhook hook([](json::Slice request) -> std::string {
    if (request["name"].text() == "plain") return R"("allowed":false)";
    if (request["name"].text() == "known")
      return R"("allowed":false,"status":{"code":403,"reason":"Forbidden"})";
    return R"("allowed":false,"status":{"message":"not today","code":418,"reason":"Teapot"})";
  });
  install("validating", hook);
  post("configmaps", "@configmap plain")
      .fails(400, "-",
             "admission webhook \"check.example.com\" denied the request without explanation");
  post("configmaps", "@configmap m")
      .fails(418, "Teapot",
             "admission webhook \"check.example.com\" denied the request: not today");
  post("configmaps", "@configmap known")
      .fails(403, "Forbidden",
             "admission webhook \"check.example.com\" denied the request: Forbidden")
      .has("{details: <absent>}");
  get("configmaps/m").expect(404);
}

TEST_F(S05_webhooks, WarningsAreHandedOn) {
  Webhook hook([](json::Slice) { return R"("allowed":true,"warnings":["mind the gap"])"; });
  install("validating", hook);
  post("configmaps", "@configmap m").expect(201).header("Warning", R"(299 - "mind the gap")");
}

TEST_F(S05_webhooks, AWebhookThatIsAwayFailsOrIsIgnored) {
  std::string client;
  {
    Webhook hook([](json::Slice) { return R"("allowed":true)"; });
    install("validating", hook);
    client = hook.client();
  }
  post("configmaps", "@configmap m")
      .expect(500)
      .has(
          "{kind: Status, reason: InternalError, message: '<re Internal error occurred: failed "
          "calling webhook \"check\\.example\\.com\": failed to call webhook: Post "
          "\"https://127\\.0\\.0\\.1:[0-9]+/hook\\?timeout=10s\": [^]*>'}");
  patch("json", "/apis/admissionregistration.k8s.io/v1/validatingwebhookconfigurations/$NS",
        "[{op: add, path: /webhooks/0/failurePolicy, value: Ignore}]")
      .expect(200)
      .has("{webhooks: [{failurePolicy: Ignore}]}");
  EXPECT_TRUE(e2e::eventually(
      patience(), [&] { return post("configmaps?dryRun=All", "@configmap m").code() == 201; }));
}

TEST_F(S05_webhooks, AnotherUidIsNoAnswer) {
  Webhook hook([](json::Slice) { return R"("allowed":true)"; });
  install("validating", hook);
  hook.echo_another_uid();
  post("configmaps", "@configmap m")
      .expect(500)
      .has(
          "{reason: InternalError, message: 'Internal error occurred: failed calling webhook "
          "\"check.example.com\": received invalid webhook response: expected "
          "response.uid=\"<uid>\", got \"other\"'}");
}

TEST_F(S05_webhooks, APatchThatDoesNotApplyIsAnError) {
  Webhook hook([](json::Slice request) -> std::string {
    if (request["name"].text() == "probe") return R"("allowed":true)";
    return patching(R"([{"op":"remove","path":"/data/nothing"}])");
  });
  install("mutating", hook);
  post("configmaps", "@configmap m").expect(500).has("{reason: InternalError}");
  get("configmaps/m").expect(404);
}

TEST_F(S05_webhooks, TheObjectSelectorAndTheRulesDecideWhoIsAsked) {
  Webhook hook([](json::Slice) { return R"("allowed":true)"; });
  install_at("validating", hook.client(), "  objectSelector: {matchLabels: {ask: please}}\n");
  EXPECT_TRUE(e2e::eventually(patience(), [&] {
    post("configmaps?dryRun=All", "@configmap probe\nmetadata: {labels: {ask: please}}");
    return !hook.asked().empty();
  }));
  hook.forget();
  post("configmaps", "@configmap m").expect(201);
  post("secrets", "{apiVersion: v1, kind: Secret, metadata: {name: s, labels: {ask: please}}}")
      .expect(201);
  EXPECT_TRUE(hook.asked().empty());
  patch("merge", "configmaps/m", "{metadata: {labels: {ask: please}}}").expect(200);
  EXPECT_EQ(hook.asked().size(), 1U);
  patch("merge", "configmaps/m", "{metadata: {labels: {ask: null}}}").expect(200);
  EXPECT_EQ(hook.asked().size(), 2U);  // the old object matched
}

TEST_F(S05_webhooks, ADryRunAsksWithItsFlag) {
  Webhook hook([](json::Slice) { return R"("allowed":true)"; });
  install("validating", hook);
  post("configmaps?dryRun=All", "@configmap m").expect(201);
  const auto asked = hook.asked();
  ASSERT_EQ(asked.size(), 1U);
  EXPECT_TRUE(json::Slice(asked[0])["request"]["dryRun"].boolean());
}

TEST_F(S05_webhooks, AMutatedObjectIsCheckedAsAnyOther) {
  Webhook hook([](json::Slice request) -> std::string {
    if (request["name"].text() == "probe") return R"("allowed":true)";
    return patching(R"([{"op":"add","path":"/spec/restartPolicy","value":"Sometimes"}])");
  });
  install("mutating", hook);
  post("pods", "@pod p")
      .expect(422)
      .has("{reason: Invalid, details: {causes: [{field: spec.restartPolicy}]}}");
}

TEST_F(S05_webhooks, AMutatedPodIsDefaulted) {
  Webhook hook([](json::Slice request) -> std::string {
    if (request["name"].text() == "probe") return R"("allowed":true)";
    return patching(
        R"([{"op":"add","path":"/spec/containers/-","value":{"name":"side","image":"pause:2"}}])");
  });
  install("mutating", hook);
  post("pods", "@pod p")
      .expect(201)
      .has(
          "{spec: {containers: [{name: main}, {name: side, image: \"pause:2\", imagePullPolicy: "
          "IfNotPresent, terminationMessagePath: /dev/termination-log}]}}");
}

TEST_F(S05_webhooks, AConfigurationIsChecked) {
  post("/apis/admissionregistration.k8s.io/v1/validatingwebhookconfigurations",
       "{apiVersion: admissionregistration.k8s.io/v1, kind: ValidatingWebhookConfiguration, "
       "metadata: {name: $NS}, webhooks: [{name: short, clientConfig: {}, sideEffects: Some, "
       "admissionReviewVersions: [], timeoutSeconds: 31}]}")
      .expect(422)
      .has(
          "{reason: Invalid, details: {causes: {<has>: [{field: \"webhooks[0].name\"}, {field: "
          "\"webhooks[0].sideEffects\"}, {field: \"webhooks[0].timeoutSeconds\"}, {field: "
          "\"webhooks[0].clientConfig\"}]}}}");
}

}  // namespace
}  // namespace berth::conformance
