// SPDX-License-Identifier: Apache-2.0
// What the store's tests are written with: a store in a virtual world, pods in one line, and a
// watcher that writes down what it sees.
#pragma once

#include <memory>
#include <string>
#include <utility>
#include <vector>

#include <fmt/format.h>
#include <gtest/gtest.h>

#include "apiserver/store/list_run.h"
#include "apiserver/store/sim_journal.h"
#include "apiserver/store/store.h"
#include "base/world.h"
#include "kube/kind.h"

namespace berth::apiserver {

struct PodText {
  std::string node = {}, phase = {}, app = {}, owner = {}, uid = {};
};

inline kube::Object pod(const kube::Key& key, const PodText& with = {}) {
  std::string metadata = fmt::format(R"("name":"{}","namespace":"{}","uid":"{}")", key.name, key.ns,
                                     with.uid.empty() ? "uid-" + key.name : with.uid);
  if (!with.app.empty()) metadata += fmt::format(R"(,"labels":{{"app":"{}"}})", with.app);
  if (!with.owner.empty())
    metadata += fmt::format(
        R"(,"ownerReferences":[{{"apiVersion":"v1","kind":"X","name":"x","uid":"{}"}}])",
        with.owner);
  return *kube::Object::parse(
      kube::kPod,
      fmt::format(R"({{"metadata":{{{}}},"spec":{{"nodeName":"{}"}},"status":{{"phase":"{}"}}}})",
                  metadata, with.node, with.phase));
}

inline std::string read_pod_field(const kube::Object& object, std::string_view field) {
  if (field == "spec.nodeName") return object.member("spec")["nodeName"].text();
  if (field == "status.phase") return object.status()["phase"].text();
  return "";
}

inline Selector select(std::string_view labels, std::string_view fields = "") {
  return {*kube::LabelSelector::parse(labels), *kube::FieldSelector::parse(fields), read_pod_field};
}

inline std::vector<IndexSpec> usual_indexes() {
  std::vector<IndexSpec> indexes;
  indexes.push_back(
      {kube::kPod, "spec.nodeName", IndexSpec::Of::kBody, [](const kube::Object& o, auto& values) {
         values.push_back(o.member("spec")["nodeName"].text());
       }});
  indexes.push_back({std::nullopt, "metadata.ownerReferences.uid", IndexSpec::Of::kAnything,
                     [](const auto& o, auto& values) {
                       for (kube::OwnerRef& owner : o.owners())
                         values.push_back(std::move(owner.uid));
                     }});
  return indexes;
}

inline std::vector<std::string> keys_of(const std::vector<kube::Object>& objects) {
  std::vector<std::string> keys;
  for (const kube::Object& object : objects) keys.push_back(object.key().text());
  return keys;
}

inline Write put(kube::Object object, Durability durability = Durability::kDurable) {
  return {.kind = object.kind(),
          .key = object.key(),
          .next = stamped(object),
          .durability = durability};
}
inline Write erase(kube::KindId kind, kube::Key key) {
  return {.kind = kind, .key = std::move(key)};
}

// A journal whose commits the test answers itself.
class HeldJournal final : public Journal {
 public:
  Result<Recovered> recover(Recovery) override { return recovered; }
  void commit(JournalBatch batch, Done<Ok> done) override {
    batches.push_back(std::move(batch));
    held.push_back(std::move(done));
  }
  void probe(Done<Ok> done) override {
    ++probes;
    if (works)
      done(Ok{});
    else
      done(fail(Reason::kInternalError, "still full"));
  }
  Recovered recovered = {};
  std::vector<JournalBatch> batches;
  std::vector<Done<Ok>> held;
  int probes = 0;
  bool works = true;
};

// A store on the world's own lanes. Without a journal writes are answered in the same turn.
class Lab {
 public:
  explicit Lab(StoreOptions options = {}, Journal* journal = nullptr) : journal_(journal) {
    if (options.indexes.empty()) options.indexes = usual_indexes();
    store_ = std::make_unique<Store>(scope_, std::move(options), journal);
    if (journal != nullptr) {
      EXPECT_TRUE(store_->recover().has_value());
    }
  }
  ~Lab() {
    if (auto* held = dynamic_cast<HeldJournal*>(journal_)) held->held.clear();
    scope_.close({}, [] {});
    world.run_until_idle(1h);
  }

  Store& store() { return *store_; }
  Scope& scope() { return scope_; }
  // Starts a write; where its answer will be.
  std::shared_ptr<std::optional<Result<Committed>>> start(Write write) {
    auto answer = std::make_shared<std::optional<Result<Committed>>>();
    store_->write(std::move(write), scope_.done<Committed>(kNoLimit, [answer](Result<Committed> r) {
      *answer = std::move(r);
    }));
    return answer;
  }
  void settle() { world.run_until_idle(Duration{}); }
  Result<Committed> write(Write write) {
    const auto answer = start(std::move(write));
    settle();
    return answer->has_value() ? std::move(**answer) : fail(Reason::kTimeout, "not answered");
  }
  kube::Revision put(kube::Object object) {
    const Result<Committed> done = write(apiserver::put(std::move(object)));
    EXPECT_TRUE(done.has_value()) << done.error().message;
    return done ? done->revision : 0;
  }
  kube::Revision erase(const kube::Key& key) {
    const Result<Committed> done = write(apiserver::erase(kube::kPod, key));
    EXPECT_TRUE(done.has_value()) << done.error().message;
    return done ? done->revision : 0;
  }
  std::vector<std::string> list(ListSpec spec = {.kind = kube::kPod}) {
    spec.kind = kube::kPod;
    const auto page = store_->list(std::move(spec));
    EXPECT_TRUE(page.has_value()) << page.error().error.message;
    return page ? keys_of(page->items) : std::vector<std::string>{};
  }

  World world{1};

 private:
  Scope scope_{world.loop("api"), "lab"};
  Journal* journal_;
  std::unique_ptr<Store> store_;
};

// Reads a watch and tells it in one line an event: "ADDED a/b@7".
class Watching final : public WatchSink {
 public:
  Watching(Store& store, WatchSpec spec) : store_(store) {
    spec.kind = kube::kPod;
    id = store_.watch(std::move(spec), *this);
  }
  ~Watching() override { store_.unwatch(id); }
  void ready(WatchId) override { ++readies; }

  static std::string text(const kube::WatchEvent& event) {
    using Type = kube::WatchEvent::Type;
    switch (event.type) {
      case Type::kBookmark:
        return fmt::format("BOOKMARK @{}{}", event.revision,
                           event.initial_events_end ? " end" : "");
      case Type::kError:
        return "ERROR " + event.error->message;
      default:
        break;
    }
    const char* const type = event.type == Type::kAdded      ? "ADDED"
                             : event.type == Type::kModified ? "MODIFIED"
                                                             : "DELETED";
    EXPECT_EQ(event.revision, event.object.revision());
    return fmt::format("{} {}@{}", type, event.object.key().text(), event.revision);
  }
  std::vector<std::string> read(std::size_t at_once = 100) {
    std::vector<std::string> lines;
    for (;;) {
      WatchBatch batch = store_.read(id, at_once);
      EXPECT_LE(batch.events.size(), at_once + 1);
      for (kube::WatchEvent& event : batch.events) {
        lines.push_back(text(event));
        events.push_back(std::move(event));
      }
      ended = batch.end;
      if (!batch.more) return lines;
    }
  }

  WatchId id{};
  int readies = 0;
  bool ended = false;
  std::vector<kube::WatchEvent> events;

 private:
  Store& store_;
};

}  // namespace berth::apiserver
