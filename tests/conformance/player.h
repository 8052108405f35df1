// SPDX-License-Identifier: Apache-2.0
// Plays the checks of cases/ as tests: M09_binding.check becomes the suite M09_binding, and each
// check in it a test with its title for a name.
#pragma once

namespace berth::conformance {

// Before the tests run. With BERTH_CONFORMANCE_RECORD=1, `=> ?` is replaced in the files by what
// the server answers.
bool register_cases();
void write_records();  // after the tests ran

}  // namespace berth::conformance
