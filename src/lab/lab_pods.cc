// SPDX-License-Identifier: Apache-2.0
#include <charconv>

#include <fmt/format.h>

#include "kube/pod_requests.h"
#include "kube/pod_view.h"
#include "lab/kubelet_events.h"
#include "lab/lab_state.h"
#include "lab/objectors.h"
#include "lab/pod_life.h"

namespace berth::lab {
namespace {

std::string key_of(const kube::Object& pod) { return fmt::format("{}/{}", pod.ns(), pod.name()); }

std::string dotted(std::uint32_t address) {
  return fmt::format("{}.{}.{}.{}", address >> 24, (address >> 16) & 255, (address >> 8) & 255,
                     address & 255);
}

std::optional<std::uint32_t> parse_address(std::string_view text) {
  std::uint32_t address = 0;
  const char* at = text.data();
  const char* const end = text.data() + text.size();
  for (int part = 0; part < 4; ++part) {
    std::uint8_t byte = 0;
    const auto [next, error] = std::from_chars(at, end, byte);
    if (error != std::errc()) return std::nullopt;
    address = address << 8 | byte;
    at = next < end ? next + 1 : next;
  }
  return address;
}

}  // namespace

void Lab::on_pod(const kube::WatchEvent& event) {
  const kube::Object& pod = event.object;
  std::uint32_t at = pod_row(pod.ns(), pod.name());
  if (at != kNoRow && pods_[at].pod.uid() != pod.uid()) {
    drop_pod(at);
    at = kNoRow;
  }
  if (event.type == kube::WatchEvent::Type::kDeleted) {
    if (at == kNoRow) return;
    stops(at);
    return drop_pod(at);
  }
  if (at == kNoRow) {
    at = adopt(pod);
    if (at == kNoRow) return;  // nobody's yet
  } else {
    pods_[at].seen = true;
    if (pods_[at].pod.revision() >= pod.revision()) return;
    pods_[at].pod = pod;
  }
  if (pod.deleting()) stops(at);
  // Whether this is what is being written, its answer will tell.
  if (!pods_[at].writing) look_at_pod(at);
}

// Its kubelet learns that it has to go.
void Lab::stops(std::uint32_t at) {
  PodRow& row = pods_[at];
  if (row.stopping.unix_nanos != 0) return;
  row.stopping = wall();
  if (events_ && !staged(kube::kPod) && beats(nodes_[row.node])) events_->pod_stops(row.pod);
}

void Lab::on_pods_listed() {
  for (std::uint32_t i = 0; i < pods_.size(); ++i) {
    if (pods_[i].pod.valid() && !pods_[i].seen) drop_pod(i);
    pods_[i].seen = false;
  }
}

std::uint32_t Lab::adopt(const kube::Object& pod) {
  const std::string node_name = pod.member("spec")["nodeName"].text();
  if (node_name.empty()) return kNoRow;
  std::uint32_t at = free_pod_;
  if (at != kNoRow) {
    free_pod_ = pods_[at].next;
  } else {
    at = static_cast<std::uint32_t>(pods_.size());
    pods_.emplace_back();
  }
  const std::uint32_t node = node_row(node_name, true);
  PodRow& row = pods_[at] = PodRow{};
  row.pod = pod;
  row.seen = true;
  row.node = node;
  NodeRow& home = nodes_[node];
  row.next = home.first_pod;
  if (row.next != kNoRow) pods_[row.next].before = at;
  home.first_pod = at;
  ++home.pods;
  // A lab that starts again gives nobody another address.
  if (const auto address = parse_address(pod.status()["podIP"].text());
      address && *address > home.range && *address - home.range <= home.hosts) {
    row.host = static_cast<std::uint16_t>(*address - home.range);
    home.wrapped = true;
  }
  index_->pods.emplace(key_of(pod), at);
  const Script script(row.pod, options_.pace, parts_.random);
  for (const std::string& complaint : script.complaints())
    parts_.log.warn("an annotation says nothing",
                    {{"pod", key_of(pod)}, {"annotation", complaint}});
  return at;
}

void Lab::drop_pod(std::uint32_t at) {
  PodRow& row = pods_[at];
  scope_.cancel(row.timer);
  index_->pods.erase(key_of(row.pod));
  NodeRow& home = nodes_[row.node];
  --home.pods;
  if (row.before == kNoRow)
    home.first_pod = row.next;
  else
    pods_[row.before].next = row.next;
  if (row.next != kNoRow) pods_[row.next].before = row.before;
  row = PodRow{};
  row.next = free_pod_;
  free_pod_ = at;
}

void Lab::look_at_pods_of(std::uint32_t node) {
  for (std::uint32_t pod = nodes_[node].first_pod; pod != kNoRow; pod = pods_[pod].next)
    look_at_pod(pod);
}

void Lab::look_at_pod(std::uint32_t at) {
  PodRow& row = pods_[at];
  scope_.cancel(row.timer);
  row.timer = TimerId::kNone;
  row.look = row.writing;
  // The kubelet of a node that is gone or silent does nothing.
  if (row.writing || !nodes_[row.node].node.valid() || !beats(nodes_[row.node])) return;
  if (staged(kube::kPod))
    follow_stages(at);
  else
    live(at);
}

std::string Lab::host_address(std::uint32_t node) const {
  for (const json::Slice each : nodes_[node].node.status()["addresses"].elements())
    if (each["type"].equals("InternalIP")) return each["address"].text();
  return node_address(node);
}

void Lab::live(std::uint32_t at) {
  PodRow& row = pods_[at];
  const NodeRow& node = nodes_[row.node];
  const WallTime at_time = wall();
  const std::string host_ip = host_address(row.node);
  // It keeps the address that it has, whatever became of its node's range.
  std::string pod_ip = row.pod.status()["podIP"].text();
  if (pod_ip.empty())
    pod_ip = row.pod.member("spec")["hostNetwork"].boolean() ? host_ip : address_of(at);
  std::string message;
  const std::string reason = options_.check_fit ? refusal(at, message) : std::string();
  const Script script(row.pod, options_.pace, parts_.random, static_cast<double>(node.slow));
  const StatusForm form = anybody_objects() ? StatusForm::kPatch : StatusForm::kWhole;
  Step step = next_step({.pod = row.pod,
                         .script = script,
                         .now = at_time,
                         .last_start = row.last_start,
                         .stopping = row.stopping,
                         .host_ip = host_ip,
                         .pod_ip = pod_ip,
                         .refusal_reason = reason,
                         .refusal_message = message,
                         .crash = row.crash,
                         .form = form});
  row.crash = false;
  if (step.started) row.last_start = at_time;
  if (!step.status.empty()) {
    if (form == StatusForm::kPatch) return patch_status(at, std::move(step.status));
    return put_status(at, std::move(step.status), step.after);
  }
  if (step.remove) return remove_pod(at);
  if (step.again) arm(at, *step.again - at_time);
}

void Lab::arm(std::uint32_t at, Duration in) {
  pods_[at].timer = scope_.after(std::max(in, Duration(1)), [this, at] {
    pods_[at].timer = TimerId::kNone;
    look_at_pod(at);
  });
}

bool Lab::anybody_objects() const { return options_.always_ask || objectors_->any(); }

void Lab::put_status(std::uint32_t at, std::string status, Outlook after) {
  PodRow& row = pods_[at];
  row.writing = true;
  parts_.store.write(
      {.kind = kube::kPod,
       .key = row.pod.key(),
       .uid = std::string(row.pod.uid()),
       .revision = row.pod.revision(),
       .next = [was = row.pod, status = std::move(status)](
                   kube::Revision revision) { return was.next(revision, {.status = status}); }},
      scope_.done<apiserver::Committed>(
          kNoLimit, [this, at, after, was = row.pod](Result<apiserver::Committed> written) {
            ++(written ? writes_ : refused_);
            if (!written) return on_pod_written(at, was, tl::unexpected(written.error()));
            kube::ApiReply reply;
            reply.body = std::move(written->object);
            on_pod_written(at, was, std::move(reply), &after);
          }));
}

void Lab::patch_status(std::uint32_t at, std::string patch) {
  PodRow& row = pods_[at];
  kube::ApiRequest request;
  request.verb = kube::Verb::kPatch;
  request.kind = kube::kPod;
  request.ns = std::string(row.pod.ns());
  request.name = std::string(row.pod.name());
  request.subresource = "status";
  request.options.patch_type = kube::PatchType::kStrategic;
  request.body.bytes = std::make_shared<const std::string>(std::move(patch));
  request.body.media_type = "application/strategic-merge-patch+json";
  row.writing = true;
  send(std::move(request), [this, at, was = row.pod](Result<kube::ApiReply> reply) {
    on_pod_written(at, was, std::move(reply));
  });
}

void Lab::remove_pod(std::uint32_t at) {
  PodRow& row = pods_[at];
  // Asked for already: finalizers hold it.
  if (row.pod.metadata()["deletionGracePeriodSeconds"].integer() == 0) return;
  kube::ApiRequest request;
  request.verb = kube::Verb::kDelete;
  request.kind = kube::kPod;
  request.ns = std::string(row.pod.ns());
  request.name = std::string(row.pod.name());
  request.options.grace_period_seconds = 0;
  request.options.precondition_uid = std::string(row.pod.uid());
  row.writing = true;
  send(std::move(request), [this, at, was = row.pod](Result<kube::ApiReply> reply) {
    on_pod_written(at, was, std::move(reply));
  });
}

void Lab::on_pod_written(std::uint32_t at, const kube::Object& was, Result<kube::ApiReply> reply,
                         const Outlook* after) {
  // It may be gone by now, and its row another's.
  if (!pods_[at].pod.valid() || pods_[at].pod.uid() != was.uid()) return;
  PodRow& row = pods_[at];
  row.writing = false;
  if (reply) {
    const auto* object = std::get_if<kube::Object>(&reply->body);
    if (object != nullptr && object->valid() && object->kind() == kube::kPod) {
      // Others may have seen it before this answer came.
      if (events_ && object->revision() != was.revision() && !staged(kube::kPod))
        events_->pod_changed(was, *object);
      if (object->revision() > row.pod.revision()) row.pod = *object;
      if (row.pod.deleting()) stops(at);
      // It is what was foreseen, unless somebody else has come between.
      if (after != nullptr && after->known && !row.look &&
          row.pod.revision() == object->revision()) {
        if (after->again) arm(at, *after->again - wall());
        return;
      }
    }
    // Unless nothing has changed, there is more to see.
    if (row.pod.revision() != was.revision()) look_at_pod(at);
    return;
  }
  const Error& error = reply.error();
  if (error.reason == Reason::kNotFound || error.reason == Reason::kCancelled) return;
  if (row.pod.revision() != was.revision()) return look_at_pod(at);
  // Somebody was faster; their version is on its way here.
  if (error.reason == Reason::kConflict) return arm(at, 1s);
  parts_.log.warn("a pod's status was refused", {{"pod", key_of(row.pod)}, {"error", error}});
  arm(at, error.reason == Reason::kInvalid || error.reason == Reason::kForbidden ? 1min : 1s);
}

std::string Lab::address_of(std::uint32_t at) {
  PodRow& row = pods_[at];
  NodeRow& node = nodes_[row.node];
  if (row.host == 0) {
    const auto taken = [&](std::uint16_t host) {
      for (std::uint32_t pod = node.first_pod; pod != kNoRow; pod = pods_[pod].next)
        if (pods_[pod].host == host && !kube::PodView(pods_[pod].pod).finished()) return true;
      return false;
    };
    for (std::uint32_t tries = 0; tries < node.hosts; ++tries) {
      if (++node.next_host > node.hosts) {
        node.next_host = 1;
        node.wrapped = true;
      }
      row.host = 0;
      if (node.wrapped && taken(node.next_host)) continue;
      row.host = node.next_host;
      break;
    }
  }
  return dotted(node.range + row.host);
}

bool Lab::fail_pod(const kube::Key& key) {
  const std::uint32_t at = pod_row(key.ns, key.name);
  if (at == kNoRow || !beats(nodes_[pods_[at].node])) return false;
  pods_[at].crash = true;
  look_at_pod(at);
  return true;
}

// k8s 1.36: what kubelets check again before they take a pod.
std::string Lab::refusal(std::uint32_t at, std::string& message) {
  const PodRow& row = pods_[at];
  if (row.pod.status()["startTime"]) return "";
  const NodeRow& node = nodes_[row.node];
  const json::Slice allocatable = node.node.status()["allocatable"];
  Result<kube::ResourceList> wanted = kube::pod_requests(row.pod);
  if (!wanted) return "";
  kube::ResourceList used;
  std::int64_t others = 0;
  for (std::uint32_t pod = node.first_pod; pod != kNoRow; pod = pods_[pod].next) {
    if (pod == at || kube::PodView(pods_[pod].pod).finished() ||
        !pods_[pod].pod.status()["startTime"])
      continue;
    ++others;
    if (const auto requests = kube::pod_requests(pods_[pod].pod)) kube::add(used, *requests);
  }
  (*wanted)["pods"] = kube::Quantity::of(1);
  used["pods"] = kube::Quantity::of(others);
  for (const auto& [name, amount] : *wanted) {
    if (amount.is_zero()) continue;
    // k8s 1.36: kubelets do not ask for extended resources that their node knows nothing of; a
    // scheduler's extender may be all that counts them.
    if (name.find('/') != name.npos && !allocatable[name]) continue;
    const Result<kube::Quantity> room = kube::Quantity::from_json(allocatable[name]);
    if (!room || used[name] + amount <= *room) continue;
    const bool in_millis = name == "cpu";
    const auto number = [&](const kube::Quantity& q) {
      return in_millis ? q.milli_value() : q.value();
    };
    message = fmt::format(
        "Pod was rejected: Node didn't have enough resource: {}, requested: {}, used: {}, "
        "capacity: {}",
        name, number(amount), number(used[name]), number(*room));
    return "OutOf" + name;
  }
  return "";
}

}  // namespace berth::lab
