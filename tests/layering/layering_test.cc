// SPDX-License-Identifier: Apache-2.0
// Reads every file under src/ and holds it to the rules; then holds the rules to examples, so that
// none of them can rot into one that never complains.
#include <filesystem>
#include <fstream>
#include <iterator>
#include <map>
#include <set>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "rules.h"

namespace berth::layering {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;

// Path below src/ to text, for all C++ files.
const std::map<std::string, std::string>& sources() {
  static const auto all = [] {
    std::map<std::string, std::string> files;
    const std::filesystem::path root = BERTH_SOURCE_DIR "/src";
    for (const auto& entry : std::filesystem::recursive_directory_iterator(root)) {
      const std::string suffix = entry.path().extension().string();
      if (suffix != ".h" && suffix != ".cc" && suffix != ".def") continue;
      std::ifstream in(entry.path());
      files[entry.path().lexically_relative(root).string()] =
          std::string(std::istreambuf_iterator<char>(in), {});
    }
    return files;
  }();
  return all;
}

// All that a header of ours brings with it, its own includes among it.
const std::set<std::string>& reached_by(const std::string& header) {
  static std::map<std::string, std::set<std::string>> known;
  const auto [entry, fresh] = known.try_emplace(header);
  if (!fresh) return entry->second;
  std::vector<std::string> open{header};
  while (!open.empty()) {
    const auto found = sources().find(open.back());
    open.pop_back();
    if (found == sources().end()) continue;
    for (const Include& include : includes_of(found->second))
      if (entry->second.insert(include.path).second) open.push_back(include.path);
  }
  return entry->second;
}

TEST(Layering, ThereIsSomethingToRead) { EXPECT_GT(sources().size(), 20u); }

TEST(Layering, FoldersIncludeInOneDirection) {
  for (const auto& [file, text] : sources())
    for (const Include& include : includes_of(text))
      EXPECT_EQ(wrong_direction(file, include.path), "")
          << "src/" << file << ":" << include.line << " includes " << include.path;
}

TEST(Layering, HeavyLibrariesStayWithTheirOwner) {
  for (const auto& [file, text] : sources()) {
    for (const Include& include : includes_of(text)) {
      EXPECT_EQ(misplaced_library(file, include.path, false), "")
          << "src/" << file << ":" << include.line << " includes " << include.path;
      for (const std::string& behind : reached_by(include.path))
        EXPECT_EQ(misplaced_library(file, behind, true), "")
            << "src/" << file << ":" << include.line << " includes " << include.path
            << ", which shows " << behind;
    }
  }
}

TEST(Layering, TimeAndChanceComeFromOutside) {
  for (const auto& [file, text] : sources())
    EXPECT_THAT(real_time_or_chance(file, text), IsEmpty());
}

TEST(Layering, EveryFileNamesItsLicence) {
  for (const auto& [file, text] : sources())
    EXPECT_TRUE(text.starts_with("// SPDX-License-Identifier: Apache-2.0\n")) << "src/" << file;
}

TEST(Layering, EveryHeaderIsIncludedOnce) {
  for (const auto& [file, text] : sources())
    EXPECT_EQ(file.ends_with(".h"), text.find("\n#pragma once\n") != std::string::npos)
        << "src/" << file;
}

TEST(Rules, DirectionsAreToldApart) {
  struct Row {
    const char* file;
    const char* include;
    bool fine;
  };
  const Row rows[] = {
      {"kube/object.cc", "json/slice.h", true},
      {"kube/object.cc", "kube/kind.h", true},
      {"kube/object.cc", "vector", true},
      {"kube/object.cc", "boost/json.hpp", true},  // another rule's business
      {"base/log.cc", "json/writer.h", false},
      {"json/slice.h", "net/http.h", false},
      {"client/api.h", "runtime/plan.h", false},
      {"scheduler/queue/queue.h", "client/informer.h", true},
      {"scheduler/queue/queue.h", "apiserver/store.h", false},
      {"controllers/energy/energy.cc", "scheduler/cache/node_table.h", false},
      {"controllers/rescheduler/plan.cc", "scheduler/cache/node_table.h", true},
      {"controllers/rescheduler/plan.cc", "scheduler/queue/queue.h", false},
      {"controllers/energy/energy.cc", "controllers/testbed/testbed.h", false},
      {"controllers/energy/energy.cc", "controllers/registry.h", true},
      {"simulate/run.cc", "lab/lab.h", true},
      {"lab/lab.cc", "simulate/run.h", false},
      {"cli/up.cc", "lab/lab.h", true},
      {"misc/x.cc", "base/log.h", false},
  };
  for (const Row& row : rows)
    EXPECT_EQ(wrong_direction(row.file, row.include).empty(), row.fine)
        << row.file << " includes " << row.include;
}

TEST(Rules, LibrariesAreToldApart) {
  struct Row {
    const char* file;
    const char* include;
    bool borrowed;
    bool fine;
  };
  const Row rows[] = {
      {"net/stream.cc", "boost/asio/write.hpp", false, true},
      {"net/asio_loop.h", "boost/asio/io_context.hpp", false, true},
      {"client/http_transport.cc", "boost/asio/write.hpp", false, false},
      {"client/http_transport.cc", "boost/asio/io_context.hpp", true, false},
      {"client/http_transport_test.cc", "openssl/ssl.h", false, false},
      {"json/value.h", "boost/json/value.hpp", false, true},
      {"apiserver/edit.h", "boost/json/value.hpp", true, true},
      {"apiserver/edit.h", "boost/json/value.hpp", false, false},
      {"kube/object_test.cc", "boost/json/value.hpp", true, true},
      {"kube/object.cc", "boost/json/value.hpp", true, false},
      {"kube/quantity.cc", "boost/multiprecision/cpp_int.hpp", false, true},
      {"kube/quantity.h", "boost/multiprecision/cpp_int.hpp", false, false},
      {"base/metrics.cc", "prometheus/registry.h", false, true},
      {"client/informer.cc", "prometheus/registry.h", false, false},
      {"client/informer.cc", "string", false, true},
  };
  for (const Row& row : rows)
    EXPECT_EQ(misplaced_library(row.file, row.include, row.borrowed).empty(), row.fine)
        << row.file << " includes " << row.include;
}

TEST(Rules, RealTimeAndChanceAreFoundInCodeOnly) {
  const auto found = [](const char* file, const char* text) {
    return real_time_or_chance(file, text).size();
  };
  EXPECT_THAT(
      real_time_or_chance("kube/x.cc", "int a;\nauto t = std::chrono::steady_clock::now();"),
      ElementsAre("kube/x.cc:2: steady_clock; ask the Clock, Executor or Random"));
  EXPECT_EQ(found("kube/x_test.cc", "std::this_thread::sleep_for(1s);"), 1u);
  EXPECT_EQ(found("net/loop.cc", "steady_clock::now()"), 0u);
  EXPECT_EQ(found("kube/x.cc", "// steady_clock\n/* rand\n() */ \"rand()\" '\\'' operand brand"),
            0u);
  EXPECT_EQ(found("kube/x.cc", "auto n = 1'000; auto x = rand();"), 1u);
  EXPECT_EQ(found("kube/x.cc", "f(R\"x(rand() \")x\"); rand();"), 1u);
  EXPECT_EQ(found("kube/x.cc", "f(\"\\\"\"); rand();"), 1u);
  EXPECT_EQ(found("net/loop_test.cc", "std::this_thread::get_id()"), 0u);
  EXPECT_EQ(found("net/loop.cc", "std::this_thread::get_id()"), 1u);
}

TEST(Rules, IncludesAreReadWithTheirLines) {
  const auto includes =
      includes_of("#include <a>\n\n  #  include \"b/c.h\"  // why\n#define X \"y\"\n");
  ASSERT_EQ(includes.size(), 2u);
  EXPECT_EQ(includes[0].path, "a");
  EXPECT_EQ(includes[1].path, "b/c.h");
  EXPECT_EQ(includes[1].line, 3);
}

}  // namespace
}  // namespace berth::layering
