// SPDX-License-Identifier: Apache-2.0
// A small API server for tests: objects in maps with one global revision, watch history that can be
// compacted, conflicts, paging, WatchList, bookmarks, timeouts; it can be away, and be restored to
// an older state. It knows nothing about what the objects mean, unless it is told to follow the
// rules that hold for all of them (kube_rules.h).
#pragma once

#include <cstdint>
#include <deque>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "base/executor.h"
#include "base/random.h"
#include "kube/api.h"

namespace berth::faults {

// Loop-confined to `home`.
class FakeServer final : public kube::ApiHandler {
 public:
  using Objects = std::map<kube::Key, kube::Object>;

  FakeServer(Executor& home, Random random) : home_(home), random_(random) {}
  ~FakeServer() override;

  void handle(kube::ApiRequest, Done<kube::ApiReply>) override;

  // Writes as some other client would make them. `body` is JSON members such as "\"spec\":{}".
  kube::Object set(kube::KindId, const kube::Key&, const std::string& body);
  bool remove(kube::KindId, const kube::Key&);
  const Objects& all(kube::KindId kind) { return objects_[kind]; }
  kube::Revision revision() const { return revision_; }

  void compact();  // forgets all history; continue tokens expire
  void knows_watch_list(bool yes) { watch_list_ = yes; }
  void follow_rules(bool yes) { rules_ = yes; }
  // Kinds that are told to whoever asks for them; those that are not there answer 404.
  void serve(std::vector<kube::KindId> kinds) { served_ = std::move(kinds); }
  // Kinds whose objects have a subresource "scale", which says their spec.replicas.
  void serve_scales(std::vector<kube::KindId> kinds) { scaled_ = std::move(kinds); }
  void refuse_writes(std::optional<Reason> reason) { refusal_ = reason; }
  // Asked about every write; what it objects to is refused with that.
  Fn<Result<Ok>(const kube::ApiRequest&)> admit = nullptr;
  // Who answers a POST to a path that is no object's; nobody: there is no such path.
  Fn<void(const std::string& path, Done<kube::ApiReply>)> posted = nullptr;
  struct Backup {
    std::map<kube::KindId, Objects> objects;
    kube::Revision revision;
  };
  Backup backup() const { return {objects_, revision_}; }
  void restore(Backup);  // and cuts every watch
  void cut_watches();

  // How it goes: at once, or with the last few requests neither refused nor answered.
  enum class Ending { kRefuses, kLosesRequests, kLosesReplies };
  void die(Ending, std::uint64_t last_requests = 0);
  enum class History { kKept, kCompacted };
  void revive(History);
  bool away() const { return away_; }

  std::uint64_t requests = 0, lists = 0, watches = 0;
  Fn<void(kube::KindId, const kube::Object&)> on_commit = nullptr;  // every state that was stored

 private:
  struct Change {
    kube::Revision revision;
    kube::KindId kind;
    kube::WatchEvent::Type type;
    kube::Object object;
  };
  struct Watcher;
  class Stream;

  Result<kube::ApiReply> answer(kube::ApiRequest&);
  Result<kube::ApiReply> list(const kube::ApiRequest&);
  Result<kube::ApiReply> watch(const kube::ApiRequest&);
  Result<kube::ApiReply> create(const kube::ApiRequest&);
  Result<kube::ApiReply> update(const kube::ApiRequest&);
  Result<kube::ApiReply> patch(const kube::ApiRequest&);
  Result<kube::ApiReply> erase(const kube::ApiRequest&);
  Result<kube::ApiReply> erase_all(const kube::ApiRequest&);
  Result<kube::ApiReply> discover(const kube::ApiRequest&) const;
  bool serves(kube::KindId) const;
  bool scales(kube::KindId) const;
  Result<kube::ApiReply> keep(const kube::ApiRequest&, const kube::Object& old, std::string next);
  kube::Object store(kube::KindId, const kube::Key&, const std::string& json, std::string uid);
  void erase_key(kube::KindId, const kube::Key&);
  void changed(Change);
  void leave();
  void pump(Watcher&);
  void arm_bookmarks();

  Executor& home_;
  Random random_;
  kube::Revision revision_ = 100, floor_ = 100;
  std::uint64_t uids_ = 0;
  std::optional<Reason> refusal_;
  std::vector<kube::KindId> served_;  // none: all
  std::vector<kube::KindId> scaled_;
  Ending ending_ = Ending::kRefuses;
  std::uint64_t last_requests_ = 0;
  bool away_ = false;
  bool watch_list_ = true, ticking_ = false, rules_ = false;
  std::map<kube::KindId, Objects> objects_;
  std::deque<Change> history_;
  std::map<std::string, std::vector<kube::Object>> snapshots_;  // what is left, by continue token
  std::map<std::string, kube::Revision> snapshot_revisions_;
  std::vector<std::shared_ptr<Watcher>> watchers_;
};

}  // namespace berth::faults
