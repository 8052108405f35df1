// SPDX-License-Identifier: Apache-2.0
#include "client/request_path.h"

#include <utility>

#include <fmt/format.h>

#include "json/writer.h"

namespace berth::client {
namespace {

using kube::Verb;

std::string_view method_of(Verb verb) {
  switch (verb) {
    case Verb::kGet:
    case Verb::kList:
    case Verb::kWatch:
      return "GET";
    case Verb::kCreate:
      return "POST";
    case Verb::kUpdate:
      return "PUT";
    case Verb::kPatch:
      return "PATCH";
    case Verb::kDelete:
    case Verb::kDeleteCollection:
      return "DELETE";
    case Verb::kRaw:
      break;
  }
  return "";
}

std::string_view media_type_of(kube::PatchType type) {
  switch (type) {
    case kube::PatchType::kJson:
      return "application/json-patch+json";
    case kube::PatchType::kMerge:
      return "application/merge-patch+json";
    case kube::PatchType::kStrategic:
      return "application/strategic-merge-patch+json";
    case kube::PatchType::kApply:
      return "application/apply-patch+yaml";  // JSON is YAML
  }
  return "";
}

std::string_view name_of(kube::Propagation propagation) {
  switch (propagation) {
    case kube::Propagation::kUnset:
      return "";
    case kube::Propagation::kBackground:
      return "Background";
    case kube::Propagation::kForeground:
      return "Foreground";
    case kube::Propagation::kOrphan:
      return "Orphan";
  }
  return "";
}

std::string_view name_of(kube::FieldValidation validation) {
  switch (validation) {
    case kube::FieldValidation::kUnset:
      return "";
    case kube::FieldValidation::kIgnore:
      return "Ignore";
    case kube::FieldValidation::kWarn:
      return "Warn";
    case kube::FieldValidation::kStrict:
      return "Strict";
  }
  return "";
}

class Query {
 public:
  void add(std::string_view name, std::string_view value) {
    if (value.empty()) return;
    text_ += fmt::format("{}{}={}", text_.empty() ? '?' : '&', name, net::percent_encode(value));
  }
  const std::string& text() const { return text_; }

 private:
  std::string text_;
};

void add_selection(Query& query, const kube::Options& options) {
  query.add("labelSelector", options.label_selector);
  query.add("fieldSelector", options.field_selector);
  query.add("resourceVersion", options.resource_version.value_or(""));
  if (options.version_match == kube::VersionMatch::kExact)
    query.add("resourceVersionMatch", "Exact");
  if (options.version_match == kube::VersionMatch::kNotOlderThan)
    query.add("resourceVersionMatch", "NotOlderThan");
  if (options.timeout_seconds)
    query.add("timeoutSeconds", std::to_string(*options.timeout_seconds));
}

std::string query_of(const kube::ApiRequest& request) {
  const kube::Options& options = request.options;
  Query query;
  switch (request.verb) {
    case Verb::kGet:
      query.add("resourceVersion", options.resource_version.value_or(""));
      break;
    case Verb::kWatch:
      query.add("watch", "true");
      add_selection(query, options);
      if (options.bookmarks) query.add("allowWatchBookmarks", "true");
      if (options.send_initial_events)
        query.add("sendInitialEvents", *options.send_initial_events ? "true" : "false");
      break;
    case Verb::kList:
    case Verb::kDeleteCollection:
      add_selection(query, options);
      if (options.limit > 0) query.add("limit", std::to_string(options.limit));
      query.add("continue", options.continue_token);
      break;
    case Verb::kCreate:
    case Verb::kUpdate:
    case Verb::kPatch:
      if (options.dry_run) query.add("dryRun", "All");
      query.add("fieldManager", options.field_manager);
      query.add("fieldValidation", name_of(options.field_validation));
      if (request.verb == Verb::kPatch && options.patch_type == kube::PatchType::kApply &&
          options.force)
        query.add("force", "true");
      break;
    case Verb::kDelete:
    case Verb::kRaw:
      break;
  }
  return query.text();
}

// k8s 1.36: IsValidPathSegmentName.
bool is_segment(std::string_view text) {
  return !text.empty() && text != "." && text != ".." &&
         text.find_first_of("/%") == std::string_view::npos;
}

Result<std::string> path_of(const kube::ApiRequest& request) {
  const kube::Kind& kind = kube::kind_of(request.kind);
  const auto bad = [&](std::string_view what) {
    return tl::unexpected(
        Error{.reason = Reason::kBadRequest,
              .message = fmt::format("{} {}: {}", method_of(request.verb), kind.plural, what),
              .outcome = Outcome::kNotSent});
  };
  const bool on_one = request.verb == Verb::kGet || request.verb == Verb::kUpdate ||
                      request.verb == Verb::kPatch || request.verb == Verb::kDelete ||
                      !request.subresource.empty();
  const bool on_many = request.verb == Verb::kList || request.verb == Verb::kDeleteCollection;
  if (on_one && request.name.empty()) return bad("the name is missing");
  if (on_many && !request.name.empty()) return bad("a collection has no name");
  const bool create = request.verb == Verb::kCreate;
  if (kind.namespaced && request.ns.empty() && (on_one || create))
    return bad("the namespace is missing");

  std::string path = kind.group.empty() ? "/api/" : "/apis/" + kind.group + "/";
  path += kind.version;
  if (kind.namespaced && !request.ns.empty()) {
    if (!is_segment(request.ns)) return bad("the namespace is not a name");
    path += "/namespaces/" + net::percent_encode(request.ns);
  }
  path += "/" + kind.plural;
  // A plain create is a POST to the collection: the name stands in the object.
  if (!request.name.empty() && !(create && request.subresource.empty())) {
    if (!is_segment(request.name)) return bad("the name is not one");
    path += "/" + net::percent_encode(request.name);
  }
  if (!request.subresource.empty()) {
    if (!is_segment(request.subresource)) return bad("the subresource is not a name");
    path += "/" + net::percent_encode(request.subresource);
  }
  return path;
}

}  // namespace

std::string delete_options(const kube::Options& options) {
  const bool preconditions =
      !options.precondition_uid.empty() || options.precondition_revision.has_value();
  if (!options.grace_period_seconds && options.propagation == kube::Propagation::kUnset &&
      !preconditions && !options.dry_run)
    return "";
  json::Writer w;
  w.object().member("apiVersion").string("v1").member("kind").string("DeleteOptions");
  if (options.grace_period_seconds)
    w.member("gracePeriodSeconds").integer(*options.grace_period_seconds);
  if (preconditions) {
    w.member("preconditions").object();
    if (!options.precondition_uid.empty()) w.member("uid").string(options.precondition_uid);
    if (options.precondition_revision)
      w.member("resourceVersion").string(*options.precondition_revision);
    w.end();
  }
  if (options.propagation != kube::Propagation::kUnset)
    w.member("propagationPolicy").string(name_of(options.propagation));
  if (options.dry_run) w.member("dryRun").array().string("All").end();
  w.end();
  return w.take();
}

Result<net::HttpRequest> to_http(const kube::ApiRequest& request, std::string_view prefix) {
  net::HttpRequest out;
  out.target = prefix;
  if (request.verb == Verb::kRaw) {
    out.method = request.raw_method;
    out.target += request.raw_path;
    if (!request.accept.empty()) out.headers.set("Accept", request.accept);
  } else {
    Result<std::string> path = path_of(request);
    if (!path) return tl::unexpected(path.error());
    out.method = method_of(request.verb);
    out.target += *path;
    out.target += query_of(request);
  }
  std::string media_type = request.body.media_type;
  if (request.verb == Verb::kDelete || request.verb == Verb::kDeleteCollection) {
    out.body = delete_options(request.options);
    media_type = "application/json";
  } else if (request.body.bytes) {
    out.body = *request.body.bytes;
  }
  if (request.verb == Verb::kPatch) media_type = media_type_of(request.options.patch_type);
  if (!out.body.empty()) out.headers.set("Content-Type", std::move(media_type));
  return out;
}

}  // namespace berth::client
