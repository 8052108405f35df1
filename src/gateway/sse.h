// SPDX-License-Identifier: Apache-2.0
// Server-sent events: what STOMP's listeners hear, for whoever has nothing but HTTP.
#pragma once

#include <memory>

#include "gateway/feeds.h"
#include "gateway/routes.h"

namespace berth::gateway {

// Tells `stream` what passes the filters, until it is over. `cursor`: where to go on; nothing: with
// a snapshot.
void send_events(Feeds&, std::vector<Filter>, std::optional<Cursor> cursor,
                 std::shared_ptr<Stream> stream);

// GET /external/v1/events?kinds=jobs,schedulings&namespace=default, and the same of one namespace
// under /external/v1/namespaces/{ns}/events. `feeds` outlives the routes; no namespace is `ns`.
void mount_events(Routes&, Feeds& feeds, std::string ns);

}  // namespace berth::gateway
