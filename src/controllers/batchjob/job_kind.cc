// SPDX-License-Identifier: Apache-2.0
#include "controllers/batchjob/job_kind.h"

#include <algorithm>
#include <array>
#include <initializer_list>
#include <optional>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "base/check.h"
#include "controllers/batchjob/built_in_kinds.h"
#include "json/yaml.h"

namespace berth::controllers {
namespace {

template <class T>
using Named = std::pair<std::string_view, T>;

constexpr Named<ApplicationState> kStates[] = {
    {"Submitted", ApplicationState::kSubmitted},
    {"Running", ApplicationState::kRunning},
    {"Completed", ApplicationState::kCompleted},
    {"Failed", ApplicationState::kFailed},
    {"SubmissionFailed", ApplicationState::kSubmissionFailed},
    {"Suspended", ApplicationState::kSuspended},
    {"Unknown", ApplicationState::kUnknown}};
constexpr Named<ExecutorsMust> kNeeds[] = {{"executorsRunning", ExecutorsMust::kRun},
                                           {"executorsGone", ExecutorsMust::kBeGone}};
constexpr Named<Elastic> kElastic[] = {
    {"door", Elastic::kDoor}, {"replicas", Elastic::kReplicas}, {"restart", Elastic::kRestart}};

// Reads one file; the first thing that is wrong ends it.
class Reader {
 public:
  Reader(std::string_view yaml, std::string_view source, json::Slice root)
      : yaml_(yaml), source_(source), root_(root) {}

  Result<JobKind> read() {
    JobKind row;
    members("", root_,
            {"name", "from", "apiVersion", "kind", "resource", "into", "rename", "application",
             "dynamic", "resize", "variants", "elastic", "executors", "message", "states"});
    for (const auto& [name, to] : {std::pair{"name", &row.name},
                                   {"from", &row.from},
                                   {"apiVersion", &row.api_version},
                                   {"kind", &row.kind},
                                   {"resource", &row.resource},
                                   {"into", &row.into}})
      *to = text(name);
    for (const auto [from, to] : root_["rename"].members())
      row.rename.emplace_back(std::string(from), to.text());
    row.application = object("application", true);
    row.dynamic = object("dynamic", false);
    row.resize = object("resize", false);
    std::size_t at = 0;
    for (const json::Slice variant : root_["variants"].elements())
      row.variants.push_back(variant_of(variant, at++));
    row.executors = object("executors", true);
    row.elastic =
        root_["elastic"] ? one_of("elastic", root_["elastic"], kElastic) : Elastic::kRestart;
    for (const json::Slice path : root_["message"].elements()) row.message.push_back(path.text());
    std::size_t index = 0;
    for (const json::Slice rule : root_["states"].elements())
      row.states.push_back(state_rule(rule, index++));
    if (row.states.empty()) wrong("states", "is missing: without rules nothing ever completes");
    if (wrong_) return invalid(*wrong_);
    return row;
  }

 private:
  StateRule state_rule(json::Slice rule, std::size_t index) {
    const std::string at = fmt::format("states[{}]", index);
    members(at + ".", rule, {"state", "where", "needs"});
    StateRule read;
    read.state = one_of(at + ".state", rule["state"], kStates);
    read.where = where(at, rule["where"]);
    if (rule["needs"]) read.executors = one_of(at + ".needs", rule["needs"], kNeeds);
    return read;
  }
  Variant variant_of(json::Slice variant, std::size_t index) {
    const std::string at = fmt::format("variants[{}]", index);
    members(at + ".", variant, {"where", "application", "resize"});
    Variant read{.where = where(at, variant["where"]), .application = {}, .resize = {}};
    for (const auto& [name, to] :
         {std::pair{"application", &read.application}, {"resize", &read.resize}}) {
      const json::Slice found = variant[name];
      if (found && !found.is_object()) wrong(fmt::format("{}.{}", at, name), "must be a map");
      if (found.is_object()) *to = std::string(found.raw());
    }
    return read;
  }
  Where where(const std::string& at, json::Slice rows) {
    Where read;
    if (!rows.is_object())
      wrong(at + ".where", "must be a map of paths to lists of values ({} always holds)");
    for (const auto [path, values] : rows.members()) {
      if (!values.is_array())
        wrong(at + ".where", fmt::format("must have a list of values for {}", path));
      auto& [_, accepted] = read.emplace_back(std::string(path), std::vector<std::string>());
      for (const json::Slice value : values.elements()) accepted.push_back(value.text());
    }
    return read;
  }

  void members(const std::string& prefix, json::Slice object,
               std::initializer_list<std::string_view> known) {
    if (!object.is_object()) return wrong(prefix, "must be a map");
    for (const auto [name, _] : object.members())
      if (std::find(known.begin(), known.end(), name) == known.end())
        wrong(prefix + std::string(name),
              fmt::format("is not known; there are: {}", fmt::join(known, ", ")));
  }
  std::string text(const char* name) {
    std::string value = root_[name].text();
    if (value.empty()) wrong(name, "must be a text");
    return value;
  }
  std::string object(const char* name, bool needed) {
    const json::Slice found = root_[name];
    if (!found && !needed) return {};
    if (!found.is_object()) wrong(name, "must be a map");
    return std::string(found.raw());
  }
  template <class T, std::size_t N>
  T one_of(const std::string& at, json::Slice value, const Named<T> (&names)[N]) {
    const std::string text = value.text();
    std::vector<std::string_view> known;
    for (const auto& [name, meaning] : names) {
      if (name == text) return meaning;
      known.push_back(name);
    }
    wrong(at, fmt::format("is {}, but must be one of {}",
                          json::Slice(value) ? value.raw() : "missing", fmt::join(known, ", ")));
    return names[0].second;
  }
  void wrong(const std::string& path, std::string_view what) {
    if (wrong_) return;
    const auto line = json::yaml_line_of(yaml_, 0, path);
    wrong_ = fmt::format("{}:{}: {} {}", source_, line.value_or(1),
                         path.empty() ? "the job kind" : path, what);
  }

  std::string_view yaml_, source_;
  json::Slice root_;
  std::optional<std::string> wrong_;
};

}  // namespace

std::string_view name_of(ApplicationState state) {
  for (const auto& [name, meaning] : kStates)
    if (meaning == state) return name;
  return "Unknown";
}

kube::KindId application_kind(const JobKind& kind) {
  const std::size_t slash = kind.api_version.find('/');
  const bool core = slash == std::string::npos;
  return kube::learn_kind({.group = core ? "" : kind.api_version.substr(0, slash),
                           .version = core ? kind.api_version : kind.api_version.substr(slash + 1),
                           .kind = kind.kind,
                           .plural = kind.resource});
}

Result<JobKind> read_job_kind(std::string_view yaml, std::string_view source) {
  const auto json = json::yaml_document_to_json(yaml);
  if (!json) return invalid(fmt::format("{}: {}", source, json.error().message));
  return Reader(yaml, source, json::Slice(*json)).read();
}

const std::vector<JobKind>& built_in_job_kinds() {
  static const std::vector<JobKind> kinds = [] {
    std::vector<JobKind> read;
    for (const auto& [name, yaml] : kBuiltInKinds) {
      auto kind = read_job_kind(yaml, name);
      BERTH_CHECK(kind.has_value());
      read.push_back(std::move(*kind));
    }
    return read;
  }();
  return kinds;
}

std::vector<JobKind> all_job_kinds(const std::vector<JobKind>& more) {
  std::vector<JobKind> all = more;
  for (const JobKind& one : built_in_job_kinds())
    if (std::none_of(more.begin(), more.end(),
                     [&](const JobKind& other) { return other.name == one.name; }))
      all.push_back(one);
  return all;
}

}  // namespace berth::controllers
