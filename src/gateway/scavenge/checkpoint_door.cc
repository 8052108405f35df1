// SPDX-License-Identifier: Apache-2.0
#include "gateway/scavenge/checkpoint_door.h"

#include <algorithm>
#include <memory>
#include <vector>

#include <fmt/format.h>

#include "controllers/scavenger/evidence.h"
#include "gateway/replies.h"
#include "json/writer.h"
#include "kube/ours/ours.h"
#include "kube/ours/scavenger_job_view.h"
#include "kube/pod_view.h"

namespace berth::gateway {
namespace {

// k8s 1.36: what the API server says of a token that is bound to a pod.
constexpr std::string_view kPodName = "authentication.kubernetes.io/pod-name",
                           kPodUid = "authentication.kubernetes.io/pod-uid";

std::string extra(const kube::User& user, std::string_view key) {
  for (const auto& [name, values] : user.extra)
    if (name == key && values.size() == 1) return values.front();
  return {};
}

bool account_in(const kube::User& user, std::string_view ns) {
  return user.name.starts_with(fmt::format("system:serviceaccount:{}:", ns));
}

}  // namespace

// One report, from who it is of to what is written. Kept by what it waits for.
class CheckpointDoor::Visit : public std::enable_shared_from_this<Visit> {
 public:
  Visit(CheckpointDoor& door, const Request& request, kube::User user, CheckpointReport report,
        Done<Reply> done)
      : door_(door),
        key_{request.value("ns"), request.value("name")},
        user_(std::move(user)),
        report_(std::move(report)),
        done_(std::move(done)) {}

  // The job, in either of its groups.
  void find_job(bool other = false) {
    const kube::KindId kind = other ? kube::cerit_kinds().job : kube::scavenger_kinds().job;
    get(kind, key_, [this, other](Result<kube::Object> job) {
      if (job) return have_job(*std::move(job));
      if (job.error().reason != Reason::kNotFound) return refuse(job.error());
      if (!other) return find_job(true);
      refuse(no_job());
    });
  }

 private:
  void get(kube::KindId kind, const kube::Key& key, Fn<void(Result<kube::Object>)> then) {
    door_.api_.get(kind, key,
                   door_.scope_.done<kube::Object>(
                       kNoLimit, [self = shared_from_this(), then = std::move(then)](
                                     Result<kube::Object> got) mutable { then(std::move(got)); }));
  }
  void refuse(Error error) { done_(tl::unexpected(std::move(error))); }
  Error no_job() const {
    return {
        .reason = Reason::kNotFound,
        .message = fmt::format("scavengerjobs.berth.dev {} not found", json::quoted(key_.name))};
  }

  void have_job(kube::Object job) {
    job_ = std::move(job);
    // Whoever holds a pod's own token speaks for that pod and for no other.
    const std::string pod = extra(user_, kPodName);
    if (pod.empty() || !account_in(user_, key_.ns)) return ask_for_the_right();
    get(kube::kPod, {key_.ns, pod}, [this](Result<kube::Object> found) {
      if (found && found->uid() == extra(user_, kPodUid) && is_member(*found))
        return write(found->key());
      ask_for_the_right();
    });
  }
  bool is_member(const kube::Object& pod) const {
    const kube::ScavengerJobView job(*job_);
    return job.open() &&
           controllers::pod_of_attempt(pod, job.job_uid(), job.status()["jobName"].text());
  }

  void ask_for_the_right() {
    const Access right{.verb = "create",
                       .group = kube::kind_of(job_->kind()).group,
                       .resource = "scavengerjobs",
                       .subresource = "checkpoints",
                       .ns = key_.ns,
                       .name = key_.name};
    door_.auth_.may(
        {.user = user_}, right,
        door_.scope_.done<Ok>(kNoLimit, [self = shared_from_this()](const Result<Ok>& allowed) {
          if (!allowed) return self->refuse(allowed.error());
          self->find_pod();
        }));
  }

  // For a job, by somebody who may: the pod that is named, or any member that runs.
  void find_pod() {
    kube::Options options;
    options.label_selector = fmt::format("{}={}", kube::kScavengerLabel, job_->uid());
    door_.api_.list_all(
        kube::kPod, key_.ns, options,
        door_.scope_.done<kube::ObjectList>(
            kNoLimit, [self = shared_from_this()](Result<kube::ObjectList> pods) {
              if (!pods) return self->refuse(pods.error());
              for (const kube::Object& pod : pods->items)
                if (self->is_member(pod) && !kube::PodView(pod).finished() &&
                    (self->report_.pod.empty() || self->report_.pod == pod.name()))
                  return self->write(pod.key());
              self->refuse({.reason = Reason::kConflict,
                            .message = self->report_.pod.empty()
                                           ? "the job does not run: no pod of it is there"
                                           : fmt::format("no pod of the job that runs is called {}",
                                                         json::quoted(self->report_.pod))});
            }));
  }

  void write(const kube::Key& pod) {
    const Instant now = door_.scope_.executor().clock().now();
    std::erase_if(door_.last_, [now](const auto& one) { return one.second + kAtMostEvery <= now; });
    const auto [at, fresh] = door_.last_.try_emplace(std::string(job_->uid()), now);
    if (!fresh)
      return refuse({.reason = Reason::kTooManyRequests,
                     .message = "the job reported less than 10 s ago; once in 10 s is enough",
                     .retry_after = at->second + kAtMostEvery - now});
    const WallTime wall = door_.scope_.executor().clock().wall();
    door_.api_.patch(
        kube::kPod, pod, checkpoint_patch(report_, wall), kube::PatchType::kMerge,
        door_.scope_.done<kube::Object>(
            kNoLimit, [self = shared_from_this()](const Result<kube::Object>& written) {
              if (!written) {
                self->door_.last_.erase(std::string(self->job_->uid()));
                return self->refuse(written.error());
              }
              json::Writer out;
              out.object().member("pod").string(written->name()).member("time");
              out.string(written->annotation(kube::kCheckpointAnnotation)).end();
              self->done_(json_reply(out.take()));
            }));
  }

  CheckpointDoor& door_;
  kube::Key key_;
  kube::User user_;
  CheckpointReport report_;
  Done<Reply> done_;
  std::optional<kube::Object> job_;
};

void CheckpointDoor::mount(Routes& routes) {
  Route route;
  route.method = "POST";
  route.path = "/api/v1/scavengerjobs/{ns}/{name}/checkpoints";
  route.entry = Entry::kKnown;  // the handler asks for the right, where the token is no pod's
  route.handle = [this](const Request& request, const kube::User& user, Done<Reply> done) {
    auto report = checkpoint_report(request.body);
    if (!report) return done(tl::unexpected(report.error()));
    std::make_shared<Visit>(*this, request, user, *std::move(report), std::move(done))->find_job();
  };
  route.doc = {
      .summary =
          "Reports that the job has written a checkpoint, with the token of its own pod or "
          "the right to create scavengerjobs/checkpoints; once in 10 s",
      .takes = "Checkpoint",
      .gives = "CheckpointTaken"};
  routes.add(std::move(route));
}

}  // namespace berth::gateway
