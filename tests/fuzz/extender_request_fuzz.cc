// SPDX-License-Identifier: Apache-2.0
// Whatever a caller sends the extender: it is read or refused, within its own bytes, and what was
// read is read alike when it is written again.
#include <cstddef>
#include <cstdint>
#include <string_view>

#include "base/check.h"
#include "scheduler/extender/extender_request.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace berth;
  using namespace berth::scheduler;
  const std::string_view text(reinterpret_cast<const char*>(data), size);
  if (const auto read = read_filter_request(text)) {
    BERTH_CHECK(read->names_only || read->args.nodes.size() == read->args.names->size(),
                "a node without its name");
    const std::string written = extender_request(read->args, read->names_only);
    const auto again = read_filter_request(written);
    BERTH_CHECK(again && *again->args.names == *read->args.names, written);
    ExtenderFilterResult all;
    for (std::size_t i = 0; i < read->args.names->size(); ++i)
      all.kept.push_back(
          {(*read->args.names)[i], read->names_only ? kube::Object() : read->args.nodes[i]});
    const auto reply =
        read_filter_reply(filter_reply(all, read->names_only), read->args, read->names_only, "e");
    BERTH_CHECK(reply && reply->kept.size() == all.kept.size(), "an answer that cannot be read");
  }
  if (const auto read = read_preempt_request(text)) {
    const auto again = read_preempt_reply(preempt_reply(read->victims));
    BERTH_CHECK(again && again->size() == read->victims.size(), "an answer that cannot be read");
  }
  return 0;
}
