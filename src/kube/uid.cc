// SPDX-License-Identifier: Apache-2.0
#include "kube/uid.h"

#include <fmt/format.h>

namespace berth::kube {

std::string random_uid(Random& random) {
  const std::uint64_t high = random.next(), low = random.next();
  return fmt::format("{:08x}-{:04x}-4{:03x}-{:04x}-{:012x}", high >> 32, (high >> 16) & 0xffff,
                     high & 0xfff, 0x8000 | ((low >> 48) & 0x3fff), low & 0xffff'ffff'ffff);
}

}  // namespace berth::kube
