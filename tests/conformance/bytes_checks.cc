// SPDX-License-Identifier: Apache-2.0
// Bodies byte by byte: protobuf, gzip, OpenAPI version 2, and what is too large, too deep or
// broken.
#include <string>

#include <fmt/format.h>

#include "conversation.h"
#include "counting_proxy.h"
#include "net/gzip.h"
#include "protobuf.h"

namespace berth::conformance {
namespace {

constexpr const char* kProtobuf = "application/vnd.kubernetes.protobuf";

class Bytes : public Conformance {
 protected:
  Reply send(std::string method, std::string_view path, std::string body, std::string type) {
    net::HttpRequest request{.method = std::move(method),
                             .target = talk().target(path),
                             .headers = {},
                             .body = std::move(body)};
    request.headers.add("Content-Type", std::move(type));
    request.headers.add("Accept", "application/json");
    return talk().send(std::move(request));
  }
};

class M03_openapi_v2 : public Bytes {};
class M04_protobuf : public Bytes {};
class M19_bytes : public Bytes {};
class S12_gzip : public Bytes {};

TEST_F(M04_protobuf, ANamespaceIsCreated) {
  const std::string name = fill("$NS-pb");
  // As client-go writes it: empty strings and messages too.
  const std::string meta = pb::bytes(1, name) + pb::bytes(2, "") + pb::bytes(3, "") +
                           pb::bytes(4, "") + pb::bytes(5, "") + pb::bytes(6, "") +
                           pb::number(7, 0) + pb::bytes(8, "") + pb::entry(11, "a", "b");
  const std::string object = pb::bytes(1, meta) + pb::bytes(2, "") + pb::bytes(3, pb::bytes(1, ""));
  send("POST", "/api/v1/namespaces", pb::envelope("v1", "Namespace", object), kProtobuf)
      .expect(201)
      .has(
          "{kind: Namespace, apiVersion: v1, metadata: {name: $NS-pb, labels: {a: b}, "
          "generateName: <absent>, uid: <uid>}, spec: {finalizers: [kubernetes]}, "
          "status: {phase: Active}}");
}

TEST_F(M04_protobuf, APodIsTheSameAsFromJson) {
  const std::string port = pb::number(3, 80) + pb::bytes(4, "TCP");
  const std::string limits = pb::bytes(1, pb::bytes(1, "cpu") + pb::bytes(2, pb::bytes(1, "500m")));
  const std::string env = pb::bytes(1, "A") + pb::bytes(2, "1");
  const std::string probe =
      pb::bytes(1, pb::bytes(2, pb::bytes(1, "/healthz") +
                                    pb::bytes(2, pb::number(1, 1) + pb::number(2, 0) +
                                                     pb::bytes(3, "http")))) +
      pb::number(2, 5);
  const std::string container = pb::bytes(1, "main") + pb::bytes(2, "pause:1") +
                                pb::bytes(3, "run") + pb::bytes(6, port) + pb::bytes(7, env) +
                                pb::bytes(8, limits) + pb::bytes(10, probe);
  const std::string spec = pb::bytes(2, container) + pb::number(4, 9) +
                           pb::entry(7, "disk", "ssd") + pb::bytes(19, "nobody");
  const auto object = [&](const std::string& name) {
    return pb::bytes(1, pb::bytes(1, name) + pb::entry(11, "app", "x")) + pb::bytes(2, spec);
  };
  send("POST", "pods", pb::envelope("v1", "Pod", object("binary")), kProtobuf).expect(201);
  post(
      "pods",
      "{apiVersion: v1, kind: Pod, metadata: {name: text, labels: {app: x}}, spec: {schedulerName: "
      "nobody, terminationGracePeriodSeconds: 9, nodeSelector: {disk: ssd}, containers: [{name: "
      "main, image: \"pause:1\", command: [run], ports: [{containerPort: 80, protocol: TCP}], env: "
      "[{name: A, value: \"1\"}], resources: {limits: {cpu: 500m}}, livenessProbe: {httpGet: "
      "{path: "
      "/healthz, port: http}, initialDelaySeconds: 5}}]}}")
      .expect(201);
  const Reply binary = get("pods/binary"), text = get("pods/text");
  for (const char* part : {"containers", "nodeSelector", "terminationGracePeriodSeconds",
                           "tolerations", "schedulerName", "restartPolicy"}) {
    Variables none;
    const auto fixed = [](std::string raw) {  // the name of the token's volume is random
      for (std::size_t at; (at = raw.find("kube-api-access-")) != raw.npos;) raw.erase(at, 21);
      return raw;
    };
    const std::string left = fixed(std::string(binary["spec"][part].raw()));
    const std::string right = fixed(std::string(text["spec"][part].raw()));
    EXPECT_EQ(mismatch(json::Slice(right), json::Slice(left), none, Compare::kWhole), "") << part;
  }
}

TEST_F(M04_protobuf, ALeaseKeepsItsTimes) {
  const std::string spec = pb::bytes(1, "me") + pb::number(2, 15) +
                           pb::bytes(4, pb::number(1, 1577836800) + pb::number(2, 123456000)) +
                           pb::number(5, 3);
  send("POST", "coordination.k8s.io/v1:leases",
       pb::envelope("coordination.k8s.io/v1", "Lease",
                    pb::bytes(1, pb::bytes(1, "l")) + pb::bytes(2, spec)),
       kProtobuf)
      .expect(201)
      .has(
          "{kind: Lease, spec: {holderIdentity: me, leaseDurationSeconds: 15, renewTime: "
          "\"2020-01-01T00:00:00.123456Z\", leaseTransitions: 3, acquireTime: <absent>}}");
}

TEST_F(M04_protobuf, ABindingBinds) {
  post("pods", "@pod p").expect(201);
  const std::string object =
      pb::bytes(1, pb::bytes(1, "p")) + pb::bytes(2, pb::bytes(1, "Node") + pb::bytes(3, "n1"));
  send("POST", "pods/p/binding", pb::envelope("v1", "Binding", object), kProtobuf)
      .expect(201)
      .has("{kind: Status, status: Success}");
  get("pods/p").has("{spec: {nodeName: n1}}");
}

TEST_F(M04_protobuf, AReviewIsAnswered) {
  const std::string object =
      pb::bytes(1, "") + pb::bytes(2, pb::bytes(1, pb::bytes(1, talk().ns()) + pb::bytes(2, "get") +
                                                       pb::bytes(5, "pods")));
  send("POST", "/apis/authorization.k8s.io/v1/selfsubjectaccessreviews",
       pb::envelope("authorization.k8s.io/v1", "SelfSubjectAccessReview", object), kProtobuf)
      .expect(201)
      .has(
          "{kind: SelfSubjectAccessReview, status: {allowed: true}, spec: {resourceAttributes: "
          "{namespace: $NS, verb: get, resource: pods}}}");
}

TEST_F(M04_protobuf, DeleteOptionsAreRead) {
  post("pods", "@pod p\nspec: {nodeName: nowhere}").expect(201);
  send("DELETE", "pods/p", pb::envelope("v1", "DeleteOptions", pb::number(1, 7)), kProtobuf)
      .expect(200)
      .has("{metadata: {deletionGracePeriodSeconds: 7}}");
}

TEST_F(M04_protobuf, IntegersAndPercentagesAreBothRead) {
  const std::string selector = pb::entry(1, "app", "x");
  const auto budget = [&](const std::string& name, const std::string& min) {
    return pb::envelope("policy/v1", "PodDisruptionBudget",
                        pb::bytes(1, pb::bytes(1, name)) +
                            pb::bytes(2, pb::bytes(1, min) + pb::bytes(2, selector)));
  };
  send("POST", "policy/v1:poddisruptionbudgets",
       budget("whole", pb::number(1, 0) + pb::number(2, 2) + pb::bytes(3, "")), kProtobuf)
      .expect(201)
      .has("{spec: {minAvailable: 2, selector: {matchLabels: {app: x}}}}");
  send("POST", "policy/v1:poddisruptionbudgets",
       budget("part", pb::number(1, 1) + pb::number(2, 0) + pb::bytes(3, "50%")), kProtobuf)
      .expect(201)
      .has("{spec: {minAvailable: 50%}}");
}

TEST_F(M04_protobuf, BrokenBytesAreRefused) {
  send("POST", "pods", "k8s", kProtobuf).expect(400).has("{kind: Status, reason: BadRequest}");
  send("POST", "pods", std::string("k8s\0\x0a\xff", 6), kProtobuf)
      .expect(400)
      .has("{kind: Status, reason: BadRequest}");
  send("POST", "pods", pb::envelope("v1", "Pod", "\x0a\xff\xff\xff\xff"), kProtobuf)
      .expect(400)
      .has("{kind: Status, reason: BadRequest}");
  send("POST", "pods", R"({"apiVersion":"v1","kind":"Pod"})", kProtobuf)
      .expect(400)
      .has("{kind: Status, reason: BadRequest}");
}

TEST_F(M19_bytes, ABodyOfMoreThanThreeMegabytesIsTooLarge) {
  const std::string body =
      R"({"apiVersion":"v1","kind":"ConfigMap","metadata":{"name":"m"},"data":{"a":")" +
      std::string(std::size_t{3} << 20, 'x') + "\"}}";
  send("POST", "configmaps", body, "application/json")
      .fails(413, "RequestEntityTooLarge", "Request entity too large: limit is 3145728");
  post("configmaps", "@configmap m").expect(201);
  send("PATCH", "configmaps/m", body, "application/merge-patch+json")
      .fails(413, "RequestEntityTooLarge", "Request entity too large: limit is 3145728");
  get("configmaps/m").expect(200);
}

TEST_F(M19_bytes, AnObjectThatIsTooLargeIsRefused) {
  const std::string body =
      R"({"apiVersion":"v1","kind":"ConfigMap","metadata":{"name":"m"},"data":{"a":")" +
      std::string((std::size_t{1} << 20) + 1, 'x') + "\"}}";
  send("POST", "configmaps", body, "application/json")
      .fails(422, "Invalid",
             R"(ConfigMap "m" is invalid: []: Too long: may not be more than 1048576 bytes)");
}

TEST_F(M19_bytes, AnnotationsHaveALimit) {
  const std::string body =
      R"({"apiVersion":"v1","kind":"ConfigMap","metadata":{"name":"m","annotations":{"a":")" +
      std::string(std::size_t{256} << 10, 'x') + "\"}}}";
  send("POST", "configmaps", body, "application/json")
      .fails(
          422, "Invalid",
          R"(ConfigMap "m" is invalid: metadata.annotations: Too long: may not be more than 262144 bytes)");
}

TEST_F(M19_bytes, DeepJsonIsRefusedAndNobodyElseIsHurt) {
  std::string deep;
  for (int i = 0; i < 12000; ++i) deep += "{\"a\":";
  deep += "1" + std::string(12000, '}');
  send("POST", "configmaps",
       R"({"apiVersion":"v1","kind":"ConfigMap","metadata":{"name":"m"},"x":)" + deep + "}",
       "application/json")
      .expect(400)
      .has("{kind: Status, reason: BadRequest}");
  get("configmaps").expect(200);
}

TEST_F(M19_bytes, TooManyPatchOperationsAreRefused) {
  post("configmaps", "@configmap m").expect(201);
  std::string operations = "[";
  for (int i = 0; i <= 10000; ++i)
    operations += std::string(i == 0 ? "" : ",") + R"({"op":"add","path":"/data/a","value":"b"})";
  send("PATCH", "configmaps/m", operations + "]", "application/json-patch+json")
      .fails(413, "RequestEntityTooLarge",
             "Request entity too large: The allowed maximum operations in a JSON patch is 10000, "
             "got 10001");
}

TEST_F(S12_gzip, ALargeAnswerIsPackedForThoseWhoAskForIt) {
  const std::string much(std::size_t{200} << 10, 'x');
  post("configmaps", "@configmap big\ndata: {much: " + much + "}").expect(201);
  const auto bytes_of = [&](bool ask, std::string_view vary) {
    CountingProxy proxy(access().origin.port);
    Access through = access();
    through.origin.port = proxy.port();
    Conversation talk_through(through, talk().variables());
    net::HttpRequest request{.target = talk().target("configmaps/big")};
    if (ask) request.headers.add("Accept-Encoding", "gzip");
    const Reply reply = talk_through.send(std::move(request));
    reply.expect(200).header("Vary", vary);
    EXPECT_EQ(reply["data"]["much"].text(), much);
    return proxy.received();
  };
  EXPECT_LT(bytes_of(true, "Accept-Encoding"), much.size() / 4);
  EXPECT_GT(bytes_of(false, "<absent>"), much.size());
}

TEST_F(S12_gzip, ASmallAnswerIsNotPacked) {
  post("configmaps", "@configmap small").expect(201);
  net::HttpRequest request{.target = talk().target("configmaps/small")};
  request.headers.add("Accept-Encoding", "gzip");
  talk().send(std::move(request)).expect(200).header("Vary", "<absent>");
}

TEST_F(S12_gzip, APackedBodyIsNotRead) {
  net::HttpRequest request{.method = "POST",
                           .target = talk().target("configmaps"),
                           .headers = {},
                           .body = net::gzip(R"({"metadata":{"name":"m"}})")};
  request.headers.add("Content-Type", "application/json");
  request.headers.add("Content-Encoding", "gzip");
  talk().send(std::move(request)).expect(400);
}

TEST_F(M03_openapi_v2, ItIsServedAsProtobuf) {
  net::HttpRequest request{.target = "/openapi/v2"};
  request.headers.add("Accept", "application/com.github.proto-openapi.spec.v2@v1.0+protobuf");
  const Reply reply = talk().send(std::move(request));
  reply.expect(200).header("Content-Type",
                           "application/com.github.proto-openapi.spec.v2.v1.0+protobuf");
  // Document{swagger = 1, info = 2, ..., paths = 8, definitions = 9}
  EXPECT_TRUE(reply.body().starts_with(pb::bytes(1, "2.0"))) << reply.body().substr(0, 20);
  for (const char* word :
       {"/api/v1/namespaces/{namespace}/pods/{name}",
        "/apis/apps/v1/namespaces/{namespace}/deployments", "x-kubernetes-group-version-kind",
        "fieldValidation", "dryRun", "fieldManager"})
    EXPECT_NE(reply.body().find(word), std::string::npos) << word;
}

TEST_F(M03_openapi_v2, ItHasATagAndIsNotSentTwice) {
  const auto ask = [&](const std::string& tag) {
    net::HttpRequest request{.target = "/openapi/v2"};
    request.headers.add("Accept", "application/com.github.proto-openapi.spec.v2@v1.0+protobuf");
    if (!tag.empty()) request.headers.add("If-None-Match", tag);
    return talk().send(std::move(request));
  };
  const std::string tag(ask("").headers().get("Etag"));
  EXPECT_FALSE(tag.empty());
  ask(tag).expect(304);
}

TEST_F(M03_openapi_v2, ItIsServedAsJsonToo) {
  net::HttpRequest request{.target = "/openapi/v2"};
  request.headers.add("Accept", "application/json");
  talk()
      .send(std::move(request))
      .expect(200)
      .header("Content-Type", "application/json")
      .has(
          "{swagger: \"2.0\", paths: {\"/api/v1/namespaces/{name}\": {patch: {x-kubernetes-action: "
          "patch, "
          "x-kubernetes-group-version-kind: {group: \"\", version: v1, kind: Namespace}}}}}");
}

}  // namespace
}  // namespace berth::conformance
