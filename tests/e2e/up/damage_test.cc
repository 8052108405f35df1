// SPDX-License-Identifier: Apache-2.0
// Torn and flipped pages under `berth up`: it refuses to start and names what is damaged and what
// can be done, or what was damaged did not matter. Nothing wrong is ever served, and nothing is
// left out without a word.
#include <cstdlib>
#include <fstream>
#include <iostream>
#include <map>
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

// Everything that is served, by "configmaps/default/name", as its bytes.
std::map<std::string, std::string> served(const BerthUp& up) {
  std::map<std::string, std::string> all;
  Wire wire(up.access());
  for (const char* resource : {"configmaps", "namespaces", "priorityclasses.scheduling.k8s.io",
                               "clusterroles.rbac.authorization.k8s.io"}) {
    const std::string name = resource;
    const std::size_t dot = name.find('.');
    const std::string path =
        dot == std::string::npos
            ? fmt::format("/api/v1/{}", name)
            : fmt::format("/apis/{}/v1/{}", name.substr(dot + 1), name.substr(0, dot));
    const auto listed = ask(wire, "GET", path);
    EXPECT_TRUE(listed && listed->status == 200) << path;
    if (!listed) continue;
    for (const json::Slice item : json::Slice(listed->body)["items"].elements()) {
      const std::string ns = item["metadata"]["namespace"].text();
      all[fmt::format("{}/{}{}", name, ns.empty() ? "" : ns + "/",
                      item["metadata"]["name"].text())] = item.raw();
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
  std::map<std::string, std::string> then[2];
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
  int reported = 0, harmless = 0, named = 0;
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
    const auto now = served(**up);
    const std::string said = (*up)->said();
    // Where the end of the log is gone, all is as it was before; that is told, too.
    const bool older = said.find("only those up to") != std::string::npos;
    std::size_t lost = 0;
    for (const auto& [name, bytes] : then[killed]) {
      const auto found = now.find(name);
      if (found != now.end() && found->second == bytes) continue;
      if (found != now.end() && !name.starts_with("configmaps/default/m")) continue;  // made anew
      EXPECT_TRUE(older || found == now.end()) << name << " is not what it was";
      ++lost;
      if (said.find(name) != std::string::npos) ++named;
      EXPECT_TRUE(said.find(name) != std::string::npos ||
                  said.find("cannot be told") != std::string::npos)
          << name << " is missing without a word:\n"
          << said;
    }
    for (const auto& [name, bytes] : now) EXPECT_TRUE(older || then[killed].contains(name)) << name;
    EXPECT_THAT(said, HasSubstr("lost"));
    EXPECT_LT(lost, then[killed].size());
  }
  std::cout << fmt::format("{} pages harmed: {} refused, {} did no harm; {} objects named\n",
                           kTrials, reported, harmless, named);
  EXPECT_GE(reported, kTrials / 3);
}

}  // namespace
}  // namespace berth::e2e
