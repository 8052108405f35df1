// SPDX-License-Identifier: Apache-2.0
// The same manifests, our rows against the real server's answers: what is stored, how a table shows
// it, and how a refusal is worded.
#include <gtest/gtest.h>

#include "apiserver/kinds/kinds.h"
#include "apiserver/kinds/strategy.h"
#include "golden_file.h"
#include "json/slice.h"
#include "kube/time.h"
#include "sorted.h"

namespace berth::apiserver {
namespace {

struct Answer {
  int code = 0;
  std::string message;  // of a refusal
  std::vector<Cause> causes;
  kube::Object object;
};

Answer refused(const Error& error) {
  return {
      error.code != 0 ? error.code : http_code_of(error.reason), error.message, error.causes, {}};
}

// Without what the recording left out.
std::string comparable(const kube::Object& object, json::Slice manifest) {
  json::Arena arena;
  json::Value value = json::parse_good(object.json(), arena);
  json::Dict& top = value.as_object();
  if (json::Dict* metadata = dict_in(top, "metadata")) {
    json::erase(*metadata, "resourceVersion");
    json::erase(*metadata, "managedFields");
  }
  if (json::Dict* spec = dict_in(top, "spec"); spec != nullptr && object.kind() == kube::kService) {
    if (!manifest["spec"]["clusterIP"]) {
      json::erase(*spec, "clusterIP");
      json::erase(*spec, "clusterIPs");
    }
    each_dict(*spec, "ports", [](json::Dict& port) { json::erase(port, "nodePort"); });
  }
  return json::print(value);
}

Answer finish(const KindRow& row, Edit& edit, const Findings& findings, int code) {
  if (!findings.empty())
    return refused(findings.error(row.kind, Peek(edit.metadata())["name"].text()));
  Result<kube::Object> made = std::move(edit).commit(1);
  if (!made) return refused(made.error());
  return {code, "", {}, *made};
}

Answer create(const KindRow& row, json::Slice manifest, json::Slice expected) {
  json::Arena arena;
  json::Value document = json::parse_good(manifest.raw(), arena);
  if (const auto decoded = decode(row, document); !decoded) return refused(decoded.error());
  Edit edit(row.id, std::move(document), arena);
  fill(row, edit);
  const std::string name = expected["metadata"]["name"].text();
  const Birth birth{.ns = row.kind.namespaced ? "default" : "",
                    .uid = "11111111-2222-3333-4444-555555555555",
                    .name_suffix = name.size() > 5 ? name.substr(name.size() - 5) : "abcde",
                    .now = *kube::parse_time("2026-01-01T00:00:00Z")};
  if (const auto begun = begin_create(row, edit, birth); !begun) return refused(begun.error());
  return finish(row, edit, check_create(row, edit), 201);
}

Answer update(const KindRow& row, const kube::Object& old, json::Slice put, bool of_status) {
  json::Arena arena;
  json::Value document = json::parse_good(put.raw(), arena);
  if (const auto decoded = decode(row, document); !decoded) return refused(decoded.error());
  Edit edit(old, arena);
  edit.replace(std::move(document));
  edit.metadata()["resourceVersion"] = "1";
  fill(row, edit);
  if (of_status)
    begin_status_update(row, edit);
  else
    begin_update(row, edit);
  return finish(row, edit, of_status ? check_status_update(row, edit) : check_update(row, edit),
                200);
}

// Kubernetes adds a listing of the differences between two Go structs, which we do not have.
std::string first_line(const std::string& text) { return text.substr(0, text.find('\n')); }

// What is different, or "".
std::string compare(const Answer& ours, int code, json::Slice theirs, json::Slice manifest) {
  if (ours.code != code)
    return fmt::format("code {} instead of {}: {} / {}", ours.code, code, ours.message,
                       theirs["message"].text());
  if (code < 300) {
    const std::string text = comparable(ours.object, manifest);
    const std::string a = sorted(json::Slice(text)), b = sorted(theirs);
    return a == b ? "" : fmt::format("stored\n    ours {}\n    real {}", a, b);
  }
  if (ours.message != first_line(theirs["message"].text()))
    return fmt::format("refused\n    ours {}\n    real {}", ours.message, theirs["message"].text());
  const json::Slice causes = theirs["details"]["causes"];
  std::size_t i = 0;
  for (const json::Slice cause : causes.elements()) {
    const Cause real{cause["reason"].text(), first_line(cause["message"].text()),
                     cause["field"].text()};
    if (i >= ours.causes.size() || !(ours.causes[i] == real))
      return fmt::format("cause {} is {} {} {}", i, real.reason, real.field, real.message);
    ++i;
  }
  return i == ours.causes.size() ? "" : "more causes than the real server gives";
}

std::string compare_table(const KindRow& row, const kube::Object& object, json::Slice table) {
  if (!table || table.is_null()) return "";
  if (row.columns.size() != table["columns"].size())
    return fmt::format("{} columns instead of {}", row.columns.size(), table["columns"].size());
  for (std::size_t i = 0; i < row.columns.size(); ++i) {
    const Column& column = row.columns[i];
    const json::Slice theirs = table["columns"][i];
    const std::string ours =
        fmt::format("{}/{}/{}/{}", column.name, column.type, column.format, column.priority);
    const std::string real = fmt::format("{}/{}/{}/{}", theirs[std::size_t{0}].text(),
                                         theirs[1].text(), theirs[2].text(), theirs[3].raw());
    if (ours != real) return fmt::format("column {} instead of {}", ours, real);
    if (column.name == "Last Seen" || column.name == "First Seen") continue;
    json::Writer w;
    column.cell(object, *kube::parse_time("2026-01-01T00:00:00Z"), w);
    if (w.text() != table["cells"][i].raw())
      return fmt::format("cell {} is {} instead of {}", column.name, w.text(),
                         table["cells"][i].raw());
  }
  return "";
}

std::string check_case(json::Slice line) {
  const json::Slice manifest = line["manifest"];
  const auto id = kube::find_kind(manifest["apiVersion"].text(), manifest["kind"].text());
  const KindRow* row = id ? find_built_in(*id) : nullptr;
  if (row == nullptr) return "no row for this kind";
  const int code = static_cast<int>(line["code"].integer().value_or(0));
  const bool made = code == 201;
  const json::Slice theirs = made ? line["object"] : line["status"];
  const Answer ours = create(*row, manifest, theirs);
  if (std::string why = compare(ours, code, theirs, manifest); !why.empty()) return why;
  if (!made) return "";
  kube::Object now = ours.object;
  if (line["put_status"]) {
    const std::string put = fmt::format("{{\"metadata\":{},\"status\":{}}}", now.metadata().raw(),
                                        line["put_status"].raw());
    const Answer after = update(*row, now, json::Slice(put), true);
    const int wanted = static_cast<int>(line["status_code"].integer().value_or(0));
    if (std::string why = compare(after, wanted, line["status_result"], manifest); !why.empty())
      return "status: " + why;
    if (after.object.valid()) now = after.object;
  }
  if (std::string why = compare_table(*row, now, line["table"]); !why.empty()) return why;
  if (line["put"]) {
    const Answer after = update(*row, now, line["put"], false);
    const int wanted = static_cast<int>(line["put_code"].integer().value_or(0));
    if (std::string why = compare(after, wanted, line["put_result"], manifest); !why.empty())
      return "update: " + why;
  }
  return "";
}

void check_file(const std::string& name) {
  const std::map<std::string, std::string> known = known_differences();
  std::size_t cases = 0;
  for (const std::string& text : golden_lines(name)) {
    const json::Slice line(text);
    const std::string title = line["name"].text();
    const std::string why = check_case(line);
    ++cases;
    if (known.contains(title))
      EXPECT_NE(why, "") << title << " is right now; take it out of differences.txt";
    else
      EXPECT_EQ(why, "") << title;
  }
  EXPECT_GT(cases, 300U);
}

TEST(Goldens, PodsAreStoredShownAndRefusedAsByTheRealServer) { check_file("pods"); }
TEST(Goldens, OtherKindsAreStoredShownAndRefusedAsByTheRealServer) { check_file("others"); }

}  // namespace
}  // namespace berth::apiserver
