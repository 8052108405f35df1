// SPDX-License-Identifier: Apache-2.0
#include "apiserver/kinds/cells.h"

#include <map>
#include <set>

#include <fmt/format.h>

#include "kube/label_selector.h"
#include "kube/time.h"

namespace berth::apiserver {

json::Slice look_up(const kube::Object& object, std::string_view path) {
  const std::size_t dot = path.find('.');
  const std::string_view top = path.substr(0, dot);
  json::Slice at;
  if (top == "metadata")
    at = object.metadata();
  else if (top == "status")
    at = object.status();
  else
    at = object.member(top);
  while (dot != std::string_view::npos && !path.empty()) {
    const std::size_t next = path.find('.');
    if (next == std::string_view::npos) break;
    path.remove_prefix(next + 1);
    at = at[path.substr(0, path.find('.'))];
  }
  return at.is_null() ? json::Slice() : at;
}

Cell text(std::string_view path, std::string_view otherwise) {
  return [path = std::string(path), otherwise = std::string(otherwise)](const kube::Object& object,
                                                                        WallTime, json::Writer& w) {
    const std::string found = look_up(object, path).text();
    w.string(found.empty() ? otherwise : found);
  };
}

Cell integer(std::string_view path) {
  return [path = std::string(path)](const kube::Object& object, WallTime, json::Writer& w) {
    w.integer(look_up(object, path).integer().value_or(0));
  };
}

Cell boolean(std::string_view path, bool otherwise) {
  return
      [path = std::string(path), otherwise](const kube::Object& object, WallTime, json::Writer& w) {
        w.boolean(look_up(object, path).boolean(otherwise));
      };
}

Cell count(std::string_view path) {
  return [path = std::string(path)](const kube::Object& object, WallTime, json::Writer& w) {
    w.integer(static_cast<std::int64_t>(look_up(object, path).size()));
  };
}

Cell age() {
  return [](const kube::Object& object, WallTime now, json::Writer& w) {
    w.string(since(object.metadata()["creationTimestamp"], now));
  };
}

Cell shown(std::function<std::string(const kube::Object&)> f) {
  return [f = std::move(f)](const kube::Object& object, WallTime, json::Writer& w) {
    w.string(f(object));
  };
}

Cell shown_at(std::function<std::string(const kube::Object&, WallTime)> f) {
  return [f = std::move(f)](const kube::Object& object, WallTime now, json::Writer& w) {
    w.string(f(object, now));
  };
}

namespace {

Cell of_containers(std::string_view pod_spec, std::string_view field) {
  return [path = std::string(pod_spec) + ".containers", field = std::string(field)](
             const kube::Object& object, WallTime, json::Writer& w) {
    std::string out;
    for (const json::Slice container : look_up(object, path).elements())
      out += fmt::format("{}{}", out.empty() ? "" : ",", container[field].text());
    w.string(out);
  };
}

}  // namespace

Cell names_of_containers(std::string_view pod_spec) { return of_containers(pod_spec, "name"); }
Cell images_of_containers(std::string_view pod_spec) { return of_containers(pod_spec, "image"); }

Cell selector(std::string_view path) {
  return shown([path = std::string(path)](const kube::Object& object) {
    return selector_text(look_up(object, path));
  });
}

Cell labels(std::string_view path) {
  return shown([path = std::string(path)](const kube::Object& object) {
    return label_text(look_up(object, path));
  });
}

std::string human_duration(Duration d) {
  const std::int64_t seconds = d.count() / 1'000'000'000;
  if (seconds < -1) return "<invalid>";
  if (seconds < 0) return "0s";
  if (seconds < 120) return fmt::format("{}s", seconds);
  const std::int64_t minutes = seconds / 60, hours = minutes / 60, days = hours / 24;
  const auto both = [](std::int64_t large, char unit, std::int64_t small, char less) {
    return small == 0 ? fmt::format("{}{}", large, unit)
                      : fmt::format("{}{}{}{}", large, unit, small, less);
  };
  if (minutes < 10) return both(minutes, 'm', seconds % 60, 's');
  if (minutes < 180) return fmt::format("{}m", minutes);
  if (hours < 8) return both(hours, 'h', minutes % 60, 'm');
  if (hours < 48) return fmt::format("{}h", hours);
  if (hours < 24 * 8) return both(days, 'd', hours % 24, 'h');
  if (hours < 24 * 365 * 2) return fmt::format("{}d", days);
  if (hours < 24 * 365 * 8) return both(days / 365, 'y', days % 365, 'd');
  return fmt::format("{}y", days / 365);
}

std::string since(json::Slice time, WallTime now) {
  const std::string read = time.text();
  if (read.empty()) return "<unknown>";
  const std::optional<WallTime> then = kube::parse_time(read);
  return then ? human_duration(now - *then) : "<unknown>";
}

std::string label_text(json::Slice map) {
  std::map<std::string, std::string> sorted;
  for (const auto [key, value] : map.members()) sorted.emplace(key, value.text());
  if (sorted.empty()) return "<none>";
  std::string out;
  for (const auto& [key, value] : sorted)
    out += fmt::format("{}{}={}", out.empty() ? "" : ",", key, value);
  return out;
}

std::string selector_text(json::Slice label_selector) {
  const Result<kube::LabelSelector> read = kube::LabelSelector::from_json(label_selector);
  if (!read) return "<error>";
  const std::string out = read->matches_nothing() ? "" : read->text();
  return out.empty() ? "<none>" : out;
}

std::string joined(json::Slice list_of_texts, std::string_view between) {
  std::string out;
  for (const json::Slice each : list_of_texts.elements()) {
    if (!out.empty()) out += between;
    out += each.text();
  }
  return out;
}

std::string load_balancer_text(json::Slice load_balancer) {
  std::set<std::string> sorted;
  for (const json::Slice ingress : load_balancer["ingress"].elements()) {
    std::string address = ingress["ip"].text();
    if (address.empty()) address = ingress["hostname"].text();
    if (!address.empty()) sorted.insert(std::move(address));
  }
  return fmt::format("{}", fmt::join(sorted, ","));
}

bool has_condition(json::Slice conditions, std::string_view type) {
  for (const json::Slice condition : conditions.elements())
    if (condition["type"].equals(type)) return condition["status"].equals("True");
  return false;
}

}  // namespace berth::apiserver
