// SPDX-License-Identifier: Apache-2.0
#include "lab/logs.h"

#include <algorithm>
#include <charconv>
#include <utility>
#include <vector>

#include <fmt/format.h>

#include "kube/time.h"
#include "lab/command_line.h"
#include "lab/containers.h"
#include "lab/pace.h"

namespace berth::lab {
namespace {

// How much of a log is kept: what comes before is gone, as when a kubelet rotates it at 10Mi.
constexpr std::int64_t kMostPrints = 10'000;
constexpr std::size_t kMostBytes = std::size_t{10} << 20;
constexpr std::size_t kLineBytes = 32;  // that a line takes beside its text

struct Line {
  WallTime at;
  std::string text;
};

std::string decoded(std::string_view text) {
  std::string out;
  for (std::size_t i = 0; i < text.size(); ++i) {
    unsigned byte = 0;
    if (text[i] == '%' && i + 2 < text.size() &&
        std::from_chars(text.data() + i + 1, text.data() + i + 3, byte, 16).ec == std::errc()) {
      out += static_cast<char>(byte);
      i += 2;
    } else {
      out += text[i] == '+' ? ' ' : text[i];
    }
  }
  return out;
}

std::string filled(std::string_view text, const kube::Object& pod, std::string_view container,
                   std::int64_t number, WallTime at) {
  const std::string time = kube::time_text(at), count = std::to_string(number);
  const std::pair<std::string_view, std::string_view> known[] = {
      {"{time}", time}, {"{pod}", pod.name()}, {"{container}", container}, {"{n}", count}};
  std::string out;
  while (!text.empty()) {
    const std::size_t brace = std::min(text.find('{'), text.size());
    out += text.substr(0, brace);
    text.remove_prefix(brace);
    const auto* const found = std::find_if(std::begin(known), std::end(known), [&](const auto& k) {
      return text.starts_with(k.first);
    });
    const bool stands = found != std::end(known);
    out += stands ? found->second : text.substr(0, 1);
    text.remove_prefix(stands ? found->first.size() : std::min<std::size_t>(text.size(), 1));
  }
  return out;
}

void add_lines(std::vector<Line>& lines, std::string_view text, WallTime at) {
  while (!text.empty()) {
    const std::size_t end = text.find('\n');
    lines.push_back({at, std::string(text.substr(0, end))});
    if (end == text.npos) break;
    text.remove_prefix(end + 1);
  }
}

std::string annotation(const kube::Object& pod, std::string_view what, std::string_view container) {
  std::string own = pod.annotation(fmt::format("berth.dev/{}.{}", what, container));
  return own.empty() ? pod.annotation(fmt::format("berth.dev/{}", what)) : own;
}

// What is kept of all that a run from `from` to `to` prints.
std::vector<Line> printed(const kube::Object& pod, const Container& container, WallTime from,
                          WallTime to) {
  std::vector<Line> lines;
  const std::string text = annotation(pod, "log", container.name);
  if (!text.empty()) {
    const Duration every =
        kube::parse_duration(annotation(pod, "log-every", container.name)).value_or(Duration{});
    const std::int64_t last = every > Duration{} ? (to - from) / every : 0;
    std::size_t bytes = 0;
    // The newest first, until it is enough.
    for (std::int64_t n = last; n >= 0 && last - n < kMostPrints && bytes <= kMostBytes; --n) {
      const WallTime at = from + n * every;
      std::vector<Line> own;
      add_lines(own, filled(text, pod, container.name, n, at), at);
      for (auto line = own.rbegin(); line != own.rend() && bytes <= kMostBytes; ++line) {
        bytes += line->text.size() + kLineBytes;
        lines.push_back(std::move(*line));
      }
    }
    std::reverse(lines.begin(), lines.end());
    return lines;
  }
  if (const std::optional<Performance> performed = perform(container.spec)) {
    add_lines(lines, performed->output, from);
    return lines;
  }
  lines.push_back({from, fmt::format("simulated container {} of {}/{} runs {}", container.name,
                                     pod.ns(), pod.name(), container.spec["image"].text())});
  return lines;
}

tl::unexpected<Error> bad(std::string message) {
  return fail(Reason::kBadRequest, std::move(message));
}

Result<const Container*> find(const kube::Object& pod, const std::vector<Container>& all,
                              const std::string& name) {
  std::vector<std::string_view> main, init;
  for (const Container& c : all) {
    if (!name.empty() && c.name == name) return &c;
    if (c.role == Role::kMain) main.push_back(c.name);
    if (c.role == Role::kInit || c.role == Role::kSidecar) init.push_back(c.name);
  }
  if (!name.empty())
    return bad(fmt::format("container {} is not valid for pod {}", name, pod.name()));
  if (main.size() == 1 && init.empty())
    for (const Container& c : all)
      if (c.role == Role::kMain) return &c;
  std::string choices = fmt::format("[{}]", fmt::join(main, " "));
  if (!init.empty())
    choices += fmt::format(" or one of the init containers: [{}]", fmt::join(init, " "));
  return bad(fmt::format("a container name must be specified for pod {}, choose one of: {}",
                         pod.name(), choices));
}

}  // namespace

Result<LogOptions> LogOptions::parse(std::string_view target) {
  LogOptions out;
  const std::size_t mark = target.find('?');
  std::string_view rest = mark == target.npos ? std::string_view() : target.substr(mark + 1);
  while (!rest.empty()) {
    const std::size_t end = std::min(rest.find('&'), rest.size());
    const std::string_view pair = rest.substr(0, end);
    rest.remove_prefix(std::min(end + 1, rest.size()));
    const std::size_t equals = pair.find('=');
    const std::string_view key = pair.substr(0, equals);
    const std::string value = equals == pair.npos ? "" : decoded(pair.substr(equals + 1));
    const auto number = [&](std::optional<std::int64_t>& into) -> Result<Ok> {
      std::int64_t parsed = 0;
      const auto [stop, error] = std::from_chars(value.data(), value.data() + value.size(), parsed);
      if (error != std::errc() || *stop != '\0')
        return bad(fmt::format("strconv.ParseInt: parsing \"{}\": invalid syntax", value));
      into = parsed;
      return Ok{};
    };
    Result<Ok> fine = Ok{};
    if (key == "container") {
      out.container = value;
    } else if (key == "previous") {
      out.previous = value != "false" && value != "0";
    } else if (key == "timestamps") {
      out.timestamps = value != "false" && value != "0";
    } else if (key == "tailLines") {
      fine = number(out.tail_lines);
    } else if (key == "limitBytes") {
      fine = number(out.limit_bytes);
    } else if (key == "sinceSeconds") {
      fine = number(out.since_seconds);
    } else if (key == "sinceTime") {
      out.since_time = kube::parse_time(value);
    }
    if (!fine) return tl::unexpected(fine.error());
  }
  return out;
}

Result<std::string> log_text(const kube::Object& pod, const LogOptions& options, WallTime now) {
  const std::vector<Container> all = read_containers(pod);
  const Result<const Container*> found = find(pod, all, options.container);
  if (!found) return tl::unexpected(found.error());
  const Container& container = **found;
  // k8s 1.36: a pod without a node has an empty log.
  if (pod.member("spec")["nodeName"].text().empty()) return std::string();

  WallTime from = container.started, to = container.terminated() ? container.finished : now;
  if (options.previous || (container.waiting() && !container.last.empty())) {
    const json::Slice last = container.last_end();
    if (!last)
      return bad(fmt::format("previous terminated container \"{}\" in pod \"{}\" not found",
                             container.name, pod.name()));
    from = kube::parse_time(last["startedAt"].text()).value_or(now);
    to = kube::parse_time(last["finishedAt"].text()).value_or(now);
  } else if (container.waiting()) {
    return bad(fmt::format("container \"{}\" in pod \"{}\" is waiting to start: {}", container.name,
                           pod.name(),
                           container.reason.empty() ? "ContainerCreating" : container.reason));
  }
  std::vector<Line> lines = printed(pod, container, from, to);
  std::optional<WallTime> since = options.since_time;
  if (options.since_seconds) since = now - seconds_of(*options.since_seconds);
  if (since) std::erase_if(lines, [&](const Line& line) { return line.at < *since; });
  if (options.tail_lines && *options.tail_lines >= 0 &&
      static_cast<std::size_t>(*options.tail_lines) < lines.size())
    lines.erase(lines.begin(), lines.end() - static_cast<std::ptrdiff_t>(*options.tail_lines));
  std::string text;
  for (const Line& line : lines) {
    if (options.timestamps) (text += kube::micro_time_text(line.at)) += ' ';
    (text += line.text) += '\n';
  }
  if (options.limit_bytes && *options.limit_bytes >= 0 &&
      static_cast<std::size_t>(*options.limit_bytes) < text.size())
    text.resize(static_cast<std::size_t>(*options.limit_bytes));
  return text;
}

Result<kube::ApiReply> answer_log(const kube::Object& pod, std::string_view target, WallTime now) {
  const Result<LogOptions> options = LogOptions::parse(target);
  if (!options) return tl::unexpected(options.error());
  Result<std::string> text = log_text(pod, *options, now);
  if (!text) return tl::unexpected(std::move(text.error()));
  kube::ApiReply reply;
  reply.content_type = "text/plain";
  reply.body = std::move(*text);
  return reply;
}

}  // namespace berth::lab
