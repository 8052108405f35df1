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

Result<kube::Object> as_asked(const KindRow& row, const kube::Object& stored) {
  if (!row.stored_as) return stored;
  if (row.from_stored) return row.from_stored(stored);
  return renamed(stored, row.id);
}

Result<kube::Object> as_stored(const KindRow& row, Edit& edit, kube::Revision revision) {
  if (!row.stored_as) return std::move(edit).commit(revision);
  if (!row.to_stored) {
    Result<kube::Object> own = std::move(edit).commit(revision);
    if (!own) return own;
    return renamed(*own, *row.stored_as);
  }
  json::Value document = json::parse_good(edit.text(), edit.arena());
  row.to_stored(document.as_object());
  return Edit(*row.stored_as, std::move(document), edit.arena()).commit(revision);
}

}  // namespace berth::apiserver
