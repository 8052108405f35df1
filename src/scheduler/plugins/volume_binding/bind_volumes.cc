// SPDX-License-Identifier: Apache-2.0
#include "scheduler/plugins/volume_binding/bind_volumes.h"

#include <algorithm>

#include <fmt/format.h>

#include "base/check.h"
#include "client/api.h"
#include "json/patch.h"
#include "json/writer.h"

namespace berth::scheduler {
namespace {

constexpr Duration kPollEvery = 1s;

kube::Object patched(const kube::Object& object, const std::string& patch) {
  Result<std::string> json = json::merge_patch(object.json(), patch);
  BERTH_CHECK(json.has_value(), json ? std::string() : json.error().message);
  Result<kube::Object> made = kube::Object::parse(object.kind(), *json);
  BERTH_CHECK(made.has_value(), made ? std::string() : made.error().message);
  return *std::move(made);
}

std::string annotation(std::string_view key, std::string_view value) {
  json::Writer out;
  out.object().member("metadata").object().member("annotations").object();
  out.member(key).string(value).end().end().end();
  return out.take();
}

// One pod's way through PreBind: every write in turn, then a look each second.
class Flow : public std::enable_shared_from_this<Flow> {
 public:
  Flow(BindVolumes job, Done<Status> done) : job_(std::move(job)), done_(std::move(done)) {}

  void write_next() {
    NodeVolumes& volumes = *job_.volumes;
    if (cancelled()) return;
    if (written_ < volumes.matches.size()) {
      write(volumes.matches[written_].volume->object, [this](const kube::Object& answer) {
        job_.volumes->matches[written_].volume = Volume::compile(answer);
      });
    } else if (const std::size_t at = written_ - volumes.matches.size();
               at < volumes.to_provision.size()) {
      write(volumes.to_provision[at]->object, [this, at](const kube::Object& answer) {
        job_.volumes->to_provision[at] = Claim::compile(answer);
      });
    } else {
      started_ = now();
      wait();
    }
  }

 private:
  // Whether the caller still wants it.
  bool cancelled() {
    if (!job_.services.pre_bind_cancelled(job_.pod_uid)) return false;
    finish(Status::error("binding volumes: context canceled"));
    return true;
  }

  void write(const kube::Object& object, Fn<void(const kube::Object&)> written) {
    job_.services.api().update(
        object.kind(), object.key(), object.json(),
        job_.services.scope().done<kube::Object>(
            kNoLimit, [self = shared_from_this(),
                       written = std::move(written)](Result<kube::Object> answer) mutable {
              if (!answer) {
                self->give_up(std::move(answer.error()));
                return;
              }
              written(*answer);
              ++self->written_;
              self->write_next();
            }));
  }

  // What was not written is not assumed any more; there is no taking back the rest.
  void give_up(Error error) {
    const NodeVolumes& volumes = *job_.volumes;
    if (StorageState* storage = job_.services.storage()) {
      for (std::size_t i = written_; i < volumes.matches.size(); ++i)
        storage->restore(*volumes.matches[i].volume);
      const std::size_t done = written_ - std::min(written_, volumes.matches.size());
      for (std::size_t i = done; i < volumes.to_provision.size(); ++i)
        storage->restore(*volumes.to_provision[i]);
    }
    finish(Status::error(std::move(error.message)));
  }

  void wait() {
    const Duration left = started_ + job_.timeout - now();
    if (left <= Duration{}) {
      finish(Status::error("binding volumes: context deadline exceeded"));
      return;
    }
    job_.services.scope().after(std::min(kPollEvery, left), [self = shared_from_this()] {
      if (self->cancelled()) return;
      if (self->now() - self->started_ < self->job_.timeout) {
        const Result<bool> bound = self->all_bound();
        if (!bound) {
          self->finish(Status::error("binding volumes: " + bound.error().message));
          return;
        }
        if (*bound) {
          self->finish({});
          return;
        }
      }
      self->wait();
    });
  }

  // Everything the pod waits for is there. An error: it must be placed anew.
  Result<bool> all_bound() const {
    const std::optional<std::uint32_t> row = job_.cluster.row_of(job_.node);
    if (!row)
      return invalid(fmt::format("failed to get node \"{0}\": node \"{0}\" not found", job_.node));
    const Node& node = job_.cluster.node(job_.cluster.node_id(job_.node));
    if (!job_.services.pending_pod(job_.pod_ns, job_.pod_name))
      return invalid(
          fmt::format("pod does not exist any more: pod \"{}\" not found", job_.pod_name));
    const StorageState& storage = job_.cluster.storage();
    const CsiNode* const csi_node = storage.csi_node(node.name).get();
    for (const NodeVolumes::Match& match : job_.volumes->matches) {
      const Result<bool> ready = match_ready(storage, match, node, csi_node);
      if (!ready || !*ready) return ready;
    }
    for (const ClaimPtr& claim : job_.volumes->to_provision) {
      const Result<bool> ready = provisioned(storage, *claim, node, csi_node);
      if (!ready || !*ready) return ready;
    }
    return true;
  }

  static Result<Ok> check_affinity(const Volume& volume, const Node& node, const CsiNode* csi_node,
                                   std::string_view on_translation) {
    const Result<bool> usable = usable_on(volume, *node.labels, csi_node);
    if (!usable) return invalid(fmt::format("{}{}", on_translation, usable.error().message));
    if (!*usable)
      return invalid(fmt::format(
          "pv \"{}\" node affinity doesn't match node \"{}\": no matching NodeSelectorTerms",
          volume.name, node.name));
    return Ok{};
  }

  // Looks at what the API server has: others may have assumed something else meanwhile.
  static Result<bool> match_ready(const StorageState& storage, const NodeVolumes::Match& match,
                                  const Node& node, const CsiNode* csi_node) {
    const VolumePtr& volume = storage.volume(match.volume->name);
    if (!volume)
      return invalid(fmt::format("failed to check binding: persistentvolumes \"{}\" not found",
                                 match.volume->name));
    const ClaimPtr& claim = storage.claim(match.claim->key());
    if (!claim)
      return invalid(fmt::format("failed to check binding: persistentvolumeclaims \"{}\" not found",
                                 match.claim->key()));
    if (match.volume->revision > volume->revision) return false;  // our own write is not here yet
    if (Result<Ok> ok = check_affinity(*volume, node, csi_node, "failed to translate pv to csi: ");
        !ok)
      return tl::unexpected(std::move(ok.error()));
    if (!volume->claim || volume->claim->uid.empty())
      return invalid(fmt::format("ClaimRef got reset for pv \"{}\"", volume->name));
    return claim->bound;
  }

  static Result<bool> provisioned(const StorageState& storage, const Claim& asked, const Node& node,
                                  const CsiNode* csi_node) {
    const ClaimPtr& claim = storage.claim(asked.key());
    if (!claim)
      return invalid(
          fmt::format("failed to check provisioning pvc: persistentvolumeclaims \"{}\" not found",
                      asked.key()));
    if (asked.revision > claim->revision) return false;
    if (claim->object.annotations().size() == 0)
      return invalid(fmt::format("selectedNode annotation reset for PVC \"{}\"", claim->name));
    if (claim->selected_node.value_or("") != node.name)  // how provisioners say that they cannot
      return invalid(fmt::format("provisioning failed for PVC \"{}\"", claim->name));
    if (!claim->volume_name.empty()) {
      const VolumePtr& volume = storage.volume(claim->volume_name);
      if (!volume) return false;  // it may not have arrived yet
      if (Result<Ok> ok = check_affinity(*volume, node, csi_node, ""); !ok)
        return tl::unexpected(std::move(ok.error()));
    }
    return claim->bound;
  }

  Instant now() const { return job_.services.scope().executor().clock().now(); }
  void finish(Status status) { done_(std::move(status)); }

  BindVolumes job_;
  Done<Status> done_;
  std::size_t written_ = 0;  // volumes first, then claims
  Instant started_;
};

}  // namespace

VolumePtr bound_to(const VolumePtr& volume, const Claim& claim) {
  const bool named = volume->claim && volume->claim->name == claim.name &&
                     volume->claim->ns == claim.ns && volume->claim->uid == claim.uid;
  const bool mark = !meant_for(*volume, claim) &&
                    !volume->object.annotations()[storage::kBoundByController].present();
  if (named && !mark) return volume;
  kube::Object object = volume->object;
  if (!named) {
    json::Writer patch;
    patch.object().member("spec").object().member("claimRef").object();
    patch.member("kind").string("PersistentVolumeClaim").member("namespace").string(claim.ns);
    patch.member("name").string(claim.name).member("uid").string(claim.uid);
    patch.member("apiVersion").string("v1");
    patch.member("resourceVersion").string(claim.object.metadata()["resourceVersion"].text());
    patch.member("fieldPath").null().end().end().end();
    object = patched(object, patch.take());
  }
  if (mark) object = patched(object, annotation(storage::kBoundByController, "yes"));
  return Volume::compile(object);
}

ClaimPtr promised_to(const Claim& claim, const std::string& node) {
  return Claim::compile(patched(claim.object, annotation(storage::kSelectedNode, node)));
}

Result<Ok> assume(StorageState& storage, const std::string& node, NodeVolumes& volumes) {
  NodeVolumes assumed;
  const auto undo = [&](Result<Ok> failed) {
    restore(storage, assumed);
    return failed;
  };
  for (const NodeVolumes::Match& match : volumes.matches) {
    VolumePtr bound = bound_to(match.volume, *match.claim);
    if (bound != match.volume)
      if (Result<Ok> done = storage.assume(bound); !done) return undo(std::move(done));
    assumed.matches.push_back({match.claim, std::move(bound)});
  }
  for (const ClaimPtr& claim : volumes.to_provision) {
    ClaimPtr promised = promised_to(*claim, node);
    if (Result<Ok> done = storage.assume(promised); !done) return undo(std::move(done));
    assumed.to_provision.push_back(std::move(promised));
  }
  volumes = std::move(assumed);
  return Ok{};
}

void restore(StorageState& storage, const NodeVolumes& volumes) {
  for (const NodeVolumes::Match& match : volumes.matches) storage.restore(*match.volume);
  for (const ClaimPtr& claim : volumes.to_provision) storage.restore(*claim);
}

void start(BindVolumes job, Done<Status> done) {
  std::make_shared<Flow>(std::move(job), std::move(done))->write_next();
}

}  // namespace berth::scheduler
