// SPDX-License-Identifier: Apache-2.0
// A case that cannot be read is named by file, line and member; cases before it are answered.
#include <gmock/gmock.h>

#include "ran.h"

namespace berth {
namespace {

using ::testing::StartsWith;

using ExplainUsage = Binary;

// A case with a part of it replaced.
std::string case_with(std::string_view part, std::string_view by) {
  std::string text =
      R"({"id":"one","nodes":[{"metadata":{"name":"n"},"status":{"allocatable":{"cpu":"4","pods":"9"}}}],)"
      R"("pods":[{"metadata":{"name":"a","namespace":"d","uid":"a"},"spec":{"nodeName":"n"}}],)"
      R"("pending":{"metadata":{"name":"web","namespace":"d","uid":"u"},)"
      R"("spec":{"containers":[{"name":"c","resources":{"requests":{"cpu":"2"}}}]}}})";
  const std::size_t at = text.find(part);
  EXPECT_NE(at, std::string::npos) << part;
  return text.replace(at, part.size(), by);
}

TEST_F(ExplainUsage, ACaseThatIsWrongIsNamedByLineAndMember) {
  const struct {
    std::string text;
    const char* says;
  } kRows[] = {
      {"hello", "column 1: expected a value; a case is one JSON object on one line"},
      {R"({"id":)",
       "column 7: expected a value, found the end; a case is one JSON object on one "
       "line"},
      {"[1]", "a case is one JSON object on one line"},
      {case_with(R"("id":"one",)", ""), "id: a case has one, a string"},
      {case_with("pending", "pendin"),
       R"(pendin: a case has no such member; did you mean "pending"?)"},
      {case_with(R"("id")", R"("remark":1,"id")"), "remark: a case has no such member; remove it"},
      {case_with(R"("nodes":[)", R"("nodes":[1,)"), "nodes[0]: must be an object"},
      {case_with(R"("name":"n")", R"("nme":"n")"), "nodes[0]: metadata.name: is missing"},
      {case_with(R"("cpu":"4")", R"("cpu":"4e")"),
       "nodes[0]: status.allocatable.cpu: invalid quantity \"4e\": unable to parse quantity's "
       "suffix; write a number and a unit, such as 500m, 1.5Gi or 2e3"},
      {case_with(R"("nodeName":"n")", ""),
       "pods[0]: spec.nodeName: is missing; only `pending` has none"},
      {case_with(R"("cpu":"2")", R"("cpu":"2x")"),
       "pending: spec.containers[0].resources.requests.cpu: invalid quantity \"2x\": quantities "
       "must match the regular expression '^([+-]?[0-9.]+)([eEinumkKMGTP]*[-+]?[0-9]*)$'; write a "
       "number and a unit, such as 500m, 1.5Gi or 2e3"},
  };
  for (const auto& row : kRows) {
    write("c.jsonl", case_with("one", "first") + "\n\n" + row.text + "\n");
    const Ran got = berth({"explain", "--cases", "c.jsonl"});
    EXPECT_EQ(got.code, 1) << row.text;
    EXPECT_EQ(got.err, std::string("berth explain: c.jsonl:3: ") + row.says + "\n");
    EXPECT_THAT(got.out, StartsWith(R"({"id":"first",)"));
    EXPECT_EQ(std::count(got.out.begin(), got.out.end(), '\n'), 1);
  }
}

TEST_F(ExplainUsage, AFileThatIsWrongAsAWholeIsNamed) {
  write("empty.jsonl", "\n");
  write("torn.jsonl.gz", "\x1f\x8bjunk");
  const struct {
    const char* file;
    const char* says;
  } kRows[] = {
      {"empty.jsonl", "empty.jsonl: holds no case; give a file with one a line"},
      {"torn.jsonl.gz", "torn.jsonl.gz:1: the compressed data is damaged"},
      {"none.jsonl",
       "none.jsonl: cannot be read: No such file or directory; give the path of a file of cases, "
       "or - for standard input"},
      {".",
       ".: cannot be read: it is a folder; give the path of a file of cases, or - for "
       "standard input"},
      {"-", "standard input: holds no case; give a file with one a line"},
  };
  for (const auto& row : kRows) {
    const Ran got = berth({"explain", "--cases", row.file});
    EXPECT_EQ(got.code, 1) << row.file;
    EXPECT_EQ(got.err, std::string("berth explain: ") + row.says + "\n");
    EXPECT_EQ(got.out, "");
  }
}

}  // namespace
}  // namespace berth
