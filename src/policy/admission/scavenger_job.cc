// SPDX-License-Identifier: Apache-2.0
#include "policy/admission/scavenger_job.h"

#include <map>
#include <optional>
#include <set>

#include <fmt/format.h>

#include "kube/names.h"
#include "kube/time.h"
#include "policy/admission/amounts.h"
#include "policy/admission/findings.h"
#include "policy/admission/pod_template.h"

namespace berth::admission {
namespace {

bool is_scavenger_job(const Review& review) {
  return review.resource == "scavengerjobs" && review.subresource.empty() &&
         (review.group == "berth.dev" || review.group == "core.cerit.cz");
}

// One document.
class Look {
 public:
  Look(const Review& review, const JobRules& rules)
      : review_(review), rules_(rules), spec_(review.object["spec"]) {}

  Verdict verdict() && {
    name();
    times();
    const At spec("spec");
    const Amounts amounts = check_resources(spec_["resources"], spec / "resources", findings_);
    elastic(amounts);
    mounts();
    if (const std::string account = spec_["serviceAccountName"].text(); !account.empty())
      must_be_name(account, spec / "serviceAccountName", "a service account");
    environment();
    if (spec_["job"].is_object()) check_job(spec_["job"], spec / "job", findings_);
    check_resources(spec_["mpi"]["launcher"]["resources"], spec / "mpi.launcher.resources",
                    findings_);
    std::size_t i = 0;
    for (const json::Slice each : spec_["imagePullSecrets"].elements())
      must_be_name(each["name"].text(), (spec / "imagePullSecrets")[i++] / "name", "a Secret");
    return {.refusals = std::move(findings_.all()),
            .reason = Reason::kInvalid,
            .warnings = std::move(findings_.warnings())};
  }

 private:
  void name() {
    if (!review_.creates()) return;
    const json::Slice metadata = review_.object["metadata"];
    const std::string given = metadata["name"].text();
    if (given.find('.') != std::string::npos)
      findings_.wrong(At("metadata.name"), given,
                      "members get host names of it, in which there are no dots; write - instead");
  }

  std::optional<Duration> time(std::string_view field, json::Slice value, Duration least) {
    const At at = At("spec") / field;
    const std::string text = value.text();
    if (text.empty()) return std::nullopt;
    const auto read = kube::parse_duration(text);
    if (!read) {
      findings_.wrong(at, text, "not a duration; write one like 30m, 1h30m or 90s");
      return std::nullopt;
    }
    if (*read < least) {
      findings_.wrong(at, text,
                      least > Duration{} ? "must be more than 0s; leave it out for the default"
                                         : "must not be negative");
      return std::nullopt;
    }
    return read;
  }

  void times() {
    constexpr Duration kSome{1};
    const auto duration = time("duration", spec_["duration"], kSome);
    const auto min_run = time("minRun", spec_["minRun"], Duration{});
    time("estimatedRuntime", spec_["estimatedRuntime"], kSome);
    const json::Slice checkpoint = spec_["checkpoint"];
    const auto interval = time("checkpoint.interval", checkpoint["interval"], kSome);
    const auto notice = time("checkpoint.maxNotice", checkpoint["maxNotice"], Duration{});
    if (interval && duration && *interval >= *duration)
      findings_.wrong(
          At("spec.checkpoint.interval"), checkpoint["interval"].text(),
          fmt::format("must be less than spec.duration, which is {}: a run would end before its "
                      "first checkpoint; checkpoint more often, or ask for a longer duration",
                      kube::duration_text(*duration)));
    // The policy may change, so these are no reasons to refuse.
    if (interval && spec_["duration"].text().empty() && *interval >= rules_.default_duration)
      findings_.warn(At("spec.checkpoint.interval"),
                     fmt::format("is not less than the policy's default duration {}; set "
                                 "spec.duration",
                                 kube::duration_text(rules_.default_duration)));
    if (duration && (*duration < rules_.window_min || *duration > rules_.window_max))
      findings_.warn(
          At("spec.duration"),
          fmt::format("the policy protects for {} to {}; {} counts",
                      kube::duration_text(rules_.window_min),
                      kube::duration_text(rules_.window_max),
                      kube::duration_text(*duration < rules_.window_min ? rules_.window_min
                                                                        : rules_.window_max)));
    if (min_run && *min_run > rules_.min_run_max)
      findings_.warn(At("spec.minRun"),
                     fmt::format("the policy spares a run for {} at most; that counts",
                                 kube::duration_text(rules_.min_run_max)));
    grace(spec_["terminationGracePeriodSeconds"], At("spec.terminationGracePeriodSeconds"));
    grace(spec_["job"]["template"]["spec"]["terminationGracePeriodSeconds"],
          At("spec.job.template.spec.terminationGracePeriodSeconds"));
    if (notice && *notice > rules_.max_notice)
      findings_.warn(
          At("spec.checkpoint.maxNotice"),
          fmt::format("the policy gives {} at most", kube::duration_text(rules_.max_notice)));
  }

  void grace(json::Slice seconds, const At& at) {
    if (std::chrono::seconds(seconds.integer().value_or(0)) > rules_.grace_max)
      findings_.warn(at,
                     fmt::format("the policy gives {} at most; who needs the room waits as long",
                                 kube::duration_text(rules_.grace_max)));
  }

  void elastic(const Amounts& amounts) {
    const At at = At("spec.elastic.min");
    for (const auto& [resource, least] : read_amounts(spec_["elastic"]["min"], at, findings_)) {
      const kube::Quantity* asked = amounts.request_of(resource);
      if (asked == nullptr)
        findings_.forbidden(at[resource],
                            fmt::format("spec.resources asks for no {0}, so there is nothing to "
                                        "give back; add it there, or leave it out here",
                                        resource));
      else if (least > *asked)
        findings_.wrong(
            at[resource], least.text(),
            fmt::format("must not be more than the request {}; lower it", asked->text()));
    }
  }

  void mounts() {
    struct List {
      const char* field;
      const char* what;
    };
    std::map<std::string, std::string> places;  // path, and the field that has it
    for (const List list : {List{"persistentVolumeClaims", "a PersistentVolumeClaim"},
                            List{"configMaps", "a ConfigMap"}, List{"secrets", "a Secret"}}) {
      std::size_t i = 0;
      for (const json::Slice each : spec_[list.field].elements()) {
        const At at = (At("spec") / list.field)[i++];
        must_be_name(each["name"].text(), at / "name", list.what);
        check_mount(each, at, findings_);
        const std::string path = plain_path(each["mountPath"].text());
        const auto [first, fresh] = places.emplace(path, at.text());
        if (!fresh)
          findings_.wrong(at / "mountPath", each["mountPath"].text(),
                          fmt::format("{} is mounted there already; mount one of them elsewhere",
                                      first->second));
      }
    }
  }

  void must_be_name(const std::string& text, const At& at, std::string_view what) {
    if (text.find('/') != std::string::npos)
      return findings_.wrong(at, text,
                             fmt::format("only {} of the job's own namespace can be used; name it "
                                         "without a namespace",
                                         what));
    if (const auto bad = kube::check_dns_subdomain(text); !bad.empty())
      findings_.wrong(at, text, fmt::format("not the name of {}: {}", what, bad.front()));
  }

  void environment() {
    std::set<std::string> names;
    std::size_t i = 0;
    for (const json::Slice each : spec_["env"].elements()) {
      const At at = At("spec.env")[i++] / "name";
      const std::string name = each["name"].text();
      if (name.empty() || name.find('=') != std::string::npos)
        findings_.wrong(at, name, "not the name of a variable; it must not be empty nor have '='");
      else if (!names.insert(name).second)
        findings_.wrong(at, name, "is given twice; remove one of them");
    }
  }

  const Review& review_;
  const JobRules& rules_;
  json::Slice spec_;
  Findings findings_;
};

}  // namespace

Verdict scavenger_job(const Review& review, const JobRules& rules) {
  if (!is_scavenger_job(review) || (!review.creates() && !review.updates())) return {};
  if (review.object["metadata"]["deletionTimestamp"].present()) return {};
  if (review.updates() && review.object["spec"].raw() == review.old_object["spec"].raw()) return {};
  return Look(review, rules).verdict();
}

}  // namespace berth::admission
