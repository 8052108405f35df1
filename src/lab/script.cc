// SPDX-License-Identifier: Apache-2.0
#include "lab/script.h"

#include <algorithm>
#include <charconv>

#include <fmt/format.h>

#include "kube/time.h"
#include "lab/command_line.h"
#include "lab/usage.h"

namespace berth::lab {
namespace {

constexpr std::string_view kPrefix = "berth.dev/", kKwokUsage = "kwok.x-k8s.io/usage-";

std::optional<int> whole(std::string_view text) {
  int value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc() || end != text.data() + text.size()) return std::nullopt;
  return value;
}

}  // namespace

std::optional<double> parse_factor(std::string_view text) {
  double factor = 1;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), factor);
  if (error != std::errc() || end != text.data() + text.size() || !(factor > 0) || factor > 1e6)
    return std::nullopt;
  return factor;
}

std::optional<Span> parse_span(std::string_view text) {
  const std::size_t dots = text.find("..");
  const std::optional<Duration> least = kube::parse_duration(text.substr(0, dots));
  if (!least || *least < Duration{}) return std::nullopt;
  if (dots == text.npos) return Span{std::min(*least, kAges), std::min(*least, kAges)};
  const std::optional<Duration> most = kube::parse_duration(text.substr(dots + 2));
  if (!most || *most < *least) return std::nullopt;
  return Span{std::min(*least, kAges), std::min(*most, kAges)};
}

Script::Script(const kube::Object& pod, const Pace& pace, const Random& chance, double slow)
    : pod_(pod),
      pace_(pace),
      chance_(chance),
      slow_(slow),
      annotated_(pod.annotations().raw().find(kPrefix) != std::string_view::npos) {}

std::string Script::annotation(std::string_view what, std::string_view container) const {
  if (!annotated_) return "";
  if (!container.empty()) {
    std::string own = pod_.annotation(fmt::format("{}{}.{}", kPrefix, what, container));
    if (!own.empty()) return own;
  }
  return pod_.annotation(fmt::format("{}{}", kPrefix, what));
}

Duration Script::drawn(Span span, std::string_view purpose) const {
  Duration time = span.least;
  if (span.most > span.least) {
    Random own = chance_.fork(fmt::format("{}/{}", pod_.uid(), purpose));
    time += Duration(static_cast<std::int64_t>(
        own.below(static_cast<std::uint64_t>((span.most - span.least).count()) + 1)));
  }
  return slow_ == 1 ? time : stretched(time, slow_);
}

std::optional<Duration> Script::stated(std::string_view what, std::string_view container,
                                       std::string_view purpose) const {
  const std::string text = annotation(what, container);
  if (text.empty()) return std::nullopt;
  const std::optional<Span> span = parse_span(text);
  if (!span) return std::nullopt;
  return drawn(*span, purpose);
}

Duration Script::start() const {
  if (const auto own = stated("start-delay", "", "start")) return *own;
  return drawn(pace_.start, "start");
}

Duration Script::ready(json::Slice container) const {
  const std::string name = container["name"].text();
  if (const auto own = stated("ready-delay", name, "ready")) return *own;
  const json::Slice probe = container["readinessProbe"];
  if (!probe) return drawn(pace_.ready, "ready");
  const Duration first = seconds_of(probe["initialDelaySeconds"].integer().value_or(0));
  return drawn({first + pace_.ready.least, first + pace_.ready.most}, "ready");
}

Run Script::run(json::Slice container, Role role, int restarts) const {
  const std::string name = container["name"].text();
  const std::string purpose = fmt::format("run/{}/{}", name, restarts);
  const std::optional<int> stated_code = whole(annotation("exit-code", name));
  // An annotation without a container's name is about what the pod is for.
  const bool helper = role == Role::kInit || role == Role::kSidecar;
  const auto about = [&](std::string_view what) {
    return annotated_ &&
           (!helper ? !annotation(what, name).empty()
                    : !pod_.annotation(fmt::format("{}{}.{}", kPrefix, what, name)).empty());
  };
  if (role == Role::kEphemeral) return {};

  if (about("crash-after")) {
    const std::optional<int> times = whole(annotation("crash-times", name));
    const std::optional<Duration> after = stated("crash-after", name, purpose);
    if (after && (!times || restarts < *times)) {
      std::string reason = annotation("crash-reason", name);
      const int code = stated_code.value_or(reason == "OOMKilled" ? 137 : 1);
      return {after, code, std::move(reason)};
    }
  }
  // Where a crash was stated, the code is the crash's.
  const int code = stated_code && about("exit-code") && !about("crash-after") ? *stated_code : 0;
  if (about("duration"))
    if (const auto lasts = stated("duration", name, purpose)) return {lasts, code};
  if (pace_.read_commands) {
    if (const std::optional<Performance> performed = perform(container)) {
      if (!performed->lasts) return {};
      return {drawn({*performed->lasts, *performed->lasts}, purpose),
              performed->exit_code != 0 ? performed->exit_code : code};
    }
  }
  if (role == Role::kInit) return {drawn(pace_.init, purpose), code};
  if (role == Role::kSidecar) return {};
  const std::optional<kube::OwnerRef> owner = pod_.controller();
  if (owner && owner->kind == "Job") return {drawn(pace_.job, purpose), code};
  return {};
}

Duration Script::pre_stop(json::Slice container) const {
  const json::Slice hook = container["lifecycle"]["preStop"];
  if (!hook) return {};
  Duration takes = seconds_of(hook["sleep"]["seconds"].integer().value_or(0));
  if (pace_.read_commands)
    if (const auto performed = perform(hook["exec"])) takes = performed->lasts.value_or(kAges);
  return drawn({takes, takes}, "preStop");
}

Duration Script::stop() const {
  if (const auto own = stated("stop-time", "", "stop")) return *own;
  return drawn(pace_.stop, "stop");
}

int Script::stop_code() const {
  if (const std::optional<int> own = whole(annotation("stop-exit-code"))) return *own;
  // Who serves ends well when asked to; who was in the middle of its work was interrupted.
  return pod_.member("spec")["restartPolicy"].equals("Always") ? 0 : 143;
}

bool Script::never_stops() const { return annotation("stuck-terminating") == "true"; }

std::vector<std::string> Script::complaints() const {
  std::vector<std::string> out;
  for (const auto [key, value] : pod_.annotations().members()) {
    const bool own = key.starts_with(kPrefix);
    if (!own && !key.starts_with(kKwokUsage)) continue;
    std::string_view what = key.substr(key.find('/') + 1);
    if (own) what = what.substr(0, what.find('.'));
    const std::string text = value.text();
    if (what == "usage-cpu" || what == "usage-memory")
      if (const Result<UsageModel> usage = UsageModel::parse(text); !usage)
        out.push_back(fmt::format("{}: {}", key, usage.error().message));
    if (!own) continue;
    for (const std::string_view time :
         {"start-delay", "ready-delay", "duration", "crash-after", "stop-time"})
      if (what == time && !parse_span(text))
        out.push_back(fmt::format("{}: \"{}\" is no duration; write 90s or 1m..2m", key, text));
    for (const std::string_view number : {"exit-code", "stop-exit-code", "crash-times"})
      if (what == number && !whole(text))
        out.push_back(fmt::format("{}: \"{}\" is no whole number", key, text));
    if (what == "log-every" && kube::parse_duration(text).value_or(Duration{}) <= Duration{})
      out.push_back(fmt::format("{}: \"{}\" is no duration; write 500ms or 1m", key, text));
  }
  return out;
}

}  // namespace berth::lab
