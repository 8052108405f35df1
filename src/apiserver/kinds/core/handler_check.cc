// SPDX-License-Identifier: Apache-2.0
#include "apiserver/kinds/core/handler_check.h"

#include <fmt/format.h>

#include "apiserver/kinds/rules.h"

namespace berth::apiserver {
namespace {

void check_http(Peek http, const Path& at, Findings& findings) {
  if (http["path"].text().empty()) findings.required(at / "path");
  must_be_port(http["port"], at / "port", findings);
  const std::string_view scheme = http["scheme"].text();
  if (!one_of(scheme, {"HTTP", "HTTPS"}))
    findings.not_supported(at / "scheme", scheme, {"HTTP", "HTTPS"});
  for (const json::Value& header : http["httpHeaders"].elements())
    complain(check_header_name(Peek(header)["name"].text()), Peek(header)["name"].text(),
             at / "httpHeaders", findings);
}

void check_handler(Peek handler, Peek grace, const Path& at, Findings& findings) {
  bool found = false;
  for (const std::string_view kind : {"exec", "httpGet", "tcpSocket", "grpc", "sleep"}) {
    const Peek action = handler[kind];
    if (!action) continue;
    const Path here = at / kind;
    if (found) {
      findings.forbidden(here, "may not specify more than 1 handler type");
      continue;
    }
    found = true;
    if (kind == "exec") {
      if (action["command"].size() == 0) findings.required(here / "command");
    } else if (kind == "httpGet") {
      check_http(action, here, findings);
    } else if (kind == "sleep") {
      const std::int64_t seconds = action["seconds"].integer_or(0);
      if (grace && (seconds < 0 || seconds > grace.integer_or(0)))
        findings.invalid(
            here, seconds,
            fmt::format("must be non-negative and less than terminationGracePeriodSeconds ({})",
                        grace.integer_or(0)));
    } else {
      must_be_port(action["port"], here / "port", findings);
    }
  }
  if (!found) findings.required(at, "must specify a handler type");
}

}  // namespace

void check_probe(Peek probe, ProbeKind kind, Peek grace, const Path& at, Findings& findings) {
  if (!probe) return;
  check_handler(probe, grace, at, findings);
  for (const std::string_view field : {"initialDelaySeconds", "timeoutSeconds", "periodSeconds",
                                       "successThreshold", "failureThreshold"})
    must_not_be_negative(probe[field].integer_or(0), at / field, findings);
  const auto own_grace = probe["terminationGracePeriodSeconds"].integer();
  if (own_grace && *own_grace <= 0)
    findings.invalid(at / "terminationGracePeriodSeconds", *own_grace, "must be greater than 0");
  if (kind == ProbeKind::kReadiness) {
    if (own_grace)
      findings.invalid(at / "terminationGracePeriodSeconds", *own_grace,
                       "must not be set for readinessProbes");
  } else if (probe["successThreshold"].integer_or(0) != 1) {
    findings.invalid(at / "successThreshold", probe["successThreshold"].integer_or(0), "must be 1");
  }
}

void check_lifecycle(Peek lifecycle, Peek grace, const Path& at, Findings& findings) {
  for (const std::string_view hook : {"postStart", "preStop"})
    if (lifecycle[hook]) check_handler(lifecycle[hook], grace, at / hook, findings);
}

}  // namespace berth::apiserver
