// SPDX-License-Identifier: Apache-2.0
#include "controllers/job/uncounted.h"

#include "json/writer.h"

namespace berth::controllers {

Uids::Uids(json::Slice list) {
  for (const json::Slice one : list.elements()) add(one.text());
}

void Uids::add(std::string_view uid) {
  if (known_.emplace(uid).second) uids_.emplace_back(uid);
}

std::int64_t Uids::settle(const std::set<std::string_view>& tracked) {
  return static_cast<std::int64_t>(
      std::erase_if(uids_, [&](const std::string& uid) { return tracked.count(uid) == 0; }));
}

Uncounted::Uncounted(json::Slice status)
    : succeeded(status["succeeded"]), failed(status["failed"]) {}

std::string Uncounted::json() const {
  json::Writer w;
  w.object();
  const auto write = [&](std::string_view name, const Uids& uids) {
    if (uids.size() == 0) return;
    w.member(name).array();
    for (const std::string& uid : uids.all()) w.string(uid);
    w.end();
  };
  write("succeeded", succeeded);
  write("failed", failed);
  w.end();
  return w.take();
}

}  // namespace berth::controllers
