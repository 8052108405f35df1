// SPDX-License-Identifier: Apache-2.0
// What a controller declares: the keys it reconciles, which changes wake which keys, and what it
// writes. The rights it needs are the sum of that, and nobody states them again.
#pragma once

#include <functional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "client/informer.h"
#include "kube/object.h"
#include "runtime/view.h"

namespace berth::runtime {

// One of the two is null when the object appeared or went.
struct Change {
  const Object* before = nullptr;
  const Object* after = nullptr;
};

// Adds the keys that a change wakes. Pure.
using Mapping = std::function<void(const View&, const Change&, std::vector<Key>& wake)>;
// The same from one state: asked of both, so that an object that changes hands wakes the old and
// the new one.
using StateMapping = std::function<void(const View&, const Object&, std::vector<Key>& wake)>;

Mapping each_state(StateMapping);
Mapping self();
Mapping same_name();           // of another kind, in the same namespace
Mapping owner_of(KindId);      // the controlling owner, where it is of that kind
Mapping any_owner_of(KindId);  // every owner of that kind
// Every object of the kind that its index files under the changed object's key ("ns/name").
Mapping by_index(KindId of, std::string index);

// A plain function, so that two controllers can be seen to mean the same by an index's name.
using IndexBy = std::vector<std::string> (*)(const Object&);
// The index "controller": the uid of the controlling owner.
inline constexpr std::string_view kByController = "controller";
std::vector<std::string> controller_uid(const Object&);

// Something that is no object wakes keys too. Given what to call, from any thread.
using Wake = std::function<void(const Key&)>;
using OutsideSource = std::function<void(Wake)>;

struct WatchSpec {
  KindId kind{};
  Mapping mapping = nullptr;  // null: read, but wakes nobody
  client::Keep keep = client::Keep::kDocument;
  Duration batched = {};  // what it wakes waits so long for more of the kind
  bool if_served = false;
};
struct IndexSpec {
  KindId kind{};
  std::string name;
  IndexBy by = nullptr;
};
struct CallSpec {
  std::string verb;  // "create", "patch", "delete"; "get" and "list" of what is asked
  KindId kind{};
  std::string subresource = {};
};

// A value, made by chaining.
class Spec {
 public:
  explicit Spec(std::string name) : name_(std::move(name)) {}

  Spec& reconciles(KindId, Mapping = self());
  // `batched`: a key that a change wakes runs so much later, once for all changes until then.
  Spec& watches(KindId, Mapping, Duration batched = {});
  Spec& reads(KindId, client::Keep = client::Keep::kDocument);
  // A kind that the server may not have, or not yet: until it does there are no objects of it.
  Spec& watches_if_served(KindId, Mapping);
  Spec& index(KindId, std::string_view name, IndexBy);
  Spec& index_by_controller(KindId kind) { return index(kind, kByController, &controller_uid); }

  // Every kind that can be listed, watched and deleted, Events apart, for as long as the server has
  // it; metadata alone, unless somebody needs more of it. An index is one over all of them.
  Spec& follows_every_kind(Mapping);
  Spec& index_everywhere(std::string_view name, IndexBy);

  Spec& woken_from_outside(OutsideSource);

  Spec& creates(KindId);
  Spec& patches(KindId);
  Spec& patches_status(KindId);
  Spec& patches_part(KindId, std::string subresource);
  Spec& updates_part(KindId, std::string subresource);  // what takes no patch
  Spec& erases(KindId);
  // Whatever kinds there are: "get", "list", "patch", "delete", "deletecollection".
  Spec& any_kind(std::vector<std::string> verbs);
  Spec& evicts();
  Spec& tells();           // events
  Spec& asks(KindId);      // reads past the caches
  Spec& asks_any_scale();  // the "scale" of objects of whatever kind
  // To paths that begin so. The right to it is none of those that rules_json() gives: whoever wants
  // it gives it by hand, and until then the answer is an error.
  Spec& posts(std::string path);
  // Whose turn it is among queued keys: the higher first, then first come, first served.
  Spec& prefers(std::function<int(const View&, const Key&)>);
  Spec& keys_in_flight(unsigned);

  const std::string& name() const { return name_; }
  KindId kind() const { return kind_; }
  const std::vector<WatchSpec>& watched() const { return watches_; }
  const std::vector<IndexSpec>& indexes() const { return indexes_; }
  const Mapping& follows() const { return follows_; }  // null: only what it names
  const std::vector<std::pair<std::string, IndexBy>>& everywhere() const { return everywhere_; }
  const OutsideSource& outside() const { return outside_; }
  const std::vector<CallSpec>& calls() const { return calls_; }
  const std::vector<std::string>& any_kind() const { return any_kind_; }
  bool asks_scales() const { return asks_scales_; }
  bool allows(const Action&) const;  // was it declared?
  int priority(const View& view, const Key& key) const {
    return prefers_ ? prefers_(view, key) : 0;
  }
  unsigned in_flight() const { return in_flight_; }

 private:
  std::string name_;
  KindId kind_{};
  std::vector<WatchSpec> watches_;
  std::vector<IndexSpec> indexes_;
  std::vector<CallSpec> calls_;
  std::vector<std::string> any_kind_;
  bool asks_scales_ = false;
  std::vector<std::string> posts_;
  Mapping follows_;
  OutsideSource outside_;
  std::vector<std::pair<std::string, IndexBy>> everywhere_;
  std::function<int(const View&, const Key&)> prefers_;
  unsigned in_flight_ = 16;
};

// The rights that a set of controllers needs, as the "rules" of a ClusterRole.
std::string rules_json(const std::vector<Spec>&);

}  // namespace berth::runtime
