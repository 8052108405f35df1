// SPDX-License-Identifier: Apache-2.0
#include "scheduler/extender/extender_request.h"

#include "json/writer.h"
#include "scheduler/extender/go_reader.h"

namespace berth::scheduler {
namespace {

// One object of a kind, or null.
kube::Object read_object(GoReader& in, kube::KindId kind, std::string_view where) {
  if (!in.good() || in.null()) return {};
  Result<kube::Object> read = kube::Object::parse(kind, in.raw());
  if (read) return *std::move(read);
  in.complain(fmt::format("{}: {}", where, read.error().message));
  return {};
}

void read_victims(GoReader& in, std::string_view where, bool whole, VictimsByNode& all) {
  in.object(where, [&](std::string_view node) {
    ExtenderVictims& victims = all[json::unescape(node)];
    in.object(where, [&](std::string_view key) {
      if (same_name(key, "NumPDBViolations")) {
        in.integer(victims.pdb_violations, "NumPDBViolations");
      } else if (same_name(key, "Pods")) {
        in.list("Pods", [&] {
          if (whole) {
            kube::Object pod = read_object(in, kube::kPod, "Pods");
            if (!pod.valid()) return in.complain("Pods: a victim is null");
            victims.uids.emplace_back(pod.uid());
            victims.pods.push_back(std::move(pod));
            return;
          }
          std::string& uid = victims.uids.emplace_back();
          in.object("Pods", [&](std::string_view name) {
            if (!same_name(name, "UID")) return false;
            in.string(uid, "UID");
            return true;
          });
        });
      } else {
        return false;
      }
      return true;
    });
    return true;
  });
}

void write_strings(json::Writer& w, std::string_view name,
                   const std::map<std::string, std::string, std::less<>>& all) {
  w.member(name).object();
  for (const auto& [node, message] : all) w.member(node).string(message);
  w.end();
}

}  // namespace

Result<ExtenderQuestion> read_filter_request(std::string_view text) {
  GoReader in(text);
  ExtenderQuestion question;
  std::vector<std::string> names, node_names;
  bool has_nodes = false;
  in.object("the request", [&](std::string_view key) {
    if (same_name(key, "Pod")) {
      question.args.pod = read_object(in, kube::kPod, "Pod");
    } else if (same_name(key, "NodeNames")) {
      question.names_only |=
          in.list("NodeNames", [&] { in.string(names.emplace_back(), "NodeNames"); });
    } else if (same_name(key, "Nodes")) {
      has_nodes = in.object("Nodes", [&](std::string_view member) {
        if (!same_name(member, "items")) return false;
        in.list("Nodes.items", [&] {
          kube::Object node = read_object(in, kube::kNode, "Nodes.items");
          if (!node.valid()) return in.complain("Nodes.items: a node is null");
          node_names.emplace_back(node.name());
          question.args.nodes.push_back(std::move(node));
        });
        return true;
      });
    } else {
      return false;
    }
    return true;
  });
  if (auto end = in.end(); !end) return tl::unexpected(std::move(end.error()));
  if (!question.args.pod.valid()) return invalid("Pod: there is none");
  if (!question.names_only && !has_nodes) return invalid("neither Nodes nor NodeNames");
  question.args.names = std::make_shared<const std::vector<std::string>>(
      question.names_only ? std::move(names) : std::move(node_names));
  return question;
}

Result<ExtenderPreemptArgs> read_preempt_request(std::string_view text) {
  GoReader in(text);
  ExtenderPreemptArgs args;
  in.object("the request", [&](std::string_view key) {
    if (same_name(key, "Pod"))
      args.pod = read_object(in, kube::kPod, "Pod");
    else if (same_name(key, "NodeNameToVictims"))
      read_victims(in, "NodeNameToVictims", true, args.victims);
    else if (same_name(key, "NodeNameToMetaVictims"))
      read_victims(in, "NodeNameToMetaVictims", false, args.victims);
    else
      return false;
    return true;
  });
  if (auto end = in.end(); !end) return tl::unexpected(std::move(end.error()));
  if (!args.pod.valid()) return invalid("Pod: there is none");
  return args;
}

std::string filter_reply(const ExtenderFilterResult& result, bool names_only) {
  json::Writer w;
  w.object();
  if (names_only) {
    w.member("Nodes").null().member("NodeNames").array();
    for (const ExtenderFilterResult::Kept& each : result.kept) w.string(each.name);
    w.end();
  } else {
    w.member("Nodes").object().member("metadata").object().end().member("items").array();
    for (const ExtenderFilterResult::Kept& each : result.kept) w.raw(each.node.json());
    w.end().end().member("NodeNames").null();
  }
  write_strings(w, "FailedNodes", result.failed);
  write_strings(w, "FailedAndUnresolvableNodes", result.unresolvable);
  return w.member("Error").string("").end().take();
}

std::string preempt_reply(const VictimsByNode& all) {
  json::Writer w;
  w.object().member("NodeNameToMetaVictims").object();
  for (const auto& [node, victims] : all) {
    w.member(node).object().member("Pods").array();
    for (const std::string& uid : victims.uids) w.object().member("UID").string(uid).end();
    w.end().member("NumPDBViolations").integer(victims.pdb_violations).end();
  }
  return w.end().end().take();
}

}  // namespace berth::scheduler
