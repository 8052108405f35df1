// SPDX-License-Identifier: Apache-2.0
// The informers that a set of controllers shares: one a kind, with everybody's indexes. Also tells
// when a cache has caught up with a write: that is why controllers need no expectations.
#pragma once

#include <deque>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "client/informer.h"
#include "client/transport.h"
#include "runtime/kind_finder.h"
#include "runtime/spec.h"
#include "runtime/view.h"

namespace berth::runtime {

// What a cache has yet to show.
struct Wait {
  enum class For : std::uint8_t {
    kSeen,     // everything up to `revision`
    kGone,     // no object of that uid, or one that is being deleted
    kMoved,    // another version of it than `revision`, or none
    kPresent,  // any object under the key
  };
  For what = For::kSeen;
  Target target;  // `revision` in it is the one meant above
};

// Loop-confined to its scope's executor; outlives that scope.
class Caches final : public Lookup {
 public:
  Caches(Scope& scope, client::Transport& transport, Random random, Metrics& metrics);
  ~Caches() override;

  // Before start().
  void need(const Spec&);
  void start(Task synced);
  bool synced() const { return started_ && missing_ == 0; }
  std::vector<std::string> unsynced() const;  // kinds
  client::Informer<>& informer(KindId);
  // Called with every informer there is and will be.
  void on_informer(std::function<void(KindId, client::Informer<>&)>);
  // Runs once every kind that the server had at first is complete, or half a minute later: one
  // that never answers must not hold up the rest. Never inline.
  void on_followed(Task);

  const Object* get(KindId, const Key&) const override;
  std::vector<const Object*> list(KindId) const override;
  std::vector<const Object*> list(KindId, std::string_view ns) const override;
  std::vector<const Object*> by_index(KindId, std::string_view index,
                                      std::string_view value) const override;
  kube::Revision seen(KindId) const override;
  std::vector<const Object*> everywhere(std::string_view index,
                                        std::string_view value) const override;
  std::optional<KindId> served(std::string_view api_version, std::string_view kind) const override;
  bool scales(KindId) const override;
  std::optional<KindId> followed(std::string_view resource) const override;
  std::vector<KindId> followed() const override;
  bool gone(std::string_view uid) const override { return gone_.count(uid) > 0; }

  bool holds(const Wait&) const;  // kinds that are not kept hold anything
  using WaitId = std::uint64_t;
  // `then` runs once it holds; never inline.
  WaitId when(const Wait&, Task then);
  bool cancel(WaitId);

 private:
  struct Waiting {
    Wait wait;
    Task then;
  };
  struct Kept {
    client::Keep keep = client::Keep::kMetadata;
    std::map<std::string, IndexBy, std::less<>> indexes;
    std::unique_ptr<client::Informer<>> informer;
    std::multimap<kube::Revision, WaitId> by_revision;
    std::multimap<Key, WaitId> by_key;
    Scope* own = nullptr;    // of one that is followed, for as long as the server has the kind
    bool if_served = false;  // then it has no informer until that
  };
  using Kinds = std::map<std::string, std::pair<KindId, Kept>>;
  const client::Informer<>* kept(KindId) const;  // null: the server does not have it
  void look(Kept&, const Object&);               // at those who wait for something of this object
  void look(Kept&);                              // at those who wait for a revision
  void fulfil(WaitId);
  void make(const std::string& name, KindId, Kept&);
  void follow(const ServedKinds&);
  void begin(const std::string& name, KindId, Kept&);
  void unfollow(Kinds::iterator);
  void release(Kept&);
  void settle();
  void remember_gone(const Object&);

  Scope& scope_;
  client::Transport& transport_;
  Random random_;
  Metrics& metrics_;
  std::shared_ptr<client::ServerTraits> traits_ = std::make_shared<client::ServerTraits>();
  Kinds kinds_;                    // by resource name: ids have no order
  std::map<KindId, Kept*> by_id_;  // for look-ups only
  std::map<WaitId, Waiting> waiting_;
  WaitId last_id_ = 0;
  std::size_t missing_ = 0;
  bool started_ = false;
  Task synced_;

  // Where every kind is followed.
  bool following_ = false;
  bool finding_ = false;  // that, or some kinds only if they are served, or asks for scales
  std::map<std::string, IndexBy, std::less<>> everywhere_;
  std::unique_ptr<KindFinder> finder_;
  std::map<std::pair<std::string, std::string>, ServedKind> served_;  // by group and kind
  std::vector<std::function<void(KindId, client::Informer<>&)>> followers_;
  std::vector<Task> on_followed_;
  bool found_ = false, followed_ = false;
  std::set<std::string, std::less<>> gone_;  // uids, the latest of
  std::deque<std::string> gone_order_;
};

}  // namespace berth::runtime
