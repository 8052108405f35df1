// SPDX-License-Identifier: Apache-2.0
// Objects read from manifest files, with the place each came from, so that errors can name file and
// line.
#pragma once

#include <map>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/result.h"
#include "kube/object.h"

namespace berth::cli {

// Thread-compatible.
class Manifests {
 public:
  // Every document of a YAML or JSON file ("-" is standard input); a List is taken apart. An error
  // is one line, `cluster.yaml:17: …`, and leaves everything as it was.
  Result<Ok> read(const std::string& file);
  Result<Ok> add(const std::string& file, std::string_view text);  // of text that was read already

  std::span<const kube::Object> of(kube::KindId) const;
  const std::vector<kube::Object>& all() const { return all_; }  // in the order they were read

  // Where a field of an object stands: "cluster.yaml:17".
  std::string place_of(const kube::Object&, std::string_view field) const;

 private:
  struct Source {
    std::string file;
    std::shared_ptr<const std::string> text;
    std::size_t document = 0;  // in the stream
    std::string prefix;        // "items[3]" inside a List
    std::string place(std::string_view field) const;
  };
  using Id = std::pair<kube::KindId, kube::Key>;
  using Found = std::vector<std::pair<kube::Object, Source>>;
  Result<Ok> take(std::string_view json, const Source&, Found&) const;

  std::vector<kube::Object> all_;
  std::map<kube::KindId, std::vector<kube::Object>> by_kind_;
  std::map<Id, Source> sources_;
};

}  // namespace berth::cli
