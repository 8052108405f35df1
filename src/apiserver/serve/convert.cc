// SPDX-License-Identifier: Apache-2.0
#include "apiserver/serve/convert.h"

namespace berth::apiserver {
namespace {

// The same document by another name.
Result<kube::Object> renamed(const kube::Object& object, kube::KindId kind) {
  kube::Segments segments;
  segments.metadata = object.metadata().raw();
  segments.body = object.body().raw();
  if (object.status()) segments.status = object.status().raw();
  return kube::Object::assemble(kind, 0, segments);
}

}  // namespace

// A body is bounded at the door; what it grows into with defaults and the fields of many managers
// is bounded here. k8s 1.36: etcd refuses what has more than 1.5 MB as protobuf, in these words.
Result<Ok> check_size(std::size_t bytes) {
  constexpr std::size_t kMost = std::size_t{3} << 20;
  if (bytes <= kMost) return Ok{};
  return tl::unexpected(Error{.message = "etcdserver: request is too large", .code = 500});
}

Result<kube::Object> bounded(Result<kube::Object> object) {
  if (!object) return object;
  std::size_t bytes = 0;
  for (const std::string_view part : object->json_parts()) bytes += part.size();
  if (Result<Ok> fits = check_size(bytes); !fits) return tl::unexpected(std::move(fits.error()));
  return object;
}

Result<kube::Object> as_asked(const KindRow& row, const kube::Object& stored) {
  if (!row.stored_as) return stored;
  if (row.from_stored) return row.from_stored(stored);
  return renamed(stored, row.id);
}

Result<kube::Object> as_stored(const KindRow& row, Edit& edit, kube::Revision revision) {
  if (!row.stored_as) return bounded(std::move(edit).commit(revision));
  if (!row.to_stored) {
    Result<kube::Object> own = std::move(edit).commit(revision);
    if (!own) return own;
    return bounded(renamed(*own, *row.stored_as));
  }
  json::Value document = json::parse_good(edit.text(), edit.arena());
  row.to_stored(document.as_object());
  return bounded(Edit(*row.stored_as, std::move(document), edit.arena()).commit(revision));
}

}  // namespace berth::apiserver
