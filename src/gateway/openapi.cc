// SPDX-License-Identifier: Apache-2.0
#include "gateway/openapi.h"

#include <map>

#include <fmt/format.h>

#include "gateway/replies.h"
#include "json/slice.h"
#include "json/writer.h"

namespace berth::gateway {
namespace {

// What the thesis' interface exchanges, and what is ours besides.
constexpr std::string_view kSchemas = R"({
"Status":{"type":"object","description":"A refusal, as Kubernetes words it","properties":{"kind":{"type":"string"},"status":{"type":"string"},"message":{"type":"string"},"reason":{"type":"string"},"code":{"type":"integer"}}},
"Condition":{"type":"object","properties":{"type":{"type":"string"},"status":{"type":"string"},"reason":{"type":"string"},"message":{"type":"string"},"lastTransitionTime":{"type":"string","format":"date-time"}}},
"Slot":{"type":"object","properties":{"position":{"type":"integer"},"nodeName":{"type":"string"},"nodeId":{"type":"integer"},"slotPositionOnNode":{"type":"integer"},"state":{"type":"string","enum":["FREE","RESERVED","OCCUPIED","ERROR"]},"reservedFor":{"type":"string"},"podName":{"type":"string"},"podUId":{"type":"string"}}},
"Testbed":{"type":"object","required":["name","state"],"properties":{"name":{"type":"string"},"namespace":{"type":"string"},"resourceVersion":{"type":"string"},"state":{"type":"string"},"numberOfNodes":{"type":"integer"},"numberOfSlotsPerNode":{"type":"integer"},"slotsByNode":{"type":"object","additionalProperties":{"type":"array","items":{"$ref":"#/components/schemas/Slot"}}},"conditions":{"type":"array","items":{"$ref":"#/components/schemas/Condition"}}}},
"TestbedList":{"type":"array","items":{"$ref":"#/components/schemas/Testbed"}},
"Run":{"type":"object","properties":{"index":{"type":"integer"},"job":{"type":"string"},"namespace":{"type":"string"},"run":{"type":"integer"},"start":{"type":"string","format":"date-time"},"stop":{"type":"string","format":"date-time"},"successful":{"type":"boolean"},"scheduling":{"type":"string"},"slotIds":{"type":"array","items":{"type":"integer"}},"pods":{"type":"array","items":{"type":"object"}}}},
"RunList":{"type":"array","items":{"$ref":"#/components/schemas/Run"}},
"Job":{"type":"object","required":["name","state"],"properties":{"name":{"type":"string"},"namespace":{"type":"string"},"resourceVersion":{"type":"string"},"state":{"type":"string"},"externalScheduler":{"type":"object"},"scheduledEvents":{"$ref":"#/components/schemas/RunList"},"activeScheduling":{"type":"object"},"conditions":{"type":"array","items":{"$ref":"#/components/schemas/Condition"}}}},
"JobsByName":{"type":"object","additionalProperties":{"$ref":"#/components/schemas/Job"}},
"JobData":{"type":"object","required":["name"],"properties":{"name":{"type":"string"},"externalScheduler":{"type":"object"}}},
"SlotPlan":{"type":"object","required":["mode","jobs"],"properties":{"mode":{"type":"string","enum":["strict","relaxed"]},"jobs":{"type":"array","items":{"type":"object","required":["name","slots"],"properties":{"name":{"type":"string"},"slots":{"type":"array","items":{"type":"integer","minimum":0}}}}}}},
"WantedScheduling":{"type":"object","required":["name","testBed"],"description":"With exactly one of queue and slots","properties":{"name":{"type":"string"},"testBed":{"type":"string"},"queue":{"type":"array","nullable":true,"items":{"type":"string"}},"slots":{"allOf":[{"$ref":"#/components/schemas/SlotPlan"}],"nullable":true},"onFailure":{"type":"string","enum":["Stop","Continue"]},"ttlSecondsAfterFinished":{"type":"integer"}}},
"Scheduling":{"type":"object","required":["name","state","testBed"],"properties":{"name":{"type":"string"},"namespace":{"type":"string"},"resourceVersion":{"type":"string"},"state":{"type":"string"},"testBed":{"type":"string"},"jobStatus":{"type":"array","items":{"type":"object","properties":{"name":{"type":"string"},"state":{"type":"string"}}}},"queue":{"type":"array","nullable":true,"items":{"type":"string"}},"slots":{"allOf":[{"$ref":"#/components/schemas/SlotPlan"}],"nullable":true},"acquiredTime":{"type":"string","format":"date-time"},"completionTime":{"type":"string","format":"date-time"},"conditions":{"type":"array","items":{"$ref":"#/components/schemas/Condition"}}}},
"SchedulingList":{"type":"array","items":{"$ref":"#/components/schemas/Scheduling"}},
"Snapshot":{"type":"object","properties":{"cursor":{"type":"string"},"testbeds":{"$ref":"#/components/schemas/TestbedList"},"jobs":{"$ref":"#/components/schemas/JobsByName"},"schedulings":{"$ref":"#/components/schemas/SchedulingList"}}},
"SockJsInfo":{"type":"object","properties":{"websocket":{"type":"boolean"},"origins":{"type":"array","items":{"type":"string"}},"cookie_needed":{"type":"boolean"},"entropy":{"type":"integer"}}}
})";

void schema(json::Writer& out, const std::string& name) {
  out.member("content").object().member("application/json").object().member("schema").object();
  out.member("$ref").string("#/components/schemas/" + name).end().end().end();
}

void parameters(json::Writer& out, const Route& route) {
  out.member("parameters").array();
  std::string_view path = route.path;
  while (true) {
    const std::size_t open = path.find('{');
    if (open == path.npos) break;
    const std::size_t close = path.find('}', open);
    out.object().member("name").string(path.substr(open + 1, close - open - 1));
    out.member("in").string("path").member("required").boolean(true);
    out.member("schema").object().member("type").string("string").end().end();
    path.remove_prefix(close + 1);
  }
  for (const std::string& text : route.doc.query) {
    const std::size_t colon = text.find(": ");
    out.object().member("name").string(text.substr(0, colon)).member("in").string("query");
    if (colon != text.npos) out.member("description").string(text.substr(colon + 2));
    out.member("schema").object().member("type").string("string").end().end();
  }
  out.end();
}

void responses(json::Writer& out, const Route& route) {
  const auto refusal = [&](const char* code, const char* what) {
    out.member(code).object().member("description").string(what);
    schema(out, "Status");
    out.end();
  };
  out.member("responses").object();
  out.member(route.socket ? "101" : "200").object().member("description").string("done");
  if (!route.doc.gives.empty()) schema(out, route.doc.gives);
  if (route.stream) {
    out.member("content").object().member("text/event-stream").object().end().end();
  }
  out.end();
  if (route.entry != Entry::kOpen) refusal("401", "nobody knows who is calling");
  if (route.entry == Entry::kReviewed) refusal("403", "they may not do this");
  refusal("429", "too many requests");
  refusal("default", "another refusal");
  out.end();
}

}  // namespace

std::string openapi_json(const Routes& routes) {
  std::map<std::string, std::vector<const Route*>> paths;
  for (const auto& route : routes.all())
    if (!route->doc.summary.empty()) paths[route->path].push_back(route.get());
  json::Writer out;
  out.object().member("openapi").string("3.0.3").member("info").object();
  out.member("title").string("Berth's external-scheduler interface");
  out.member("version").string("v1").end().member("paths").object();
  for (const auto& [path, rows] : paths) {
    out.member(path).object();
    for (const Route* route : rows) {
      std::string method = route->method;
      for (char& c : method) c = static_cast<char>(c - 'A' + 'a');
      out.member(method).object().member("summary").string(route->doc.summary);
      parameters(out, *route);
      if (!route->doc.takes.empty()) {
        out.member("requestBody").object().member("required").boolean(true);
        schema(out, route->doc.takes);
        out.end();
      }
      responses(out, *route);
      if (route->entry != Entry::kOpen)
        out.member("security").array().object().member("bearer").array().end().end().end();
      out.end();
    }
    out.end();
  }
  out.end().member("components").object().member("schemas").raw(kSchemas);
  out.member("securitySchemes").raw(R"({"bearer":{"type":"http","scheme":"bearer"}})");
  return out.end().end().take();
}

void mount_openapi(Routes& routes) {
  Route route;
  route.path = "/external/v1/openapi.json";
  route.entry = Entry::kOpen;
  route.handle = [&routes](const Request&, const kube::User&, Done<Reply> done) {
    done(json_reply(openapi_json(routes)));
  };
  route.doc = {.summary = "This document"};
  routes.add(std::move(route));
}

}  // namespace berth::gateway
