// SPDX-License-Identifier: Apache-2.0
// How an application of some kind is made from a BatchJob, and what its status means: rows of data,
// so that a new kind is a file (or a ConfigMap) and no code.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/result.h"
#include "json/slice.h"
#include "kube/kind.h"

namespace berth::controllers {

// What every kind of application can be, in the words of table 3.4.
enum class ApplicationState : std::uint8_t {
  kSubmitted,
  kRunning,
  kCompleted,
  kFailed,
  kSubmissionFailed,
  kSuspended,
  kUnknown,
};
std::string_view name_of(ApplicationState);

// What cannot be read off the application itself.
enum class ExecutorsMust : std::uint8_t { kAnything, kRun, kBeGone };

// All must hold: the value at the path is one of these. "" is also what is absent; a path may
// pick an element by its type, `conditions[Complete]`, and ask all members, `executorState.*`.
using Where = std::vector<std::pair<std::string, std::vector<std::string>>>;

struct StateRule {
  ApplicationState state = ApplicationState::kUnknown;
  Where where;
  ExecutorsMust executors = ExecutorsMust::kAnything;
};

// How executors come and go while it runs.
enum class Elastic : std::uint8_t { kDoor, kReplicas, kRestart };

// What is merged over the templates for applications of which this holds.
struct Variant {
  Where where;
  std::string application, resize;  // templates, as JSON; "" for none
};

struct JobKind {
  std::string name;         // "spark"
  std::string from;         // the member of BatchJob.spec with the user's part
  std::string api_version;  // of the application
  std::string kind;
  std::string resource;
  std::string into;                                         // where the user's part goes
  std::vector<std::pair<std::string, std::string>> rename;  // of its members, by path
  std::string application;                                  // templates, as JSON
  std::string dynamic;  // merged too where the run may grow; "" for none
  std::string resize;   // of a running one; "" where it takes none
  std::vector<Variant> variants;
  Elastic elastic = Elastic::kRestart;
  std::string executors;             // labels of its executor pods, a template
  std::vector<std::string> message;  // paths, the first that says something
  std::vector<StateRule> states;     // the first that holds
};

// What executors of every kind are given besides.
struct ExecutorOptions {
  std::string scheduler = {};  // that places them; "": whom their job names, or the cluster's
  // They request berth.dev/slot, by which a scheduler knows whom to ask its extender about.
  bool slot_resource = false;
};

// The kind of its applications, as the suite knows it.
kube::KindId application_kind(const JobKind&);

// Of a file in YAML. An error names the place and what may stand there; `source` names the file.
Result<JobKind> read_job_kind(std::string_view yaml, std::string_view source);
// Those that are built in: spark, flink, flink-cluster, job.
const std::vector<JobKind>& built_in_job_kinds();
// Those and more; one of the same name takes the place of a built-in one.
std::vector<JobKind> all_job_kinds(const std::vector<JobKind>& more);

}  // namespace berth::controllers
