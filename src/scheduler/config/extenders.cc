// SPDX-License-Identifier: Apache-2.0
// The extenders of a configuration.
#include <algorithm>
#include <map>

#include <fmt/format.h>

#include "json/writer.h"
#include "kube/names.h"
#include "scheduler/config/parts.h"
#include "scheduler/config/plugin_lists.h"

namespace berth::scheduler {
namespace {

using json::Slice;

void read_tls(Fields& in, ExtenderTls& out) {
  in.boolean("insecure", out.insecure);
  in.text("serverName", out.server_name);
  in.text("certFile", out.cert_file);
  in.text("keyFile", out.key_file);
  in.text("caFile", out.ca_file);
  in.bytes("certData", out.cert_data);
  in.bytes("keyData", out.key_data);
  in.bytes("caData", out.ca_data);
  if (out.insecure && (!out.ca_file.empty() || !out.ca_data.empty()))
    in.complain("insecure", "does not go with caFile or caData; remove one of them");
  if ((out.cert_file.empty() && out.cert_data.empty()) !=
      (out.key_file.empty() && out.key_data.empty()))
    in.complain("certFile", "a certificate and its key come together; state both");
}

// What is wrong with the name of an extended resource; "" when nothing is.
std::string extended_resource_problem(const std::string& name) {
  if (const kube::Complaints why = kube::check_qualified_name(name); !why.empty())
    return fmt::format("{} is not the name of a resource: {}", json::quoted(name),
                       kube::joined(why));
  const bool native =
      name.find('/') == std::string::npos || name.find("kubernetes.io/") != std::string::npos;
  if (native || name.starts_with("requests.") ||
      !kube::check_qualified_name("requests." + name).empty())
    return fmt::format("{} is not an extended resource; those look like \"example.com/gpu\"",
                       json::quoted(name));
  return "";
}

ExtenderConfig read_extender(Fields& in, Problems& problems,
                             std::map<std::string, std::string>& managed) {
  ExtenderConfig out;
  in.text("urlPrefix", out.url_prefix);
  in.text("filterVerb", out.filter_verb);
  in.text("preemptVerb", out.preempt_verb);
  in.text("prioritizeVerb", out.prioritize_verb);
  in.text("bindVerb", out.bind_verb);
  in.integer("weight", out.weight);
  in.boolean("enableHTTPS", out.enable_https);
  in.object("tlsConfig", [&](Fields& tls) { read_tls(tls, out.tls); });
  in.duration("httpTimeout", out.http_timeout);
  in.boolean("nodeCacheCapable", out.node_cache_capable);
  in.boolean("ignorable", out.ignorable);
  in.each("managedResources", [&](Slice element, const std::string& path) {
    Fields fields(problems, element, path);
    ManagedResource resource;
    fields.text("name", resource.name);
    fields.boolean("ignoredByScheduler", resource.ignored_by_scheduler);
    fields.finish();
    if (const std::string why = extended_resource_problem(resource.name); !why.empty())
      fields.complain("name", why);
    else if (const auto [at, fresh] = managed.emplace(resource.name, fields.path("name")); !fresh)
      fields.complain("name", fmt::format("{} is managed at {} already; remove one",
                                          json::quoted(resource.name), at->second));
    out.managed_resources.push_back(std::move(resource));
  });
  if (out.url_prefix.empty())
    in.complain("urlPrefix", "is missing; say where the extender listens");
  if (!out.prioritize_verb.empty() && out.weight <= 0)
    in.complain("weight", "must be positive where there is a prioritizeVerb");
  if (out.http_timeout < Duration{})
    in.complain("httpTimeout", "must not be negative; leave it out for 5s");
  if (out.http_timeout == Duration{}) out.http_timeout = kDefaultExtenderTimeout;
  return out;
}

}  // namespace

std::vector<ExtenderConfig> read_extenders(Fields& root, Problems& problems) {
  std::vector<ExtenderConfig> out;
  std::map<std::string, std::string> managed;  // resource: where
  std::string binder;                          // where
  root.each("extenders", [&](Slice element, const std::string& path) {
    Fields fields(problems, element, path);
    out.push_back(read_extender(fields, problems, managed));
    fields.finish();
    if (out.back().bind_verb.empty()) return;
    if (!binder.empty())
      fields.complain("bindVerb", fmt::format("only one extender can bind, and {} does already; "
                                              "remove one bindVerb",
                                              binder));
    else
      binder = path;
  });
  return out;
}

void pass_ignored_resources(const std::vector<ExtenderConfig>& extenders,
                            std::vector<ProfileConfig>& profiles,
                            std::span<const PluginInfo> registry, Problems& problems) {
  std::vector<std::string> ignored;
  std::string first;
  for (std::size_t i = 0; i < extenders.size(); ++i)
    for (std::size_t j = 0; j < extenders[i].managed_resources.size(); ++j) {
      const ManagedResource& resource = extenders[i].managed_resources[j];
      if (!resource.ignored_by_scheduler) continue;
      if (ignored.empty())
        first = fmt::format("extenders[{}].managedResources[{}].ignoredByScheduler", i, j);
      ignored.push_back(resource.name);
    }
  if (ignored.empty()) return;
  for (ProfileConfig& profile : profiles) {
    bool found = false;
    for (auto& [name, args] : profile.plugin_config)
      if (auto* const fit = std::get_if<NodeResourcesFitArgs>(&args)) {
        fit->ignored_resources = ignored;
        found = true;
        if (const PluginInfo* const row = find_plugin(registry, name))
          profile.spec.args[static_cast<PluginId>(row - registry.data())] = *fit;
      }
    // k8s 1.36: refuses to start where a profile does without NodeResourcesFit.
    if (!found)
      problems.add(first, fmt::format("profile {} has no NodeResourcesFit that could ignore it; "
                                      "enable that plugin or remove the flag",
                                      json::quoted(profile.spec.scheduler_name)));
  }
}

std::vector<const ExtenderConfig*> calling_order(const SchedulerConfig& config) {
  std::vector<const ExtenderConfig*> out;
  for (const ExtenderConfig& extender : config.extenders) out.push_back(&extender);
  std::stable_partition(out.begin(), out.end(),
                        [](const ExtenderConfig* extender) { return !extender->ignorable; });
  return out;
}

}  // namespace berth::scheduler
