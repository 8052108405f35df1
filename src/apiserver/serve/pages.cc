// SPDX-License-Identifier: Apache-2.0
#include "apiserver/serve/pages.h"

#include <algorithm>
#include <set>

#include <fmt/format.h>

#include "json/writer.h"

namespace berth::apiserver {
namespace {

using kube::ApiReply;

ApiReply text_page(std::string text, std::string type = "text/plain; charset=utf-8") {
  ApiReply reply;
  reply.body = std::move(text);
  reply.content_type = std::move(type);
  return reply;
}

std::string_view path_of(const kube::ApiRequest& asked) {
  return std::string_view(asked.raw_path).substr(0, asked.raw_path.find('?'));
}

bool asks(const kube::ApiRequest& asked, std::string_view word) {
  const std::size_t at = asked.raw_path.find('?');
  if (at == std::string::npos) return false;
  std::string_view rest = std::string_view(asked.raw_path).substr(at + 1);
  while (!rest.empty()) {
    const std::size_t end = std::min(rest.find('&'), rest.size());
    const std::string_view one = rest.substr(0, end);
    if (one.substr(0, one.find('=')) == word) return true;
    rest.remove_prefix(std::min(end + 1, rest.size()));
  }
  return false;
}

// What is looked at. All but the store are as healthy as the loop that answers.
constexpr std::string_view kChecks[] = {"ping", "log", "etcd"};
constexpr std::string_view kHealth[] = {"/healthz", "/livez", "/readyz"};

bool healthy(const Core& core, std::string_view check) {
  return check != "etcd" || !core.store.refusing_writes();
}

Result<ApiReply> health(const Core& core, const kube::ApiRequest& asked, std::string_view root) {
  std::string_view name = path_of(asked);
  name.remove_prefix(root.size());
  if (!name.empty()) {
    name.remove_prefix(1);
    if (std::find(std::begin(kChecks), std::end(kChecks), name) == std::end(kChecks))
      return tl::unexpected(unknown_resource());
    if (healthy(core, name)) return text_page("ok");
  }
  std::string lines;
  bool all = true;
  for (const std::string_view check : kChecks) {
    if (!name.empty() && check != name) continue;
    const bool fine = healthy(core, check);
    all &= fine;
    lines += fine ? fmt::format("[+]{} ok\n", check)
                  : fmt::format("[-]{} failed: reason withheld\n", check);
  }
  const std::string_view word = root.substr(1);
  if (!all) {
    ApiReply reply = text_page(fmt::format("{}{} check failed\n", lines, word));
    reply.code = 500;
    return reply;
  }
  if (!asks(asked, "verbose")) return text_page("ok");
  return text_page(fmt::format("{}{} check passed\n", lines, word));
}

// k8s 1.36: a few pages are indented, whoever asks.
std::string version() {
  const std::pair<std::string_view, std::string_view> kRows[] = {
      {"major", "1"},
      {"minor", "36"},
      {"emulationMajor", "1"},
      {"emulationMinor", "36"},
      {"minCompatibilityMajor", "1"},
      {"minCompatibilityMinor", "35"},
      {"gitVersion", "v1.36.4+berth"},
      {"gitCommit", ""},
      {"gitTreeState", ""},
      {"buildDate", "1970-01-01T00:00:00Z"},
      {"goVersion", ""},
      {"compiler", ""},
      {"platform", "linux/amd64"},
  };
  std::string out;
  for (const auto& [key, value] : kRows)
    out += fmt::format("{}\n  {}: {}", out.empty() ? "{" : ",", json::quoted(key),
                       json::quoted(value));
  return out + "\n}";
}

// Everything that can be asked for, for whoever looks around.
std::string root_paths(const Core& core) {
  std::set<std::string> paths;
  for (const auto& [path, page] : core.pages) {
    if (!path.ends_with('/')) paths.insert(path);
    if (path == "/openapi/") paths.insert({"/openapi/v2", "/openapi/v3", "/openapi/v3/"});
  }
  for (const std::string_view root : kHealth)
    for (const std::string_view check : kChecks) paths.insert(fmt::format("{}/{}", root, check));
  const std::shared_ptr<const Kinds> kinds = core.kinds.now();
  for (const KindRow* row : kinds->rows()) {
    const kube::Kind& kind = row->kind;
    paths.insert(kind.group.empty() ? "/api/" + kind.version
                                    : fmt::format("/apis/{}/{}", kind.group, kind.version));
    if (!kind.group.empty()) paths.insert("/apis/" + kind.group);
  }
  paths.insert("/apis/");
  std::string out = "{\n  \"paths\": [";
  for (const std::string& path : paths)
    out += fmt::format("{}\n    {}", out.ends_with('[') ? "" : ",", json::quoted(path));
  return out + "\n  ]\n}";
}

// k8s 1.36: what a router by methods answers knows GET alone.
bool takes_head(const Kinds& kinds, std::string_view path) {
  if (path.starts_with("/.well-known/") || path.starts_with("/openid/")) return false;
  if (path.size() > 1 && path.ends_with('/')) path.remove_suffix(1);
  if (path == "/version" || path == "/api" || path == "/api/v1") return false;
  constexpr std::string_view kGroups = "/apis/";
  if (!path.starts_with(kGroups)) return true;
  for (const KindRow* row : kinds.rows())
    if (!row->custom && path.substr(kGroups.size()) == row->kind.api_version()) return false;
  return true;
}

}  // namespace

void add_pages(Core& core) {
  for (const std::string_view root : kHealth) {
    const Server::Page page = [&core, root](const kube::ApiRequest& asked) {
      return health(core, asked, root);
    };
    core.pages[std::string(root)] = page;
    core.pages[std::string(root) + "/"] = page;
  }
  core.pages["/version"] = [](const kube::ApiRequest&) {
    return text_page(version(), "application/json");
  };
  core.pages["/metrics"] = [&core](const kube::ApiRequest&) {
    return text_page(core.metrics.exposition(), "text/plain; version=0.0.4; charset=utf-8");
  };
  const Server::Page discover = [&core](const kube::ApiRequest& asked) -> Result<ApiReply> {
    std::optional<ApiReply> found = discovery(core, path_of(asked), asked.accept);
    if (!found) return tl::unexpected(unknown_resource());
    return std::move(*found);
  };
  for (const std::string_view root : {"/api", "/apis", "/api/", "/apis/"})
    core.pages[std::string(root)] = discover;
}

namespace {
// The one with the longest path that fits.
template <class Map>
const typename Map::mapped_type* fitting(const Map& map, std::string_view path) {
  const typename Map::mapped_type* found = nullptr;
  std::size_t longest = 0;
  for (const auto& [prefix, each] : map) {
    const bool fits = prefix.ends_with('/') ? path.starts_with(prefix) : path == prefix;
    if (!fits || prefix.size() < longest) continue;
    longest = prefix.size();
    found = &each;
  }
  return found;
}
}  // namespace

void serve_page(const CallPtr& call) {
  const kube::ApiRequest& asked = call->request;
  const std::string_view path = path_of(asked);
  const bool reads =
      asked.raw_method == "GET" || (asked.raw_method == "HEAD" && takes_head(*call->kinds, path));
  if (reads && (path == "/" || path == "/index.html"))
    return call->answer(text_page(root_paths(call->core), "application/json"));
  const Server::Page* const page = fitting(call->core.pages, path);
  const Server::Deed* const deed = fitting(call->core.deeds, path);
  if (page == nullptr && deed == nullptr) return call->answer(unknown_resource());
  if (deed != nullptr && asked.raw_method == "POST")
    return (*deed)(asked, call->core.scope.done<ApiReply>(kNoLimit, [call](Result<ApiReply> reply) {
      call->answer(std::move(reply));
    }));
  if (page == nullptr || !reads) return call->answer(not_allowed());
  call->answer((*page)(asked));
}

void refuse_connection(Call& call) {
  const kube::ApiRequest& asked = call.request;
  if (call.row->stored &&
      call.core.store.get(call.table(), KeyRef(asked.ns, asked.name)) == nullptr)
    return call.answer(not_found(call.kind(), asked.name));
  call.answer({.reason = Reason::kMethodNotAllowed,
               .message = fmt::format("{}{}{} is not served here: there is nothing to connect to",
                                      call.kind().plural, asked.subresource.empty() ? "" : "/",
                                      asked.subresource),
               .about = std::make_shared<const About>()});
}

}  // namespace berth::apiserver
