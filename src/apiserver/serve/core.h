// SPDX-License-Identifier: Apache-2.0
// What all requests to one API server share.
#pragma once

#include <map>
#include <memory>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "apiserver/serve/event_expiry.h"
#include "apiserver/serve/server.h"
#include "apiserver/serve/traffic.h"
#include "base/scope.h"

namespace berth::apiserver {

class Watching;

// Discovery documents of one edition of the kinds: their text and media type, by path and form.
struct DiscoveryCache {
  std::uint64_t edition = 0;
  std::map<std::string, std::pair<std::string, std::string>> pages = {};
};

// Loop-confined to the scope's executor.
class Core {
 public:
  Core(Scope& parent, ServerParts parts, ServerOptions limits);

  Scope& scope;
  Store& store;
  KindRegistry& kinds;
  Admission& admission;
  Authenticator& authenticator;
  Authorizer& authorizer;
  Metrics& metrics;
  Logger log;
  ServerOptions options;
  Traffic traffic;
  std::map<std::string, Server::Page, std::less<>> pages = {};
  std::map<std::string, Server::Deed, std::less<>> deeds = {};
  std::map<std::pair<kube::KindId, std::string>, Server::Answer> answers = {};
  std::map<kube::KindId, Server::Look> looks = {};
  std::set<Watching*> watches = {};
  DiscoveryCache discovery = {};
  EventExpiry events;

  bool over = false;  // the server has gone; calls may still hold this

  Executor& home() const { return scope.executor(); }
  WallTime wall() const { return home().clock().wall(); }
  const Server::Answer* answer_of(kube::KindId, const std::string& subresource) const;

  std::string new_uid();
  std::string name_suffix();  // five characters, as generateName takes them
  Random random;

  // Memory for the trees of one request at a time; the next one gets the same.
  std::unique_ptr<json::Arena> take_arena();
  void give_back(std::unique_ptr<json::Arena>);

 private:
  std::vector<std::unique_ptr<json::Arena>> arenas_;
};

// An arena for as long as this lives. Thread-compatible.
class Borrowed {
 public:
  explicit Borrowed(Core& core) : core_(core), arena_(core.take_arena()) {}
  ~Borrowed() { core_.give_back(std::move(arena_)); }
  Borrowed(const Borrowed&) = delete;
  Borrowed& operator=(const Borrowed&) = delete;
  json::Arena& operator*() const { return *arena_; }

 private:
  Core& core_;
  std::unique_ptr<json::Arena> arena_;
};

}  // namespace berth::apiserver
