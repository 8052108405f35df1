// SPDX-License-Identifier: Apache-2.0
#include "policy/admission/scavenger_job.h"

#include <gmock/gmock.h>

#include "policy/admission/pod_template.h"
#include "policy/admission/reviews_for_test.h"

namespace berth::admission {
namespace {

using testing::HasSubstr;

Asked job(std::string_view spec, std::string_view metadata = R"("name":"x")",
          std::string_view group = "berth.dev") {
  return {.group = group,
          .resource = "scavengerjobs",
          .kind = "ScavengerJob",
          .object = fmt::format(R"({{"metadata":{{{}}},"spec":{{{}}}}})", metadata, spec)};
}
std::string verdict(const Asked& asked) { return verdict_text("/scavenger-jobs", asked); }
std::string in_job(std::string_view pod_spec, std::string_view more = "") {
  return fmt::format(
      R"("job":{{"template":{{"spec":{{"containers":[{{"name":"m","image":"i"}}],{}}}{}}}}})",
      pod_spec, more);
}

struct Row {
  const char* name;
  std::string spec;
  const char* wrong;  // "": nothing
};

TEST(ScavengerJobAdmission, R46_NamesTheFieldAndTheRemedy) {
  const Row rows[] = {
      {"the least", R"("image":"i")", ""},
      {"everything",
       R"("image":"i","resources":{"requests":{"cpu":"1","memory":"1Gi"},"limits":{"cpu":"2","memory":"1Gi"}},)"
       R"("persistentVolumeClaims":[{"name":"data","mountPath":"/data","subPath":"a/b"}],)"
       R"("configMaps":[{"name":"conf","mountPath":"/data/conf"}],"secrets":[{"name":"s.key","mountPath":"/s"}],)"
       R"("duration":"30m","checkpoint":{"interval":"5m"},"minRun":"0s","elastic":{"min":{"cpu":"500m"}})",
       ""},
      {"R11 a request above its limit",
       R"("image":"i","resources":{"requests":{"cpu":"2"},"limits":{"cpu":"1500m"}})",
       "spec.resources.requests[cpu]: \"2\": must not be more than the limit 1500m; raise the "
       "limit "
       "or lower the request"},
      {"the same amount in other words",
       R"("image":"i","resources":{"requests":{"cpu":"1000m"},"limits":{"cpu":1}})", ""},
      {"a device that is shared",
       R"("image":"i","resources":{"requests":{"nvidia.com/gpu":"1"},"limits":{"nvidia.com/gpu":"2"}})",
       "spec.resources.requests[nvidia.com/gpu]"},
      {"an amount that is none", R"("image":"i","resources":{"requests":{"cpu":"many"}})",
       "spec.resources.requests[cpu]: \"many\": not an amount; write one like 500m, 2 or 4Gi"},
      {"a negative amount", R"("image":"i","resources":{"limits":{"memory":"-1Gi"}})",
       "spec.resources.limits[memory]: \"-1Gi\": must not be negative"},
      {"a resource that has no name", R"("image":"i","resources":{"limits":{"a b":"1"}})",
       "spec.resources.limits[a b]"},
      {"a resource that no container can ask for",
       R"("image":"i","resources":{"requests":{"gpu":"1"}})",
       "spec.resources.requests[gpu]: \"gpu\": not the name of a resource: write cpu, memory"},
      {"a part of a device", R"("image":"i","resources":{"requests":{"nvidia.com/gpu":"500m"}})",
       "spec.resources.requests[nvidia.com/gpu]: \"500m\": must be a whole number"},
      {"a whole device in other words",
       R"("image":"i","resources":{"requests":{"nvidia.com/gpu":"1000m","hugepages-2Mi":"4Mi"}})",
       ""},
      {"an elastic minimum above the request",
       R"("image":"i","resources":{"requests":{"cpu":"1"}},"elastic":{"min":{"cpu":"2"}})",
       "spec.elastic.min[cpu]: \"2\": must not be more than the request 1"},
      {"an elastic minimum of what is not asked for",
       R"("image":"i","elastic":{"min":{"cpu":"2"}})", "spec.elastic.min[cpu]"},
      {"a limit alone is a request",
       R"("image":"i","resources":{"limits":{"cpu":"4"}},"elastic":{"min":{"cpu":"2"}})", ""},
      {"R27 a checkpoint a window",
       R"("image":"i","duration":"10m","checkpoint":{"interval":"10m"})",
       "spec.checkpoint.interval: \"10m\": must be less than spec.duration, which is 10m0s"},
      {"R17 a duration that is none", R"("image":"i","duration":"soon")",
       "spec.duration: \"soon\": not a duration; write one like 30m, 1h30m or 90s"},
      {"R17 no time at all", R"("image":"i","duration":"0s")",
       "spec.duration: \"0s\": must be more"},
      {"less than nothing", R"("image":"i","minRun":"-1m")", "spec.minRun"},
      {"another namespace's claim",
       R"("image":"i","persistentVolumeClaims":[{"name":"team-b/data","mountPath":"/d"}])",
       "spec.persistentVolumeClaims[0].name: \"team-b/data\": only a PersistentVolumeClaim of the "
       "job's own namespace can be used"},
      {"a name that is none", R"("image":"i","secrets":[{"name":"A_b","mountPath":"/d"}])",
       "spec.secrets[0].name"},
      {"two at one place",
       R"("image":"i","configMaps":[{"name":"a","mountPath":"/d"}],"secrets":[{"name":"b","mountPath":"/d/"}])",
       "spec.secrets[0].mountPath: \"/d/\": spec.configMaps[0] is mounted there already"},
      {"over everything", R"("image":"i","secrets":[{"name":"b","mountPath":"//"}])",
       "spec.secrets[0].mountPath: \"//\": would hide all of the image's files"},
      {"nowhere in particular", R"("image":"i","secrets":[{"name":"b","mountPath":"d"}])",
       "must be an absolute path"},
      {"outside of the volume",
       R"("image":"i","persistentVolumeClaims":[{"name":"b","mountPath":"/d","subPath":"../other"}])",
       "spec.persistentVolumeClaims[0].subPath"},
      {"a variable twice", R"("image":"i","env":[{"name":"A"},{"name":"A"}])",
       "spec.env[1].name: \"A\": is given twice"},
      {"a service account elsewhere", R"("image":"i","serviceAccountName":"team-b/admin")",
       "spec.serviceAccountName"},
      {"a whole Job", in_job(R"("restartPolicy":"Never")"), ""},
      {"a Job without containers", R"("job":{"template":{"spec":{}}})",
       "spec.job.template.spec.containers: a job needs a container"},
      {"a Job with a class", in_job(R"("priorityClassName":"high")"),
       "spec.job.template.spec.priorityClassName: the operator gives scavenger jobs their class"},
      {"a Job with a priority", in_job(R"("priority":5)"), "spec.job.template.spec.priority:"},
      {"a Job with the files of its node",
       in_job(R"("volumes":[{"name":"r","hostPath":{"path":"/"}}])"),
       "spec.job.template.spec.volumes[0].hostPath: scavenger jobs do not see the files of nodes"},
      {"a Job with a server's files",
       in_job(
           R"("volumes":[{"name":"a","emptyDir":{}},{"name":"r","nfs":{"server":"s","path":"/"}}])"),
       "spec.job.template.spec.volumes[1].nfs"},
      {"a Job on its node", in_job(R"("nodeName":"n1")"), "spec.job.template.spec.nodeName"},
      {"a Job of another scheduler", in_job(R"("schedulerName":"mine")"),
       "spec.job.template.spec.schedulerName"},
      {"a Job in the node's network", in_job(R"("hostNetwork":true)"),
       "spec.job.template.spec.hostNetwork"},
      {"not in the node's network", in_job(R"("hostNetwork":false,"schedulerName":"")"), ""},
      {"a privileged container",
       R"("job":{"template":{"spec":{"containers":[{"name":"m","securityContext":{"privileged":true}}]}}})",
       "spec.job.template.spec.containers[0].securityContext.privileged"},
      {"a container above its limits",
       R"("job":{"template":{"spec":{"containers":[{"name":"m","resources":{"requests":{"cpu":"2"},"limits":{"cpu":"1"}}}]}}})",
       "spec.job.template.spec.containers[0].resources.requests[cpu]"},
      {"a container with two things at one place",
       R"("job":{"template":{"spec":{"initContainers":[{"name":"m","volumeMounts":[{"mountPath":"/a"},{"mountPath":"/a/."}]}],"containers":[{"name":"n"}]}}})",
       "spec.job.template.spec.initContainers[0].volumeMounts[1].mountPath"},
      {"a port of the node",
       R"("job":{"template":{"spec":{"containers":[{"name":"m","ports":[{"hostPort":80}]}]}}})",
       "spec.job.template.spec.containers[0].ports[0].hostPort"},
      {"a Job that says what it costs",
       in_job(R"("restartPolicy":"Never")",
              R"(,"metadata":{"annotations":{"berth.dev/cost":"9"}})"),
       "spec.job.template.metadata.annotations[berth.dev/cost]"},
      {"a Job that passes for another",
       in_job(R"("restartPolicy":"Never")",
              R"(,"metadata":{"labels":{"berth.dev/scavenger":"u"}})"),
       "spec.job.template.metadata.labels[berth.dev/scavenger]"},
      {"a Job that waits by itself",
       R"("job":{"suspend":true,"template":{"spec":{"containers":[{"name":"m"}]}}})",
       "spec.job.suspend"},
      {"an MPI launcher above its limits",
       R"("mpi":{"image":"i","launcher":{"resources":{"requests":{"cpu":"2"},"limits":{"cpu":"1"}}}})",
       "spec.mpi.launcher.resources.requests[cpu]"},
      {"another namespace's credentials",
       R"("image":"i","imagePullSecrets":[{"name":"team-b/key"}])",
       "spec.imagePullSecrets[0].name"},
  };
  for (const Row& row : rows) {
    const std::string got = verdict(job(row.spec));
    if (row.wrong[0] == '\0') {
      EXPECT_TRUE(got.starts_with("yes")) << row.name << ": " << got;
    } else {
      EXPECT_TRUE(got.starts_with("no: ")) << row.name << ": " << got;
      EXPECT_THAT(got, HasSubstr(row.wrong)) << row.name;
    }
    Asked dry = job(row.spec);
    dry.dry_run = true;
    EXPECT_EQ(verdict(dry), got) << row.name << ": a dry run is judged the same";
    EXPECT_EQ(verdict(job(row.spec, R"("name":"x")", "core.cerit.cz")), got)
        << row.name << ": in either group";
  }
}

TEST(ScavengerJobAdmission, NamesAllThatIsWrongAtOnce) {
  const std::string got =
      verdict(job(R"("image":"i","duration":"x","resources":{"requests":{"cpu":"y"}})"));
  EXPECT_THAT(got, HasSubstr("spec.duration"));
  EXPECT_THAT(got, HasSubstr("; spec.resources.requests[cpu]"));
}

TEST(ScavengerJobAdmission, NamesHaveNoDotsBecauseMembersAreHosts) {
  EXPECT_THAT(verdict(job(R"("image":"i")", R"("name":"a.b")")), HasSubstr("metadata.name"));
  Asked update = job(R"("image":"j")", R"("name":"a.b")");
  update.operation = "UPDATE";
  update.old_object = job(R"("image":"i")", R"("name":"a.b")").object;
  EXPECT_EQ(verdict(update), "yes") << "it has that name already";
}

TEST(ScavengerJobAdmission, JudgesNoUpdateThatLeavesTheSpecAlone) {
  const char* bad = R"("image":"i","duration":"x")";
  Asked update = job(bad, R"("name":"x","finalizers":[])");
  update.operation = "UPDATE";
  update.old_object = job(bad, R"("name":"x","finalizers":["f"])").object;
  EXPECT_EQ(verdict(update), "yes");
  update.old_object = job(R"("image":"i","duration":"1m")").object;
  EXPECT_THAT(verdict(update), HasSubstr("spec.duration"));
  update.object = job(bad, R"("name":"x","deletionTimestamp":"2026-01-01T00:00:00Z")").object;
  EXPECT_EQ(verdict(update), "yes") << "what is going is not held up";
  update = job(bad);
  update.subresource = "status";
  EXPECT_EQ(verdict(update), "yes");
}

TEST(ScavengerJobAdmission, WarnsOfWhatThePolicyWillBound) {
  EXPECT_THAT(verdict(job(R"("image":"i","duration":"10h")")),
              HasSubstr("[spec.duration: the policy protects for 15m0s to 4h0m0s; 4h0m0s counts]"));
  EXPECT_THAT(
      verdict(job(R"("image":"i","checkpoint":{"interval":"45m","maxNotice":"1m"})")),
      testing::AllOf(HasSubstr("[spec.checkpoint.interval: is not less than the policy's "
                               "default duration 30m0s"),
                     HasSubstr("[spec.checkpoint.maxNotice: the policy gives 0s at most]")));
  EXPECT_THAT(verdict(job(R"("image":"i","minRun":"8760h")")),
              HasSubstr("[spec.minRun: the policy spares a run for 1h0m0s at most"));
  EXPECT_THAT(verdict(job(R"("image":"i","terminationGracePeriodSeconds":3600)")),
              HasSubstr("[spec.terminationGracePeriodSeconds: the policy gives 5m0s at most"));
  EXPECT_THAT(
      verdict(job(
          R"("job":{"template":{"spec":{"terminationGracePeriodSeconds":301,"containers":[{"name":"a"}]}}})")),
      HasSubstr("[spec.job.template.spec.terminationGracePeriodSeconds: the policy gives 5m0s"));
}

TEST(ScavengerJobAdmission, TakesPathsForTheSameThatAre) {
  EXPECT_EQ(plain_path("/a//b/./c/../"), "/a/b");
  EXPECT_EQ(plain_path("/../.."), "/");
  EXPECT_EQ(plain_path(""), "/");
}

}  // namespace
}  // namespace berth::admission
