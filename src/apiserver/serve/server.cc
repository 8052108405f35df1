// SPDX-License-Identifier: Apache-2.0
#include "apiserver/serve/server.h"

#include <algorithm>
#include <utility>

#include "apiserver/serve/authorizing.h"
#include "apiserver/serve/call.h"
#include "apiserver/serve/pages.h"
#include "apiserver/serve/watching.h"

namespace berth::apiserver {
namespace {

using kube::Verb;

bool offers(const std::vector<std::string_view>& verbs, std::string_view verb) {
  return std::find(verbs.begin(), verbs.end(), verb) != verbs.end();
}

bool on_one(const kube::ApiRequest& asked) {
  return asked.verb == Verb::kGet || asked.verb == Verb::kUpdate || asked.verb == Verb::kPatch ||
         asked.verb == Verb::kDelete || !asked.subresource.empty();
}

// Whether the request's shape fits the kind at all: what no path of the real server leads to.
Result<Ok> check_shape(const Call& call) {
  const kube::ApiRequest& asked = call.request;
  const KindRow& row = *call.row;
  if (!asked.subresource.empty() && call.sub == nullptr) return tl::unexpected(unknown_resource());
  // k8s 1.36: only custom kinds answer HEAD, as they would GET.
  if (asked.raw_method == "HEAD" && !row.custom) return tl::unexpected(not_allowed());
  if (!offers(call.sub == nullptr ? row.verbs : call.sub->verbs, verb_name(asked.verb)))
    return tl::unexpected(not_allowed());
  if (on_one(asked) == asked.name.empty() && !(asked.verb == Verb::kCreate && call.sub == nullptr))
    return tl::unexpected(on_one(asked) ? not_allowed() : unknown_resource());
  if (row.kind.namespaced) {
    if (asked.ns.empty() && asked.verb != Verb::kList && asked.verb != Verb::kWatch)
      return tl::unexpected(not_allowed());
  } else if (!asked.ns.empty()) {
    return tl::unexpected(unknown_resource());
  }
  return Ok{};
}

void dispatch(CallPtr call) {
  const std::string& sub = call->request.subresource;
  if (const Server::Answer* answer = call->core.answer_of(call->row->id, sub))
    return serve_answer(std::move(call), *answer);
  if (call->row->id == kube::kPod && sub == "binding") return serve_binding(std::move(call));
  if (call->row->id == kube::kPod && sub == "eviction") return serve_eviction(std::move(call));
  if (call->row->kind.group.empty() && call->row->kind.kind == "Binding")
    return serve_binding(std::move(call));
  const bool writable = sub.empty() || sub == "status" || sub == "scale" || sub == "finalize" ||
                        sub == "ephemeralcontainers" || sub == "resize";
  if (!call->row->stored || !writable) return refuse_connection(*call);
  switch (call->request.verb) {
    case Verb::kGet:
      return serve_get(std::move(call));
    case Verb::kList:
      return serve_list(std::move(call));
    case Verb::kWatch:
      return serve_watch(std::move(call));
    case Verb::kCreate:
    case Verb::kUpdate:
    case Verb::kPatch:
      return serve_write(std::move(call));
    case Verb::kDelete:
      return serve_delete(std::move(call));
    case Verb::kDeleteCollection:
      return serve_delete_collection(std::move(call));
    case Verb::kRaw:
      break;
  }
  call->answer(not_allowed());
}

void route(CallPtr call) {
  kube::ApiRequest& asked = call->request;
  if (asked.verb != Verb::kRaw) {
    call->row = call->kinds->find(asked.kind);
    if (call->row == nullptr) return call->answer(unknown_resource());
    if (!asked.subresource.empty()) call->sub = call->row->subresource(asked.subresource);
  }
  if (Result<Ok> may = authorize(*call); !may) return call->answer(std::move(may.error()));
  if (asked.verb == Verb::kRaw) return serve_page(call);
  if (Result<Ok> fits = check_shape(*call); !fits) return call->answer(std::move(fits.error()));
  if (const auto look = call->core.looks.find(call->row->id); look != call->core.looks.end())
    call->looked = look->second(asked);
  dispatch(std::move(call));
}

}  // namespace

Server::Server(Scope& parent, ServerParts parts, ServerOptions options)
    : core_(std::make_shared<Core>(parent, std::move(parts), std::move(options))) {
  core_->scope.on_close([weak = std::weak_ptr(core_)] {
    if (const auto core = weak.lock())
      for (Watching* const watching : std::vector(core->watches.begin(), core->watches.end()))
        watching->end();
  });
  add_pages(*core_);
  core_->events.note_all();
  // k8s 1.36: the watches of a kind whose definition has gone or changed end a second later.
  core_->kinds.on_change([weak = std::weak_ptr(core_)] {
    const auto changed = weak.lock();
    if (!changed || changed->watches.empty() || changed->scope.closing()) return;
    changed->scope.after(
        std::chrono::seconds(1),
        [weak] {
          const auto core = weak.lock();
          if (!core) return;
          const std::shared_ptr<const Kinds> now = core->kinds.now();
          for (Watching* const watching : std::vector(core->watches.begin(), core->watches.end()))
            if (!watching->served(*now)) watching->end();
        },
        Timer::kBackground);
  });
}

Server::~Server() {
  for (Watching* const watching : std::vector(core_->watches.begin(), core_->watches.end()))
    watching->end();
  core_->kinds.on_change({});
  core_->over = true;
}

void Server::handle(kube::ApiRequest request, Done<kube::ApiReply> done) {
  route(std::make_shared<Call>(core_, std::move(request), std::move(done), false));
}

void Server::handle(Credentials credentials, kube::ApiRequest request, Done<kube::ApiReply> done) {
  const auto refuse = [&done](Error error) {
    if (error.code == 0) error.code = http_code_of(error.reason);
    done(tl::unexpected(std::move(error)));
  };
  if (Result<Ok> room = core_->traffic.room_for(request.verb); !room)
    return refuse(std::move(room.error()));
  Result<kube::User> user = core_->authenticator.authenticate(credentials, core_->wall());
  if (!user) return refuse(std::move(user.error()));
  request.user = std::move(*user);
  route(std::make_shared<Call>(core_, std::move(request), std::move(done), true));
}

void Server::page(std::string path, Page page) {
  core_->pages.insert_or_assign(std::move(path), std::move(page));
}

void Server::deed(std::string path, Deed deed) {
  core_->deeds.insert_or_assign(std::move(path), std::move(deed));
}

void Server::answer(kube::KindId kind, std::string subresource, Answer answer) {
  core_->answers.insert_or_assign({kind, std::move(subresource)}, std::move(answer));
}

void Server::on_look(kube::KindId kind, Look look) {
  core_->looks.insert_or_assign(kind, std::move(look));
}

KindRegistry& Server::kinds() { return core_->kinds; }
Store& Server::store() { return core_->store; }
std::size_t Server::open_requests() const { return core_->traffic.open(); }

}  // namespace berth::apiserver
