// SPDX-License-Identifier: Apache-2.0
// The table of what the gateway answers: each row a method, a path, the rights it takes, and who
// answers. Other folders bring their rows by one call, `void mount(Routes&)`.
#pragma once

#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "base/scope.h"
#include "gateway/access.h"
#include "gateway/auth.h"
#include "gateway/request.h"
#include "gateway/stream.h"
#include "net/websocket.h"

namespace berth::gateway {

enum class Entry : unsigned char {
  kReviewed,  // whoever holds all rights of the row
  kKnown,     // whoever can say who they are
  kOffered,   // who shows something must be known by it; the handler asks the others itself
  kOpen,      // anybody: static pages, health; the user's name is ""
};

// Who opens a WebSocket.
struct Visitor {
  Proof proof = {};
  std::optional<Identity> identity = {};  // nothing: not known yet
};

using Handler = std::function<void(Request, const kube::User&, Done<Reply>)>;
using StreamHandler = std::function<void(Request, const kube::User&, std::shared_ptr<Stream>)>;
// What is open is the handler's: it guards the visitor's rights and takes a seat for it.
using SocketHandler = std::function<void(Request, Visitor, std::shared_ptr<net::WebSocket>)>;

// What the OpenAPI document says of a row. Schemas are names under #/components/schemas.
struct RouteDoc {
  std::string summary = {};             // "": not a part of the API (a page)
  std::string takes = {};               // the schema of the body; "": none
  std::string gives = {};               // of the answer; "": no JSON
  std::vector<std::string> query = {};  // names of parameters, "name: what for"
};

struct Route {
  std::string method = "GET";  // GET answers HEAD too
  // "/external/v1/namespaces/{ns}/jobs/{name}". {rest...} at the end takes all that follows, also
  // nothing. A path that ends in a slash is another one than that without.
  std::string path = {};
  // Texts in braces are those of the path: {.verb = "get", .resource = "batchjobs", .ns = "{ns}"}.
  std::vector<Access> rights = {};
  // Where they depend on more than the path; instead of `rights`.
  std::function<Result<std::vector<Access>>(const Request&)> rights_of = {};
  Entry entry = Entry::kReviewed;
  // One of them.
  Handler handle = {};
  StreamHandler stream = {};
  SocketHandler socket = {};
  std::vector<std::string> protocols = {};  // sub-protocols of a WebSocket, the best first
  RouteDoc doc = {};
};

// Thread-compatible; filled before the first request.
class Routes {
 public:
  // A second row for the same method and path, a reviewed one without rights, or a brace that is
  // not in the path is a failed check: rows come from code.
  void add(Route);

  struct Found {
    const Route* route = nullptr;
    Pairs values = {};
    std::vector<std::string> methods = {};  // null route: those that the path has; none: no path
  };
  // `path` is still encoded. Letters win over braces, braces over rest, from left to right.
  Found find(std::string_view method, std::string_view path) const;

  // In the order of mounting.
  const std::vector<std::unique_ptr<const Route>>& all() const { return routes_; }

 private:
  std::vector<std::unique_ptr<const Route>> routes_;
  std::vector<std::vector<std::string>> segments_;  // of the routes' paths
};

// A right with the path's values put into its braces.
Access resolved(const Access&, const Pairs& values);

}  // namespace berth::gateway
