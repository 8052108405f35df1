// SPDX-License-Identifier: Apache-2.0
// CustomResourceDefinitions and objects of the kinds they make, ours against what the real server
// answered.
#include <gtest/gtest.h>

#include "apiserver/crd/custom_rows.h"
#include "apiserver/crd/definition_names.h"
#include "apiserver/kinds/kinds.h"
#include "bench.h"
#include "golden_file.h"

namespace berth::apiserver {
namespace {

struct Answer {
  int code = 0;
  std::string text;
};

// Causes in order of their texts: the real server finds them in the order of a hash map.
std::string causes_text(std::vector<Cause> causes) {
  std::vector<std::string> lines;
  for (const Cause& cause : causes)
    lines.push_back(fmt::format("{} | {} | {}", cause.field, cause.reason, cause.message));
  std::sort(lines.begin(), lines.end());
  return fmt::format("{}", fmt::join(lines, "\n"));
}

Answer refused(const Error& error) {
  std::string text = error.causes.empty() ? error.message : causes_text(error.causes);
  if (error.causes.size() == 1) text += "\n" + error.message;
  return {http_code_of(error.reason), text};
}

Answer recorded(json::Slice line) {
  const int code = static_cast<int>(line["code"].integer().value_or(0));
  const json::Slice result = line["result"];
  if (code < 300) return {code, sorted(result)};
  std::vector<Cause> causes;
  for (const json::Slice each : result["details"]["causes"].elements())
    causes.push_back({each["reason"].text(), each["message"].text(), each["field"].text()});
  std::string text = causes.empty() ? result["message"].text() : causes_text(causes);
  if (causes.size() == 1) text += "\n" + result["message"].text();
  return {code, text};
}

std::string comparable(const kube::Object& object) {
  json::Arena arena;
  json::Value value = json::parse_good(object.json(), arena);
  json::Dict& metadata = *dict_in(value.as_object(), "metadata");
  for (const std::string_view field :
       {"uid", "resourceVersion", "creationTimestamp", "managedFields"})
    json::erase(metadata, field);
  const std::string text = json::print(value);
  return sorted(json::Slice(text));
}

struct Made {
  Answer answer;
  kube::Object object;
};

Made finish(const KindRow& row, Edit& edit, const Findings& findings, int code) {
  if (!findings.empty())
    return {refused(findings.error(row.kind, Peek(edit.metadata())["name"].text())), {}};
  const Result<kube::Object> made = std::move(edit).commit(1);
  if (!made) return {refused(made.error()), {}};
  return {{code, comparable(*made)}, *made};
}

Made create(const KindRow& row, json::Slice manifest) {
  json::Arena arena;
  json::Value document = json::parse_good(manifest.raw(), arena);
  if (const auto decoded = decode(row, document); !decoded) return {refused(decoded.error()), {}};
  Edit edit(row.id, std::move(document), arena);
  fill(row, edit);
  const auto begun = begin_create(row, edit,
                                  {.ns = row.kind.namespaced ? "default" : "",
                                   .uid = "11111111-2222-3333-4444-555555555555",
                                   .name_suffix = "abcde",
                                   .now = kNow});
  if (!begun) return {refused(begun.error()), {}};
  return finish(row, edit, check_create(row, edit), 201);
}

Made update(const KindRow& row, const kube::Object& old, json::Slice change, bool of_status) {
  json::Arena arena;
  const Result<std::string> text = json::merge_patch(old.json(), change.raw());
  json::Value document = json::parse_good(*text, arena);
  if (const auto decoded = decode(row, document); !decoded) return {refused(decoded.error()), {}};
  Edit edit(old, arena);
  edit.replace(std::move(document));
  fill(row, edit);
  if (of_status)
    begin_status_update(row, edit);
  else
    begin_update(row, edit);
  return finish(row, edit, of_status ? check_status_update(row, edit) : check_update(row, edit),
                200);
}

std::vector<KindRow> rows_of(const kube::Object& definition) {
  return custom_rows(definition, kube::learn_kind(custom_names(definition).stored));
}

class DefinitionGoldens : public testing::Test {
 protected:
  DefinitionGoldens() : known_(known_differences()), lines_(golden_lines("definitions")) {
    for (const std::string& text : lines_)
      if (const json::Slice line(text); line["what"].equals("served"))
        rows_ = rows_of(*kube::Object::parse(line["result"].raw()));
  }

  template <class F>
  void each(std::string_view what, std::size_t at_least, F&& look) {
    std::size_t seen = 0;
    for (const std::string& text : lines_) {
      const json::Slice line(text);
      if (!line["what"].equals(what)) continue;
      ++seen;
      const std::string title = fmt::format("{} {}", what, line["name"].text());
      const std::string why = look(line);
      if (known_.contains(title))
        EXPECT_NE(why, "") << title << " is right now; take it out of differences.txt";
      else
        EXPECT_EQ(why, "") << title;
    }
    EXPECT_GE(seen, at_least);
  }

  static std::string compare(const Answer& ours, json::Slice line) {
    const Answer real = recorded(line);
    if (ours.code == real.code && ours.text == real.text) return "";
    return fmt::format("\n    ours {} {}\n    real {} {}", ours.code, ours.text, real.code,
                       real.text);
  }

  std::map<std::string, std::string> known_;
  std::vector<std::string> lines_;
  std::vector<KindRow> rows_;
};

TEST_F(DefinitionGoldens, DefinitionsAreAcceptedAndRefusedAsByTheRealServer) {
  const KindRow& row = *find_built_in(kube::kCustomResourceDefinition);
  each("definition", 90,
       [&](json::Slice line) { return compare(create(row, line["manifest"]).answer, line); });
}

TEST_F(DefinitionGoldens, AnAcceptedDefinitionSaysWhatTheRealServerSays) {
  const KindRow& row = *find_built_in(kube::kCustomResourceDefinition);
  each("served", 1, [&](json::Slice line) -> std::string {
    const Made made = create(row, line["manifest"]);
    if (!made.object.valid()) return made.answer.text;
    json::Arena arena;
    Edit edit(made.object, arena);
    settle_names(Peek(edit.body())["spec"], edit.status(), {}, kNow);
    for (json::Value& each : edit.status().as_object()["conditions"].as_array())
      json::erase(each.as_object(), "lastTransitionTime");
    const Result<kube::Object> now = std::move(edit).commit(1);
    const std::string ours = comparable(*now), real = sorted(line["result"]);
    return ours == real ? "" : fmt::format("\n    ours {}\n    real {}", ours, real);
  });
}

TEST_F(DefinitionGoldens, ObjectsAreStoredShownAndRefusedAsByTheRealServer) {
  ASSERT_EQ(rows_.size(), 1U);
  each("object", 80, [&](json::Slice line) -> std::string {
    const Made made = create(rows_[0], line["manifest"]);
    if (std::string why = compare(made.answer, line); !why.empty()) return why;
    if (!made.object.valid()) return "";
    if (rows_[0].columns.size() != line["columns"].size()) return "columns";
    for (std::size_t i = 0; i < rows_[0].columns.size(); ++i) {
      const Column& column = rows_[0].columns[i];
      const json::Slice real = line["columns"][i];
      if (column.name != real[std::size_t{0}].text() || column.type != real[1].text() ||
          column.format != real[2].text() || column.priority != real[3].integer())
        return "column " + column.name;
      if (column.name == "Age" || column.name == "When") continue;  // depends on the time of day
      json::Writer w;
      column.cell(made.object, kNow, w);
      if (w.text() != line["cells"][i].raw())
        return fmt::format("cell {} is {} instead of {}", column.name, w.text(),
                           line["cells"][i].raw());
    }
    return "";
  });
}

TEST_F(DefinitionGoldens, UpdatesAreThoseOfTheRealServer) {
  each("update", 5, [&](json::Slice line) {
    const Made made = create(rows_[0], line["manifest"]);
    return compare(update(rows_[0], made.object, line["change"], false).answer, line);
  });
  each("status", 5, [&](json::Slice line) {
    const Made made = create(rows_[0], line["manifest"]);
    return compare(update(rows_[0], made.object, line["change"], true).answer, line);
  });
}

TEST_F(DefinitionGoldens, AppliesAreThoseOfTheRealServer) {
  each("sequence", 15, [&](json::Slice line) { return replay(rows_[0], line); });
}

}  // namespace
}  // namespace berth::apiserver
