// SPDX-License-Identifier: Apache-2.0
#include "scheduler/extender/extender_wire.h"

#include <unordered_set>

#include <fmt/format.h>

#include "json/writer.h"
#include "scheduler/extender/go_reader.h"

namespace berth::scheduler {
namespace {

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

struct FilterReply {
  bool has_nodes = false, has_names = false;
  std::vector<kube::Object> nodes;
  std::vector<std::string> names;
  std::string error;
};

void read_nodes(GoReader& in, FilterReply& reply) {
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

void read_names(GoReader& in, FilterReply& reply) {
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
  GoReader in(text);
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
  GoReader in(text);
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
  GoReader in(text);
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
  GoReader in(text);
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
