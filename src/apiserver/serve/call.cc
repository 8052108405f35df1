// SPDX-License-Identifier: Apache-2.0
#include "apiserver/serve/call.h"

#include <utility>

#include "json/writer.h"

namespace berth::apiserver {

Call::Call(std::shared_ptr<Core> of, kube::ApiRequest asked, Done<kube::ApiReply> done,
           bool outside)
    : core(*of),
      request(std::move(asked)),
      kinds(of->kinds.now()),
      keep_(std::move(of)),
      done_(std::move(done)),
      began_(core.home().clock().now()),
      outside_(outside) {
  core.traffic.began(request.verb, outside_);
}

Call::~Call() { end(499); }

void Call::end(int code) {
  if (!std::exchange(open_, false) || core.over) return;
  core.traffic.ended(request.verb, outside_, row, request, code, began_);
}

void Call::answer(Result<kube::ApiReply> result) {
  if (result) {
    result->warnings.insert(result->warnings.begin(), warnings.begin(), warnings.end());
    end(result->code);
  } else {
    Error& error = result.error();
    if (row != nullptr) complete(error, row->kind, request.name);
    if (error.code == 0) error.code = http_code_of(error.reason);
    end(error.code);
  }
  done_(std::move(result));
}

void Call::answer(kube::Object object, int code) {
  kube::ApiReply reply;
  reply.code = code;
  reply.body = std::move(object);
  answer(std::move(reply));
}

kube::ApiReply success(const About& details, int code) {
  json::Writer w;
  w.object().member("kind").string("Status").member("apiVersion").string("v1");
  w.member("metadata").object().end().member("status").string("Success");
  if (!details.name.empty()) {
    w.member("details").object().member("name").string(details.name);
    if (!details.group.empty()) w.member("group").string(details.group);
    if (!details.kind.empty()) w.member("kind").string(details.kind);
    if (!details.uid.empty()) w.member("uid").string(details.uid);
    w.end();
  }
  if (code != 0) w.member("code").integer(code);
  w.end();
  kube::ApiReply reply;
  reply.code = code == 0 ? 200 : code;
  reply.body = w.take();
  return reply;
}

}  // namespace berth::apiserver
