// SPDX-License-Identifier: Apache-2.0
#include "policy/admission/rotation.h"

#include <algorithm>

#include <fmt/format.h>

#include "base/base64.h"
#include "base/check.h"
#include "json/writer.h"
#include "kube/time.h"

namespace berth::admission {
namespace {

constexpr std::string_view kRenewAt = "berth.dev/renew-at", kNames = "berth.dev/names",
                           kNextRenewAt = "berth.dev/next-renew-at",
                           kNextNames = "berth.dev/next-names", kRetireAt = "berth.dev/retire-at";
constexpr Duration kLookAgain = 30s, kSoon = 2s;

std::string data(const kube::Object& secret, std::string_view key) {
  return from_base64(secret.member("data")[key].text()).value_or("");
}
std::optional<WallTime> time(const kube::Object& secret, std::string_view annotation) {
  return kube::parse_time(secret.annotation(annotation));
}
bool whole(const FreshCertificate& one) {
  return !one.authority.empty() && !one.certificate.empty() && !one.key.empty();
}

}  // namespace

std::string Certificates::bundle() const {
  return served.authority + next.authority + old_authority;
}

std::optional<Certificates> read_certificates(const kube::Object& secret) {
  if (!secret.valid()) return std::nullopt;
  Certificates out{
      .served = {data(secret, "ca.crt"), data(secret, "tls.crt"), data(secret, "tls.key")},
      .names = secret.annotation(kNames),
      .next = {data(secret, "next-ca.crt"), data(secret, "next-tls.crt"),
               data(secret, "next-tls.key")},
      .next_names = secret.annotation(kNextNames),
      .old_authority = data(secret, "old-ca.crt")};
  const auto renew = time(secret, kRenewAt);
  if (!whole(out.served) || !renew) return std::nullopt;
  out.renew_at = *renew;
  const auto next_renew = time(secret, kNextRenewAt);
  if (whole(out.next) && next_renew)
    out.next_renew_at = *next_renew;
  else
    out.next = {}, out.next_names = {};
  // Without a time it has been long enough.
  out.retire_at = time(secret, kRetireAt).value_or(WallTime{});
  return out;
}

std::string secret_json(const kube::Key& key, const Certificates& all, const kube::Object& before) {
  json::Writer w;
  w.object().member("apiVersion").string("v1").member("kind").string("Secret");
  w.member("metadata").object().member("name").string(key.name).member("namespace").string(key.ns);
  if (before.valid()) {
    w.member("uid").string(before.uid());
    w.member("resourceVersion").string(std::to_string(before.revision()));
  }
  w.member("labels").object().member("app").string("berth-controllers").end();
  w.member("annotations").object().member(kRenewAt).string(kube::time_text(all.renew_at));
  w.member(kNames).string(all.names);
  if (all.has_next()) {
    w.member(kNextRenewAt).string(kube::time_text(all.next_renew_at));
    w.member(kNextNames).string(all.next_names);
  }
  if (!all.old_authority.empty()) w.member(kRetireAt).string(kube::time_text(all.retire_at));
  w.end().end();
  // k8s 1.36: the type of a Secret never changes.
  const std::string type = before.valid() ? before.member("type").text() : std::string();
  w.member("type").string(type.empty() ? "kubernetes.io/tls" : type);
  w.member("data").object();
  const auto put = [&](std::string_view name, const std::string& bytes) {
    if (!bytes.empty()) w.member(name).string(base64(bytes));
  };
  put("ca.crt", all.served.authority);
  put("tls.crt", all.served.certificate);
  put("tls.key", all.served.key);
  put("next-ca.crt", all.next.authority);
  put("next-tls.crt", all.next.certificate);
  put("next-tls.key", all.next.key);
  put("old-ca.crt", all.old_authority);
  w.end().end();
  return w.take();
}

std::string_view name_of(RotationStep step) {
  switch (step) {
    case RotationStep::kNone:
      return "none";
    case RotationStep::kMake:
      return "make";
    case RotationStep::kAnnounce:
      return "announce";
    case RotationStep::kPublish:
      return "publish";
    case RotationStep::kSwitch:
      return "switch";
    case RotationStep::kRetire:
      return "retire";
  }
  return "";
}

RotationDecision decide(const RotationSight& sight, const RotationTimes& times, WallTime wall,
                        Instant now) {
  if (!sight.secret) return {RotationStep::kMake};
  const Certificates& all = *sight.secret;
  if (!all.has_next() && (wall >= all.renew_at || all.names != sight.names))
    return {RotationStep::kAnnounce};
  // Nobody is to ask where nobody answers.
  if (!sight.serving) return {RotationStep::kNone, kSoon};
  if (!sight.published) return {RotationStep::kPublish};
  if (all.has_next()) {
    const Duration seen = sight.published_since ? now - *sight.published_since : Duration{};
    if (sight.published_since && seen >= times.settle) return {RotationStep::kSwitch};
    return {RotationStep::kNone, std::max(kSoon, times.settle - seen)};
  }
  if (!all.old_authority.empty()) {
    if (wall >= all.retire_at) return {RotationStep::kRetire};
    return {RotationStep::kNone, std::clamp(all.retire_at - wall, kSoon, kLookAgain)};
  }
  return {RotationStep::kNone, std::clamp(all.renew_at - wall, kSoon, kLookAgain)};
}

Certificates after(RotationStep step, const RotationSight& sight, const FreshCertificate& fresh,
                   const RotationTimes& times, WallTime now) {
  Certificates out = sight.secret.value_or(Certificates{});
  const WallTime renew = now + times.life * 2 / 3;
  switch (step) {
    case RotationStep::kMake:
      out = {.served = fresh, .renew_at = renew, .names = sight.names};
      break;
    case RotationStep::kAnnounce:
      out.next = fresh;
      out.next_renew_at = renew;
      out.next_names = sight.names;
      break;
    case RotationStep::kSwitch:
      BERTH_CHECK(out.has_next(), "a certificate is announced before it is served");
      out = {.served = out.next,
             .renew_at = out.next_renew_at,
             .names = out.next_names,
             .old_authority = out.served.authority,
             .retire_at = now + times.overlap};
      break;
    case RotationStep::kRetire:
      out.old_authority.clear();
      out.retire_at = {};
      break;
    case RotationStep::kNone:
    case RotationStep::kPublish:
      break;
  }
  return out;
}

}  // namespace berth::admission
