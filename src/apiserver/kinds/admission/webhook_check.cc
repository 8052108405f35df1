// SPDX-License-Identifier: Apache-2.0
#include "apiserver/kinds/admission/webhook_check.h"

#include <algorithm>
#include <set>

#include <fmt/format.h>

#include "apiserver/kinds/rules.h"
#include "kube/names.h"

namespace berth::apiserver {
namespace {

bool contains(Peek list, std::string_view one) {
  for (const json::Value& each : list.elements())
    if (Peek(each).is(one)) return true;
  return false;
}

// A list that may be "*" alone.
void check_words(Peek list, const Path& at, std::string_view others, bool empty_is_fine,
                 Findings& findings) {
  if (list.size() == 0) return findings.required(at);
  if (list.size() > 1 && contains(list, "*"))
    findings.invalid(at, as_shown(list),
                     fmt::format("if '*' is present, must not specify other {}", others));
  if (empty_is_fine) return;
  for (std::size_t i = 0; i < list.size(); ++i)
    if (list[i].text().empty()) findings.required(at[i]);
}

void check_resources(Peek list, const Path& at, Findings& findings) {
  if (list.size() == 0) return findings.required(at);
  std::set<std::string_view> whole, everywhere;  // "x/*", "*/x"
  bool all = false, star = false, plain = false;
  for (std::size_t i = 0; i < list.size(); ++i) {
    const std::string_view each = list[i].text();
    if (each.empty()) {
      findings.required(at[i]);
      continue;
    }
    all = all || each == "*/*";
    star = star || each == "*";
    const std::size_t slash = each.find('/');
    if (slash == std::string_view::npos) {
      plain = each != "*";
      continue;
    }
    const std::string_view resource = each.substr(0, slash), sub = each.substr(slash + 1);
    if (whole.count(resource) > 0)
      findings.invalid(at[i], each,
                       fmt::format("if '{}/*' is present, must not specify {}", resource, each));
    if (everywhere.count(sub) > 0)
      findings.invalid(at[i], each,
                       fmt::format("if '*/{}' is present, must not specify {}", sub, each));
    if (sub == "*") whole.insert(resource);
    if (resource == "*") everywhere.insert(sub);
  }
  if (list.size() > 1 && all)
    findings.invalid(at, as_shown(list), "if '*/*' is present, must not specify other resources");
  if (star && plain)
    findings.invalid(at, as_shown(list),
                     "if '*' is present, must not specify other resources without subresources");
}

void check_rule(Peek rule, const Path& at, Findings& findings) {
  const Peek operations = rule["operations"];
  check_words(operations, at / "operations", "operations", true, findings);
  for (std::size_t i = 0; i < operations.size(); ++i)
    if (!one_of(operations[i].text(), {"*", "CONNECT", "CREATE", "DELETE", "UPDATE"}))
      findings.not_supported((at / "operations")[i], operations[i].text(),
                             {"*", "CONNECT", "CREATE", "DELETE", "UPDATE"});
  check_words(rule["apiGroups"], at / "apiGroups", "API groups", true, findings);
  check_words(rule["apiVersions"], at / "apiVersions", "API versions", false, findings);
  check_resources(rule["resources"], at / "resources", findings);
  if (rule["scope"] && !one_of(rule["scope"].text(), {"*", "Cluster", "Namespaced"}))
    findings.not_supported(at / "scope", rule["scope"].text(), {"*", "Cluster", "Namespaced"});
}

constexpr std::string_view kForm = "; desired format: https://host[/path]";

void check_url(std::string_view url, const Path& at, Findings& findings) {
  const std::size_t end = url.find("://");
  const std::string_view scheme =
      end == std::string_view::npos ? std::string_view() : url.substr(0, end);
  if (scheme != "https")
    findings.invalid(at, scheme, fmt::format("'https' is the only allowed URL scheme{}", kForm));
  std::string_view rest = end == std::string_view::npos ? url : url.substr(end + 3);
  const std::size_t hash = rest.find('#');
  const std::string_view fragment =
      hash == std::string_view::npos ? std::string_view() : rest.substr(hash + 1);
  rest = rest.substr(0, hash);
  const std::size_t mark = rest.find('?');
  const std::string_view query =
      mark == std::string_view::npos ? std::string_view() : rest.substr(mark + 1);
  rest = rest.substr(0, mark);
  const std::string_view authority =
      end == std::string_view::npos ? std::string_view() : rest.substr(0, rest.find('/'));
  const std::size_t who = authority.find('@');
  const std::string_view host =
      who == std::string_view::npos ? authority : authority.substr(who + 1);
  if (host.empty()) findings.invalid(at, host, fmt::format("host must be specified{}", kForm));
  if (who != std::string_view::npos)
    findings.invalid(at, authority.substr(0, who), "user information is not permitted in the URL");
  if (!fragment.empty()) findings.invalid(at, fragment, "fragments are not permitted in the URL");
  if (!query.empty()) findings.invalid(at, query, "query parameters are not permitted in the URL");
}

void check_service(Peek service, const Path& at, Findings& findings) {
  if (service["name"].text().empty()) findings.required(at / "name", "service name is required");
  if (service["namespace"].text().empty())
    findings.required(at / "namespace", "service namespace is required");
  const std::int64_t port = service["port"].integer_or(443);
  if (port < 1 || port > 65535)
    findings.invalid(at / "port", port,
                     "port is not valid: must be between 1 and 65535, inclusive");
  const std::string_view path = service["path"].text();
  if (path.empty() || path == "/") return;
  if (path == "//") return findings.invalid(at / "path", path, "segment[0] may not be empty");
  if (!path.starts_with('/')) findings.invalid(at / "path", path, "must start with a '/'");
  std::string_view rest = path.starts_with('/') ? path.substr(1) : path;
  if (rest.ends_with('/')) rest.remove_suffix(1);
  for (int i = 0;; ++i) {
    const std::size_t slash = rest.find('/');
    const std::string_view step = rest.substr(0, slash);
    if (step.empty()) {
      findings.invalid(at / "path", path, fmt::format("segment[{}] may not be empty", i));
    } else {
      for (const std::string& each : kube::check_dns_subdomain(step))
        findings.invalid(at / "path", path, fmt::format("segment[{}]: {}", i, each));
    }
    if (slash == std::string_view::npos) break;
    rest.remove_prefix(slash + 1);
  }
}

void check_name(std::string_view name, const Path& at, Findings& findings) {
  if (name.empty()) return findings.required(at);
  const kube::Complaints complaints = kube::check_dns_subdomain(name);
  if (!complaints.empty())
    findings.invalid(at, name, fmt::format("{}", fmt::join(complaints, ",")));
  else if (std::count(name.begin(), name.end(), '.') < 2)
    findings.invalid(at, name, "should be a domain with at least three segments separated by dots");
}

void check_choice(Peek value, std::initializer_list<std::string_view> words, const Path& at,
                  Findings& findings) {
  if (value && !one_of(value.text(), words)) findings.not_supported(at, value.text(), words);
}

void check_webhook(Peek hook, bool mutating, const Path& at, Findings& findings) {
  check_name(hook["name"].text(), at / "name", findings);
  for (std::size_t i = 0; i < hook["rules"].size(); ++i)
    check_rule(hook["rules"][i], (at / "rules")[i], findings);
  check_choice(hook["failurePolicy"], {"Fail", "Ignore"}, at / "failurePolicy", findings);
  check_choice(hook["matchPolicy"], {"Equivalent", "Exact"}, at / "matchPolicy", findings);
  if (!hook["sideEffects"])
    findings.required(at / "sideEffects", "must specify one of None, NoneOnDryRun");
  check_choice(hook["sideEffects"], {"None", "NoneOnDryRun"}, at / "sideEffects", findings);
  const std::int64_t timeout = hook["timeoutSeconds"].integer_or(10);
  if (timeout < 1 || timeout > 30)
    findings.invalid(at / "timeoutSeconds", timeout,
                     "the timeout value must be between 1 and 30 seconds");
  if (hook["namespaceSelector"])
    check_label_selector(hook["namespaceSelector"], at / "namespaceSelector", findings);
  if (hook["objectSelector"])
    check_label_selector(hook["objectSelector"], at / "objectSelector", findings);
  if (mutating)
    check_choice(hook["reinvocationPolicy"], {"IfNeeded", "Never"}, at / "reinvocationPolicy",
                 findings);
  const Peek config = hook["clientConfig"];
  const Path to = at / "clientConfig";
  if (config["url"].present() == config["service"].present())
    findings.required(to, "exactly one of url or service is required");
  else if (config["url"])
    check_url(config["url"].text(), to / "url", findings);
  else
    check_service(config["service"], to / "service", findings);
}

void check_versions(Peek list, const Path& at, Findings& findings) {
  if (list.size() == 0) return findings.required(at, "must specify one of v1, v1beta1");
  bool known = false;
  std::set<std::string_view> seen;
  for (std::size_t i = 0; i < list.size(); ++i) {
    const std::string_view version = list[i].text();
    if (!seen.insert(version).second)
      findings.invalid(at[i], version, "duplicate version");
    else if (const kube::Complaints bad = kube::check_dns_1035_label(version); !bad.empty())
      findings.invalid(at[i], version, fmt::format("{}", fmt::join(bad, ",")));
    known = known || version == "v1" || version == "v1beta1";
  }
  if (!known) findings.invalid(at, as_shown(list), "must include at least one of v1, v1beta1");
}

}  // namespace

void check_webhooks(Edit& edit, bool mutating, Findings& findings) {
  const Peek hooks = Peek(edit.body())["webhooks"];
  std::set<std::string_view> names;
  for (std::size_t i = 0; i < hooks.size(); ++i) {
    const Path at = Path("webhooks")[i];
    check_webhook(hooks[i], mutating, at, findings);
    check_versions(hooks[i]["admissionReviewVersions"], at / "admissionReviewVersions", findings);
    const std::string_view name = hooks[i]["name"].text();
    if (!name.empty() && !names.insert(name).second) findings.duplicate(at / "name", name);
  }
}

}  // namespace berth::apiserver
