// SPDX-License-Identifier: Apache-2.0
#include "kube/forbidden.h"

#include <fmt/format.h>

#include "json/writer.h"

namespace berth::kube {

std::string sanitized(std::string_view text) {
  std::string out;
  for (const char c : text) {
    if (c == '&')
      out += "&amp;";
    else if (c == '<')
      out += "&lt;";
    else if (c == '>')
      out += "&gt;";
    else
      out += c;
  }
  return out;
}

namespace {

std::string what_is_denied(std::string_view user, const Attempt& wants) {
  const std::string who = json::quoted(user);
  if (!wants.path.empty())
    return fmt::format("User {} cannot {} path {}", who, wants.verb, json::quoted(wants.path));
  const std::string resource = wants.subresource.empty()
                                   ? std::string(wants.resource)
                                   : fmt::format("{}/{}", wants.resource, wants.subresource);
  return fmt::format("User {} cannot {} resource {} in API group {} {}", who, wants.verb,
                     json::quoted(resource), json::quoted(wants.group),
                     wants.ns.empty() ? std::string("at the cluster scope")
                                      : "in the namespace " + json::quoted(wants.ns));
}

}  // namespace

Error forbidden(std::string_view user, const Attempt& wants, std::string_view reason) {
  std::string text = sanitized(what_is_denied(user, wants));
  if (!reason.empty()) (text += ": ") += reason;
  std::string of(wants.resource);
  if (!wants.group.empty()) (of += '.') += wants.group;
  if (wants.resource.empty())
    text.insert(0, "forbidden: ");
  else if (wants.name.empty())
    text.insert(0, of + " is forbidden: ");
  else
    text.insert(0, fmt::format("{} {} is forbidden: ", of, json::quoted(wants.name)));
  return {.reason = Reason::kForbidden,
          .message = std::move(text),
          .about = std::make_shared<const About>(About{.name = std::string(wants.name),
                                                       .group = std::string(wants.group),
                                                       .kind = std::string(wants.resource)})};
}

}  // namespace berth::kube
