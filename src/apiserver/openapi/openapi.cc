// SPDX-License-Identifier: Apache-2.0
#include "apiserver/openapi/openapi.h"

#include <fmt/format.h>

#include "apiserver/openapi/definitions.h"
#include "apiserver/openapi/gnostic.h"
#include "apiserver/openapi/paths.h"
#include "json/writer.h"

namespace berth::apiserver {
namespace {

constexpr std::string_view kJson = "application/json";
// The name that Go's media types can parse; clients ask for it with an @.
constexpr std::string_view kProtobuf = "application/com.github.proto-openapi.spec.v2.v1.0+protobuf";

std::string part_of(const kube::Kind& kind) {
  return kind.group.empty() ? "api/" + kind.version
                            : fmt::format("apis/{}/{}", kind.group, kind.version);
}

// FNV-1a: it tells documents apart, nothing more.
void mix(std::uint64_t& hash, std::string_view text) {
  for (const char c : text) hash = (hash ^ static_cast<unsigned char>(c)) * 1'099'511'628'211u;
  hash = (hash ^ 0xff) * 1'099'511'628'211u;
}

void mix(std::uint64_t& hash, const KindRow& row) {
  mix(hash, row.kind.kind);
  mix(hash, row.kind.plural);
  mix(hash, row.kind.namespaced ? "namespaced" : "");
  for (const Subresource& sub : row.subresources) mix(hash, sub.name);
  mix(hash, row.open_api);
}

void write_map(json::Writer& w, const std::map<std::string, std::string, std::less<>>& members) {
  w.object();
  for (const auto& [name, json] : members) w.member(name).raw(json);
  w.end();
}

void write_info(json::Writer& w) {
  w.member("info").object().member("title").string("Kubernetes");
  w.member("version").string("unversioned").end();
}

std::string v2_document(const Kinds& kinds) {
  Definitions definitions(OpenApiVersion::kV2);
  Paths paths;
  for (const KindRow* row : kinds.rows()) add_paths(*row, OpenApiVersion::kV2, definitions, paths);
  json::Writer w;
  w.object().member("swagger").string("2.0");
  write_info(w);
  w.member("paths");
  write_map(w, paths);
  w.member("definitions");
  write_map(w, definitions.all());
  w.end();
  return w.take();
}

std::string v3_document(const Kinds& kinds, std::string_view part) {
  Definitions definitions(OpenApiVersion::kV3);
  Paths paths;
  for (const KindRow* row : kinds.rows())
    if (part_of(row->kind) == part) add_paths(*row, OpenApiVersion::kV3, definitions, paths);
  json::Writer w;
  w.object().member("openapi").string("3.0.0");
  write_info(w);
  w.member("paths");
  write_map(w, paths);
  w.member("components").object().member("schemas");
  write_map(w, definitions.all());
  w.end().end();
  return w.take();
}

kube::ApiReply reply_with(std::string text, std::string_view type) {
  kube::ApiReply reply;
  reply.body = std::move(text);
  reply.content_type = type;
  return reply;
}

}  // namespace

void OpenApi::look_again() {
  const auto now = registry_.now();
  if (kinds_ && kinds_->edition() == now->edition()) return;
  kinds_ = now;
  v2_json_.clear();
  v2_protobuf_.clear();
  for (auto& [name, part] : parts_) part.fingerprint = 0;
  for (const KindRow* row : kinds_->rows()) {
    std::uint64_t& hash = parts_[part_of(row->kind)].fingerprint;
    if (hash == 0) hash = 14'695'981'039'346'656'037u;
    mix(hash, *row);
  }
  std::erase_if(parts_, [](const auto& each) { return each.second.fingerprint == 0; });
}

std::string OpenApi::v3_index() const {
  json::Writer w;
  w.object().member("paths").object();
  for (const auto& [name, part] : parts_)
    w.member(name)
        .object()
        .member("serverRelativeURL")
        .string(fmt::format("/openapi/v3/{}?hash={:016X}", name, part.fingerprint))
        .end();
  w.end().end();
  return w.take();
}

const std::string& OpenApi::v3_part(const std::string& path, Part& part) {
  if (part.made_of != part.fingerprint) {
    part.made_of = part.fingerprint;
    part.text = v3_document(*kinds_, path);
  }
  return part.text;
}

Result<kube::ApiReply> OpenApi::v2(std::string_view accept) {
  if (v2_json_.empty()) v2_json_ = v2_document(*kinds_);
  const bool protobuf = accept.find("proto-openapi.spec.v2") != std::string_view::npos;
  const bool json = accept.empty() || accept.find(kJson) != std::string_view::npos ||
                    accept.find("*/*") != std::string_view::npos ||
                    accept.find("application/*") != std::string_view::npos;
  // Whoever lists both has protobuf first.
  if (protobuf) {
    if (v2_protobuf_.empty()) v2_protobuf_ = gnostic_document(json::Slice(v2_json_));
    return reply_with(v2_protobuf_, kProtobuf);
  }
  if (json) return reply_with(v2_json_, kJson);
  return fail(Reason::kNotAcceptable,
              fmt::format("only the following media types are accepted: {}, {}", kJson, kProtobuf));
}

Result<kube::ApiReply> OpenApi::answer(const kube::ApiRequest& request) {
  look_again();
  std::string_view path = request.raw_path;
  path = path.substr(0, path.find('?'));
  while (path.ends_with('/')) path.remove_suffix(1);
  if (path == "/openapi/v2") return v2(request.accept);
  if (path == "/openapi/v3") return reply_with(v3_index(), kJson);
  constexpr std::string_view kV3 = "/openapi/v3/";
  if (path.starts_with(kV3))
    if (const auto part = parts_.find(path.substr(kV3.size())); part != parts_.end())
      return reply_with(v3_part(part->first, part->second), kJson);
  return fail(Reason::kNotFound, "the server could not find the requested resource");
}

}  // namespace berth::apiserver
