// SPDX-License-Identifier: Apache-2.0
// A response body that is pulled, behind HttpStream.
#pragma once

#include <memory>
#include <string>

#include "net/http_client.h"
#include "net/http_codec.h"
#include "net/http_wire.h"

namespace berth::net {

// `rest` is what the wire has delivered past the head; it stays valid until the wire's next read.
std::unique_ptr<HttpStream> make_stream(Executor& loop, std::unique_ptr<Wire>,
                                        std::unique_ptr<ResponseDecoder>, std::string_view rest,
                                        bool complete, std::weak_ptr<WirePool>, std::string peer);

// A reply that cannot be used, or stopped halfway.
Error broken_reply(std::string_view peer, std::string_view why);

}  // namespace berth::net
