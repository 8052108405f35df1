// SPDX-License-Identifier: Apache-2.0
#include "gateway/sockjs.h"

#include "json/cursor.h"
#include "json/slice.h"
#include "json/writer.h"

namespace berth::gateway {

std::string sockjs_messages(const std::vector<std::string>& messages) {
  json::Writer out;
  out.array();
  for (const std::string& message : messages) out.string(message);
  return "a" + out.end().take();
}

std::string sockjs_close(std::uint16_t code, std::string_view reason) {
  json::Writer out;
  return "c" + out.array().integer(code).string(reason).end().take();
}

Result<std::vector<std::string>> sockjs_received(std::string_view text) {
  std::vector<std::string> messages;
  if (text.empty()) return messages;  // some clients send these to see whether we are there
  if (Result<Ok> good = json::check(text); !good) return tl::unexpected(good.error());
  const json::Slice said(text);
  if (said.is_string()) {
    messages.push_back(said.text());
    return messages;
  }
  if (!said.is_array()) return fail(Reason::kBadRequest, "not a list of messages");
  for (const json::Slice each : said.elements()) {
    if (!each.is_string()) return fail(Reason::kBadRequest, "a message is not a string");
    messages.push_back(each.text());
  }
  return messages;
}

}  // namespace berth::gateway
