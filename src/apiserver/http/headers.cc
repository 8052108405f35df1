// SPDX-License-Identifier: Apache-2.0
#include "apiserver/http/headers.h"

#include <algorithm>
#include <cstdint>
#include <cstring>

#include <fmt/format.h>

namespace berth::apiserver {
namespace {

constexpr std::size_t kMostTogether = 4096, kMostOfOne = 256, kMostAuditId = 64;

std::string quoted_text(std::string_view text) {
  std::string out = "\"";
  for (const char c : text) {
    if (static_cast<unsigned char>(c) < 0x20 || c == 0x7f) continue;
    if (c == '"' || c == '\\') out += '\\';
    out += c;
  }
  return out + "\"";
}

// At most that many bytes, and no character in halves.
std::string_view cut(std::string_view text, std::size_t most) {
  if (text.size() <= most) return text;
  while (most > 0 && (static_cast<unsigned char>(text[most]) & 0xc0) == 0x80) --most;
  return text.substr(0, most);
}

}  // namespace

std::optional<std::string> chosen_audit_id(const net::Headers& headers) {
  const std::string_view id = headers.get("Audit-Id");
  if (id.empty() || id.size() > kMostAuditId) return std::nullopt;
  return std::string(id);
}

std::string tag_of(std::string_view content) {
  // FNV-1a over words, in two lanes: it tells documents apart, nothing more.
  constexpr std::uint64_t kPrime = 1'099'511'628'211u;
  std::uint64_t a = 14'695'981'039'346'656'037u, b = ~a ^ content.size();
  while (!content.empty()) {
    std::uint64_t word = 0;
    const std::size_t bytes = std::min(content.size(), sizeof word);
    std::memcpy(&word, content.data(), bytes);
    content.remove_prefix(bytes);
    a = (a ^ word) * kPrime;
    a ^= a >> 32;
    b = (b + word) * kPrime;
    b ^= b >> 29;
  }
  return fmt::format("\"{:016X}{:016X}\"", a, b);
}

bool names_tag(std::string_view if_none_match, std::string_view tag) {
  while (!if_none_match.empty()) {
    std::string_view one = if_none_match.substr(0, if_none_match.find(','));
    if_none_match.remove_prefix(std::min(one.size() + 1, if_none_match.size()));
    while (one.starts_with(' ')) one.remove_prefix(1);
    while (one.ends_with(' ')) one.remove_suffix(1);
    if (one.starts_with("W/")) one.remove_prefix(2);
    if (one == tag || one == "*") return true;
  }
  return false;
}

void add_warnings(const std::vector<std::string>& texts, net::Headers& headers) {
  std::size_t together = 0;
  for (const std::string& text : texts) together += text.size();
  const bool long_ones = together > kMostTogether;
  std::size_t said = 0;
  std::vector<std::string_view> before;
  for (const std::string& text : texts) {
    if (std::find(before.begin(), before.end(), text) != before.end()) continue;
    before.push_back(text);
    const std::string_view told = long_ones ? cut(text, kMostOfOne) : std::string_view(text);
    said += told.size();
    if (said > kMostTogether) return;
    headers.add("Warning", fmt::format("299 - {}", quoted_text(told)));
  }
}

}  // namespace berth::apiserver
