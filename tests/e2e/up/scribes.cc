// SPDX-License-Identifier: Apache-2.0
#include "scribes.h"

#include <algorithm>

#include <fmt/format.h>
#include <gtest/gtest.h>

#include "json/slice.h"

namespace berth::e2e {
namespace {

using conformance::Wire;

constexpr const char* kMaps = "/api/v1/namespaces/default/configmaps";
constexpr std::uint64_t kObjects = 25;  // a writer

// The same value twice and a filler of the length that it tells: half a write would show.
std::string data_of(const std::string& value, std::size_t filler) {
  return fmt::format(R"({{"value":"{0}","again":"{0}","length":"{1}","filler":"{2}"}})", value,
                     filler, std::string(filler, 'x'));
}

Version version_of(json::Slice object) {
  const json::Slice data = object["data"];
  const Version version{std::stoull("0" + object["metadata"]["resourceVersion"].text()),
                        data["value"].text()};
  EXPECT_EQ(data["again"].text(), version.value) << object.raw();
  EXPECT_EQ(data["length"].text(), std::to_string(data["filler"].text().size())) << object.raw();
  return version;
}

net::HttpRequest sent(std::string method, std::string target, std::string body,
                      std::string type = "application/json") {
  net::HttpRequest request{.method = std::move(method),
                           .target = std::move(target),
                           .headers = {},
                           .body = std::move(body)};
  request.headers.set("Content-Type", std::move(type));
  return request;
}

std::string told(const net::HttpRequest& request, const net::HttpResponse& response) {
  return fmt::format("{} {}: {} {}", request.method, request.target, response.status,
                     response.body.substr(0, 300));
}

}  // namespace

Result<Everything> everything(Wire& wire) {
  const auto listed = ask(wire, "GET", kMaps);
  if (!listed) return tl::unexpected(listed.error());
  if (listed->status != 200) return fail(Reason::kInternalError, listed->body);
  const json::Slice list(listed->body);
  Everything all{.revision = std::stoull("0" + list["metadata"]["resourceVersion"].text())};
  for (const json::Slice item : list["items"].elements())
    if (item["data"]["value"]) all.objects[item["metadata"]["name"].text()] = version_of(item);
  return all;
}

void Promises::answered(kube::Revision revision) {
  ++writes_;
  kube::Revision before = newest_;
  while (revision > before && !newest_.compare_exchange_weak(before, revision)) {
  }
}

void Promises::shared_asked(const std::string& value) {
  const std::lock_guard lock(mutex_);
  shared_asked_.insert(value);
}

void Promises::shared_answered(const Version& version) {
  answered(version.revision);
  const std::lock_guard lock(mutex_);
  if (version.revision > shared_.revision) shared_ = version;
}

void Promises::check_shared(const Version& found) {
  EXPECT_GE(found.revision, shared_.revision) << "the shared object went back";
  if (found.revision == shared_.revision)
    EXPECT_EQ(found.value, shared_.value);
  else
    EXPECT_TRUE(shared_asked_.contains(found.value)) << found.value << " was asked by nobody";
  shared_ = found;
  shared_asked_.clear();
}

std::string Scribe::next_value() { return fmt::format("{}-{}", number_, ++values_); }

net::HttpRequest Scribe::request_for(const std::string& name, const Story& story,
                                     const std::string& value) {
  const std::string target = fmt::format("{}/{}", kMaps, name);
  if (value.empty()) return sent("DELETE", target, "{}");
  const std::string data = data_of(value, random_.below(3'000));
  const bool there = !story.promised.value.empty();
  const std::string whole = fmt::format(
      R"({{"apiVersion":"v1","kind":"ConfigMap","metadata":{{"name":"{}"{}}},"data":{}}})", name,
      there ? fmt::format(R"(,"resourceVersion":"{}")", story.promised.revision) : "", data);
  const std::uint64_t way = random_.below(4);
  if (way == 0)
    return sent("PATCH", target + "?fieldManager=writer&force=true", whole,
                "application/apply-patch+yaml");
  if (!there) return sent("POST", kMaps, whole);
  if (way == 1) return sent("PUT", target, whole);
  if (way == 2)
    return sent("PATCH", target, fmt::format(R"({{"data":{}}})", data),
                "application/merge-patch+json");
  return sent("PATCH", target,
              fmt::format(R"([{{"op":"replace","path":"/data","value":{}}}])", data),
              "application/json-patch+json");
}

bool Scribe::write_own(Wire& wire) {
  const std::string name = fmt::format("w{}-{}", number_, random_.below(kObjects));
  Story& story = stories_[name];
  const bool erases = !story.promised.value.empty() && random_.chance(0.15);
  story.asked_value = erases ? "" : next_value();
  const net::HttpRequest request = request_for(name, story, story.asked_value);
  story.asked = true;
  const auto response = wire.call(request);
  if (!response) return false;
  if (response->status / 100 != 2) {
    complaints.push_back(told(request, *response));
    return false;
  }
  story.asked = false;
  if (erases) {
    story.promised.value.clear();
    promises_.answered(0);
    return true;
  }
  const Version version = version_of(json::Slice(response->body));
  if (version.revision <= story.promised.revision || version.value != story.asked_value)
    complaints.push_back(
        fmt::format("after revision {}: {}", story.promised.revision, told(request, *response)));
  story.promised = version;
  promises_.answered(version.revision);
  return true;
}

bool Scribe::write_shared(Wire& wire) {
  const std::string target = fmt::format("{}/{}", kMaps, kShared);
  const auto now = ask(wire, "GET", target);
  if (!now) return false;
  const std::string value = next_value();
  const std::string body = fmt::format(
      R"({{"metadata":{{"name":"{}","resourceVersion":"{}"}},"data":{}}})", kShared,
      json::Slice(now->body)["metadata"]["resourceVersion"].text(), data_of(value, 100));
  promises_.shared_asked(value);
  const net::HttpRequest request = sent("PUT", target, body);
  const auto response = wire.call(request);
  if (!response) return false;
  if (response->status == 409) return true;  // another was faster
  if (response->status != 200) {
    complaints.push_back(told(request, *response));
    return false;
  }
  promises_.shared_answered(version_of(json::Slice(response->body)));
  return true;
}

void Scribe::run(const Access& access, const std::atomic<bool>& stop) {
  Wire wire(access);
  while (!stop && (random_.chance(0.1) ? write_shared(wire) : write_own(wire))) {
  }
}

void Scribe::check(const Everything& now) {
  for (auto& [name, story] : stories_) {
    const auto found = now.objects.find(name);
    const Version is = found == now.objects.end() ? Version{} : found->second;
    const bool as_promised = is.value == story.promised.value &&
                             (is.value.empty() || is.revision == story.promised.revision);
    const bool as_asked = story.asked && is.value == story.asked_value &&
                          (is.value.empty() || is.revision > story.promised.revision);
    EXPECT_TRUE(as_promised || as_asked)
        << name << " is \"" << is.value << "\" at " << is.revision << "; promised was \""
        << story.promised.value << "\" at " << story.promised.revision
        << (story.asked ? "; asked was \"" + story.asked_value + "\"" : "");
    if (story.asked) ++(as_asked ? unanswered_kept : unanswered_gone);
    story.promised = {std::max(is.revision, story.promised.revision), is.value};
    story.asked = false;
  }
}

bool Scribe::waits() const {
  return std::any_of(stories_.begin(), stories_.end(),
                     [](const auto& story) { return story.second.asked; });
}

void Witness::run(const Access& access, kube::Revision after, std::atomic<bool>& watching) {
  Wire wire(access);
  const auto stream =
      wire.open({.method = "GET",
                 .target = fmt::format("{}?watch=1&resourceVersion={}", kMaps, after),
                 .headers = {},
                 .body = {}});
  watching = true;
  if (!stream) return;
  for (kube::Revision before = after;;) {
    const auto line = (*stream)->line(60s);
    if (!line) return;
    const json::Slice event(*line), object = event["object"];
    if (event["type"].text() == "ERROR") return complaints.push_back(*line);
    const std::string name = object["metadata"]["name"].text();
    const kube::Revision at = std::stoull("0" + object["metadata"]["resourceVersion"].text());
    if (at <= before) complaints.push_back(fmt::format("after {} came {}", before, at));
    before = at;
    if (!object["data"]["value"]) continue;
    last_[name] = {at, event["type"].text() == "DELETED" ? "" : version_of(object).value};
  }
}

void Witness::check(const Everything& now, const std::vector<Scribe>& writers) {
  for (const auto& [name, seen] : last_) {
    const auto found = now.objects.find(name);
    if (found != now.objects.end()) {
      EXPECT_GE(found->second.revision, seen.revision) << name << " is older than it was seen";
      if (found->second.revision == seen.revision) {
        EXPECT_EQ(found->second.value, seen.value) << name;
      }
      continue;
    }
    const bool erased = std::any_of(writers.begin(), writers.end(), [&](const Scribe& writer) {
      const auto story = writer.stories().find(name);
      return story != writer.stories().end() && story->second.promised.value.empty();
    });
    EXPECT_TRUE(seen.value.empty() || erased) << name << " was seen and is gone";
  }
}

}  // namespace berth::e2e
