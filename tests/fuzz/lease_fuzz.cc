// SPDX-License-Identifier: Apache-2.0
// Whatever somebody wrote into a Lease: its record can be read, written back and read again as the
// same claim, what is not the record's stays, and an elector that sees it stays in range.
#include <cstddef>
#include <cstdint>
#include <string_view>

#include "base/check.h"
#include "client/leader_election.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace berth;
  const std::string_view text(reinterpret_cast<const char*>(data), size);
  const Result<kube::Object> lease = kube::Object::parse(kube::kLease, text);
  if (!lease) return 0;
  const client::LeaseRecord read = client::lease_record(*lease);
  const std::string written = client::lease_json({"ns", "name"}, read, *lease);
  const Result<kube::Object> again = kube::Object::parse(kube::kLease, written);
  BERTH_CHECK(again.has_value(), written);
  client::LeaseRecord claim = client::lease_record(*again);
  BERTH_CHECK(claim.holder == read.holder && claim.transitions == read.transitions &&
                  claim.lease_seconds == read.lease_seconds,
              written);
  BERTH_CHECK(client::lease_json({"ns", "name"}, claim, *again) == written, written);

  client::Elector elector({.identity = "me"}, Random(1));
  elector.on({{}, {}, client::Elector::Start{}});
  const client::Elector::Effects effects = elector.on({{}, {}, client::Elector::Read{claim}});
  BERTH_CHECK(!effects.wake || *effects.wake >= Instant{}, "a time before the start");
  return 0;
}
