// SPDX-License-Identifier: Apache-2.0
// Who is asking, and whether they may.
#pragma once

#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "base/time.h"
#include "kube/api.h"

namespace berth::apiserver {

// What a client showed at the door.
struct Credentials {
  std::string bearer_token = {};
  // From a client certificate that the door has verified; "": none.
  std::string common_name = {}, certificate_uid = {};
  std::vector<std::string> organizations = {};
  std::string certificate_sha256 = {};  // in hex
  // Impersonate-User and the like; "": none.
  std::string as_user = {}, as_uid = {};
  std::vector<std::string> as_groups = {};
  std::map<std::string, std::vector<std::string>> as_extra = {};  // by keys in lower case
};

// Loop-confined to the API server's.
class Authenticator {
 public:
  virtual ~Authenticator() = default;
  // Nothing shown: system:anonymous, unless that is off. Unauthorized for what is not valid.
  virtual Result<kube::User> authenticate(const Credentials&, WallTime now) = 0;
};

// What somebody wants to do. Views into the request.
struct Attributes {
  std::string_view verb;  // "get", "list", "deletecollection"; of a path the method in lower case
  std::string_view group = {}, version = {}, resource = {}, subresource = {}, ns = {}, name = {};
  std::string_view path = {};  // "/healthz": then nothing but the verb is set
};

struct Decision {
  bool allowed = false;
  std::string reason = {};  // for reviews and for the Forbidden text
};

class Authorizer {
 public:
  virtual ~Authorizer() = default;
  virtual Decision authorize(const kube::User&, const Attributes&) = 0;
};

// As the real server words it: `pods is forbidden: User "x" cannot list resource "pods" in API
// group
// "" in the namespace "default"`.
Error forbidden(const kube::User&, const Attributes&, std::string_view reason = "");

}  // namespace berth::apiserver
