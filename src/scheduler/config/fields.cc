// SPDX-License-Identifier: Apache-2.0
#include "scheduler/config/fields.h"

#include <algorithm>
#include <cmath>
#include <set>

#include <fmt/format.h>

#include "base/base64.h"
#include "json/writer.h"
#include "scheduler/config/go_duration.h"

namespace berth::scheduler {
namespace {

using json::Slice;

bool is_plain(std::string_view name) {
  return !name.empty() && std::all_of(name.begin(), name.end(), [](char c) {
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_' ||
           c == '-';
  });
}

std::string_view article(json::Type type) {
  switch (type) {
    case json::Type::kArray:
      return "a list";
    case json::Type::kObject:
      return "a mapping";
    case json::Type::kString:
      return "a string";
    case json::Type::kNumber:
      return "a number";
    case json::Type::kBool:
      return "true or false";
    case json::Type::kNull:
      break;
  }
  return "nothing";
}

json::Type type_of(Slice value) {
  if (value.is_object()) return json::Type::kObject;
  if (value.is_array()) return json::Type::kArray;
  if (value.is_string()) return json::Type::kString;
  if (value.is_number()) return json::Type::kNumber;
  return value.is_bool() ? json::Type::kBool : json::Type::kNull;
}

// What was found, short enough for a message.
std::string found(Slice value) {
  const json::Type type = type_of(value);
  if (type == json::Type::kArray || type == json::Type::kObject || value.raw().size() > 60)
    return std::string(article(type));
  return std::string(value.raw());
}

std::string expected(json::Type type, Slice value) {
  std::string_view remedy;
  if (type == json::Type::kString && (value.is_number() || value.is_bool()))
    remedy = "; put it in quotes";
  if (type == json::Type::kBool && (value.equals("true") || value.equals("false")))
    remedy = "; remove the quotes";
  if (type == json::Type::kArray && value.is_object()) remedy = "; begin the entry with \"- \"";
  return fmt::format("expected {}, found {}{}", article(type), found(value), remedy);
}

}  // namespace

std::string type_name(Slice value) { return std::string(article(type_of(value))); }

std::string child(const std::string& path, std::string_view name) {
  if (!is_plain(name)) return fmt::format("{}[{}]", path, name);
  return path.empty() ? std::string(name) : fmt::format("{}.{}", path, name);
}
std::string child(const std::string& path, std::size_t index) {
  return fmt::format("{}[{}]", path, index);
}

Fields::Fields(Problems& problems, Slice value, std::string path)
    : problems_(problems), value_(value), path_(std::move(path)) {
  if (value_.is_object()) return;
  // k8s 1.36: a null among a list's objects is an empty object.
  if (value_.present() && !value_.is_null())
    problems_.add(path_, expected(json::Type::kObject, value_));
  value_ = {};
}

Slice Fields::get(std::string_view key) {
  known_.push_back(key);
  const Slice value = value_[key];
  return value.is_null() ? Slice() : value;
}
Slice Fields::any(std::string_view key) { return get(key); }
bool Fields::has(std::string_view key) { return get(key).present(); }

Slice Fields::typed(std::string_view key, json::Type type) {
  const Slice value = get(key);
  if (!value || type_of(value) == type) return value;
  complain(key, expected(type, value));
  return {};
}

bool Fields::text(std::string_view key, std::string& out) {
  const Slice value = typed(key, json::Type::kString);
  if (value) out = value.text();
  return value.present();
}

bool Fields::boolean(std::string_view key, bool& out) {
  const Slice value = typed(key, json::Type::kBool);
  if (value) out = value.boolean();
  return value.present();
}

bool Fields::number(std::string_view key, float& out) {
  const Slice value = typed(key, json::Type::kNumber);
  if (!value) return false;
  const std::optional<double> given = value.number();
  if (!given || std::abs(*given) > static_cast<double>(std::numeric_limits<float>::max())) {
    complain(key, fmt::format("{} is too large for a 32-bit float", found(value)));
    return false;
  }
  out = static_cast<float>(*given);
  return true;
}

bool Fields::integer(std::string_view key, std::int64_t& out, std::int64_t least,
                     std::int64_t most) {
  const Slice value = get(key);
  if (!value) return false;
  if (!value.is_number()) {
    const bool quoted =
        value.is_string() && value.text().find_first_not_of("0123456789") == std::string::npos;
    complain(key, fmt::format("expected a whole number, found {}{}", found(value),
                              quoted ? "; remove the quotes" : ""));
    return false;
  }
  const std::optional<std::int64_t> given = value.integer();
  if (!given || *given < least || *given > most) {
    const bool fraction = !given && value.number() && std::abs(*value.number()) < 9e15;
    complain(key, fraction ? fmt::format("expected a whole number, found {}", found(value))
                           : fmt::format("{} is not within {} and {}", found(value), least, most));
    return false;
  }
  out = *given;
  return true;
}

bool Fields::duration(std::string_view key, Duration& out) {
  const Slice value = get(key);
  if (!value) return false;
  if (!value.is_string()) {
    complain(key, fmt::format("expected a duration with its unit such as \"15s\", found {}",
                              found(value)));
    return false;
  }
  const std::optional<Duration> given = parse_go_duration(value.text());
  if (!given) {
    complain(key, fmt::format("{} is not a duration; write it like \"15s\", \"1m30s\" or \"500ms\"",
                              found(value)));
    return false;
  }
  out = *given;
  return true;
}

bool Fields::bytes(std::string_view key, std::string& out) {
  std::string encoded;
  if (!text(key, encoded)) return false;
  std::optional<std::string> decoded = from_base64(encoded);
  if (!decoded) {
    complain(key, "is not base64; encode the PEM file with `base64 -w0`");
    return false;
  }
  out = std::move(*decoded);
  return true;
}

std::vector<std::string> Fields::texts(std::string_view key) {
  std::vector<std::string> out;
  each(key, [&](Slice element, const std::string& place) {
    if (!element.is_string() && !element.is_null())
      problems_.add(place, expected(json::Type::kString, element));
    out.push_back(element.text());
  });
  return out;
}

void Fields::finish() {
  if (!value_) return;
  std::set<std::string> seen;
  for (const auto& [key, value] : value_.members()) {
    const std::string name(key);
    if (!seen.insert(name).second) {
      problems_.add(path_, path(name),
                    fmt::format("the field {} comes twice; remove one", json::quoted(name)));
    } else if (std::find(known_.begin(), known_.end(), name) == known_.end()) {
      std::string remedy = did_you_mean(name, known_);
      if (remedy.empty()) remedy = "; remove it";
      problems_.add(path_, path(name),
                    fmt::format("unknown field {}{}", json::quoted(name), remedy));
    }
  }
}

}  // namespace berth::scheduler
