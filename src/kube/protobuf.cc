// SPDX-License-Identifier: Apache-2.0
#include "kube/protobuf.h"

#include <algorithm>
#include <bit>
#include <cstring>
#include <map>
#include <span>
#include <vector>

#include <fmt/format.h>

#include "base/base64.h"
#include "json/cursor.h"
#include "json/writer.h"
#include "kube/schema.h"
#include "kube/schema/messages.h"
#include "kube/time.h"

namespace berth::kube {
namespace {

using json::Field;
using json::FieldType;
using json::Message;
using json::Shape;

constexpr std::string_view kMagic("k8s\0", 4);

enum Wire : std::uint8_t { kVarint = 0, kFixed64 = 1, kBytes = 2, kFixed32 = 5 };

// One tag and what follows it.
struct Item {
  std::uint32_t number = 0;
  std::uint8_t wire = 0;
  std::uint64_t integer = 0;    // kVarint, kFixed64, kFixed32
  std::string_view bytes = {};  // kBytes
};

// Reads one message's items in order. Never past the end of its bytes.
class Reader {
 public:
  explicit Reader(std::string_view bytes) : rest_(bytes) {}

  // False at the end, or with problem() set.
  bool next(Item& item) {
    if (rest_.empty() || problem_ != nullptr) return false;
    std::uint64_t tag = 0;
    if (!varint(tag)) return false;
    item = {.number = static_cast<std::uint32_t>(tag >> 3),
            .wire = static_cast<std::uint8_t>(tag & 7)};
    if (tag >> 32 != 0 || item.number == 0 || item.number >= 1u << 29)
      return fail("proto: illegal tag");
    switch (item.wire) {
      case kVarint:
        return varint(item.integer);
      case kFixed64:
        return fixed(8, item.integer);
      case kFixed32:
        return fixed(4, item.integer);
      case kBytes: {
        std::uint64_t length = 0;
        if (!varint(length)) return false;
        if (length > rest_.size()) return fail("unexpected EOF");
        item.bytes = rest_.substr(0, length);
        rest_.remove_prefix(length);
        return true;
      }
      default:
        return fail("proto: illegal wireType");
    }
  }
  bool varint(std::uint64_t& out) {
    out = 0;
    for (unsigned shift = 0; shift < 64; shift += 7) {
      if (rest_.empty()) return fail("unexpected EOF");
      const auto byte = static_cast<unsigned char>(rest_.front());
      rest_.remove_prefix(1);
      out |= static_cast<std::uint64_t>(byte & 0x7f) << shift;
      if (byte < 0x80) return true;
    }
    return fail("proto: integer overflow");
  }
  bool at_end() const { return rest_.empty(); }
  const char* problem() const { return problem_; }

 private:
  bool fixed(std::size_t size, std::uint64_t& out) {
    if (rest_.size() < size) return fail("unexpected EOF");
    for (std::size_t i = size; i-- > 0;) out = out << 8 | static_cast<unsigned char>(rest_[i]);
    rest_.remove_prefix(size);
    return true;
  }
  bool fail(const char* problem) {
    problem_ = problem;
    return false;
  }

  std::string_view rest_;
  const char* problem_ = nullptr;
};

// Does a field stand under this number inside of these wrappers?
bool stands_at(const Field& field, std::span<const std::uint32_t> within, std::uint32_t number) {
  for (std::size_t i = 0; i < within.size(); ++i)
    if (field.wrappers[i] != within[i]) return false;
  const bool innermost = within.size() == 2 || field.wrappers[within.size()] == 0;
  return innermost && field.number == number;
}

bool is_wrapper(const Field& field, std::span<const std::uint32_t> within, std::uint32_t number) {
  if (within.size() == 2 || field.wrappers[within.size()] != number) return false;
  for (std::size_t i = 0; i < within.size(); ++i)
    if (field.wrappers[i] != within[i]) return false;
  return true;
}

using Spans = std::span<const std::string_view>;

// Walks messages by their tables and writes them. The pieces of a message that came in several are
// read one after the other, which is what protobuf calls merging.
class Transcoder {
 public:
  explicit Transcoder(const ProtobufLimits& limits) : limits_(limits) {}

  void document(std::string_view bytes, const Message& type, std::string_view kind,
                std::string_view api_version) {
    out_.object().member("kind").string(kind).member("apiVersion").string(api_version);
    fields(Spans(&bytes, 1), type);
    out_.end();
  }
  const std::string& problem() const { return problem_; }
  std::string take() { return out_.take(); }

 private:
  struct Found {
    std::size_t field;  // in the table
    Item item;
  };

  bool fail(std::string problem) {
    if (problem_.empty()) problem_ = std::move(problem);
    return false;
  }
  bool ok() const { return problem_.empty(); }

  bool deeper() {
    if (++depth_ > limits_.max_depth) fail("proto: nested too deep");
    return ok();
  }

  // False when it is used up, or something is wrong.
  bool next(Reader& reader, Item& item) {
    if (!ok()) return false;
    if (reader.next(item)) return ++values_ <= limits_.max_values || fail("proto: too many values");
    if (reader.problem() != nullptr) fail(reader.problem());
    return false;
  }

  void collect(std::string_view bytes, const Message& type, std::span<const std::uint32_t> within,
               std::vector<Found>& found) {
    Reader reader(bytes);
    for (Item item; next(reader, item);) {
      for (std::size_t i = 0; i < type.fields.size(); ++i) {
        const Field& field = type.fields[i];
        if (stands_at(field, within, item.number)) {
          found.push_back({i, item});
          break;
        }
        if (is_wrapper(field, within, item.number)) {
          if (item.wire != kBytes) {
            fail(fmt::format("proto: wrong wireType = {} for field {}", item.wire, field.name));
            break;
          }
          std::vector<std::uint32_t> inner(within.begin(), within.end());
          inner.push_back(item.number);
          collect(item.bytes, type, inner, found);
          break;
        }
      }
    }
  }

  void fields(Spans pieces, const Message& type) {
    if (!deeper()) return;
    std::vector<Found> found;
    for (const std::string_view piece : pieces) collect(piece, type, {}, found);
    std::stable_sort(found.begin(), found.end(),
                     [](const Found& a, const Found& b) { return a.field < b.field; });
    for (std::size_t from = 0, to; from < found.size() && ok(); from = to) {
      for (to = from; to < found.size() && found[to].field == found[from].field;) ++to;
      member(type.fields[found[from].field], std::span(found).subspan(from, to - from));
    }
    --depth_;
  }

  void member(const Field& field, std::span<const Found> found) {
    if (field.shape == Shape::kList) return list(field, found);
    if (field.shape == Shape::kMap) return map(field, found);
    if (!field.optional && field.omit_empty && is_zero(field, found.back().item)) return;
    out_.member(field.name);
    if (field.type != FieldType::kMessage || found.size() == 1)
      return value(field, found.back().item);
    std::vector<std::string_view> pieces;
    for (const Found& each : found) {
      expect(field, each.item, kBytes);
      pieces.push_back(each.item.bytes);
    }
    out_.object();
    fields(pieces, *field.message);
    out_.end();
  }

  static bool is_zero(const Field& field, const Item& item) {
    switch (field.type) {
      case FieldType::kString:
      case FieldType::kBytes:
        return item.wire == kBytes && item.bytes.empty();
      case FieldType::kTime:
      case FieldType::kMicroTime:
      case FieldType::kMessage:
        return item.wire == kBytes && item.bytes.empty();
      case FieldType::kBool:
      case FieldType::kInteger:
      case FieldType::kNumber:
        return item.wire != kBytes && item.integer == 0;
      default:
        return false;
    }
  }

  void list(const Field& field, std::span<const Found> found) {
    out_.member(field.name).array();
    for (const Found& each : found) {
      const bool packed = field.type == FieldType::kInteger && each.item.wire == kBytes;
      if (!packed) {
        value(field, each.item);
        continue;
      }
      Reader reader(each.item.bytes);
      for (Item one{.wire = kVarint}; ok() && !reader.at_end();) {
        if (!reader.varint(one.integer)) fail(reader.problem());
        if (++values_ > limits_.max_values) fail("proto: too many values");
        if (ok()) value(field, one);
      }
    }
    out_.end();
  }

  // Members by name, as Go writes maps; the last of a name counts.
  void map(const Field& field, std::span<const Found> found) {
    std::map<std::string_view, Item> members;
    for (const Found& each : found) {
      if (!expect(field, each.item, kBytes)) return;
      std::string_view key;
      Item held{.wire = kBytes};
      Reader reader(each.item.bytes);
      for (Item part; next(reader, part);) {
        if (part.number == 1 && part.wire == kBytes) key = part.bytes;
        if (part.number == 2) held = part;
      }
      members.insert_or_assign(key, held);
    }
    out_.member(field.name).object();
    for (const auto& [key, held] : members) {
      if (!ok()) break;
      out_.member(key);
      value(field, held);
    }
    out_.end();
  }

  bool expect(const Field& field, const Item& item, Wire wire) {
    return item.wire == wire ||
           fail(fmt::format("proto: wrong wireType = {} for field {}", item.wire, field.name));
  }

  // Writes one value in any case: what is written after a problem is never seen.
  void value(const Field& field, const Item& item) {
    switch (field.type) {
      case FieldType::kBool:
        expect(field, item, kVarint);
        out_.boolean(item.integer != 0);
        return;
      case FieldType::kInteger:
        expect(field, item, kVarint);
        out_.integer(as_integer(field, item.integer));
        return;
      case FieldType::kNumber:
        expect(field, item, kFixed64);
        out_.number(std::bit_cast<double>(item.integer));
        return;
      default:
        expect(field, item, kBytes);
        bytes_value(field, item.bytes);
    }
  }

  void bytes_value(const Field& field, std::string_view bytes) {
    switch (field.type) {
      case FieldType::kString:
        out_.string(bytes);
        return;
      case FieldType::kBytes:
        out_.string(base64(bytes));
        return;
      case FieldType::kMessage:
        out_.object();
        fields(Spans(&bytes, 1), *field.message);
        out_.end();
        return;
      case FieldType::kQuantity:
        out_.string(last(bytes, 1).bytes);
        return;
      case FieldType::kIntOrString:
        if (last(bytes, 1).integer == 0)
          out_.integer(static_cast<std::int32_t>(last(bytes, 2).integer));
        else
          out_.string(last(bytes, 3).bytes);
        return;
      case FieldType::kTime:
      case FieldType::kMicroTime:
        return time(field, bytes);
      case FieldType::kDuration:
        out_.string(duration_text(Duration(static_cast<std::int64_t>(last(bytes, 1).integer))));
        return;
      case FieldType::kFieldsV1:
        return raw(last(bytes, 1).bytes);
      default:
        if (field.message == nullptr) return raw(last(bytes, 1).bytes);
        return one_of(*field.message, bytes);
    }
  }

  // The last item of that number; what has none is empty.
  Item last(std::string_view message, std::uint32_t number) {
    Item found;
    Reader reader(message);
    for (Item item; next(reader, item);)
      if (item.number == number) found = item;
    return found;
  }

  // k8s 1.36: an absent time is an empty message, and fractions of a plain Time are dropped.
  void time(const Field& field, std::string_view bytes) {
    if (bytes.empty()) {
      out_.null();
      return;
    }
    constexpr std::int64_t kMost = 9'000'000'000;  // the year 2255; what we can tell ends in 2262
    const auto seconds =
        std::clamp(static_cast<std::int64_t>(last(bytes, 1).integer), -kMost, kMost);
    const auto nanos = static_cast<std::int32_t>(last(bytes, 2).integer);
    const bool micro = field.type == FieldType::kMicroTime;
    const WallTime at{seconds * 1'000'000'000 + (micro ? nanos : 0)};
    out_.string(micro ? micro_time_text(at) : time_text(at));
  }

  // JSON inside of protobuf.
  void raw(std::string_view text) {
    if (text.empty()) {
      out_.null();
      return;
    }
    const unsigned left = limits_.max_depth - std::min(depth_, limits_.max_depth);
    if (const auto good = json::check(text, {.max_bytes = limits_.max_bytes, .max_depth = left});
        !good)
      fail(good.error().message);
    out_.raw(text);
  }

  // A message that JSON shows as one of its fields: ExtraValue and the either-or types of JSON
  // schemas, whose Go types write themselves.
  void one_of(const Message& type, std::string_view bytes) {
    std::vector<Found> found;
    collect(bytes, type, {}, found);
    const auto named = [&](std::string_view name) {
      std::vector<Found> those;
      for (const Found& each : found)
        if (type.fields[each.field].name == name) those.push_back(each);
      return those;
    };
    const auto elements = [&](std::string_view name) {
      const auto those = named(name);
      if (those.empty()) return false;
      out_.array();
      for (const Found& each : those) value(*type.find(name), each.item);
      out_.end();
      return true;
    };
    deeper();
    const auto schemas = named("schema");
    const auto allows = named("allows");
    if (!ok()) {
      out_.null();
    } else if (elements("items") || elements("jSONSchemas") || elements("property")) {
      // written
    } else if (!schemas.empty()) {
      value(*type.find("schema"), schemas.back().item);
    } else if (type.find("allows") != nullptr) {
      out_.boolean(!allows.empty() && allows.back().item.integer != 0);
    } else {
      out_.null();
    }
    --depth_;
  }

  static std::int64_t as_integer(const Field& field, std::uint64_t value) {
    if (field.go_type == "int64") return static_cast<std::int64_t>(value);
    return static_cast<std::int32_t>(value);
  }

  const ProtobufLimits& limits_;
  json::Writer out_;
  std::string problem_;
  unsigned depth_ = 0;
  std::size_t values_ = 0;
};

// runtime.Unknown.
struct Envelope {
  std::string_view api_version, kind, raw, encoding;
};

Result<Envelope> open(std::string_view bytes) {
  Envelope envelope;
  Reader reader(bytes);
  Item item;
  while (reader.next(item)) {
    if (item.number == 1 && item.wire == kBytes) {
      Reader type(item.bytes);
      for (Item part; type.next(part);) {
        if (part.number == 1) envelope.api_version = part.bytes;
        if (part.number == 2) envelope.kind = part.bytes;
      }
      if (type.problem() != nullptr) return fail(Reason::kBadRequest, type.problem());
    }
    if (item.number == 2) envelope.raw = item.bytes;
    if (item.number == 3) envelope.encoding = item.bytes;
  }
  if (reader.problem() != nullptr) return fail(Reason::kBadRequest, reader.problem());
  return envelope;
}

const Message* message_of(std::string_view api_version, std::string_view kind) {
  // Every group has this one as its own.
  if (kind == "DeleteOptions")
    return find_message("io.k8s.apimachinery.pkg.apis.meta.v1.DeleteOptions");
  const std::size_t slash = api_version.find('/');
  const std::string_view group =
      slash == std::string_view::npos ? "" : api_version.substr(0, slash);
  const std::string_view version =
      slash == std::string_view::npos ? api_version : api_version.substr(slash + 1);
  for (const schema::KindRow& row : schema::kKinds)
    if (row.group == group && row.version == version && row.kind == kind) return row.message;
  return nullptr;
}

}  // namespace

bool is_protobuf(std::string_view body) { return body.starts_with(kMagic); }

Result<std::string> protobuf_to_json(std::string_view body, std::optional<KindId> otherwise,
                                     const ProtobufLimits& limits) {
  if (body.size() > limits.max_bytes)
    return fail(Reason::kRequestEntityTooLarge,
                fmt::format("the body has {} bytes, more than the {} that are taken", body.size(),
                            limits.max_bytes));
  if (!is_protobuf(body))
    return fail(Reason::kBadRequest,
                "provided data does not appear to be a protobuf message, expected prefix [107 56 "
                "115 0]");
  const Result<Envelope> envelope = open(body.substr(kMagic.size()));
  if (!envelope) return tl::unexpected(envelope.error());
  if (!envelope->encoding.empty())
    return fail(Reason::kBadRequest, "an encoded body inside of protobuf is not supported");
  std::string kind(envelope->kind), api_version(envelope->api_version);
  if (otherwise) {
    if (kind.empty()) kind = kind_of(*otherwise).kind;
    if (api_version.empty()) api_version = kind_of(*otherwise).api_version();
  }
  const Message* type = message_of(api_version, kind);
  if (type == nullptr)
    return fail(Reason::kBadRequest, fmt::format("no kind {} is registered for version {}",
                                                 json::quoted(kind), json::quoted(api_version)));
  Transcoder transcoder(limits);
  transcoder.document(envelope->raw, *type, kind, api_version);
  if (!transcoder.problem().empty()) return fail(Reason::kBadRequest, transcoder.problem());
  return transcoder.take();
}

}  // namespace berth::kube
