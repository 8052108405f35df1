// SPDX-License-Identifier: Apache-2.0
// Heartbeats. They never reach the journal, and in virtual time they are made only when somebody
// looks; who asks when a node was last heard of gets the same answer either way.
#include <algorithm>

#include <fmt/format.h>

#include "json/writer.h"
#include "kube/time.h"
#include "lab/lab_state.h"

namespace berth::lab {
namespace {

const std::string kNamespace = "kube-node-lease";
constexpr int kBeats = 100;  // moments within a period

std::string uid_text(Random& chance) {
  const std::uint64_t high = (chance.next() & ~0xf000ULL) | 0x4000;
  const std::uint64_t low = (chance.next() & 0x3fff'ffff'ffff'ffffULL) | 0x8000'0000'0000'0000ULL;
  return fmt::format("{:08x}-{:04x}-{:04x}-{:04x}-{:012x}", high >> 32, (high >> 16) & 0xffff,
                     high & 0xffff, low >> 48, low & 0xffff'ffff'ffffULL);
}

std::string lease_spec(std::string_view holder, Duration lasts, WallTime at) {
  json::Writer w;
  w.object().member("spec").object();
  w.member("holderIdentity").string(holder);
  w.member("leaseDurationSeconds")
      .integer(std::chrono::duration_cast<std::chrono::seconds>(lasts).count());
  w.member("renewTime").string(kube::micro_time_text(at));
  w.end().end();
  return w.take();
}

}  // namespace

void Lab::begin_beating(std::uint32_t node) {
  NodeRow& row = nodes_[node];
  row.born = wall();
  Random chance = parts_.random.fork(fmt::format("beat/{}", index_->node_names[node]));
  row.beat = static_cast<std::uint8_t>(chance.below(kBeats));
  renew(node, row.born);
  if (options_.heartbeat == Heartbeat::kPaced) {
    beats_->due.push({now() + offset(row), node, row.born});
    beat_later();
  }
}

// Nodes that are born together do not beat together.
Duration Lab::offset(const NodeRow& row) const {
  return options_.lease_period * (row.beat + 1) / kBeats;
}

void Lab::renew(std::uint32_t node, WallTime at) {
  NodeRow& row = nodes_[node];
  row.renewed = at;
  ++renewals_;
  const std::string& name = index_->node_names[node];
  const kube::Object* before =
      parts_.store.get(kube::kLease, {kNamespace, name}, apiserver::View::kTip);
  std::string spec = lease_spec(name, options_.lease_duration, at);
  apiserver::Write write{.kind = kube::kLease,
                         .key = {kNamespace, name},
                         .durability = apiserver::Durability::kVolatile};
  if (before != nullptr) {
    write.next = [was = *before, spec = std::move(spec)](kube::Revision revision) {
      return was.next(revision, {.body = spec});
    };
  } else {
    json::Writer w;
    w.object();
    w.member("creationTimestamp").string(kube::time_text(at));
    w.member("name").string(name);
    w.member("namespace").string(kNamespace);
    w.member("ownerReferences").array().object();
    w.member("apiVersion").string("v1").member("kind").string("Node");
    w.member("name").string(name).member("uid").string(row.node.uid());
    w.end().end();
    w.member("uid").string(uid_text(beats_->uids));
    w.end();
    write.next = [metadata = w.take(), spec = std::move(spec)](kube::Revision revision) {
      return kube::Object::assemble(kube::kLease, revision, {.metadata = metadata, .body = spec});
    };
  }
  // The store refuses while its disk is full; the next heartbeat tries again.
  parts_.store.write(std::move(write), Done<apiserver::Committed>());
}

void Lab::beat_later() {
  if (beats_->running || beats_->due.empty()) return;
  beats_->running = true;
  // What is due within a tenth of a second is written together.
  const Duration next = std::max<Duration>(beats_->due.top().at - now(), 100ms);
  scope_.after(
      next, [this] { beat(); }, Timer::kBackground);
}

void Lab::beat() {
  beats_->running = false;
  const Instant at = now();
  const WallTime wall_now = wall();
  while (!beats_->due.empty() && beats_->due.top().at <= at) {
    Beats::Due due = beats_->due.top();
    beats_->due.pop();
    NodeRow& row = nodes_[due.node];
    if (!beats(row) || row.born != due.born) continue;
    // Where the loop was held up for long, beats are left out.
    due.at = due.at + (at - due.at) / options_.lease_period * options_.lease_period;
    renew(due.node, wall_now - (at - due.at));
    if (wall_now - row.reported >= options_.status_period && !staged(kube::kNode)) report(due.node);
    due.at = due.at + options_.lease_period;
    beats_->due.push(due);
  }
  beat_later();
}

WallTime Lab::last_beat(const NodeRow& row, WallTime at) const {
  const WallTime first = row.born + offset(row);
  if (at < first) return row.born;
  return first + (at - first) / options_.lease_period * options_.lease_period;
}

void Lab::renew_due() {
  if (options_.heartbeat == Heartbeat::kPaced) return;
  const WallTime at = wall();
  for (std::uint32_t i = 0; i < nodes_.size(); ++i) {
    if (!beats(nodes_[i])) continue;
    const WallTime due = last_beat(nodes_[i], at);
    if (due > nodes_[i].renewed) renew(i, due);
  }
}

std::shared_ptr<void> Lab::watch_leases() {
  if (options_.heartbeat == Heartbeat::kPaced) return std::make_shared<int>(0);
  if (std::shared_ptr<void> watched = beats_->watched.lock()) return watched;
  const std::shared_ptr<void> watched = std::make_shared<int>(0);
  beats_->watched = watched;
  struct Turn {
    static void next(Lab& lab, std::weak_ptr<void> while_held) {
      if (while_held.expired()) return;
      lab.renew_due();
      lab.scope_.after(
          lab.options_.lease_period / 10,
          [&lab, while_held = std::move(while_held)] { next(lab, while_held); },
          Timer::kBackground);
    }
  };
  Turn::next(*this, watched);
  return watched;
}

void Lab::tell(std::uint32_t node) {
  const NodeRow& row = nodes_[node];
  const bool silent = row.managed && row.outage != Outage::kNone;
  silence_->set(index_->node_names[node], silent ? std::optional(row.renewed) : std::nullopt);
}

}  // namespace berth::lab
