// SPDX-License-Identifier: Apache-2.0
// In the lab there are no Spark and Flink operators; these controllers stand in for them: an
// application becomes a leader pod and executor pods with the labels the real operators give them,
// goes through the real states, and ends after a time that it carries. Applications on one node
// slow each other down as they say, so that schedulers have something to learn.
#pragma once

#include <string>
#include <vector>

namespace berth::controllers {

// Controllers of controllers.def. On the leader's pod template, as on any simulated pod:
// "berth.dev/duration" (30 s unless told) and "berth.dev/exit-code". "berth.dev/slowed-by":
// "crawler=1.5 wordcount=1.1" beside those applications. The definitions of the kinds, as far as
// the lab needs them, as JSON.
std::vector<std::string> stand_in_definitions();

}  // namespace berth::controllers
