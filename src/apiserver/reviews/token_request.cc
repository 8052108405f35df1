// SPDX-License-Identifier: Apache-2.0
// A token for a service account, perhaps bound to what must stay there with it.
#include <fmt/format.h>

#include "apiserver/kinds/findings.h"
#include "apiserver/reviews/parts.h"
#include "kube/time.h"
#include "kube/uid.h"

namespace berth::apiserver {

namespace {

constexpr std::int64_t kUsual = 3600, kLeast = 600, kMost = std::int64_t{1} << 32;
// k8s 1.36: what every pod's own volume asks for. Such tokens hold for a year, and using them
// beyond the hour they asked for is only warned of.
constexpr std::int64_t kOfPodVolumes = 3607, kExtended = 365 * 24 * 3600;

tl::unexpected<Error> not_found(std::string_view plural, std::string_view name) {
  return tl::unexpected(Error{.reason = Reason::kNotFound,
                              .message = fmt::format("{} {} not found", plural, json::quoted(name)),
                              .about = std::make_shared<const About>(
                                  About{.name = std::string(name), .kind = std::string(plural)})});
}

// What the token is bound to, and that it is still the same.
Result<Ok> bind(Peek ref, const kube::Object& account, const Store& store, TokenClaims& claims) {
  if (!ref) return Ok{};
  const std::string kind(ref["kind"].text()), api(ref["apiVersion"].text()),
      name(ref["name"].text());
  const bool core = api == "v1" || api.empty();
  const auto find = [&](kube::KindId id, std::string_view ns) {
    return store.get(id, {ns, name}, View::kPublished);
  };
  const kube::Object* found = nullptr;
  if (core && kind == "Pod") {
    if ((found = find(kube::kPod, claims.ns)) == nullptr) return not_found("pods", name);
    if (!found->member("spec")["serviceAccountName"].equals(account.name()))
      return fail(Reason::kBadRequest,
                  fmt::format("cannot bind token for serviceaccount {} to pod running with "
                              "different serviceaccount name.",
                              json::quoted(account.name())));
    claims.pod = {name, std::string(found->uid())};
    if (std::string node = found->member("spec")["nodeName"].text(); !node.empty()) {
      const kube::Object* there = store.get(kube::kNode, {"", node});
      claims.node = {std::move(node), there == nullptr ? "" : std::string(there->uid())};
    }
  } else if (core && kind == "Node") {
    if ((found = find(kube::kNode, "")) == nullptr) return not_found("nodes", name);
    claims.node = {name, std::string(found->uid())};
  } else if (core && kind == "Secret") {
    if ((found = find(kube::kSecret, claims.ns)) == nullptr) return not_found("secrets", name);
    claims.secret = {name, std::string(found->uid())};
  } else {
    const std::size_t slash = api.find('/');
    return fail(Reason::kBadRequest,
                fmt::format("cannot bind token to object of type {}/{}, Kind={}",
                            slash == std::string::npos ? "" : api.substr(0, slash),
                            slash == std::string::npos ? api : api.substr(slash + 1), kind));
  }
  if (const std::string_view uid = ref["uid"].text(); !uid.empty() && uid != found->uid())
    return tl::unexpected(
        Error{.reason = Reason::kConflict,
              .message = fmt::format("Operation cannot be fulfilled on {} {}: the UID in the bound "
                                     "object reference ({}) does not match the UID in record. The "
                                     "object might have been deleted and then recreated",
                                     kind, json::quoted(name), uid),
              .about = std::make_shared<const About>(About{.name = name, .kind = kind})});
  return Ok{};
}

Result<Ok> check(Peek posted, const kube::Object& account, std::int64_t seconds) {
  const kube::Kind kind{
      .group = "authentication.k8s.io", .version = "v1", .kind = "TokenRequest", .plural = ""};
  const About about{.group = kind.group, .kind = kind.kind};
  Findings findings;
  std::string named;
  const Path metadata("metadata");
  const std::string_view name = posted["metadata"]["name"].text(),
                         ns = posted["metadata"]["namespace"].text(),
                         uid = posted["metadata"]["uid"].text();
  if (!name.empty() && name != account.name())
    findings.invalid(metadata / "name", name, "must match the service account name if specified");
  else if (!ns.empty() && ns != account.ns())
    findings.invalid(metadata / "namespace", ns,
                     "must match the service account namespace if specified");
  if (!findings.empty()) {
    named = account.name();
  } else if (!uid.empty() && uid != account.uid()) {
    return tl::unexpected(
        Error{.reason = Reason::kConflict,
              .message = fmt::format(
                  "Operation cannot be fulfilled on TokenRequest.authentication.k8s.io {}: the UID "
                  "in the token request ({}) does not match the UID of the service account ({})",
                  json::quoted(account.name()), uid, account.uid()),
              .about = std::make_shared<const About>(About{
                  .name = std::string(account.name()), .group = kind.group, .kind = kind.kind})});
  } else {
    const Path at = Path("spec") / "expirationSeconds";
    if (seconds < kLeast)
      findings.invalid(at, seconds, "may not specify a duration less than 10 minutes");
    if (seconds > kMost)
      findings.invalid(at, seconds, "may not specify a duration larger than 2^32 seconds");
  }
  if (findings.empty()) return Ok{};
  Error error = findings.error(kind, named);
  error.about =
      std::make_shared<const About>(About{.name = named, .group = about.group, .kind = about.kind});
  return tl::unexpected(std::move(error));
}

}  // namespace

Reply answer_token_request(const ReviewParts& parts, Store& store, Random& random,
                           Question& question) {
  const kube::Object& account = *question.object;
  const Peek posted(question.posted), spec = posted["spec"];
  const std::int64_t asked = spec["expirationSeconds"].integer_or(0);
  const std::int64_t seconds = asked == 0 && !spec["expirationSeconds"] ? kUsual : asked;
  if (auto ok = check(posted, account, seconds); !ok) return tl::unexpected(ok.error());

  const WallTime now = parts.clock.wall();
  const std::int64_t at = now.unix_nanos / 1'000'000'000;
  TokenClaims claims{.ns = std::string(account.ns()),
                     .account = {std::string(account.name()), std::string(account.uid())},
                     .issued = at,
                     .not_before = at,
                     .expires = at + seconds,
                     .id = kube::random_uid(random)};
  for (const json::Value& each : spec["audiences"].elements())
    claims.audiences.emplace_back(Peek(each).text());
  if (claims.audiences.empty()) claims.audiences = parts.authenticator.audiences();
  const Peek ref = spec["boundObjectRef"];
  if (auto ok = bind(ref, account, store, claims); !ok) return tl::unexpected(ok.error());
  if (claims.pod && seconds == kOfPodVolumes &&
      claims.audiences == parts.authenticator.audiences()) {
    claims.warn_after = at + seconds;
    claims.expires = at + kExtended;
  }

  json::Writer w;
  w.object().member("metadata").object().member("name").string(account.name());
  w.member("namespace").string(account.ns()).member("uid").string(account.uid());
  w.member("creationTimestamp").string(kube::time_text(now)).end();
  w.member("spec").object();
  write_words(w, "audiences", claims.audiences);
  w.member("expirationSeconds").integer(seconds).member("boundObjectRef");
  if (ref)
    w.raw(raw(ref));
  else
    w.null();
  w.end().member("status").object().member("token").string(parts.tokens.mint(claims));
  w.member("expirationTimestamp").string(kube::time_text(WallTime{(at + seconds) * 1'000'000'000}));
  w.end().end();
  return reply_of(kube::guess_kind("authentication.k8s.io/v1", "TokenRequest"), w.take());
}

}  // namespace berth::apiserver
