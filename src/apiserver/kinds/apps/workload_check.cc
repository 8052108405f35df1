// SPDX-License-Identifier: Apache-2.0
#include "apiserver/kinds/apps/workload_check.h"

#include <algorithm>
#include <charconv>

#include <fmt/format.h>

#include "apiserver/kinds/core/pod_check.h"
#include "apiserver/kinds/rules.h"
#include "json/slice.h"
#include "kube/label_selector.h"

namespace berth::apiserver {
namespace {

bool is_percent(std::string_view text) {
  return text.size() > 1 && text.back() == '%' &&
         std::all_of(text.begin(), text.end() - 1, [](char c) { return c >= '0' && c <= '9'; });
}

}  // namespace

void check_selector(Peek selector, std::string_view kind, const Path& at, Findings& findings) {
  if (!selector) return findings.required(at);
  check_label_selector(selector, at, findings);
  if (selector["matchLabels"].size() + selector["matchExpressions"].size() == 0)
    findings.invalid(at, shown_selector(selector),
                     fmt::format("empty selector is invalid for {}", kind));
}

bool selects(Peek selector, Peek labels) {
  if (!selector) return false;
  const std::string text = json::print(*selector.value());
  const Result<kube::LabelSelector> read = kube::LabelSelector::from_json(json::Slice(text));
  if (!read) return true;  // told elsewhere
  return read->matches(kube::LabelLookup([&](std::string_view key) {
    const Peek value = labels[key];
    return value ? std::optional(value.text()) : std::nullopt;
  }));
}

void check_always_restarts(Peek pod_template, std::string_view kind, const Path& at,
                           Findings& findings) {
  const Peek spec = pod_template["spec"];
  if (!spec["restartPolicy"].is("Always"))
    findings.not_supported(at / "spec" / "restartPolicy", spec["restartPolicy"].text(), {"Always"});
  if (spec["activeDeadlineSeconds"])
    findings.forbidden(at / "spec" / "activeDeadlineSeconds",
                       fmt::format("activeDeadlineSeconds in {} is not Supported", kind));
}

void check_restarting_template(Peek spec, std::string_view kind, const Path& spec_path,
                               Findings& findings) {
  const Peek pod_template = spec["template"], selector = spec["selector"];
  const Path at = spec_path / "template";
  if (!is_readable(selector))
    return findings.invalid(spec_path / "selector", shown_selector(selector),
                            "invalid label selector");
  const Peek labels = pod_template["metadata"]["labels"];
  const bool empty = selector["matchLabels"].size() + selector["matchExpressions"].size() == 0;
  if ((!selector || !empty) && !selects(selector, labels))
    findings.invalid(at / "metadata" / "labels", shown_map(labels),
                     "`selector` does not match template `labels`");
  check_pod_template(pod_template, at, findings);
  check_always_restarts(pod_template, kind, at, findings);
}

void check_int_or_percent(Peek value, const Path& at, Findings& findings) {
  if (!value.is_text()) return must_not_be_negative(value.integer_or(0), at, findings);
  if (!is_percent(value.text()))
    findings.invalid(at, value.text(),
                     "a valid percent string must be a numeric string followed by an ending '%' "
                     "(e.g. '1%',  or '93%', regex used for validation is '[0-9]+%')");
}

std::int64_t number_or_percent(Peek value) {
  if (!value.is_text()) return value.integer_or(0);
  std::int64_t number = 0;
  const std::string_view text = value.text();
  std::from_chars(text.data(), text.data() + text.size(), number);
  return number;
}

void check_at_most_all(Peek value, const Path& at, Findings& findings) {
  if (value.is_text() && is_percent(value.text()) && number_or_percent(value) > 100)
    findings.invalid(at, value.text(), "must not be greater than 100%");
}

}  // namespace berth::apiserver
