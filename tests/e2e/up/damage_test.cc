// SPDX-License-Identifier: Apache-2.0
// Torn and flipped pages under `berth up`: it refuses to start and names what is damaged and what
// can be done, or what was damaged did not matter. Nothing wrong is ever served, and nothing is
// left out without a word.
#include <cstdlib>
#include <fstream>
#include <iostream>
#include <map>
#include <regex>
#include <set>
#include <sstream>

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "base/random.h"
#include "berth_up.h"
#include "json/slice.h"
#include "wire.h"

namespace berth::e2e {
namespace {

namespace fs = std::filesystem;
using conformance::Wire;
using testing::AllOf;
using testing::HasSubstr;

constexpr const char* kMaps = "/api/v1/namespaces/default/configmaps";
constexpr std::size_t kPage = 4096;
constexpr std::uint64_t kSeed = 7;
constexpr int kTrials = 50;

using Objects = std::map<std::string, std::string>;  // bytes by "configmaps/default/name"

// Where each start says where it is reached this time.
bool tells_address(const std::string& name) {
  return name == "services/default/kubernetes" || name == "endpoints/default/kubernetes" ||
         name == "endpointslices.discovery.k8s.io/default/kubernetes";
}

void add_listed(Wire& wire, const std::string& path, const std::string& resource, Objects& all) {
  const auto listed = ask(wire, "GET", path);
  ASSERT_TRUE(listed && listed->status == 200) << path;
  for (const json::Slice item : json::Slice(listed->body)["items"].elements()) {
    const std::string ns = item["metadata"]["namespace"].text();
    const std::string name = fmt::format("{}/{}{}", resource, ns.empty() ? "" : ns + "/",
                                         item["metadata"]["name"].text());
    if (!tells_address(name)) all[name] = item.raw();
  }
}

// Everything that is served, of every kind.
Objects served(const BerthUp& up) {
  Objects all;
  Wire wire(up.access());
  for (const std::string root : {"/api", "/apis"}) {
    net::HttpRequest request{.method = "GET", .target = root, .headers = {}, .body = {}};
    request.headers.set("Accept",
                        "application/json;g=apidiscovery.k8s.io;v=v2;as=APIGroupDiscoveryList");
    const auto kinds = wire.call(request);
    EXPECT_TRUE(kinds && kinds->status == 200) << root;
    if (!kinds) continue;
    for (const json::Slice group : json::Slice(kinds->body)["items"].elements()) {
      const std::string name = group["metadata"]["name"].text();
      const json::Slice version = group["versions"][std::size_t{0}];
      for (const json::Slice resource : version["resources"].elements()) {
        if (resource["verbs"].raw().find("\"list\"") == std::string_view::npos) continue;
        const std::string plural = resource["resource"].text();
        const std::string place = name.empty() ? root : root + "/" + name;
        add_listed(wire, fmt::format("{}/{}/{}", place, version["version"].text(), plural),
                   name.empty() ? plural : plural + "." + name, all);
      }
    }
  }
  return all;
}

// Writes what will be damaged.
void fill(const BerthUp& up, int from, int to) {
  Wire wire(up.access());
  for (int i = from; i < to; ++i) {
    const auto made =
        ask(wire, "POST", kMaps,
            fmt::format(R"({{"metadata":{{"name":"m{}"}},"data":{{"x":"{}"}}}})", i,
                        std::string(static_cast<std::size_t>(100 + i * 37 % 9'000), 'x')));
    ASSERT_TRUE(made && made->status == 201);
  }
  for (int i = from; i < to; i += 4)
    ASSERT_EQ(ask(wire, "DELETE", fmt::format("{}/m{}", kMaps, i))->status, 200);
}

// Harms one page of a file, and says how.
std::string harm(const fs::path& file, Random& random) {
  std::ostringstream read;
  read << std::ifstream(file, std::ios::binary).rdbuf();
  std::string bytes = read.str();
  const std::size_t page = random.below(bytes.size() / kPage) * kPage;
  std::string how;
  if (random.chance(0.5)) {
    const std::size_t at = page + random.below(kPage);
    bytes[at] = static_cast<char>(bytes[at] ^ 1 << random.below(8));
    how = fmt::format("{}: a bit of byte {}", file.filename().string(), at);
  } else {
    const bool second = random.chance(0.5);
    std::fill_n(bytes.begin() + static_cast<std::ptrdiff_t>(page + (second ? kPage / 2 : 0)),
                kPage / 2, '\0');
    how = fmt::format("{}: a half of page {}", file.filename().string(), page / kPage);
  }
  std::ofstream(file, std::ios::binary | std::ios::trunc) << bytes;
  return how;
}

// What a salvage said of what it lost.
struct Losses {
  std::set<std::string> named;  // "configmaps/default/name"
  std::size_t unnamed = 0;      // more, whose names cannot be told: as many as it counted
};

Losses losses_in(const std::string& said, const Objects& then) {
  Losses losses;
  const auto each = [&](const char* pattern, auto then_do) {
    const std::regex search(pattern);
    for (std::sregex_iterator at(said.begin(), said.end(), search), end; at != end; ++at)
      then_do(*at);
  };
  // A name that was never there is of an object whose name itself is harmed.
  each(R"(/store\.db: ([a-z.0-9]+/[^ ]+|object \d+): )", [&](const std::smatch& found) {
    if (then.contains(found[1]))
      losses.named.insert(found[1]);
    else
      ++losses.unnamed;
  });
  const auto count = [&](const std::smatch& found) {
    const std::size_t all = std::stoull(found[1]), left = std::stoull(found[2]);
    losses.unnamed += all > left ? all - left : 0;
  };
  each(R"((\d+) objects were kept, (\d+) are there; the names of those missing cannot be told)",
       count);
  each(R"(up to revision (\d+) were acknowledged, only those up to (\d+) are there)", count);
  return losses;
}

// What a salvage serves is what was there, but for what it said: by name, or, where names cannot be
// told, no more than it counted. How many it named.
std::size_t check_salvage(const Objects& then, const Objects& now, const std::string& said) {
  const Losses losses = losses_in(said, then);
  std::string silent;
  std::size_t unnamed = 0, named = 0;
  const auto missed = [&](const std::string& name, const char* how) {
    ++unnamed;
    silent += fmt::format("{} {}\n", name, how);
  };
  for (const auto& [name, bytes] : then) {
    const auto found = now.find(name);
    if (found != now.end() && found->second == bytes) continue;
    if (losses.named.contains(name))
      ++named;
    else
      missed(name, found == now.end() ? "is missing" : "is not what it was");
  }
  for (const auto& [name, bytes] : now)
    if (!then.contains(name)) missed(name, "was gone");
  EXPECT_LE(unnamed, losses.unnamed) << silent << "without a word in:\n" << said;
  if (said.find("cannot be opened") == std::string::npos) {
    EXPECT_LT(named + unnamed, then.size());
  }
  return named;
}

TEST(Damage, IsReportedByNameOrDidNoHarm) {
  std::cout << "seed " << kSeed << "\n";
  const TempFolder folder;
  const fs::path data = folder.path() / "data";
  const auto options = [&](const fs::path& where, bool salvage) {
    BerthUp::Options out{.folder = folder.path(), .data_dir = where, .flags = bare()};
    if (salvage) out.flags.emplace_back("--salvage");
    return out;
  };
  // Stopped properly, so that all is in the database; and killed, so that some is in the log.
  Objects then[2];
  const fs::path kept[2] = {folder.path() / "stopped", folder.path() / "killed"};
  for (const int killed : {0, 1}) {
    auto up = BerthUp::start(options(data, false));
    ASSERT_TRUE(up) << up.error().message;
    fill(**up, 200 * killed, 200 * killed + 200);
    then[killed] = served(**up);
    if (killed != 0)
      (*up)->kill();
    else
      ASSERT_TRUE((*up)->end());
    fs::copy(data, kept[killed], fs::copy_options::recursive);
  }

  Random random(kSeed);
  int reported = 0, harmless = 0;
  std::size_t named = 0;
  for (int trial = 0; trial < kTrials; ++trial) {
    const int killed = random.chance(0.4) ? 1 : 0;
    const fs::path harmed = folder.path() / "harmed";
    fs::remove_all(harmed);
    fs::copy(kept[killed], harmed, fs::copy_options::recursive);
    const bool log = killed != 0 && random.chance(0.6);
    const std::string how = harm(harmed / "store" / (log ? "store.db-wal" : "store.db"), random);
    SCOPED_TRACE(fmt::format("trial {}: {}", trial, how));
    {
      auto up = BerthUp::start(options(harmed, false));
      if (up) {
        EXPECT_EQ(served(**up), then[killed]) << "something else is served";
        ++harmless;
        continue;
      }
      ++reported;
      // It said so, and left.
      EXPECT_THAT(up.error().message,
                  AllOf(HasSubstr("is damaged"), HasSubstr("store.db"), HasSubstr("--salvage")));
    }
    auto up = BerthUp::start(options(harmed, true));
    ASSERT_TRUE(up) << up.error().message;
    const std::string said = (*up)->said();
    EXPECT_THAT(said, HasSubstr("lost"));
    named += check_salvage(then[killed], served(**up), said);
  }
  std::cout << fmt::format("{} pages harmed: {} refused, {} did no harm; {} objects named\n",
                           kTrials, reported, harmless, named);
  EXPECT_GE(reported, kTrials / 3);
}

}  // namespace
}  // namespace berth::e2e
