// SPDX-License-Identifier: Apache-2.0
// The diagrams of the documents, drawn from the tables that drive the controllers.
#pragma once

#include <string>

namespace berth::controllers {

// Mermaid's text; an arrow a pair of states, with what is seen and what is done about it.
std::string batch_job_diagram();
std::string scheduling_diagram();

}  // namespace berth::controllers
