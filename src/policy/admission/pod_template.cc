// SPDX-License-Identifier: Apache-2.0
#include "policy/admission/pod_template.h"

#include <algorithm>
#include <map>
#include <span>
#include <vector>

#include "json/writer.h"
#include "kube/names.h"
#include "policy/admission/amounts.h"
#include "policy/admission/reserved.h"

namespace berth::admission {
namespace {

// k8s 1.36: the kinds of volumes that the Pod Security level "restricted" lets in; all others are
// the node's or a server's that the namespace has no say in.
constexpr std::string_view kVolumes[] = {"configMap", "csi",   "downwardAPI",           "emptyDir",
                                         "ephemeral", "image", "persistentVolumeClaim", "projected",
                                         "secret"};

void volumes(json::Slice spec, const At& at, Findings& findings) {
  std::size_t i = 0;
  for (const json::Slice volume : spec["volumes"].elements()) {
    const At place = (at / "volumes")[i++];
    for (auto member = volume.members().begin(); member != nullptr; ++member) {
      const std::string kind((*member).key);
      if (kind == "name" || (*member).value.is_null() ||
          std::find(std::begin(kVolumes), std::end(kVolumes), kind) != std::end(kVolumes))
        continue;
      findings.forbidden(place / kind,
                         kind == "hostPath"
                             ? std::string("scavenger jobs do not see the files of nodes; use a "
                                           "PersistentVolumeClaim, or emptyDir for scratch space")
                             : fmt::format("scavenger jobs mount what their namespace holds; use a "
                                           "PersistentVolumeClaim instead of {}",
                                           kind));
    }
  }
}

void security(json::Slice context, const At& at, Findings& findings) {
  if (context["privileged"].boolean())
    findings.forbidden(at / "privileged", "scavenger jobs run without privileges; leave it out");
}

void containers(json::Slice spec, std::string_view list, const At& at, Findings& findings) {
  std::size_t i = 0;
  for (const json::Slice container : spec[list].elements()) {
    const At place = (at / list)[i++];
    check_resources(container["resources"], place / "resources", findings);
    security(container["securityContext"], place / "securityContext", findings);
    std::size_t p = 0;
    for (const json::Slice port : container["ports"].elements()) {
      const At where = (place / "ports")[p++];
      if (port["hostPort"].integer().value_or(0) != 0)
        findings.forbidden(where / "hostPort",
                           "scavenger jobs take no ports of nodes; use a Service");
    }
    std::map<std::string, std::size_t> places;
    std::size_t m = 0;
    for (const json::Slice mount : container["volumeMounts"].elements()) {
      const At where = (place / "volumeMounts")[m];
      check_mount(mount, where, findings);
      const auto [first, fresh] = places.emplace(plain_path(mount["mountPath"].text()), m++);
      if (!fresh)
        findings.wrong(where / "mountPath", mount["mountPath"].text(),
                       fmt::format("volumeMounts[{}] is mounted there already; mount one of them "
                                   "elsewhere",
                                   first->second));
    }
  }
}

struct Unwanted {
  std::string_view field, why;
};
// What the operator or a scheduler decides.
constexpr Unwanted kOfPods[] = {
    {"priorityClassName", "the operator gives scavenger jobs their class; leave it out"},
    {"priority", "the operator gives scavenger jobs their priority; leave it out"},
    {"preemptionPolicy", "scavenger jobs never preempt; leave it out"},
    {"nodeName", "where a pod runs is a scheduler's choice; use nodeSelector or affinity"},
    {"schedulerName", "the operator names the scheduler; leave it out"},
    {"schedulingGates", "the operator starts jobs when there is room; leave them out"},
    {"hostNetwork", "scavenger jobs use the network of pods; leave it out"},
    {"hostPID", "scavenger jobs do not see the processes of nodes; leave it out"},
    {"hostIPC", "scavenger jobs do not share memory with nodes; leave it out"},
};
constexpr Unwanted kOfJobs[] = {
    {"suspend", "the queue says when a job runs; leave it out"},
    {"managedBy", "the Job is the operator's; leave it out"},
};

void unwanted(std::span<const Unwanted> fields, json::Slice spec, const At& at,
              Findings& findings) {
  for (const Unwanted& one : fields) {
    const json::Slice given = spec[one.field];
    // A value that says nothing is what a server may have filled in.
    const bool empty = !given || given.is_null() || (given.is_string() && given.text().empty()) ||
                       (given.is_bool() && !given.boolean()) ||
                       (given.is_array() && given.size() == 0);
    if (!empty) findings.forbidden(at / one.field, std::string(one.why));
  }
}

void metadata(json::Slice given, const At& at, Findings& findings) {
  for (const ReservedAnnotation& one : reserved_annotations())
    if (given["annotations"][one.key])
      findings.forbidden((at / "annotations")[one.key],
                         fmt::format("only Berth writes this: {}", one.why));
  for (auto label = given["labels"].members().begin(); label != nullptr; ++label)
    if ((*label).key.starts_with("berth.dev/"))
      findings.forbidden((at / "labels")[(*label).key],
                         "labels of berth.dev tell what is whose; leave it out");
  if (given["finalizers"].size() > 0)
    findings.forbidden(at / "finalizers", "pods that are kept hold up the queue; leave them out");
}

}  // namespace

std::string plain_path(std::string_view path) {
  std::vector<std::string_view> parts;
  std::size_t begin = 0;
  while (begin <= path.size()) {
    const std::size_t end = std::min(path.find('/', begin), path.size());
    const std::string_view part = path.substr(begin, end - begin);
    if (part == ".." && !parts.empty())
      parts.pop_back();
    else if (!part.empty() && part != "." && part != "..")
      parts.push_back(part);
    begin = end + 1;
  }
  std::string out;
  for (const std::string_view part : parts) out.append("/").append(part);
  return out.empty() ? "/" : out;
}

void check_mount(json::Slice mount, const At& at, Findings& findings) {
  const std::string path = mount["mountPath"].text(), sub = mount["subPath"].text();
  if (path.empty() || path.front() != '/')
    findings.wrong(at / "mountPath", path, "must be an absolute path, like /data");
  else if (path.find(':') != std::string::npos)
    findings.wrong(at / "mountPath", path, "must not have ':'");
  else if (plain_path(path) == "/")
    findings.wrong(at / "mountPath", path,
                   "would hide all of the image's files; mount it in a folder, like /data");
  if (sub.empty()) return;
  const bool steps_out = sub == ".." || sub.starts_with("../") || sub.ends_with("/..") ||
                         sub.find("/../") != std::string::npos;
  if (sub.front() == '/' || steps_out)
    findings.wrong(at / "subPath", sub, "must be a path inside of the volume, without ..");
}

void check_pod_template(json::Slice pod_template, const At& at, Findings& findings) {
  metadata(pod_template["metadata"], at / "metadata", findings);
  const json::Slice spec = pod_template["spec"];
  const At place = at / "spec";
  unwanted(kOfPods, spec, place, findings);
  volumes(spec, place, findings);
  for (const std::string_view list : {"containers", "initContainers"})
    containers(spec, list, place, findings);
  if (spec["ephemeralContainers"].size() > 0)
    findings.forbidden(place / "ephemeralContainers", "these are for running pods; leave them out");
}

void check_job(json::Slice job_spec, const At& at, Findings& findings) {
  unwanted(kOfJobs, job_spec, at, findings);
  check_pod_template(job_spec["template"], at / "template", findings);
  if (job_spec["template"]["spec"]["containers"].size() == 0)
    findings.missing(at / "template.spec.containers", "a job needs a container");
}

}  // namespace berth::admission
