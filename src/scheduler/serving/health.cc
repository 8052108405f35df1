// SPDX-License-Identifier: Apache-2.0
#include "scheduler/serving/health.h"

#include <algorithm>
#include <set>

#include <fmt/format.h>

#include "json/writer.h"

namespace berth::scheduler {
namespace {

struct Query {
  bool verbose = false;
  std::set<std::string> excluded;
};

Query read_query(std::string_view text) {
  Query query;
  while (!text.empty()) {
    const std::string_view item = text.substr(0, text.find('&'));
    text.remove_prefix(std::min(item.size() + 1, text.size()));
    const std::string_view key = item.substr(0, item.find('='));
    std::string value(item.substr(std::min(key.size() + 1, item.size())));
    std::replace(value.begin(), value.end(), '+', ' ');
    if (key == "verbose") query.verbose = true;
    if (key == "exclude") query.excluded.insert(net::percent_decode(value).value_or(value));
  }
  return query;
}

}  // namespace

net::HttpResponse text_reply(int status, std::string body) {
  net::HttpResponse reply{.status = status, .body = std::move(body)};
  reply.headers.add("Content-Type", "text/plain; charset=utf-8");
  reply.headers.add("X-Content-Type-Options", "nosniff");
  return reply;
}

net::HttpResponse show_health(std::string_view name, const std::vector<HealthCheck>& checks,
                              std::string_view query, std::string* why) {
  Query asked = read_query(query);
  std::string lines;
  bool failed = false;
  for (const HealthCheck& check : checks) {
    if (asked.excluded.erase(check.name) > 0) {
      lines += fmt::format("[+]{} excluded: ok\n", check.name);
      continue;
    }
    const Result<Ok> result = check.check();
    if (result) {
      lines += fmt::format("[+]{} ok\n", check.name);
      continue;
    }
    failed = true;
    lines += fmt::format("[-]{} failed: reason withheld\n", check.name);
    if (why != nullptr)
      *why += fmt::format("{}{}: {}", why->empty() ? "" : "; ", check.name, result.error().message);
  }
  if (!asked.excluded.empty()) {
    std::vector<std::string> names;
    for (const std::string& unknown : asked.excluded) names.push_back(json::quoted(unknown));
    lines += fmt::format("warn: some health checks cannot be excluded: no matches for {}\n",
                         fmt::join(names, ","));
  }
  if (failed) return text_reply(500, fmt::format("{}{} check failed\n", lines, name));
  if (!asked.verbose) return text_reply(200, "ok");
  return text_reply(200, fmt::format("{}{} check passed\n", lines, name));
}

net::HttpResponse show_check(const HealthCheck& check) {
  const Result<Ok> result = check.check();
  if (result) return text_reply(200, "ok");
  return text_reply(500, fmt::format("internal server error: {}\n", result.error().message));
}

}  // namespace berth::scheduler
