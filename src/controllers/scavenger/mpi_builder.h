// SPDX-License-Identifier: Apache-2.0
// The MPIJob of an attempt, for Kubeflow's operator.
#pragma once

#include "controllers/scavenger/job_builder.h"

namespace berth::controllers {

kube::KindId mpi_job_kind();  // kubeflow.org/v2beta1
std::string mpi_job_json(const kube::ScavengerJobView&, const kube::ScavengerPolicy&,
                         const AttemptOrder&);

}  // namespace berth::controllers
