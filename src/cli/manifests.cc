// SPDX-License-Identifier: Apache-2.0
#include "cli/manifests.h"

#include <cerrno>
#include <cstring>
#include <fstream>
#include <iostream>
#include <iterator>

#include <fmt/format.h>

#include "json/yaml.h"

namespace berth::cli {

std::string Manifests::Source::place(std::string_view field) const {
  const std::string path = prefix.empty() || field.empty() ? prefix + std::string(field)
                                                           : fmt::format("{}.{}", prefix, field);
  const auto line = json::yaml_line_of(*text, document, path);
  return line ? fmt::format("{}:{}", file, *line) : file;
}

Result<Ok> Manifests::read(const std::string& file) {
  if (file == "-")
    return add("standard input", std::string(std::istreambuf_iterator<char>(std::cin), {}));
  std::ifstream in(file, std::ios::binary);
  std::string text;
  if (in) text.assign(std::istreambuf_iterator<char>(in), {});
  if (!in)
    return fail(
        Reason::kNotFound,
        fmt::format("{}: cannot be read: {}; give the path of a manifest, or - for standard input",
                    file, std::strerror(errno)));
  return add(file, text);
}

Result<Ok> Manifests::add(const std::string& file, std::string_view text) {
  const auto shared = std::make_shared<const std::string>(text);
  Result<std::vector<json::YamlDocument>> documents = json::yaml_to_json(*shared);
  if (!documents)
    return invalid(fmt::format("{}: {}; correct the YAML there", file, documents.error().message));
  Found found;
  for (std::size_t i = 0; i < documents->size(); ++i)
    if (Result<Ok> taken = take((*documents)[i].json, {file, shared, i, ""}, found); !taken)
      return taken;

  std::map<Id, Source> sources = sources_;
  for (auto& [object, source] : found) {
    const auto [at, fresh] = sources.try_emplace(Id{object.kind(), object.key()}, source);
    if (!fresh)
      return invalid(fmt::format("{}: {} {} stands at {} already; remove one of the two",
                                 source.place("metadata.name"), kube::kind_of(object.kind()).kind,
                                 object.key().text(), at->second.place("metadata.name")));
  }
  sources_ = std::move(sources);
  for (auto& [object, source] : found) {
    all_.push_back(object);
    by_kind_[object.kind()].push_back(std::move(object));
  }
  return Ok{};
}

// `json` is one object or a List of them.
Result<Ok> Manifests::take(std::string_view json, const Source& source, Found& found) const {
  const json::Slice document(json);
  if (!document.is_object())
    return invalid(
        fmt::format("{}: a manifest is a map with apiVersion and kind", source.place("")));
  if (document["items"].is_array() && document["kind"].text().ends_with("List")) {
    std::size_t index = 0;
    for (const json::Slice item : document["items"].elements()) {
      Source inside = source;
      inside.prefix = fmt::format("items[{}]", index++);
      if (Result<Ok> taken = take(item.raw(), inside, found); !taken) return taken;
    }
    return Ok{};
  }
  Result<kube::Object> object = kube::Object::parse(json);
  if (!object) return invalid(fmt::format("{}: {}", source.place(""), object.error().message));
  if (object->name().empty())
    return invalid(fmt::format("{}: {} has no metadata.name; give it one", source.place("metadata"),
                               kube::kind_of(object->kind()).kind));
  found.emplace_back(*std::move(object), source);
  return Ok{};
}

std::span<const kube::Object> Manifests::of(kube::KindId kind) const {
  const auto at = by_kind_.find(kind);
  return at == by_kind_.end() ? std::span<const kube::Object>() : at->second;
}

std::string Manifests::place_of(const kube::Object& object, std::string_view field) const {
  const auto at = sources_.find({object.kind(), object.key()});
  return at == sources_.end() ? "" : at->second.place(field);
}

}  // namespace berth::cli
