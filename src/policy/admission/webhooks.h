// SPDX-License-Identifier: Apache-2.0
// Berth's webhooks: which requests an API server asks about, at which path, and the answers. Pods
// never wait for Berth: where it is away they are created as they are. New ScavengerJobs do; their
// status, their finalizers and their end do not.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "kube/object.h"
#include "policy/admission/executors.h"
#include "policy/admission/ordinary_priority.h"
#include "policy/admission/reserved.h"
#include "policy/admission/scavenger_job.h"

namespace berth::admission {

// What a verdict depends on besides the review.
struct Surroundings {
  Ordinary ordinary = {};
  Reserved reserved = {};
  JobRules rules = {};
};
// What of it the objects of a cluster say. The policy is null where there is none;
// `operator_works`: somebody is there who makes room for polite pods.
void take_in(const kube::Object* policy, bool operator_works, Surroundings&);
void take_in(const std::vector<kube::Object>& priority_classes, Surroundings&);

// The reply's body. NotFound where nothing is asked at that path, BadRequest for what is no review.
Result<std::string> answer(std::string_view path, std::string_view review, const Surroundings&);
std::vector<std::string> webhook_paths();

// Where an API server reaches them.
struct WebhookPlace {
  std::string url = {};  // "https://127.0.0.1:8443"; "": the service
  std::string service_ns = "berth-system", service = "berth-webhooks";
  std::string ca_bundle = {};                                         // PEM
  std::vector<std::string> exempt = {"kube-system", "berth-system"};  // namespaces
  bool conditions = true;  // the server evaluates matchConditions
  bool polite = false;     // all ordinary pods are asked about, not only those below 0

  // What the certificate must be made out to.
  std::vector<std::string> dns_names() const;
  std::vector<std::string> addresses() const;
};
struct WebhookObject {
  kube::KindId kind{};
  kube::Key key;
  std::string json;
};
std::vector<WebhookObject> webhook_objects(const WebhookPlace&);
// Says the object, as a cluster has it, all that this one does, but for what others have added?
bool says_the_same(const kube::Object& there, const WebhookObject&);

}  // namespace berth::admission
