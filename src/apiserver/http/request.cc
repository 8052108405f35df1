// SPDX-License-Identifier: Apache-2.0
#include "apiserver/http/request.h"

#include <fmt/format.h>

#include "apiserver/http/body.h"
#include "apiserver/http/options.h"
#include "apiserver/http/target.h"

namespace berth::apiserver {
namespace {

using kube::Verb;

Error not_allowed() {
  return {.reason = Reason::kMethodNotAllowed,
          .message = "the server does not allow this method on the requested resource",
          .about = std::make_shared<const About>()};
}

std::string joined(const std::vector<std::string_view>& values) {
  std::string out;
  for (const std::string_view value : values)
    out += fmt::format("{}{}", out.empty() ? "" : ",", value);
  return out;
}

// What a method means for what the path names.
Result<Verb> verb_of(std::string_view method, const Target& target, const Query& query) {
  const bool named = !target.name.empty();
  const bool reads = method == "GET" || method == "HEAD";
  if (target.watched) {
    if (reads) return Verb::kWatch;
    return tl::unexpected(not_allowed());
  }
  if (reads) {
    if (named) return Verb::kGet;
    return query.flag("watch").value_or(false) ? Verb::kWatch : Verb::kList;
  }
  // A collection over all namespaces can only be read.
  const bool everywhere = target.row->kind.namespaced && target.ns.empty();
  if (everywhere) return tl::unexpected(not_allowed());
  if (method == "POST" && (!named || !target.subresource.empty())) return Verb::kCreate;
  if (method == "PUT" && named) return Verb::kUpdate;
  if (method == "PATCH" && named) return Verb::kPatch;
  if (method == "DELETE") return named ? Verb::kDelete : Verb::kDeleteCollection;
  return tl::unexpected(not_allowed());
}

// The old way to watch one object.
Result<Ok> select_watched(kube::ApiRequest& request) {
  if (request.verb != Verb::kWatch || request.name.empty()) return Ok{};
  if (!request.options.field_selector.empty())
    return fail(Reason::kBadRequest,
                "both a name and a field selector provided; please provide one or the other");
  request.options.field_selector = "metadata.name=" + std::exchange(request.name, {});
  return Ok{};
}

Result<Ok> read_contents(net::HttpRequest& http, const Query& query, const KindRow& row,
                         const DoorLimits& limits, kube::ApiRequest& request) {
  if (request.verb == Verb::kPatch) {
    const auto type = patch_type_of(http.headers, row);
    if (!type) return tl::unexpected(type.error());
    request.options.patch_type = *type;
  }
  if (auto read = read_options(query, request.verb, request.options); !read) return read;
  Result<kube::Body> body;
  switch (request.verb) {
    case Verb::kCreate:
    case Verb::kUpdate:
      body = read_document(http, row, limits);
      break;
    case Verb::kPatch:
      body = read_patch(http, request.options.patch_type, limits);
      break;
    case Verb::kDelete:
    case Verb::kDeleteCollection:
      body = read_delete_body(http, limits);
      if (body && !body->bytes)
        if (auto read = read_delete_options(query, request.options); !read) return read;
      break;
    default:
      return select_watched(request);
  }
  if (!body) return tl::unexpected(std::move(body.error()));
  request.body = std::move(*body);
  if (request.options.field_manager.empty())
    request.options.field_manager = manager_of(http.headers.get("User-Agent"));
  return Ok{};
}

}  // namespace

Credentials credentials_of(const net::Headers& headers, const net::HttpPeer& peer) {
  Credentials out;
  const std::string_view authorization = headers.get("Authorization");
  const std::size_t space = authorization.find(' ');
  if (space != std::string_view::npos &&
      net::same_token(authorization.substr(0, space), "bearer")) {
    const std::string_view rest = authorization.substr(space + 1);
    out.bearer_token = rest.substr(0, rest.find(' '));
  }
  if (peer.identity) {
    out.common_name = peer.identity->common_name;
    out.certificate_uid = peer.identity->uid;
    out.organizations = peer.identity->organizations;
    out.certificate_sha256 = peer.identity->sha256;
  }
  out.as_user = headers.get("Impersonate-User");
  out.as_uid = headers.get("Impersonate-Uid");
  for (const std::string_view group : headers.all("Impersonate-Group"))
    out.as_groups.emplace_back(group);
  constexpr std::string_view kExtra = "impersonate-extra-";
  for (const auto& [name, value] : headers.items()) {
    if (name.size() <= kExtra.size()) continue;
    std::string key = name;
    for (char& c : key)
      if (c >= 'A' && c <= 'Z') c = static_cast<char>(c - 'A' + 'a');
    if (!key.starts_with(kExtra)) continue;
    key.erase(0, kExtra.size());
    out.as_extra[net::percent_decode(key).value_or(key)].push_back(value);
  }
  return out;
}

std::string manager_of(std::string_view user_agent) {
  constexpr std::size_t kMost = 128;
  std::string out;
  for (const char c : user_agent.substr(0, user_agent.find('/'))) {
    const auto byte = static_cast<unsigned char>(c);
    if (byte >= 0x20 && byte < 0x7f && out.size() < kMost) out += c;
  }
  return out;
}

Result<Incoming> read_request(net::HttpRequest&& http, const net::HttpPeer& peer,
                              std::shared_ptr<const Kinds> kinds, const DoorLimits& limits) {
  Incoming in;
  in.kinds = std::move(kinds);
  in.credentials = credentials_of(http.headers, peer);
  const std::string_view all = http.target;
  const std::size_t mark = all.find('?');
  const Query query(mark == std::string_view::npos ? "" : all.substr(mark + 1));
  const auto path = net::percent_decode(all.substr(0, mark));
  if (!path) return fail(Reason::kBadRequest, fmt::format("the path {} is not one", all));
  Target target = find_target(*in.kinds, *path);
  const std::string accept = joined(http.headers.all("Accept"));
  const std::string_view user_agent = http.headers.get("User-Agent");
  kube::ApiRequest& request = in.request;
  if (target.row == nullptr) {
    request.verb = Verb::kRaw;
    request.raw_method = http.method;
    request.raw_path = http.target;
    request.accept = accept;
    in.below_group = target.below_group;
    in.wanted.pretty = wants_pretty(query, user_agent);
    in.tagged = path->starts_with("/openapi/");
    in.known_tags = joined(http.headers.all("If-None-Match"));
    return in;
  }
  if (!target.mistake.empty()) return fail(Reason::kBadRequest, std::move(target.mistake));
  in.row = target.row;
  const Result<Verb> verb = verb_of(http.method, target, query);
  if (!verb) return tl::unexpected(verb.error());
  request.verb = *verb;
  if (http.method == "HEAD") request.raw_method = http.method;
  request.kind = target.row->id;
  request.ns = std::move(target.ns);
  request.name = std::move(target.name);
  request.subresource = std::move(target.subresource);
  // Some subresources have parameters of their own: pods/log.
  if (!request.subresource.empty()) request.raw_path = http.target;
  const Result<Wanted> wanted =
      negotiate(accept, query, user_agent,
                {.watch = *verb == Verb::kWatch,
                 .collection = *verb == Verb::kWatch || *verb == Verb::kList,
                 .custom = in.row->custom});
  if (!wanted) return tl::unexpected(wanted.error());
  in.wanted = *wanted;
  if (const auto read = read_contents(http, query, *in.row, limits, request); !read)
    return tl::unexpected(read.error());
  return in;
}

}  // namespace berth::apiserver
