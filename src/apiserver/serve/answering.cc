// SPDX-License-Identifier: Apache-2.0
// Kinds and subresources whose answer somebody else makes: reviews, tokens, logs.
#include "apiserver/edit/edit.h"
#include "apiserver/kinds/strategy.h"
#include "apiserver/serve/body.h"
#include "apiserver/serve/chain.h"
#include "apiserver/serve/convert.h"

namespace berth::apiserver {
namespace {

// The posted document, defaulted and checked as the row's kind.
Result<json::Value> read_posted(Call& call, json::Arena& arena) {
  const KindRow& row = *call.row;
  Result<json::Value> document = read_body(call, Form::of(row), arena);
  if (!document) return document;
  Edit edit(row.id, std::move(*document), arena);
  fill(row, edit);
  Findings findings;
  for (const auto& check : row.check) check(edit, findings);
  if (!findings.empty()) {
    const std::string name(Peek(edit.metadata())["name"].text());
    return tl::unexpected(findings.error(row.kind, name));
  }
  return json::parse_good(edit.text(), arena);
}

}  // namespace

void serve_answer(CallPtr call, const Server::Answer& answer) {
  const kube::ApiRequest& asked = call->request;
  const Borrowed arena(call->core);
  kube::Object object;
  if (call->sub != nullptr) {
    const kube::Object* found = call->core.store.get(call->table(), KeyRef(asked.ns, asked.name));
    if (found == nullptr) return call->answer(not_found(call->kind(), asked.name));
    Result<kube::Object> own = as_asked(*call->row, *found);
    if (!own) return call->answer(std::move(own.error()));
    object = std::move(*own);
  }
  json::Value posted(nullptr, (*arena).storage());
  if (asked.verb != kube::Verb::kGet) {
    Result<json::Value> read = fail(Reason::kUnknown, "");
    if (call->sub == nullptr) {
      read = read_posted(*call, *arena);
    } else {
      const kube::Kind& of = call->kind();
      const std::string group = call->sub->group.empty() ? of.group : call->sub->group,
                        version = call->sub->version.empty() ? of.version : call->sub->version;
      const Form form = Form::of(group.empty() ? version : group + "/" + version, call->sub->kind);
      // What has no form is between the client and whoever answers.
      if (form.schema == nullptr)
        read = json::Value(nullptr, (*arena).storage());
      else
        read = read_body(*call, form, *arena);
    }
    if (!read) return call->answer(std::move(read.error()));
    posted = std::move(*read);
  }
  Server::Question question{asked, posted, object.valid() ? &object : nullptr, *arena};
  call->answer(answer(question));
}

}  // namespace berth::apiserver
