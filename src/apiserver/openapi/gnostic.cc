// SPDX-License-Identifier: Apache-2.0
#include "apiserver/openapi/gnostic.h"

#include <bit>
#include <string_view>
#include <utility>

namespace berth::apiserver {
namespace {

using json::Slice;

// A message under construction; numbers are those of OpenAPIv2.proto.
class Proto {
 public:
  Proto& bytes(unsigned number, std::string_view content) {
    varint(number << 3 | 2);
    varint(content.size());
    out_ += content;
    return *this;
  }
  Proto& message(unsigned number, const Proto& inner) { return bytes(number, inner.out_); }
  Proto& boolean(unsigned number, bool value) { return integer(number, value ? 1 : 0); }
  Proto& integer(unsigned number, std::int64_t value) {
    varint(number << 3);
    varint(static_cast<std::uint64_t>(value));
    return *this;
  }
  Proto& real(unsigned number, double value) {
    varint(number << 3 | 1);
    const auto bits = std::bit_cast<std::uint64_t>(value);
    for (unsigned i = 0; i < 8; ++i) out_ += static_cast<char>(bits >> (8 * i) & 0xff);
    return *this;
  }
  std::string take() { return std::move(out_); }

 private:
  void varint(std::uint64_t value) {
    for (; value >= 0x80; value >>= 7) out_ += static_cast<char>(value | 0x80);
    out_ += static_cast<char>(value);
  }
  std::string out_;
};

// Anything, as YAML; and JSON is YAML.
Proto any(Slice value) { return std::move(Proto().bytes(2, value.raw())); }

Proto named_any(std::string_view name, Slice value) {
  return std::move(Proto().bytes(1, name).message(2, any(value)));
}

Proto schema(Slice);

Proto named_schema(std::string_view name, Slice value) {
  return std::move(Proto().bytes(1, name).message(2, schema(value)));
}

Proto named_schemas(Slice members) {
  Proto out;
  for (const auto [name, value] : members.members()) out.message(1, named_schema(name, value));
  return out;
}

Proto type_item(Slice value) {
  Proto out;
  if (value.is_array())
    for (const Slice each : value.elements()) out.bytes(1, each.text());
  else
    out.bytes(1, value.text());
  return out;
}

Proto additional(Slice value) {
  Proto out;
  if (value.is_bool()) return std::move(out.boolean(2, value.boolean()));
  return std::move(out.message(1, schema(value)));
}

constexpr std::pair<std::string_view, unsigned> kTexts[] = {
    {"$ref", 1}, {"format", 2}, {"title", 3}, {"description", 4}, {"pattern", 13}};
constexpr std::pair<std::string_view, unsigned> kReals[] = {
    {"multipleOf", 6}, {"maximum", 7}, {"minimum", 9}};
constexpr std::pair<std::string_view, unsigned> kFlags[] = {
    {"exclusiveMaximum", 8}, {"exclusiveMinimum", 10}, {"uniqueItems", 16}, {"readOnly", 27}};
constexpr std::pair<std::string_view, unsigned> kCounts[] = {
    {"maxLength", 11}, {"minLength", 12},     {"maxItems", 14},
    {"minItems", 15},  {"maxProperties", 17}, {"minProperties", 18}};

template <std::size_t N>
unsigned number_of(const std::pair<std::string_view, unsigned> (&known)[N], std::string_view key) {
  for (const auto& [name, number] : known)
    if (name == key) return number;
  return 0;
}

Proto schema(Slice of) {
  Proto out;
  for (const auto [key, value] : of.members()) {
    if (const unsigned text = number_of(kTexts, key)) {
      out.bytes(text, value.text());
    } else if (const unsigned real = number_of(kReals, key)) {
      out.real(real, value.number().value_or(0));
    } else if (const unsigned flag = number_of(kFlags, key)) {
      out.boolean(flag, value.boolean());
    } else if (const unsigned count = number_of(kCounts, key)) {
      out.integer(count, value.integer().value_or(0));
    } else if (key == "default") {
      out.message(5, any(value));
    } else if (key == "required") {
      for (const Slice each : value.elements()) out.bytes(19, each.text());
    } else if (key == "enum") {
      for (const Slice each : value.elements()) out.message(20, any(each));
    } else if (key == "additionalProperties") {
      out.message(21, additional(value));
    } else if (key == "type") {
      out.message(22, type_item(value));
    } else if (key == "items") {
      out.message(23, std::move(Proto().message(1, schema(value))));
    } else if (key == "allOf") {
      for (const Slice each : value.elements()) out.message(24, schema(each));
    } else if (key == "properties") {
      out.message(25, named_schemas(value));
    } else if (key == "example") {
      out.message(30, any(value));
    } else if (key.starts_with("x-")) {
      out.message(31, named_any(key, value));
    }
  }
  return out;
}

// ParametersItem: a body, or something in the path or query.
Proto parameter(Slice of) {
  const std::string in = of["in"].text();
  Proto own;
  if (in == "body") {
    own.bytes(2, of["name"].text()).bytes(3, in);
    own.boolean(4, of["required"].boolean()).message(5, schema(of["schema"]));
    return std::move(Proto().message(1, std::move(Proto().message(1, own))));
  }
  const bool path = in == "path";
  own.boolean(1, of["required"].boolean()).bytes(2, in).bytes(4, of["name"].text());
  own.bytes(path ? 5 : 6, of["type"].text()).boolean(path ? 19 : 20, of["uniqueItems"].boolean());
  const Proto plain = std::move(Proto().message(path ? 4 : 3, own));
  return std::move(Proto().message(1, std::move(Proto().message(2, plain))));
}

Proto responses(Slice of) {
  Proto out;
  for (const auto [code, value] : of.members()) {
    Proto response;
    response.bytes(1, value["description"].text());
    if (const Slice held = value["schema"])
      response.message(2, std::move(Proto().message(1, schema(held))));
    const Proto wrapped = std::move(Proto().message(1, response));
    out.message(1, std::move(Proto().bytes(1, code).message(2, wrapped)));
  }
  return out;
}

Proto operation(Slice of) {
  Proto out;
  out.bytes(5, of["operationId"].text());
  for (const Slice each : of["produces"].elements()) out.bytes(6, each.text());
  for (const Slice each : of["consumes"].elements()) out.bytes(7, each.text());
  for (const Slice each : of["parameters"].elements()) out.message(8, parameter(each));
  out.message(9, responses(of["responses"]));
  for (const auto [key, value] : of.members())
    if (key.starts_with("x-")) out.message(13, named_any(key, value));
  return out;
}

Proto path_item(Slice of) {
  constexpr std::pair<std::string_view, unsigned> kMethods[] = {
      {"get", 2}, {"put", 3}, {"post", 4}, {"delete", 5}, {"patch", 8}};
  Proto out;
  for (const auto [key, value] : of.members()) {
    if (const unsigned method = number_of(kMethods, key)) out.message(method, operation(value));
    if (key == "parameters")
      for (const Slice each : value.elements()) out.message(9, parameter(each));
  }
  return out;
}

}  // namespace

std::string gnostic_document(Slice document) {
  Proto paths;
  for (const auto [path, item] : document["paths"].members())
    paths.message(2, std::move(Proto().bytes(1, path).message(2, path_item(item))));
  Proto info;
  info.bytes(1, document["info"]["title"].text()).bytes(2, document["info"]["version"].text());
  Proto out;
  out.bytes(1, document["swagger"].text()).message(2, info).message(8, paths);
  out.message(9, named_schemas(document["definitions"]));
  return out.take();
}

}  // namespace berth::apiserver
