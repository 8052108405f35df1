// SPDX-License-Identifier: Apache-2.0
// Testbeds, jobs and schedulings exactly as the thesis' server showed them: its clients know its
// members and its names of states, and refuse others. Pure.
#pragma once

#include <string>

#include "gateway/topics.h"
#include "kube/object.h"

namespace berth::gateway {

std::string thesis_dto(Topic, const kube::Object&);

}  // namespace berth::gateway
