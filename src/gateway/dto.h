// SPDX-License-Identifier: Apache-2.0
// Testbeds, jobs and schedulings as the thesis' interface shows and takes them. Pure.
#pragma once

#include <string>
#include <string_view>

#include "base/result.h"
#include "gateway/topics.h"
#include "kube/object.h"

namespace berth::gateway {

// {name, state, …} as JSON; `namespace`, `resourceVersion` and what the thesis did not know are
// members besides.
std::string dto(Topic, const kube::Object&);
std::string testbed_dto(const kube::Object&);
std::string job_dto(const kube::Object&);
std::string scheduling_dto(const kube::Object&);

// A Scheduling from what a caller sent: {name, testBed, queue | slots}. BadRequest says what is
// wrong. `requested_by` is noted on the object.
struct WantedScheduling {
  std::string name, testbed;
  std::string manifest;  // to create it
  std::string patch;     // RFC 7386, to make it of one that exists
};
Result<WantedScheduling> scheduling_from(std::string_view body, std::string_view ns,
                                         std::string_view requested_by);

// {name, externalScheduler} of a body.
struct JobData {
  std::string name;
  std::string external_scheduler;  // JSON
};
Result<JobData> job_data_from(std::string_view body);

// Of a job's history: its i-th entry with all that a query for metrics needs. NotFound past its
// end.
Result<std::string> run_dto(const kube::Object& job, std::string_view index);
std::string runs_dto(const kube::Object& job);

}  // namespace berth::gateway
