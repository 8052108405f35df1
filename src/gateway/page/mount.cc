// SPDX-License-Identifier: Apache-2.0
#include "gateway/page/mount.h"

#include "gateway/page/page.h"

namespace berth::gateway {
namespace {

void serve(const Request& request, Done<Reply> done) {
  const auto file = page_file(request.value("rest"));
  if (!file) return done(fail(Reason::kNotFound, "the page has no such file"));
  Reply reply;
  reply.headers.add("ETag", file->etag);
  // Asked again each time, and mostly answered with nothing: another build has other bytes.
  reply.headers.add("Cache-Control", "no-cache");
  reply.headers.add("Content-Security-Policy", std::string(page_security_policy()));
  if (request.headers.get("If-None-Match") == file->etag) {
    reply.code = 304;
    return done(std::move(reply));
  }
  if (file->gzip) reply.headers.add("Content-Encoding", "gzip");
  reply.content_type = file->content_type;
  reply.body = file->bytes;
  done(std::move(reply));
}

void lead_there(Done<Reply> done) {
  Reply reply{.code = 302};
  reply.headers.add("Location", "/ui/");
  done(std::move(reply));
}

}  // namespace

void mount_page(Routes& routes) {
  const auto there = [](const Request&, const kube::User&, Done<Reply> done) {
    lead_there(std::move(done));
  };
  routes.add({.path = "/", .entry = Entry::kOpen, .handle = there});
  routes.add({.path = "/ui", .entry = Entry::kOpen, .handle = there});
  routes.add({.path = "/ui/{rest...}",
              .entry = Entry::kOpen,
              .handle = [](const Request& request, const kube::User&, Done<Reply> done) {
                serve(request, std::move(done));
              }});
}

}  // namespace berth::gateway
