// SPDX-License-Identifier: Apache-2.0
// The life of the webhooks' certificate. A new authority and its certificate are announced first:
// they are served only after API servers were seen to trust both, and the old authority is trusted
// for a while after. Everything is in one Secret, so whoever leads goes on where the last one died.
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "base/result.h"
#include "base/time.h"
#include "kube/object.h"

namespace berth::admission {

// PEM. The authority's key is not kept: every certificate has an authority of its own.
struct FreshCertificate {
  std::string authority, certificate, key;
  friend bool operator==(const FreshCertificate&, const FreshCertificate&) = default;
};

// What the Secret says.
struct Certificates {
  FreshCertificate served = {};
  WallTime renew_at = {};
  std::string names = {};      // that `served` is made out to
  FreshCertificate next = {};  // announced, not served yet; all empty: none
  WallTime next_renew_at = {};
  std::string next_names = {};
  std::string old_authority = {};  // trusted until `retire_at`; "": none
  WallTime retire_at = {};

  bool has_next() const { return !next.authority.empty(); }
  // Whom API servers have to trust now.
  std::string bundle() const;
  friend bool operator==(const Certificates&, const Certificates&) = default;
};
// Nothing where the Secret is not complete.
std::optional<Certificates> read_certificates(const kube::Object& secret);
// The whole Secret. `before` may be invalid: then it is to be created.
std::string secret_json(const kube::Key&, const Certificates&, const kube::Object& before);

struct RotationTimes {
  Duration life = std::chrono::hours(24 * 90);
  Duration settle = 30s;     // from a bundle being seen to its being used by every API server
  Duration overlap = 10min;  // for replicas that still serve the old certificate
};

enum class RotationStep : std::uint8_t {
  kNone,      // until `again`
  kMake,      // write the Secret anew, with a fresh certificate that is served at once
  kAnnounce,  // write a fresh certificate into it as the next one
  kPublish,   // write the webhook objects
  kSwitch,    // the next one is served from now on
  kRetire,    // the old authority is not trusted any more
};
std::string_view name_of(RotationStep);

struct RotationSight {
  std::optional<Certificates> secret = {};  // none: absent, or not to be used
  std::string names = {};                   // that a certificate is to be made out to
  bool serving = false;                     // this process answers with `secret`'s certificate
  bool published = false;                   // the webhook objects say what they should
  std::optional<Instant> published_since = {};
};
struct RotationDecision {
  RotationStep step = RotationStep::kNone;
  Duration again = {};  // look again after that, if nothing happens
};
RotationDecision decide(const RotationSight&, const RotationTimes&, WallTime wall, Instant now);
// The Secret after a step; `fresh` for kMake and kAnnounce.
Certificates after(RotationStep, const RotationSight&, const FreshCertificate& fresh,
                   const RotationTimes&, WallTime now);

}  // namespace berth::admission
