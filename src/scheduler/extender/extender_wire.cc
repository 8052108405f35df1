// SPDX-License-Identifier: Apache-2.0
#include "scheduler/extender/extender_wire.h"

#include <charconv>
#include <unordered_set>

#include <fmt/format.h>

#include "json/cursor.h"
#include "json/writer.h"

namespace berth::scheduler {
namespace {

using json::Cursor;
using json::Type;

void append(std::string& out, const kube::Object& object) {
  if (!object.valid()) {
    out += "null";
    return;
  }
  for (const std::string_view part : object.json_parts()) out += part;
}

template <class List, class Append>
void append_list(std::string& out, const List& list, Append append_one) {
  out += '[';
  bool first = true;
  for (const auto& item : list) {
    if (!std::exchange(first, false)) out += ',';
    append_one(item);
  }
  out += ']';
}

char lower(char c) { return c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c; }

bool same_name(std::string_view raw_key, std::string_view name) {
  std::string unescaped;
  if (raw_key.find('\\') != std::string_view::npos) raw_key = unescaped = json::unescape(raw_key);
  return std::equal(raw_key.begin(), raw_key.end(), name.begin(), name.end(),
                    [](char a, char b) { return lower(a) == lower(b); });
}

std::string_view name_of(Type type) {
  switch (type) {
    case Type::kNull:
      return "null";
    case Type::kBool:
      return "a bool";
    case Type::kNumber:
      return "a number";
    case Type::kString:
      return "a string";
    case Type::kArray:
      return "a list";
    case Type::kObject:
      return "an object";
  }
  return "";
}

// Reads a reply as Go's decoder fills a struct: null leaves a value as it is, a name may come in
// any case, unknown members are skipped, and a value of the wrong type fails the whole. After the
// first problem everything else does nothing.
class Reader {
 public:
  explicit Reader(std::string_view text)
      : text_(first_value(text)), cursor_(text_, {.max_bytes = text_.size() + 1}) {}

  // Enters an object and calls member(key) for each of its members; member returns false for what
  // it does not know. False: null.
  template <class F>
  bool object(std::string_view where, F member) {
    if (!begin(Type::kObject, where)) return false;
    cursor_.enter_object();
    for (std::string_view key; good() && cursor_.next_key(key);)
      if (!member(key)) cursor_.skip();
    return good();
  }
  template <class F>
  bool list(std::string_view where, F element) {
    if (!begin(Type::kArray, where)) return false;
    cursor_.enter_array();
    while (good() && cursor_.next_element()) element();
    return good();
  }
  void string(std::string& out, std::string_view where) {
    if (!begin(Type::kString, where)) return;
    std::string scratch;
    out = cursor_.string(scratch);
  }
  // k8s 1.36: 1.0 and 1e3 are not integers to Go.
  void integer(std::int64_t& out, std::string_view where) {
    if (!begin(Type::kNumber, where)) return;
    const std::string_view digits = cursor_.number();
    std::int64_t value = 0;
    const auto [end, error] = std::from_chars(digits.data(), digits.data() + digits.size(), value);
    if (error != std::errc() || end != digits.data() + digits.size())
      return complain(fmt::format("{}: {} is not a 64-bit integer", where, digits));
    out = value;
  }
  void strings(std::map<std::string, std::string, std::less<>>& out, std::string_view where) {
    const bool any = object(where, [&](std::string_view key) {
      string(out[json::unescape(key)], where);
      return true;
    });
    if (!any && good()) out.clear();
  }
  std::string_view raw() { return cursor_.skip(); }
  bool null() { return good() && cursor_.null(); }

  void complain(std::string problem) {
    if (good()) problem_ = std::move(problem);
  }
  bool good() const { return problem_.empty() && cursor_.ok(); }
  Result<Ok> end() {
    if (!problem_.empty()) return invalid(problem_);
    if (!cursor_.finish()) return invalid(cursor_.error().message);
    return Ok{};
  }

 private:
  static std::string_view first_value(std::string_view text) {
    ValueEnd end;
    return end.feed(text) == ValueEnd::Found::kEnd ? text.substr(0, end.length()) : text;
  }

  bool begin(Type want, std::string_view where) {
    if (!good()) return false;
    const Type found = cursor_.peek();
    if (!cursor_.ok()) return false;
    if (found == want) return true;
    if (found == Type::kNull)
      cursor_.null();
    else
      complain(fmt::format("{}: expected {}, found {}", where, name_of(want), name_of(found)));
    return false;
  }

  std::string_view text_;
  Cursor cursor_;
  std::string problem_;
};

struct FilterReply {
  bool has_nodes = false, has_names = false;
  std::vector<kube::Object> nodes;
  std::vector<std::string> names;
  std::string error;
};

void read_nodes(Reader& in, FilterReply& reply) {
  reply.has_nodes = in.object("Nodes", [&](std::string_view key) {
    if (!same_name(key, "items")) return false;
    reply.nodes.clear();
    in.list("Nodes.items", [&] {
      const std::string where = fmt::format("Nodes.items[{}]", reply.nodes.size());
      Result<kube::Object> node = in.null() ? kube::Object::parse(kube::kNode, "{}")
                                            : kube::Object::parse(kube::kNode, in.raw());
      if (!node) return in.complain(fmt::format("{}: {}", where, node.error().message));
      reply.nodes.push_back(std::move(*node));
    });
    return true;
  });
}

void read_names(Reader& in, FilterReply& reply) {
  reply.names.clear();
  reply.has_names =
      in.list("NodeNames", [&] { in.string(reply.names.emplace_back(), "NodeNames"); });
}

}  // namespace

std::string extender_request(const ExtenderArgs& args, bool names_only) {
  std::string out;
  std::size_t bytes = args.pod.valid() ? args.pod.bytes() : 0;
  for (const kube::Object& node : args.nodes) bytes += node.bytes();
  out.reserve(bytes + 1024);
  out += "{\"Pod\":";
  append(out, args.pod);
  if (names_only) {
    out += ",\"Nodes\":null,\"NodeNames\":";
    append_list(out, *args.names, [&](const std::string& name) { json::append_quoted(out, name); });
  } else {
    out += ",\"Nodes\":{\"metadata\":{},\"items\":";
    if (args.nodes.empty())
      out += "null";
    else
      append_list(out, args.nodes, [&](const kube::Object& node) { append(out, node); });
    out += "},\"NodeNames\":null";
  }
  return out += '}';
}

std::string extender_request(const ExtenderPreemptArgs& args, bool uids_only) {
  std::string out = "{\"Pod\":";
  append(out, args.pod);
  out += uids_only ? ",\"NodeNameToVictims\":null,\"NodeNameToMetaVictims\":{"
                   : ",\"NodeNameToVictims\":{";
  bool first = true;
  for (const auto& [node, victims] : args.victims) {
    if (!std::exchange(first, false)) out += ',';
    json::append_quoted(out, node);
    out += ":{\"Pods\":";
    if (uids_only)
      append_list(out, victims.uids, [&](const std::string& uid) {
        out += "{\"UID\":";
        json::append_quoted(out, uid);
        out += '}';
      });
    else
      append_list(out, victims.pods, [&](const kube::Object& pod) { append(out, pod); });
    out += fmt::format(",\"NumPDBViolations\":{}}}", victims.pdb_violations);
  }
  out += uids_only ? "}}" : "},\"NodeNameToMetaVictims\":null}";
  return out;
}

std::string extender_request(const ExtenderBindArgs& args) {
  json::Writer w;
  w.object();
  w.member("PodName").string(args.name);
  w.member("PodNamespace").string(args.ns);
  w.member("PodUID").string(args.uid);
  w.member("Node").string(args.node);
  w.end();
  return w.take();
}

Result<ExtenderFilterResult> read_filter_reply(std::string_view text, const ExtenderArgs& asked,
                                               bool names_only, std::string_view from) {
  Reader in(text);
  FilterReply reply;
  ExtenderFilterResult result;
  in.object("the reply", [&](std::string_view key) {
    if (same_name(key, "Nodes"))
      read_nodes(in, reply);
    else if (same_name(key, "NodeNames"))
      read_names(in, reply);
    else if (same_name(key, "FailedNodes"))
      in.strings(result.failed, "FailedNodes");
    else if (same_name(key, "FailedAndUnresolvableNodes"))
      in.strings(result.unresolvable, "FailedAndUnresolvableNodes");
    else if (same_name(key, "Error"))
      in.string(reply.error, "Error");
    else
      return false;
    return true;
  });
  if (auto end = in.end(); !end) return tl::unexpected(std::move(end.error()));
  if (!reply.error.empty()) return fail(Reason::kUnknown, std::move(reply.error));
  if (names_only && reply.has_names) {
    const std::unordered_set<std::string_view> known(asked.names->begin(), asked.names->end());
    for (std::string& name : reply.names) {
      if (!known.contains(name))
        return fail(
            Reason::kUnknown,
            fmt::format(
                "extender {} claims a filtered node {} which is not found in the input node list",
                json::quoted(from), json::quoted(name)));
      result.kept.push_back({std::move(name), {}});
    }
  } else if (reply.has_nodes) {
    for (kube::Object& node : reply.nodes) {
      std::string name(node.name());
      result.kept.push_back({std::move(name), std::move(node)});
    }
  }
  return result;
}

Result<std::vector<HostScore>> read_prioritize_reply(std::string_view text) {
  Reader in(text);
  std::vector<HostScore> scores;
  in.list("the reply", [&] {
    HostScore& score = scores.emplace_back();
    in.object("a host's priority", [&](std::string_view key) {
      if (same_name(key, "Host"))
        in.string(score.host, "Host");
      else if (same_name(key, "Score"))
        in.integer(score.score, "Score");
      else
        return false;
      return true;
    });
  });
  if (auto end = in.end(); !end) return tl::unexpected(std::move(end.error()));
  return scores;
}

Result<VictimsByNode> read_preempt_reply(std::string_view text) {
  Reader in(text);
  VictimsByNode all;
  const auto read_pods = [&](ExtenderVictims& victims) {
    victims.uids.clear();
    in.list("Pods", [&] {
      victims.uids.emplace_back();
      const bool any = in.object("Pods", [&](std::string_view key) {
        if (!same_name(key, "UID")) return false;
        in.string(victims.uids.back(), "UID");
        return true;
      });
      if (!any) in.complain("Pods: a victim is null");
    });
  };
  const auto read_victims = [&](std::string_view node) {
    ExtenderVictims& victims = all[json::unescape(node)];
    const bool any = in.object("NodeNameToMetaVictims", [&](std::string_view key) {
      if (same_name(key, "Pods"))
        read_pods(victims);
      else if (same_name(key, "NumPDBViolations"))
        in.integer(victims.pdb_violations, "NumPDBViolations");
      else
        return false;
      return true;
    });
    if (!any) in.complain("NodeNameToMetaVictims: the victims of a node are null");
    return true;
  };
  in.object("the reply", [&](std::string_view key) {
    if (!same_name(key, "NodeNameToMetaVictims")) return false;
    if (!in.object("NodeNameToMetaVictims", read_victims) && in.good()) all.clear();
    return true;
  });
  if (auto end = in.end(); !end) return tl::unexpected(std::move(end.error()));
  return all;
}

Result<Ok> read_bind_reply(std::string_view text) {
  Reader in(text);
  std::string error;
  in.object("the reply", [&](std::string_view key) {
    if (!same_name(key, "Error")) return false;
    in.string(error, "Error");
    return true;
  });
  if (auto end = in.end(); !end) return tl::unexpected(std::move(end.error()));
  if (!error.empty()) return fail(Reason::kUnknown, std::move(error));
  return Ok{};
}

ValueEnd::Found ValueEnd::feed(std::string_view piece) {
  for (std::size_t i = 0; i < piece.size(); ++i) {
    const char c = piece[i];
    const auto ends_here = [&] {
      seen_ += i + 1;
      return Found::kEnd;
    };
    if (string_) {
      if (escaped_) {
        escaped_ = false;
      } else if (c == '\\') {
        escaped_ = true;
      } else if (c == '"') {
        string_ = false;
        if (depth_ == 0) return ends_here();
      }
      continue;
    }
    if (!started_) {
      if (c == ' ' || c == '\t' || c == '\r' || c == '\n') continue;
      if (std::string_view("{[\"-0123456789tfn").find(c) == std::string_view::npos)
        return Found::kGarbage;
      started_ = true;
    } else if (depth_ == 0 &&
               std::string_view(" \t\r\n{}[],:\"").find(c) != std::string_view::npos) {
      seen_ += i;  // a number or a word ends before this
      return Found::kEnd;
    }
    if (c == '"') {
      string_ = true;
    } else if (c == '{' || c == '[') {
      ++depth_;
    } else if (c == '}' || c == ']') {
      if (--depth_ == 0) return ends_here();
    }
  }
  seen_ += piece.size();
  return Found::kNotYet;
}

}  // namespace berth::scheduler
