// SPDX-License-Identifier: Apache-2.0
#include "kube/cel/type.h"

#include <algorithm>
#include <array>

#include <fmt/format.h>

namespace berth::cel {

std::string Type::text() const {
  switch (kind) {
    case Kind::kDyn:
      return "dyn";
    case Kind::kNull:
      return "null";
    case Kind::kBool:
      return "bool";
    case Kind::kInt:
      return "int";
    case Kind::kUint:
      return "uint";
    case Kind::kDouble:
      return "double";
    case Kind::kString:
      return "string";
    case Kind::kBytes:
      return "bytes";
    case Kind::kDuration:
      return "google.protobuf.Duration";
    case Kind::kTimestamp:
      return "google.protobuf.Timestamp";
    case Kind::kQuantity:
      return "kubernetes.Quantity";
    case Kind::kType:
      return "type";
    case Kind::kList:
      return fmt::format("list({})", element == nullptr ? "dyn" : element->text());
    case Kind::kMap:
      return fmt::format("map(string, {})", element == nullptr ? "dyn" : element->text());
    case Kind::kObject:
      return "object";
    case Kind::kError:
      return "error";
  }
  return "";
}

TypePtr simple(Kind kind) {
  static const auto all = [] {
    std::array<TypePtr, static_cast<std::size_t>(Kind::kError) + 1> out;
    for (std::size_t i = 0; i < out.size(); ++i)
      out[i] = std::make_shared<const Type>(Type{.kind = static_cast<Kind>(i)});
    return out;
  }();
  return all[static_cast<std::size_t>(kind)];
}
TypePtr list_of(TypePtr element, bool unordered) {
  return std::make_shared<const Type>(
      Type{.kind = Kind::kList, .element = std::move(element), .unordered = unordered});
}
TypePtr map_of(TypePtr values) {
  return std::make_shared<const Type>(Type{.kind = Kind::kMap, .element = std::move(values)});
}

// k8s 1.36: what is no identifier is spelt out, and words of the language are fenced.
std::string member_name(std::string_view key) {
  static constexpr std::string_view kReserved[] = {
      "true",     "false",   "null",      "in",       "as",  "break",  "const",
      "continue", "else",    "for",       "function", "if",  "import", "let",
      "loop",     "package", "namespace", "return",   "var", "void",   "while"};
  if (key.empty() || (key[0] >= '0' && key[0] <= '9')) return "";
  if (std::find(std::begin(kReserved), std::end(kReserved), key) != std::end(kReserved))
    return fmt::format("__{}__", key);
  std::string out;
  for (std::size_t i = 0; i < key.size(); ++i) {
    const char c = key[i];
    if (c == '_' && i + 1 < key.size() && key[i + 1] == '_') {
      out += "__underscores__";
      ++i;
    } else if (c == '.') {
      out += "__dot__";
    } else if (c == '-') {
      out += "__dash__";
    } else if (c == '/') {
      out += "__slash__";
    } else if (c == '_' || (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') ||
               (c >= '0' && c <= '9')) {
      out += c;
    } else {
      return "";
    }
  }
  return out;
}

}  // namespace berth::cel
