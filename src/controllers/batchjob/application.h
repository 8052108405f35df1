// SPDX-License-Identifier: Apache-2.0
// The application of one run: its document, made from the user's part and the slots it was given,
// and what its status says. Pure.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "controllers/batchjob/job_kind.h"
#include "kube/object.h"
#include "kube/quantity.h"

namespace berth::controllers {

// Which run and which attempt of it an application is, as it says itself.
inline constexpr std::string_view kRunAnnotation = "berth.dev/run",
                                  kAttemptAnnotation = "berth.dev/attempt";
// Is it of a run, or of an attempt of this one, that has been closed?
bool came_late(const kube::Object& application, std::int64_t closed_run, std::int64_t run,
               std::int64_t attempt);

// What a run asks of its application, beyond what the user wrote.
struct ApplicationOrder {
  std::string ns, name;                             // those of the BatchJob
  std::string owner;                                // an ownerReference, as JSON
  std::int64_t slots = 1;                           // executors
  std::int64_t most_slots = 0;                      // that it may grow to; 0: it may not
  std::map<std::string, kube::Quantity> slot_size;  // cpu and memory at least
  std::map<std::string, std::string> labels;        // of the executors and the application
  std::map<std::string, std::string> annotations;
  std::string node_label;  // executors go only where it has one of these values
  std::vector<std::string> node_values;
  std::string scheduler;
  std::string priority_class;
};

// The document to create. An error names what of the user's part cannot be used.
Result<std::string> application_json(const JobKind&, json::Slice users_part,
                                     const ApplicationOrder&);
// A merge patch that makes a running application that size; nothing where its kind takes none.
std::optional<std::string> resize_patch(const JobKind&, json::Slice application,
                                        const ApplicationOrder&);
// The values of a node's label that its executors are kept to, as they were when it was made; none:
// any.
std::optional<std::vector<std::string>> kept_to(json::Slice application, std::string_view label);
// The labels by which its executors are known.
std::map<std::string, std::string> executor_labels(const JobKind&, const std::string& name);

struct ExecutorsSeen {
  std::size_t wanted = 0, live = 0, running = 0;
};
struct ApplicationReport {
  ApplicationState state = ApplicationState::kUnknown;
  std::string message = {};
};
ApplicationReport report_of(const JobKind&, json::Slice application, const ExecutorsSeen&);

}  // namespace berth::controllers
