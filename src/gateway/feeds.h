// SPDX-License-Identifier: Apache-2.0
// What the gateway knows of testbeds, jobs and schedulings, and who is to hear of changes. One copy
// for all listeners.
#pragma once

#include <array>
#include <functional>
#include <map>
#include <memory>
#include <set>
#include <string>
#include <utility>

#include "base/metrics.h"
#include "client/informer.h"
#include "gateway/ring.h"

namespace berth::gateway {

struct FeedsOptions {
  std::string ns = {};    // whose objects; "": everybody's
  Duration pause = 20ms;  // between two rounds of telling
  RingLimits ring = {};
};

// Loop-confined to its scope's executor; outlives that scope. The transport outlives both.
class Feeds {
 public:
  Feeds(Scope&, client::Transport&, Random, Metrics&, FeedsOptions = {});
  ~Feeds();

  void start();
  bool synced() const;
  void on_synced(Task);  // once all kinds are there
  const client::Informer<>& of(Topic topic) const { return *informers_[index(topic)]; }
  const ChangeRing& ring() const { return ring_; }

  // Told at most every `pause` that there is something new; where it stands is its own business.
  class Listener {
   public:
    virtual void changed() = 0;
    virtual std::uint64_t behind() const = 0;  // changes that it has not been told

   protected:
    ~Listener() = default;
  };
  void add(Listener&);
  void remove(Listener&);

  // What a change looks like in some form, made once for all who want it so.
  using Text = std::shared_ptr<const std::string>;
  Text encoded(const ObjectChange&, const std::string& form,
               const std::function<std::string(const ObjectChange&)>& make);

  Counter resets() const { return resets_; }
  // Events that went out to a listener, and their bytes.
  void delivered(std::size_t events, std::size_t bytes) const {
    events_.add(static_cast<double>(events));
    bytes_.add(static_cast<double>(bytes));
  }
  Scope& scope() { return scope_; }

 private:
  static std::size_t index(Topic topic) { return static_cast<std::size_t>(topic); }
  void follow(Topic);
  void on_change(Topic, ObjectChange::Action, const kube::Object&);
  void tell();

  Scope& scope_;
  FeedsOptions options_;
  std::array<std::unique_ptr<client::Informer<>>, kTopics.size()> informers_;
  std::array<bool, kTopics.size()> begun_ = {};
  std::array<std::uint64_t, kTopics.size()> relists_ = {};
  std::vector<Task> waiting_;
  ChangeRing ring_;
  std::set<Listener*> listeners_;
  bool armed_ = false;
  std::map<std::pair<std::uint64_t, std::string>, Text> texts_;
  Counter resets_, events_, bytes_;
  Labelled<Counter> changes_;
  Gauge behind_;
};

// Which changes somebody wants.
struct Filter {
  Topic topic = Topic::kTestbeds;
  std::string ns = {};                   // "": all
  std::optional<std::string> name = {};  // nothing: all

  bool wants(Topic other, const kube::Object& object) const {
    return topic == other && (ns.empty() || ns == object.ns()) && (!name || *name == object.name());
  }
};

// One listener's place in the feeds. Loop-confined with them.
class Reader {
 public:
  Reader(const Feeds& feeds, std::vector<Filter> filters)
      : feeds_(&feeds), filters_(std::move(filters)), place_(feeds.ring().end()) {}

  void from_snapshot();        // all there is, then changes
  void resume(const Cursor&);  // from there; where that is not possible, a reset and a snapshot

  struct Item {
    enum class What : unsigned char { kReset, kObject, kSynced, kChange } what;
    Topic topic = Topic::kTestbeds;
    const kube::Object* object = nullptr;  // of a snapshot
    const ObjectChange* change = nullptr;
    Cursor cursor = {};  // of all but objects: where the listener stands then
  };
  // The next one; nothing: it has seen everything. Falls back to a reset when it was too slow.
  std::optional<Item> next();
  bool reset_happened() const { return resets_ > 0; }
  std::uint64_t behind() const { return feeds_->ring().end() - place_; }

 private:
  void take_snapshot();
  bool wants(Topic, const kube::Object&) const;

  const Feeds* feeds_;
  std::vector<Filter> filters_;
  std::uint64_t place_;
  Cursor seen_ = {};  // on resuming: what it has seen already
  bool reset_due_ = false, synced_due_ = false;
  std::vector<std::pair<Topic, kube::Object>> snapshot_;
  std::size_t told_ = 0;  // of the snapshot
  Cursor snapshot_cursor_ = {};
  int resets_ = 0;
};

}  // namespace berth::gateway
