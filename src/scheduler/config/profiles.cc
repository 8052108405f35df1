// SPDX-License-Identifier: Apache-2.0
// The profiles of a configuration: their plugins, merged and expanded, and their arguments.
#include <algorithm>
#include <map>
#include <set>

#include <fmt/format.h>

#include "json/writer.h"
#include "scheduler/config/parts.h"
#include "scheduler/config/plugin_lists.h"

namespace berth::scheduler {
namespace {

using json::Slice;

constexpr std::array<std::string_view, kPluginLists> kListNames = {
    "preEnqueue", "queueSort",         "preFilter",     "filter",  "postFilter", "preScore",
    "score",      "reserve",           "permit",        "preBind", "bind",       "postBind",
    "multiPoint", "placementGenerate", "placementScore"};

// Plugins of kube-scheduler that do nothing unless an alpha gate is on.
constexpr std::array<std::string_view, 3> kGated = {"GangScheduling", "PodGroupPodsCount",
                                                    "TopologyPlacementGenerator"};
// Gone from v1; NodeVolumeLimits does their work.
constexpr std::array<std::string_view, 4> kRemoved = {"AzureDiskLimits", "CinderLimits",
                                                      "EBSLimits", "GCEPDLimits"};
template <class Names>
bool contains(const Names& names, std::string_view name) {
  return std::find(names.begin(), names.end(), name) != names.end();
}

class ProfileReader {
 public:
  ProfileReader(Problems& problems, std::span<const PluginInfo> registry)
      : problems_(problems), registry_(registry) {
    for (const PluginInfo& row : registry) names_.push_back(row.name);
  }

  ProfileConfig read(Fields& in, bool only);

 private:
  void read_list(Fields& in, int list, PluginList& out);
  bool good_name(const Fields& in, const std::string& name, int list);
  void read_plugin_config(Fields& in, ProfileConfig& out);
  void add_default_args(ProfileConfig&) const;
  void resolve(Fields& in, ProfileConfig& out);
  std::string no_such_plugin(std::string_view name) const;

  Problems& problems_;
  std::span<const PluginInfo> registry_;
  std::vector<std::string_view> names_;
  bool broken_ = false;  // an entry of the profile at hand was left out
};

std::string ProfileReader::no_such_plugin(std::string_view name) const {
  if (contains(kRemoved, name))
    return fmt::format("the plugin {} is gone; NodeVolumeLimits does its work", name);
  return fmt::format("there is no plugin {}{}", json::quoted(name), did_you_mean(name, names_));
}

// Can an enabled entry be kept?
bool ProfileReader::good_name(const Fields& in, const std::string& name, int list) {
  const std::string path = in.path("name");
  const auto refuse = [&](const std::string& what) {
    problems_.add(path, what);
    broken_ = true;
    return false;
  };
  if (name.empty()) return refuse("is missing; name a plugin");
  if (name == "*") return refuse("\"*\" is for disabled only; name each plugin to enable");
  const PluginInfo* const row = find_plugin(registry_, name);
  if (row == nullptr && contains(kGated, name)) {
    problems_.warn(path, fmt::format("{} does nothing: its alpha feature is off, as it is by "
                                     "default in kube-scheduler",
                                     name));
    return false;
  }
  if (row == nullptr) return refuse(no_such_plugin(name));
  if (list >= kPoints || has(row->points, static_cast<Point>(list))) return true;
  std::string own;
  for (int i = 0; i < kPoints; ++i)
    if (has(row->points, static_cast<Point>(i)))
      own += fmt::format("{}{}", own.empty() ? "" : ", ", plugin_list_name(i));
  return refuse(
      fmt::format("{} takes no part in {}, only in {}", name, plugin_list_name(list), own));
}

void ProfileReader::read_list(Fields& in, int list, PluginList& out) {
  const auto entry = [&](Fields& fields) {
    PluginList::Entry made;
    fields.text("name", made.name);
    fields.integer("weight", made.weight);
    fields.finish();
    return made;
  };
  const auto weighs = [&](const PluginList::Entry& made) {
    const PluginInfo* const row = find_plugin(registry_, made.name);
    return row != nullptr && has(row->points, Point::kScore) &&
           (list == kMultiPoint || list == static_cast<int>(Point::kScore));
  };
  // A list of plain names is a natural mistake.
  const auto is_plain_name = [&](Slice element, const std::string& path) {
    if (!element.is_string()) return false;
    problems_.add(path, fmt::format("expected a mapping; write \"name: {}\"", element.text()));
    broken_ = true;
    return true;
  };
  in.each("enabled", [&](Slice element, const std::string& path) {
    if (is_plain_name(element, path)) return;
    Fields fields(problems_, element, path);
    PluginList::Entry made = entry(fields);
    if (!good_name(fields, made.name, list)) return;
    if (made.weight < 0 && weighs(made))
      fields.complain("weight", fmt::format("{} must be 0 (for 1) or more", made.weight));
    // What comes twice in multiPoint may be forgiven: expanded() tells.
    const bool twice = list != kMultiPoint &&
                       std::any_of(out.enabled.begin(), out.enabled.end(),
                                   [&](const auto& other) { return other.name == made.name; });
    if (twice)
      fields.complain("name", fmt::format("{} is enabled here twice; remove one", made.name));
    else
      out.enabled.push_back(std::move(made));
  });
  in.each("disabled", [&](Slice element, const std::string& path) {
    if (is_plain_name(element, path)) return;
    Fields fields(problems_, element, path);
    PluginList::Entry made = entry(fields);
    if (made.name != "*" && find_plugin(registry_, made.name) == nullptr &&
        !contains(kGated, made.name))
      problems_.warn(fields.path("name"), no_such_plugin(made.name));
    out.disabled.push_back({std::move(made.name), 0});
  });
}

void ProfileReader::read_plugin_config(Fields& in, ProfileConfig& out) {
  in.each("pluginConfig", [&](Slice element, const std::string& path) {
    Fields fields(problems_, element, path);
    std::string name;
    fields.text("name", name);
    const Slice given = fields.any("args");
    fields.finish();
    const bool twice = std::any_of(out.plugin_config.begin(), out.plugin_config.end(),
                                   [&](const auto& other) { return other.first == name; });
    if (twice)
      fields.complain(
          "name", fmt::format("{} has arguments already; merge the entries", json::quoted(name)));
    PluginArgs args = read_args(problems_, name, given, fields.path("args"));
    const std::string_view stem =
        std::string_view(name).substr(0, name.size() - (name.ends_with("Args") ? 4 : 0));
    if (find_plugin(registry_, name) == nullptr && std::holds_alternative<RawArgs>(args)) {
      if (contains(kRemoved, name))
        fields.complain("name", no_such_plugin(name));
      else if (find_plugin(registry_, stem) != nullptr)
        fields.complain("name",
                        fmt::format("is the kind of the arguments; name the plugin, {}", stem));
      else
        problems_.warn(fields.path("name"), no_such_plugin(name));
    }
    out.plugin_config.emplace_back(std::move(name), std::move(args));
  });
}

// Enabled plugins whose arguments were not stated, by name.
void ProfileReader::add_default_args(ProfileConfig& out) const {
  std::set<std::string> missing;
  for (const PluginList& list : out.plugins)
    for (const PluginList::Entry& entry : list.enabled) missing.insert(entry.name);
  for (const auto& [name, args] : out.plugin_config) missing.erase(name);
  for (const std::string& name : missing)
    if (PluginArgs args = default_args(name); !std::holds_alternative<std::monostate>(args))
      out.plugin_config.emplace_back(name, std::move(args));
}

void ProfileReader::resolve(Fields& in, ProfileConfig& out) {
  Expanded order = expanded(out.plugins, registry_);
  std::sort(order.twice.begin(), order.twice.end());
  order.twice.erase(std::unique(order.twice.begin(), order.twice.end()), order.twice.end());
  const std::string lists = in.path("plugins");
  for (const std::string& name : order.twice)
    problems_.add(lists + ".multiPoint.enabled",
                  fmt::format("{} is enabled here twice; remove one", name));
  out.spec.points = std::move(order.points);
  const auto count = [&](Point point) { return out.spec.at(point).size(); };
  if (count(Point::kQueueSort) == 0 && !broken_)
    problems_.add(lists + ".queueSort", "no plugin sorts the queue; enable PrioritySort");
  if (count(Point::kQueueSort) > 1) {
    const auto first = static_cast<std::size_t>(out.spec.at(Point::kQueueSort)[0].plugin);
    problems_.add(lists + ".queueSort",
                  fmt::format("{} plugins sort the queue, and only one can; disable {}",
                              count(Point::kQueueSort), names_[first]));
  }
  if (count(Point::kBind) == 0 && !broken_)
    problems_.add(lists + ".bind", "no plugin binds pods; enable DefaultBinder");
  for (const auto& [name, args] : out.plugin_config)
    if (const PluginInfo* const row = find_plugin(registry_, name))
      out.spec.args.emplace(static_cast<PluginId>(row - registry_.data()), args);
}

// The only profile has a name without being given one.
ProfileConfig ProfileReader::read(Fields& in, bool only) {
  ProfileConfig out;
  broken_ = false;
  if (!only || in.has("schedulerName")) out.spec.scheduler_name.clear();
  in.text("schedulerName", out.spec.scheduler_name);
  in.integer("percentageOfNodesToScore", out.spec.percentage_of_nodes_to_score);
  if (const auto& share = out.spec.percentage_of_nodes_to_score;
      share && (*share < 0 || *share > 100))
    in.complain("percentageOfNodesToScore", fmt::format("{} is not within 0 and 100", *share));
  PluginLists custom;
  in.object("plugins", [&](Fields& fields) {
    for (int i = 0; i < kPluginLists; ++i)
      fields.object(plugin_list_name(i),
                    [&](Fields& list) { read_list(list, i, custom[static_cast<std::size_t>(i)]); });
  });
  out.plugins = merged(default_plugin_lists(registry_), custom);
  read_plugin_config(in, out);
  add_default_args(out);
  resolve(in, out);
  in.finish();
  return out;
}

// One queue serves all profiles.
void check_common_queue_sort(const std::vector<ProfileConfig>& profiles, Problems& problems) {
  constexpr auto kSort = static_cast<std::size_t>(Point::kQueueSort);
  const auto args_of = [](const ProfileConfig& profile) -> std::string {
    if (profile.spec.at(Point::kQueueSort).empty()) return "";
    const auto at = profile.spec.args.find(profile.spec.at(Point::kQueueSort)[0].plugin);
    if (at == profile.spec.args.end()) return "";
    const auto* const raw = std::get_if<RawArgs>(&at->second);
    return raw == nullptr ? "" : raw->json;
  };
  for (std::size_t i = 1; i < profiles.size(); ++i) {
    const std::string path = fmt::format("profiles[{}]", i);
    // k8s 1.36: what is written must be the same, not only what it comes to.
    if (profiles[i].plugins[kSort] != profiles[0].plugins[kSort] ||
        profiles[i].spec.at(Point::kQueueSort) != profiles[0].spec.at(Point::kQueueSort))
      problems.add(path + ".plugins.queueSort",
                   "must be the same as in profiles[0]: all profiles share one queue");
    else if (args_of(profiles[i]) != args_of(profiles[0]))
      problems.add(path + ".pluginConfig",
                   "the arguments of the queueSort plugin must be the same "
                   "as in profiles[0]: all profiles share one queue");
  }
}

}  // namespace

std::string_view plugin_list_name(int list) { return kListNames[static_cast<std::size_t>(list)]; }

std::vector<ProfileConfig> read_profiles(Fields& root, Problems& problems,
                                         std::span<const PluginInfo> registry) {
  std::vector<ProfileConfig> out;
  ProfileReader reader(problems, registry);
  const bool only = root.any("profiles").size() < 2;
  root.each("profiles", [&](Slice element, const std::string& path) {
    Fields fields(problems, element, path);
    out.push_back(reader.read(fields, only));
  });
  if (out.empty()) {
    Fields nothing(problems, {}, "profiles[0]");
    out.push_back(reader.read(nothing, true));
  }
  std::map<std::string, std::size_t> seen;
  for (std::size_t i = 0; i < out.size(); ++i) {
    const std::string& name = out[i].spec.scheduler_name;
    const std::string path = fmt::format("profiles[{}].schedulerName", i);
    if (name.empty())
      problems.add(path, "is empty; with several profiles each needs a name");
    else if (const auto [at, fresh] = seen.emplace(name, i); !fresh)
      problems.add(path, fmt::format("{} is the name of profiles[{}] already; choose another",
                                     json::quoted(name), at->second));
  }
  check_common_queue_sort(out, problems);
  return out;
}

}  // namespace berth::scheduler
