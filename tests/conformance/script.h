// SPDX-License-Identifier: Apache-2.0
// The files in cases/: checks as conversations with the server, each in a namespace of its own.
//
//   == The second binding of a pod is refused                a check begins
//   POST pods                                                a request; paths without a slash in
//   @pod p                                                   front are below the namespace,
//   => 201                                                   "apps/v1:deployments" in a group
//   POST pods/p/binding
//   target: {kind: Node, name: n1}                           YAML; a first line "raw ..." is sent
//   as
//   => 201                                                   it stands
//   {status: Success}                                        see matcher.h
//   GET pods/q
//   > Accept: application/json                               a header of the request
//   => 404 NotFound pods "q" not found                       a whole Status, but for its details
//   < Content-Type: application/json                         a header of the answer
//   {details: {name: q, kind: pods}}
//
// Further: `PATCH json|merge|strategic|apply PATH`; `UNTIL GET ...` asks again until the answer is
// as expected; `5x POST ...` five times, with $I = 0..4; `=> 200 "ok"` for the body's text;
// `WATCH w PATH` opens a stream, `EVENT w ADDED` with YAML reads its next event, `END w` its end;
// `@name ARG` takes a template from cases/templates, and what follows is merged into it;
// `=> ?` fails and tells what the server answers. A request with a header `Authorization` comes
// from that user and not from the administrator (`none`: from nobody).
#pragma once

#include <map>
#include <string>
#include <utility>
#include <vector>

#include "base/result.h"

namespace berth::conformance {

struct Step {
  enum class Does : unsigned char { kRequest, kWatch, kEvent, kEnd };
  Does does = Does::kRequest;
  std::size_t line = 0;
  int times = 1;
  bool until = false;
  std::string method, path;
  std::string patch;  // json, merge, strategic, apply
  std::string stream;
  std::string event;  // ADDED ...
  std::vector<std::pair<std::string, std::string>> headers;
  std::string body;  // as written
  // What is expected.
  bool record = false;
  int code = 0;
  std::string text;    // the whole body, with quotes in the file
  std::string reason;  // of a Status, and its message
  std::string message;
  std::vector<std::pair<std::string, std::string>> reply_headers;
  std::string expected;  // YAML, or ""
};

struct Check {
  std::string title;
  std::size_t line = 0;
  std::vector<Step> steps;
};

Result<std::vector<Check>> parse_checks(std::string_view text);

// name -> its parameter's name and YAML.
struct Template {
  std::string parameter;
  std::string yaml;
};
using Templates = std::map<std::string, Template>;
Result<Templates> parse_templates(std::string_view text);

// A body as JSON: templates expanded, YAML read. Variables must have been filled in before.
Result<std::string> body_json(std::string_view body, const Templates&);

}  // namespace berth::conformance
