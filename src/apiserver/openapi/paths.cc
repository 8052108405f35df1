// SPDX-License-Identifier: Apache-2.0
#include "apiserver/openapi/paths.h"

#include <algorithm>
#include <span>
#include <vector>

#include <fmt/format.h>

#include "json/writer.h"

namespace berth::apiserver {
namespace {

struct Parameter {
  std::string_view name, type;
};
constexpr Parameter kListing[] = {
    {"allowWatchBookmarks", "boolean"},
    {"continue", "string"},
    {"fieldSelector", "string"},
    {"labelSelector", "string"},
    {"limit", "integer"},
    {"resourceVersion", "string"},
    {"resourceVersionMatch", "string"},
    {"sendInitialEvents", "boolean"},
    {"timeoutSeconds", "integer"},
    {"watch", "boolean"},
};
constexpr Parameter kWriting[] = {
    {"dryRun", "string"}, {"fieldManager", "string"}, {"fieldValidation", "string"}};
constexpr Parameter kPatching[] = {{"dryRun", "string"},
                                   {"fieldManager", "string"},
                                   {"fieldValidation", "string"},
                                   {"force", "boolean"}};
constexpr Parameter kDeleting[] = {{"dryRun", "string"},
                                   {"gracePeriodSeconds", "integer"},
                                   {"orphanDependents", "boolean"},
                                   {"propagationPolicy", "string"}};

// One thing that can be done at a path.
struct Operation {
  std::string_view method, verb;  // "get", and the verb in discovery's words: "list"
  std::string_view action;        // x-kubernetes-action
  std::string_view word;          // with which its id begins: "read"
  std::span<const Parameter> parameters = {};
};
constexpr Operation kOnCollection[] = {
    {"get", "list", "list", "list", kListing},
    {"post", "create", "post", "create", kWriting},
    {"delete", "deletecollection", "deletecollection", "delete", kDeleting},
};
constexpr Operation kOnObject[] = {
    {"get", "get", "get", "read"},
    {"put", "update", "put", "replace", kWriting},
    {"patch", "patch", "patch", "patch", kPatching},
    {"delete", "delete", "delete", "delete", kDeleting},
    {"post", "create", "post", "create", kWriting},  // of subresources
};

std::string capitalized(std::string_view word) {
  std::string out(word);
  if (!out.empty() && out[0] >= 'a' && out[0] <= 'z')
    out[0] = static_cast<char>(out[0] - 'a' + 'A');
  return out;
}

// "RbacAuthorizationV1" of rbac.authorization.k8s.io/v1.
std::string group_word(const kube::Kind& kind) {
  std::string_view group = kind.group.empty() ? "core" : std::string_view(kind.group);
  if (group.ends_with(".k8s.io")) group.remove_suffix(7);
  std::string out;
  while (!group.empty()) {
    const std::string_view part = group.substr(0, group.find('.'));
    group.remove_prefix(std::min(part.size() + 1, group.size()));
    out += capitalized(part);
  }
  return out + capitalized(kind.version);
}

bool has(const std::vector<std::string_view>& verbs, std::string_view verb) {
  return std::find(verbs.begin(), verbs.end(), verb) != verbs.end();
}

// Writes the operations of one path.
class PathWriter {
 public:
  PathWriter(const KindRow& row, OpenApiVersion version, Definitions& definitions)
      : row_(row), v2_(version == OpenApiVersion::kV2), definitions_(definitions) {}

  // `kind` is what is read and written there; "" for what has no schema.
  std::string item(const std::vector<std::string_view>& verbs, std::span<const Operation> known,
                   const kube::Kind& kind, const std::string& schema, std::string_view where,
                   bool named, bool in_namespace, std::string_view subresource) {
    json::Writer w;
    w.object();
    bool any = false;
    for (const Operation& each : known) {
      if (!has(verbs, each.verb) || (each.method == "post" && named && subresource.empty()))
        continue;
      any = true;
      w.member(each.method).object();
      operation(w, each, kind, schema, where, subresource);
      w.end();
    }
    if (!any) return "";
    w.member("parameters").array();
    if (named) parameter(w, {"name", "string"}, "path");
    if (in_namespace) parameter(w, {"namespace", "string"}, "path");
    parameter(w, {"pretty", "string"}, "query");
    w.end().end();
    return w.take();
  }

 private:
  void parameter(json::Writer& w, const Parameter& each, std::string_view in) {
    w.object().member("name").string(each.name).member("in").string(in);
    if (in == "path") w.member("required").boolean(true);
    if (!v2_) w.member("schema").object();
    w.member("type").string(each.type).member("uniqueItems").boolean(true);
    if (!v2_) w.end();
    w.end();
  }

  void content(json::Writer& w, std::string_view ref,
               std::initializer_list<std::string_view> types) {
    w.member("content").object();
    for (const std::string_view type : types)
      w.member(type).object().member("schema").raw(ref).end();
    w.end();
  }

  std::string body_schema(const Operation& each, const std::string& schema) {
    if (each.action == "patch")
      return definitions_.add_object("io.k8s.apimachinery.pkg.apis.meta.v1.Patch");
    if (each.method == "delete") return definitions_.add("", "v1", "DeleteOptions");
    return each.method == "get" ? "" : schema;
  }

  void body(json::Writer& w, const Operation& each, const std::string& schema) {
    const bool patch = each.action == "patch", custom = row_.custom;
    const std::string ref = definitions_.ref(schema);
    w.member("requestBody").object();
    if (patch && custom)
      content(w, ref,
              {"application/json-patch+json", "application/merge-patch+json",
               "application/apply-patch+yaml"});
    else if (patch)
      content(w, ref,
              {"application/json-patch+json", "application/merge-patch+json",
               "application/strategic-merge-patch+json", "application/apply-patch+yaml"});
    else if (custom)
      content(w, ref, {"application/json", "application/yaml"});
    else
      content(w, ref, {"*/*"});
    if (each.method != "delete") w.member("required").boolean(true);
    w.end();
  }

  void operation(json::Writer& w, const Operation& each, const kube::Kind& kind,
                 const std::string& schema, std::string_view where, std::string_view subresource) {
    const bool collection = each.verb == "deletecollection";
    w.member("operationId")
        .string(fmt::format("{}{}{}{}{}{}", each.word, group_word(row_.kind),
                            collection ? "Collection" : "", where == "Namespaced" ? where : "",
                            row_.kind.kind, capitalized(subresource)) +
                (where == "ForAllNamespaces" ? std::string(where) : ""));
    const std::string sent = body_schema(each, schema);
    w.member("parameters").array();
    if (v2_ && !sent.empty()) {
      w.object().member("name").string("body").member("in").string("body");
      if (each.method != "delete") w.member("required").boolean(true);
      w.member("schema").raw(definitions_.ref(sent)).end();
    }
    for (const Parameter& one : each.parameters) parameter(w, one, "query");
    w.end();
    if (!v2_ && !sent.empty()) body(w, each, sent);
    if (v2_) {
      w.member("consumes").array();
      if (each.action == "patch") {
        w.string("application/json-patch+json").string("application/merge-patch+json");
        if (!row_.custom) w.string("application/strategic-merge-patch+json");
        w.string("application/apply-patch+yaml");
      } else {
        w.string("*/*");
      }
      w.end()
          .member("produces")
          .array()
          .string("application/json")
          .string("application/yaml")
          .end();
    }
    std::string reply = schema;
    if (each.verb == "list") reply = definitions_.add_list(row_);
    if (collection || each.verb == "delete") reply = definitions_.add("", "v1", "Status");
    w.member("responses").object();
    for (const std::string_view code :
         each.method == "post" || each.method == "put" || each.method == "patch"
             ? std::vector<std::string_view>{"200", "201"}
             : std::vector<std::string_view>{"200"}) {
      w.member(code).object().member("description").string(code == "200" ? "OK" : "Created");
      if (!reply.empty() && v2_) w.member("schema").raw(definitions_.ref(reply));
      if (!reply.empty() && !v2_)
        content(w, definitions_.ref(reply), {"application/json", "application/yaml"});
      w.end();
    }
    w.end();
    w.member("x-kubernetes-action").string(each.action);
    w.member("x-kubernetes-group-version-kind").object();
    w.member("group").string(kind.group).member("kind").string(kind.kind);
    w.member("version").string(kind.version).end();
  }

  const KindRow& row_;
  bool v2_;
  Definitions& definitions_;
};

}  // namespace

void add_paths(const KindRow& row, OpenApiVersion version, Definitions& definitions, Paths& paths) {
  PathWriter writer(row, version, definitions);
  const kube::Kind& kind = row.kind;
  const std::string schema = definitions.add(row);
  const std::string root = kind.group.empty()
                               ? "/api/" + kind.version
                               : fmt::format("/apis/{}/{}", kind.group, kind.version);
  const auto put = [&](std::string path, std::string item) {
    if (!item.empty()) paths[std::move(path)] = std::move(item);
  };
  std::string home = root + "/" + kind.plural;
  if (kind.namespaced) {
    if (has(row.verbs, "list"))
      put(home,
          writer.item({"list"}, kOnCollection, kind, schema, "ForAllNamespaces", false, false, ""));
    home = fmt::format("{}/namespaces/{{namespace}}/{}", root, kind.plural);
  }
  const std::string_view where = kind.namespaced ? "Namespaced" : "";
  put(home, writer.item(row.verbs, kOnCollection, kind, schema, where, false, kind.namespaced, ""));
  put(home + "/{name}",
      writer.item(row.verbs, kOnObject, kind, schema, where, true, kind.namespaced, ""));
  for (const Subresource& sub : row.subresources) {
    if (sub.kind.ends_with("Options")) continue;  // streams, which no document can describe
    kube::Kind own = kind;
    if (!sub.kind.empty()) own.kind = sub.kind;
    if (!sub.version.empty()) {
      own.group = sub.group;
      own.version = sub.version;
    }
    const std::string own_schema =
        own.kind == kind.kind ? schema : definitions.add(own.group, own.version, own.kind);
    put(fmt::format("{}/{{name}}/{}", home, sub.name),
        writer.item(sub.verbs, kOnObject, own, own_schema, where, true, kind.namespaced, sub.name));
  }
}

}  // namespace berth::apiserver
