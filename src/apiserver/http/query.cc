// SPDX-License-Identifier: Apache-2.0
#include "apiserver/http/query.h"

#include <charconv>

#include <fmt/format.h>

#include "json/writer.h"
#include "net/http.h"
#include "net/query.h"

namespace berth::apiserver {

Query::Query(std::string_view encoded) : pairs_(net::query_pairs(encoded)) {}

std::optional<std::string_view> Query::first(std::string_view name) const {
  for (const auto& [key, value] : pairs_)
    if (key == name) return value;
  return std::nullopt;
}

std::vector<std::string> Query::all(std::string_view name) const {
  std::vector<std::string> out;
  for (const auto& [key, value] : pairs_)
    if (key == name) out.push_back(value);
  return out;
}

std::optional<bool> Query::flag(std::string_view name) const {
  const auto value = first(name);
  if (!value) return std::nullopt;
  return *value != "0" && !net::same_token(*value, "false");
}

Result<std::optional<std::int64_t>> Query::integer(std::string_view name) const {
  const auto value = first(name);
  if (!value) return std::nullopt;
  std::string_view digits = *value;
  // Go takes a plus sign, from_chars does not; neither takes both signs.
  if (digits.starts_with('+') && !digits.starts_with("+-")) digits.remove_prefix(1);
  std::int64_t number = 0;
  const char* const end = digits.data() + digits.size();
  const auto [stop, problem] = std::from_chars(digits.data(), end, number);
  if (problem == std::errc() && stop == end) return number;
  const bool range = problem == std::errc::result_out_of_range && stop == end;
  return fail(Reason::kBadRequest,
              fmt::format("strconv.ParseInt: parsing {}: {}", json::quoted(*value),
                          range ? "value out of range" : "invalid syntax"));
}

}  // namespace berth::apiserver
