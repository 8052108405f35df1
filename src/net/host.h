// SPDX-License-Identifier: Apache-2.0
// How others may call this machine. IPv4 only.
#pragma once

#include <string>
#include <vector>

namespace berth::net {

std::vector<std::string> host_addresses();  // loopback among them
std::string default_address();              // that it shows to machines far away; "": to none

}  // namespace berth::net
