// SPDX-License-Identifier: Apache-2.0
#include "net/query.h"

#include <algorithm>
#include <optional>

#include "net/http.h"

namespace berth::net {
namespace {

std::optional<std::string> decoded(std::string_view text) {
  std::string spaced(text);
  std::replace(spaced.begin(), spaced.end(), '+', ' ');
  return percent_decode(spaced);
}

}  // namespace

std::vector<std::pair<std::string, std::string>> query_pairs(std::string_view encoded) {
  std::vector<std::pair<std::string, std::string>> pairs;
  while (!encoded.empty()) {
    const std::string_view pair = encoded.substr(0, encoded.find('&'));
    encoded.remove_prefix(std::min(pair.size() + 1, encoded.size()));
    if (pair.empty() || pair.find(';') != std::string_view::npos) continue;
    const std::size_t equals = pair.find('=');
    auto name = decoded(pair.substr(0, equals));
    auto value =
        equals == std::string_view::npos ? std::string() : decoded(pair.substr(equals + 1));
    if (name && value) pairs.emplace_back(std::move(*name), std::move(*value));
  }
  return pairs;
}

}  // namespace berth::net
