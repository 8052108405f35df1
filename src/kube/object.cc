// SPDX-License-Identifier: Apache-2.0
#include "kube/object.h"

#include <atomic>
#include <charconv>
#include <cstring>
#include <limits>
#include <memory>
#include <new>
#include <tuple>
#include <utility>

#include <fmt/format.h>

#include "base/check.h"
#include "json/cursor.h"
#include "kube/time.h"

namespace berth::kube {
namespace {

// Bytes with a count in front, shared by the versions of an object that have them in common.
struct Segment {
  std::atomic<std::uint32_t> references{1};
  std::uint32_t size = 0;

  const char* data() const { return reinterpret_cast<const char*>(this + 1); }
  char* data() { return reinterpret_cast<char*>(this + 1); }
  std::string_view view() const { return {data(), size}; }

  static Segment* make(std::size_t size) {
    auto* segment = new (::operator new(sizeof(Segment) + size)) Segment;
    segment->size = static_cast<std::uint32_t>(size);
    return segment;
  }
  static Segment* share(Segment* s) {
    if (s != nullptr) s->references.fetch_add(1, std::memory_order_relaxed);
    return s;
  }
  static void release(Segment* s) {
    if (s == nullptr || s->references.fetch_sub(1, std::memory_order_acq_rel) != 1) return;
    s->~Segment();
    ::operator delete(s);
  }
};

struct Span {
  std::uint32_t at = 0, size = 0;
};

constexpr std::int64_t kNever = std::numeric_limits<std::int64_t>::min();

// The members of metadata that are looked up so often that their places are kept.
enum Place : unsigned {
  kName,
  kNamespaceName,
  kUid,
  kLabels,
  kAnnotations,
  kOwners,
  kFinalizers,
  kPlaces
};

}  // namespace

struct Doc {
  std::atomic<std::uint32_t> references{1};
  KindId kind{};
  Revision revision = 0;
  std::int64_t generation = 0;
  std::int64_t created = kNever, deleted = kNever;
  std::array<Span, kPlaces> places{};  // in metadata; strings without their quotes
  Segment* metadata = nullptr;
  Segment* body = nullptr;  // an object of all other members: {"spec":{…},"data":{…}}
  Segment* status = nullptr;

  Doc() = default;
  Doc(const Doc&) = delete;
  Doc& operator=(const Doc&) = delete;
  ~Doc() {
    Segment::release(metadata);
    Segment::release(body);
    Segment::release(status);
  }
  std::string_view place(Place p) const {
    if (metadata == nullptr) return {};
    return metadata->view().substr(places[p].at, places[p].size);
  }
};
static_assert(sizeof(Doc) <= 144);

namespace {

// What one pass over a document finds; views into its bytes.
struct Draft {
  std::string_view kind, api_version;
  std::string_view metadata, status;
  std::string_view revision, created, deleted, generation;
  std::array<std::string_view, kPlaces> places;
  std::string_view managed;  // what to leave out of the metadata to be rid of managedFields
  std::vector<std::string_view> body;
  std::string problem;  // well-formed, but not an object of Kubernetes

  void clear() {
    std::vector<std::string_view> kept = std::move(body);
    *this = Draft();
    body = std::move(kept);
    body.clear();
  }
};

class Reader {
 public:
  Reader(json::Cursor& cursor, const char* begin) : cursor_(cursor), begin_(begin) {}

  // False: see the cursor's error or draft.problem.
  bool read(Draft& draft) {
    draft.clear();
    if (!cursor_.enter_object()) return false;
    for (std::string_view key; cursor_.next_key(key);) {
      if (json::key_is(key, "metadata")) {
        read_metadata(draft);
      } else if (json::key_is(key, "kind")) {
        draft.kind = text(draft, "kind");
      } else if (json::key_is(key, "apiVersion")) {
        draft.api_version = text(draft, "apiVersion");
      } else {
        const std::string_view value = cursor_.skip();
        if (json::key_is(key, "status")) {
          draft.status = value == "null" ? std::string_view() : value;
        } else if (!value.empty()) {
          draft.body.push_back(between(key.data() - 1, value.data() + value.size()));
        }
      }
      if (!draft.problem.empty()) return false;
    }
    return cursor_.ok();
  }

 private:
  static std::string_view between(const char* from, const char* to) {
    return {from, static_cast<std::size_t>(to - from)};
  }
  const char* here() const { return begin_ + cursor_.offset(); }

  std::string_view text(Draft& draft, std::string_view name) {
    if (cursor_.peek() == json::Type::kString) return cursor_.raw_string();
    if (!cursor_.null() && cursor_.ok()) draft.problem = fmt::format("{} must be a string", name);
    return {};
  }
  std::string_view value(Draft& draft, json::Type type, std::string_view name) {
    const json::Type found = cursor_.peek();
    const std::string_view bytes = cursor_.skip();
    if (found == type) return bytes;
    if (found != json::Type::kNull)
      draft.problem = fmt::format("metadata.{} is of the wrong type", name);
    return {};
  }

  void read_metadata(Draft& draft) {
    draft.metadata = {};
    draft.places = {};
    draft.revision = draft.created = draft.deleted = draft.generation = draft.managed = {};
    if (cursor_.peek() == json::Type::kNull && cursor_.null()) return;
    if (!cursor_.enter_object()) return;
    const char* const from = here() - 1;
    const char* end_of_last = nullptr;
    bool first_is_managed = false;
    for (std::string_view key; cursor_.next_key(key);) {
      if (first_is_managed) {  // it goes together with the comma after it
        draft.managed = between(draft.managed.data(), key.data() - 1);
        first_is_managed = false;
      }
      const auto is = [key](std::string_view name) { return json::key_is(key, name); };
      auto& places = draft.places;
      if (is("name"))
        places[kName] = text(draft, "metadata.name");
      else if (is("namespace"))
        places[kNamespaceName] = text(draft, "metadata.namespace");
      else if (is("uid"))
        places[kUid] = text(draft, "metadata.uid");
      else if (is("resourceVersion"))
        draft.revision = text(draft, "metadata.resourceVersion");
      else if (is("creationTimestamp"))
        draft.created = text(draft, "metadata.creationTimestamp");
      else if (is("deletionTimestamp"))
        draft.deleted = text(draft, "metadata.deletionTimestamp");
      else if (is("generation"))
        draft.generation = value(draft, json::Type::kNumber, key);
      else if (is("labels"))
        places[kLabels] = value(draft, json::Type::kObject, key);
      else if (is("annotations"))
        places[kAnnotations] = value(draft, json::Type::kObject, key);
      else if (is("ownerReferences"))
        places[kOwners] = value(draft, json::Type::kArray, key);
      else if (is("finalizers"))
        places[kFinalizers] = value(draft, json::Type::kArray, key);
      else if (is("managedFields")) {
        cursor_.skip();
        first_is_managed = end_of_last == nullptr;
        draft.managed = between(first_is_managed ? key.data() - 1 : end_of_last, here());
      } else {
        cursor_.skip();
      }
      if (!draft.problem.empty()) return;
      end_of_last = here();
    }
    if (cursor_.ok()) draft.metadata = between(from, here());
  }

  json::Cursor& cursor_;
  const char* begin_;
};

Segment* copy_of(std::string_view bytes) {
  Segment* s = Segment::make(bytes.size());
  std::memcpy(s->data(), bytes.data(), bytes.size());
  return s;
}

Segment* joined(const std::vector<std::string_view>& members) {
  std::size_t size = members.size() + 1;
  for (const std::string_view m : members) size += m.size();
  Segment* s = Segment::make(size);
  char* to = s->data();
  for (const std::string_view m : members) {
    *to = to == s->data() ? '{' : ',';
    ++to;
    std::memcpy(to, m.data(), m.size());
    to += m.size();
  }
  *to = '}';
  return s;
}

// Copies the metadata, without `cut`, and notes where the places are now.
void set_metadata(Doc& doc, const Draft& draft, std::string_view cut) {
  const char* const from = draft.metadata.data();
  if (cut.empty()) {
    doc.metadata = copy_of(draft.metadata);
  } else {
    doc.metadata = Segment::make(draft.metadata.size() - cut.size());
    const auto head = static_cast<std::size_t>(cut.data() - from);
    std::memcpy(doc.metadata->data(), from, head);
    std::memcpy(doc.metadata->data() + head, cut.data() + cut.size(),
                draft.metadata.size() - cut.size() - head);
  }
  for (unsigned p = 0; p < kPlaces; ++p) {
    const std::string_view place = draft.places[p];
    if (place.data() == nullptr) continue;
    const std::size_t shift = place.data() > cut.data() && !cut.empty() ? cut.size() : 0;
    doc.places[p] = {
        static_cast<std::uint32_t>(place.data() - from) - static_cast<std::uint32_t>(shift),
        static_cast<std::uint32_t>(place.size())};
  }
}

// True where a string has to be unescaped to be read, which no good name needs.
bool escaped(std::string_view raw) { return raw.find('\\') != std::string_view::npos; }

tl::unexpected<Error> bad(std::string message) {
  return fail(Reason::kBadRequest, std::move(message));
}

Result<Doc*> make_doc(KindId kind, const Draft& draft, bool keep_managed_fields) {
  const Kind& expected = kind_of(kind);
  const auto refuse = [&expected](std::string_view what) {
    return bad(fmt::format("{}: {}", expected.kind, what));
  };
  if ((!draft.kind.empty() && draft.kind != expected.kind) ||
      (!draft.api_version.empty() && draft.api_version != expected.api_version()))
    return refuse(fmt::format("expected {} {}, found {} {}", expected.api_version(), expected.kind,
                              draft.api_version, draft.kind));
  if (draft.metadata.size() > std::numeric_limits<std::uint32_t>::max() ||
      draft.status.size() > std::numeric_limits<std::uint32_t>::max())
    return refuse("larger than 4 GiB");
  constexpr std::string_view kNames[] = {"name", "namespace", "uid"};
  for (const Place p : {kName, kNamespaceName, kUid})
    if (escaped(draft.places[p]))
      return refuse(fmt::format("metadata.{} has characters that no name may have", kNames[p]));

  auto doc = std::make_unique<Doc>();
  doc->kind = kind;
  if (!draft.revision.empty()) {
    const char* const end = draft.revision.data() + draft.revision.size();
    const auto [stop, error] = std::from_chars(draft.revision.data(), end, doc->revision);
    if (error != std::errc() || stop != end)
      doc->revision = 0;  // opaque to us, as if there were none
  }
  if (!draft.generation.empty()) {
    const auto number = json::Slice(draft.generation).integer();
    if (!number) return refuse("metadata.generation must be a whole number");
    doc->generation = *number;
  }
  for (const auto& [text, time, name] :
       {std::tuple(draft.created, &doc->created, "creationTimestamp"),
        std::tuple(draft.deleted, &doc->deleted, "deletionTimestamp")}) {
    if (text.empty()) continue;
    const std::optional<WallTime> parsed = parse_time(text);
    if (!parsed) return refuse(fmt::format("metadata.{}: \"{}\" is no time", name, text));
    *time = std::max(parsed->unix_nanos, kNever + 1);
  }
  if (!draft.metadata.empty())
    set_metadata(*doc, draft, keep_managed_fields ? std::string_view() : draft.managed);
  if (!draft.body.empty()) doc->body = joined(draft.body);
  if (!draft.status.empty()) doc->status = copy_of(draft.status);
  return doc.release();
}

Error explain(const json::Cursor& cursor, const Draft& draft, std::string_view where) {
  if (!draft.problem.empty())
    return {.reason = Reason::kBadRequest, .message = fmt::format("{}: {}", where, draft.problem)};
  Error error = cursor.error();
  error.message = fmt::format("{}: {}", where, error.message);
  return error;
}

// A document of nothing but this metadata.
Result<Doc*> doc_of_metadata(KindId kind, std::string_view metadata, bool keep_managed_fields) {
  const std::string whole = fmt::format("{{\"metadata\":{}}}", metadata);
  json::Cursor cursor(whole, {.max_bytes = whole.size(), .max_depth = 1'000'000});
  Draft draft;
  if (!Reader(cursor, whole.data()).read(draft))
    return tl::unexpected(explain(cursor, draft, kind_of(kind).kind));
  return make_doc(kind, draft, keep_managed_fields);
}

// The same metadata with another resourceVersion; not parsed, only the bytes around it are copied.
std::string with_revision(std::string_view metadata, Revision revision) {
  const std::string_view stands = json::Slice(metadata)["resourceVersion"].raw();
  if (!stands.empty()) {
    const auto at = static_cast<std::size_t>(stands.data() - metadata.data());
    return fmt::format("{}\"{}\"{}", metadata.substr(0, at), revision,
                       metadata.substr(at + stands.size()));
  }
  const std::string_view rest = metadata.substr(metadata.find('{') + 1);
  const bool empty = rest.find_first_not_of(" \t\r\n") == rest.find('}');
  return fmt::format("{{\"resourceVersion\":\"{}\"{}{}", revision, empty ? "" : ",", rest);
}

Revision revision_of(json::Slice list_metadata) {
  std::string scratch;
  const std::string_view text = list_metadata["resourceVersion"].text(scratch);
  Revision revision = 0;
  std::from_chars(text.data(), text.data() + text.size(), revision);
  return revision;
}

}  // namespace

Result<Object> Object::parse(KindId kind, std::string_view json, const json::Limits& limits) {
  json::Cursor cursor(json, limits);
  Draft draft;
  if (!Reader(cursor, json.data()).read(draft) || !cursor.finish())
    return tl::unexpected(explain(cursor, draft, kind_of(kind).kind));
  Result<Doc*> doc = make_doc(kind, draft, true);
  if (!doc) return tl::unexpected(std::move(doc.error()));
  return Object(*doc);
}

Result<Object> Object::parse(std::string_view json, const json::Limits& limits) {
  json::Cursor cursor(json, limits);
  Draft draft;
  if (!Reader(cursor, json.data()).read(draft) || !cursor.finish())
    return tl::unexpected(explain(cursor, draft, "object"));
  if (draft.kind.empty() || draft.api_version.empty() || escaped(draft.kind) ||
      escaped(draft.api_version))
    return bad("object: apiVersion and kind must be set");
  Result<Doc*> doc = make_doc(guess_kind(draft.api_version, draft.kind), draft, true);
  if (!doc) return tl::unexpected(std::move(doc.error()));
  return Object(*doc);
}

Object::Object(const Object& other) noexcept : doc_(other.doc_) {
  if (doc_ != nullptr) doc_->references.fetch_add(1, std::memory_order_relaxed);
}
Object::Object(Object&& other) noexcept : doc_(std::exchange(other.doc_, nullptr)) {}
Object& Object::operator=(Object other) noexcept {
  std::swap(doc_, other.doc_);
  return *this;
}
Object::~Object() {
  if (doc_ != nullptr && doc_->references.fetch_sub(1, std::memory_order_acq_rel) == 1) delete doc_;
}

KindId Object::kind() const { return doc_->kind; }
Revision Object::revision() const { return doc_->revision; }
std::string_view Object::uid() const { return doc_->place(kUid); }
std::string_view Object::ns() const { return doc_->place(kNamespaceName); }
std::string_view Object::name() const { return doc_->place(kName); }
std::int64_t Object::generation() const { return doc_->generation; }
bool Object::deleting() const { return doc_->deleted != kNever; }

std::optional<WallTime> Object::created() const {
  return doc_->created == kNever ? std::nullopt : std::optional(WallTime{doc_->created});
}
std::optional<WallTime> Object::deleted() const {
  return doc_->deleted == kNever ? std::nullopt : std::optional(WallTime{doc_->deleted});
}

json::Slice Object::labels() const { return json::Slice(doc_->place(kLabels)); }
json::Slice Object::annotations() const { return json::Slice(doc_->place(kAnnotations)); }
std::string Object::label(std::string_view key) const { return labels()[key].text(); }
std::string Object::annotation(std::string_view key) const { return annotations()[key].text(); }

std::vector<OwnerRef> Object::owners() const {
  std::vector<OwnerRef> out;
  for (const json::Slice owner : json::Slice(doc_->place(kOwners)).elements()) {
    OwnerRef& ref = out.emplace_back();
    for (const auto [key, value] : owner.members()) {  // in one pass: it is asked for often
      if (key == "apiVersion")
        ref.api_version = value.text();
      else if (key == "kind")
        ref.kind = value.text();
      else if (key == "name")
        ref.name = value.text();
      else if (key == "uid")
        ref.uid = value.text();
      else if (key == "controller")
        ref.controller = value.boolean();
      else if (key == "blockOwnerDeletion")
        ref.block_owner_deletion = value.boolean();
    }
  }
  return out;
}

std::optional<OwnerRef> Object::controller() const {
  for (OwnerRef& owner : owners())
    if (owner.controller) return std::move(owner);
  return std::nullopt;
}

std::vector<std::string> Object::finalizers() const {
  std::vector<std::string> out;
  for (const json::Slice finalizer : json::Slice(doc_->place(kFinalizers)).elements())
    out.push_back(finalizer.text());
  return out;
}

json::Slice Object::metadata() const {
  return doc_->metadata == nullptr ? json::Slice("{}") : json::Slice(doc_->metadata->view());
}
json::Slice Object::status() const {
  return doc_->status == nullptr ? json::Slice() : json::Slice(doc_->status->view());
}
json::Slice Object::body() const {
  return doc_->body == nullptr ? json::Slice("{}") : json::Slice(doc_->body->view());
}
json::Slice Object::member(std::string_view key) const {
  return doc_->body == nullptr ? json::Slice() : json::Slice(doc_->body->view())[key];
}

std::array<std::string_view, 9> Object::json_parts() const {
  std::array<std::string_view, 9> parts;
  parts[0] = json_head(doc_->kind);
  if (doc_->metadata != nullptr) {
    parts[1] = ",\"metadata\":";
    parts[2] = doc_->metadata->view();
  }
  if (doc_->body != nullptr) {
    parts[3] = ",";
    parts[4] = doc_->body->view().substr(1, doc_->body->size - 2);
  }
  if (doc_->status != nullptr) {
    parts[5] = ",\"status\":";
    parts[6] = doc_->status->view();
  }
  parts[7] = "}";
  return parts;
}

std::string Object::json() const {
  std::string out;
  std::size_t size = 0;
  for (const std::string_view part : json_parts()) size += part.size();
  out.reserve(size);
  for (const std::string_view part : json_parts()) out += part;
  return out;
}

std::size_t Object::bytes() const {
  std::size_t size = sizeof(Doc);
  for (const Segment* s : {doc_->metadata, doc_->body, doc_->status})
    if (s != nullptr) size += sizeof(Segment) + s->size;
  return size;
}

std::size_t Object::bytes_beyond(const Object& other) const {
  std::size_t size = bytes();
  if (!other.valid()) return size;
  const auto shared = [&size](const Segment* ours, const Segment* theirs) {
    if (ours != nullptr && ours == theirs) size -= sizeof(Segment) + ours->size;
  };
  shared(doc_->metadata, other.doc_->metadata);
  shared(doc_->body, other.doc_->body);
  shared(doc_->status, other.doc_->status);
  return size;
}

bool Object::shares_body(const Object& other) const {
  return other.valid() && doc_->body == other.doc_->body;
}

Object Object::without_managed_fields() const {
  if (!metadata()["managedFields"]) return *this;
  Result<Doc*> doc = doc_of_metadata(doc_->kind, doc_->metadata->view(), false);
  BERTH_CHECK(doc.has_value(), "metadata that was good once is good again");
  (*doc)->body = Segment::share(doc_->body);
  (*doc)->status = Segment::share(doc_->status);
  return Object(*doc);
}

Result<Object> Object::next(Revision revision, const Segments& changed) const {
  return make(doc_->kind, doc_, revision, changed);
}

Result<Object> Object::assemble(KindId kind, Revision revision, const Segments& segments) {
  return make(kind, nullptr, revision, segments);
}

Result<Object> Object::make(KindId kind, const Doc* from, Revision revision,
                            const Segments& segments) {
  std::string_view metadata = "{}";
  if (segments.metadata)
    metadata = *segments.metadata;
  else if (from != nullptr && from->metadata != nullptr)
    metadata = from->metadata->view();
  Result<Doc*> doc = revision == 0 ? doc_of_metadata(kind, metadata, true)
                                   : doc_of_metadata(kind, with_revision(metadata, revision), true);
  if (!doc) return tl::unexpected(std::move(doc.error()));
  if (!segments.body)
    (*doc)->body = from == nullptr ? nullptr : Segment::share(from->body);
  else if (*segments.body != "{}" && !segments.body->empty())
    (*doc)->body = copy_of(*segments.body);
  if (!segments.status)
    (*doc)->status = from == nullptr ? nullptr : Segment::share(from->status);
  else if (*segments.status != "null" && !segments.status->empty())
    (*doc)->status = copy_of(*segments.status);
  return Object(*doc);
}

Result<ObjectList> parse_list(KindId kind, std::string_view json, bool keep_managed_fields,
                              const json::Limits& limits) {
  const std::string name = kind_of(kind).kind + "List";
  json::Limits whole = limits;
  whole.max_bytes = std::numeric_limits<std::size_t>::max();
  json::Cursor cursor(json, whole);
  Reader reader(cursor, json.data());
  Draft draft;
  ObjectList list;
  json::Slice kind_found;
  bool has_items = false;
  if (!cursor.enter_object()) return tl::unexpected(explain(cursor, draft, name));
  for (std::string_view key; cursor.next_key(key);) {
    if (json::key_is(key, "items")) {
      list.items.clear();
      has_items = true;
      if (cursor.peek() == json::Type::kNull && cursor.null()) continue;
      if (!cursor.enter_array()) break;
      while (cursor.next_element()) {
        const auto where = [&] { return fmt::format("{}, items[{}]", name, list.items.size()); };
        const std::size_t from = cursor.offset();
        if (!reader.read(draft)) return tl::unexpected(explain(cursor, draft, where()));
        if (cursor.offset() - from > limits.max_bytes)
          return fail(Reason::kRequestEntityTooLarge,
                      fmt::format("{}: more than {} bytes", where(), limits.max_bytes));
        Result<Doc*> doc = make_doc(kind, draft, keep_managed_fields);
        if (!doc) return bad(fmt::format("{}: {}", where(), doc.error().message));
        list.items.push_back(Object(*doc));
      }
    } else if (json::key_is(key, "metadata")) {
      const json::Slice metadata(cursor.skip());
      if (!cursor.ok()) break;
      list.revision = revision_of(metadata);
      list.continue_token = metadata["continue"].text();
      list.remaining = metadata["remainingItemCount"].integer();
    } else if (json::key_is(key, "kind")) {
      kind_found = json::Slice(cursor.skip());
    } else {
      cursor.skip();
    }
  }
  if (!cursor.finish()) return tl::unexpected(explain(cursor, draft, name));
  // A custom kind may call its lists nearly anything; what has no items is none.
  if (kind_found && !kind_found.text().ends_with("List") &&
      (!has_items || kind_found.equals("Status")))
    return bad(fmt::format("expected a {}, found kind {}", name, kind_found.raw()));
  return list;
}

}  // namespace berth::kube
