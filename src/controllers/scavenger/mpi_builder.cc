// SPDX-License-Identifier: Apache-2.0
#include "controllers/scavenger/mpi_builder.h"

#include "controllers/pods.h"
#include "json/writer.h"
#include "kube/ours/ours.h"

namespace berth::controllers {
namespace {

using json::Slice;
using json::Writer;

void write_role(Writer& w, std::string_view role, int replicas, const kube::ScavengerJobView& job,
                const kube::ScavengerPolicy& policy, const AttemptOrder& order,
                const ContainerParts& parts) {
  const std::string spec = plain_pod_spec(job, policy, parts);
  const MemberTemplate made = complete_template(job, order, {}, Slice(spec));
  w.member(role).object().member("replicas").integer(replicas);
  w.member("restartPolicy").string("Never");
  w.member("template").object();
  w.member("metadata").raw(made.metadata).member("spec").raw(made.spec).end().end();
}

}  // namespace

kube::KindId mpi_job_kind() {
  static const kube::KindId kind =
      kube::learn_kind({"kubeflow.org", "v2beta1", "MPIJob", "mpijobs"});
  return kind;
}

std::string mpi_job_json(const kube::ScavengerJobView& job, const kube::ScavengerPolicy& policy,
                         const AttemptOrder& order) {
  const kube::Object& object = job.object();
  const Slice mpi = job.spec()["mpi"];
  const std::string image = mpi["image"].text();
  std::string launcher_image = mpi["launcher"]["image"].text();
  if (launcher_image.empty()) launcher_image = image;
  Writer w;
  w.object().member("apiVersion").string("kubeflow.org/v2beta1").member("kind").string("MPIJob");
  w.member("metadata").object();
  w.member("name").string(attempt_name(object.name(), order.attempt));
  w.member("namespace").string(object.ns());
  w.member("labels").object().member(kube::kScavengerLabel).string(object.uid()).end();
  w.member("annotations").object();
  w.member(kube::kDecidedAtAnnotation).string(order.decided_at).end();
  w.member("ownerReferences").array().raw(controller_ref(object)).end();
  w.end();
  w.member("spec").object();
  for (const char* same : {"slotsPerWorker", "mpiImplementation", "sshAuthMountPath",
                           "launcherCreationPolicy", "runLauncherAsWorker"})
    if (const Slice value = mpi[same]; value.present()) w.member(same).raw(value.raw());
  // All of them or none, and no second try: an attempt is ours to repeat.
  w.member("runPolicy").object().member("cleanPodPolicy").string("Running");
  w.member("backoffLimit").integer(0).member("schedulingPolicy").object();
  w.member("minAvailable").integer(job.replicas() + 1).end().end();
  w.member("mpiReplicaSpecs").object();
  write_role(w, "Launcher", 1, job, policy, order,
             {launcher_image, mpi["launcher"]["command"], mpi["launcher"]["args"],
              mpi["launcher"]["resources"]});
  write_role(w, "Worker", job.replicas(), job, policy, order,
             {image, mpi["worker"]["command"], mpi["worker"]["args"], job.spec()["resources"]});
  w.end().end().end();
  return w.take();
}

}  // namespace berth::controllers
