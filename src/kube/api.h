// SPDX-License-Identifier: Apache-2.0
// What an API request and its reply are, below client and apiserver, so that neither needs the
// other.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "base/result.h"
#include "base/scope.h"
#include "kube/kind.h"
#include "kube/object.h"

namespace berth::kube {

enum class Verb : std::uint8_t {
  kGet,
  kList,
  kWatch,
  kCreate,
  kUpdate,
  kPatch,
  kDelete,
  kDeleteCollection,
  kRaw
};

enum class PatchType : std::uint8_t { kJson, kMerge, kStrategic, kApply };

enum class VersionMatch : std::uint8_t { kUnset, kExact, kNotOlderThan };

enum class Propagation : std::uint8_t { kUnset, kBackground, kForeground, kOrphan };

enum class FieldValidation : std::uint8_t { kUnset, kIgnore, kWarn, kStrict };

struct Options {
  std::string label_selector = {}, field_selector = {};
  // "" and absent mean the same to the server; "0" does not.
  std::optional<std::string> resource_version = {};
  VersionMatch version_match = VersionMatch::kUnset;
  std::int64_t limit = 0;
  std::string continue_token = {};
  bool bookmarks = false;
  std::optional<bool> send_initial_events = {};
  std::optional<std::int64_t> timeout_seconds = {};
  bool dry_run = false;
  bool force = false;  // server-side apply
  std::string field_manager = {};
  FieldValidation field_validation = FieldValidation::kUnset;
  PatchType patch_type = PatchType::kMerge;
  // Delete.
  std::optional<std::int64_t> grace_period_seconds = {};
  Propagation propagation = Propagation::kUnset;
  std::string precondition_uid = {};
  std::optional<std::string> precondition_revision = {};
};

struct Body {
  std::shared_ptr<const std::string> bytes;  // null: none
  std::string media_type = "application/json";
};

struct User {
  std::string name = {}, uid = {};
  std::vector<std::string> groups = {};
  std::map<std::string, std::vector<std::string>> extra = {};
  bool inside = false;  // a part of the very cluster that is asked; no sender can say so
};

struct ApiRequest {
  Verb verb = Verb::kGet;
  KindId kind{};
  std::string ns = {}, name = {}, subresource = {};
  Options options = {};
  Body body = {};
  User user = {};  // set by the door that took the request, never by its sender
  std::string raw_method = {}, raw_path = {};  // kRaw: "GET" and "/readyz?verbose"
  std::string accept = {};                     // kRaw: the media types that the caller takes
};

struct WatchEvent {
  enum class Type : std::uint8_t { kAdded, kModified, kDeleted, kBookmark, kError };
  Type type = Type::kAdded;
  Object object;                    // not for kBookmark and kError
  Revision revision = 0;            // the object's or bookmark's resourceVersion
  bool initial_events_end = false;  // a bookmark with k8s.io/initial-events-end
  std::optional<Error> error;       // kError: from the Status in the event
};

// A running watch. Pulled: the next batch is fetched only when asked for, so back-pressure reaches
// the server. Destroying it ends the watch. Thread-compatible; at most one read is pending.
class WatchStream {
 public:
  virtual ~WatchStream() = default;
  struct Batch {
    std::vector<WatchEvent> events;  // at least one, unless `end`
    bool end = false;                // the server ended the stream cleanly
  };
  virtual void read(Done<Batch>) = 0;  // fails with Unreachable when the connection broke
};

struct ApiReply {
  int code = 200;
  std::variant<std::monostate, Object, ObjectList, std::string, std::unique_ptr<WatchStream>>
      body;                                       // string: text, or a Status with status Success
  std::string content_type = "application/json";  // of a text
  std::vector<std::string> warnings;
};

// A refused request is the error of the Result: reason, message, causes and retry_after from the
// Status.
class ApiHandler {
 public:
  virtual ~ApiHandler() = default;
  virtual void handle(ApiRequest, Done<ApiReply>) = 0;
};

}  // namespace berth::kube
