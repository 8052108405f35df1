// SPDX-License-Identifier: Apache-2.0
// A document on the first line, an expression on the others: whatever is compiled ends within its
// budget, twice with the same answer.
#include <string>

#include "base/check.h"
#include "json/cursor.h"
#include "kube/cel/program.h"

using namespace berth;  // NOLINT

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::string_view input(reinterpret_cast<const char*>(data), size);
  const std::size_t line = std::min(input.find('\n'), input.size());
  std::string document(input.substr(0, line));
  const auto checked = json::check(document);
  if (!checked) document = R"({"a":[1,"x",null,{"b":2.5}],"q":"1Gi","t":"2026-01-01T00:00:00Z"})";
  cel::Type self{.kind = cel::Kind::kObject};
  self.members["a"] = {"a", cel::list_of(cel::simple(cel::Kind::kDyn))};
  self.members["q"] = {"q", cel::simple(cel::Kind::kString)};
  self.members["t"] = {"t", cel::simple(cel::Kind::kTimestamp)};
  self.members["m"] = {"m", cel::map_of(cel::simple(cel::Kind::kInt))};
  const auto program = cel::Program::compile(
      input.substr(std::min(line + 1, input.size())),
      {{"self", std::make_shared<const cel::Type>(self)}, {"any", cel::simple(cel::Kind::kDyn)}});
  if (!program) return 0;
  constexpr std::uint64_t kMost = 20'000;
  const cel::Node node = cel::node_of(json::Slice(document));
  const cel::Node nodes[] = {node, node};
  const auto first = program->evaluate(nodes, kMost), second = program->evaluate(nodes, kMost);
  BERTH_CHECK(first.cost <= kMost && first.cost == second.cost);
  BERTH_CHECK(first.value.kind() == second.value.kind());
  BERTH_CHECK(!first.exhausted || first.value.is_error());
  return 0;
}
