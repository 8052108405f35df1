// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>

#include "apiserver/edit/conform.h"
#include "apiserver/edit/peek.h"
#include "apiserver/serve/body.h"
#include "apiserver/serve/deletion.h"
#include "apiserver/serve/go_text.h"
#include "json/writer.h"
#include "kube/schema.h"

namespace berth::apiserver {
namespace {

using kube::Propagation;

tl::unexpected<Error> invalid_options(std::string reason, std::string message, std::string field) {
  return tl::unexpected(invalid_about("DeleteOptions", "meta.k8s.io", "",
                                      {{std::move(reason), std::move(message), std::move(field)}}));
}

DeleteWish from_request(const kube::Options& options) {
  DeleteWish wish;
  wish.grace_seconds = options.grace_period_seconds;
  wish.propagation = options.propagation;
  if (!options.precondition_uid.empty()) wish.uid = options.precondition_uid;
  wish.revision = options.precondition_revision;
  wish.dry_run = options.dry_run;
  return wish;
}

}  // namespace

Result<DeleteWish> delete_options_in(const json::Value& document) {
  const Peek body(document);
  DeleteWish wish;
  wish.grace_seconds = body["gracePeriodSeconds"].integer();
  const Peek conditions = body["preconditions"];
  if (conditions["uid"]) wish.uid = std::string(conditions["uid"].text());
  if (conditions["resourceVersion"])
    wish.revision = std::string(conditions["resourceVersion"].text());
  if (body["orphanDependents"]) wish.orphan_dependents = body["orphanDependents"].boolean();
  const std::string_view policy = body["propagationPolicy"].text();
  if (body["propagationPolicy"]) {
    if (policy == "Foreground")
      wish.propagation = Propagation::kForeground;
    else if (policy == "Background")
      wish.propagation = Propagation::kBackground;
    else if (policy == "Orphan")
      wish.propagation = Propagation::kOrphan;
    if (wish.orphan_dependents)
      return invalid_options(
          "FieldValueInvalid",
          fmt::format("Invalid value: {}: orphanDependents and deletionPropagation cannot be both "
                      "set",
                      json::quoted(policy)),
          "propagationPolicy");
    if (wish.propagation == Propagation::kUnset)
      return invalid_options(
          "FieldValueNotSupported",
          fmt::format("Unsupported value: {}: supported values: \"Foreground\", \"Background\", "
                      "\"Orphan\", \"nil\"",
                      json::quoted(policy)),
          "propagationPolicy");
  }
  for (const json::Value& each : body["dryRun"].elements()) {
    if (!Peek(each).is("All"))
      return invalid_options("FieldValueNotSupported",
                             fmt::format("Unsupported value: {}: supported values: \"All\"",
                                         json::print(*body["dryRun"].value())),
                             "dryRun");
    wish.dry_run = true;
  }
  return wish;
}

Result<DeleteWish> read_delete_options(const Call& call) {
  const std::string_view text = bytes_of(call.request);
  if (text.empty()) return from_request(call.request.options);
  const Borrowed arena(call.core);
  Result<json::Value> document = json::parse(text, *arena, call.core.options.json);
  if (!document)
    return tl::unexpected(bad_request(fmt::format("couldn't get version/kind; json parse error: {}",
                                                  go_json_error(text, document.error()))));
  if (!document->is_object())
    return tl::unexpected(bad_request("decoded object cannot be converted to DeleteOptions"));
  const std::string_view kind = Peek(*document)["kind"].text();
  if (!kind.empty() && kind != "DeleteOptions")
    return tl::unexpected(bad_request(
        fmt::format("no kind {} is registered for version {} in scheme "
                    "\"pkg/runtime/scheme.go:111\"",
                    json::quoted(kind), json::quoted(Peek(*document)["apiVersion"].text()))));
  static const json::Message* const kSchema =
      kube::find_message("io.k8s.apimachinery.pkg.apis.meta.v1.DeleteOptions");
  if (Result<Conformed> fits = conform(*document, *kSchema); !fits)
    return tl::unexpected(bad_request(std::move(fits.error().message)));
  Result<DeleteWish> wish = delete_options_in(*document);
  if (wish && call.request.options.dry_run) wish->dry_run = true;
  return wish;
}

}  // namespace berth::apiserver
