// SPDX-License-Identifier: Apache-2.0
// Nodes that fit, best first, with what each plugin gave them: as many columns as there is room
// for.
#pragma once

#include <ostream>

#include "scheduler/explain/judgement.h"

namespace berth::cli {

// `lines`: at most so many nodes; the chosen one is always among them, and so is `also`.
void print_scores(const scheduler::Judgement&, std::size_t lines, std::string_view also,
                  std::size_t columns, std::ostream&);

}  // namespace berth::cli
