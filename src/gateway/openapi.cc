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
"Condition":{"type":"object","properties":{"type":{"type":"string"},"status":{"type":"string"},"reason":{"type":"string"},"message":{"type":"string"},"remedy":{"type":"string","description":"What to do about it"},"lastTransitionTime":{"type":"string","format":"date-time"}}},
"Slot":{"type":"object","properties":{"position":{"type":"integer"},"nodeName":{"type":"string"},"nodeId":{"type":"integer"},"slotPositionOnNode":{"type":"integer"},"class":{"type":"string"},"draining":{"type":"boolean"},"problem":{"type":"string"},"state":{"type":"string","enum":["FREE","RESERVED","OCCUPIED","ERROR"]},"reservedFor":{"type":"string"},"podName":{"type":"string"},"podUId":{"type":"string"}}},
"Testbed":{"type":"object","required":["name","state"],"properties":{"name":{"type":"string"},"namespace":{"type":"string"},"resourceVersion":{"type":"string"},"created":{"type":"string","format":"date-time"},"state":{"type":"string"},"size":{"type":"integer"},"slotCounts":{"type":"object","properties":{"free":{"type":"integer"},"reserved":{"type":"integer"},"occupied":{"type":"integer"},"error":{"type":"integer"}}},"slotsOmitted":{"type":"boolean","description":"There are too many for one object: /slots of the testbed lists them"},"sharing":{"type":"string"},"resourcesPerSlot":{"type":"object"},"nodeLabel":{"type":"string"},"nodeProblems":{"type":"object"},"problems":{"type":"array","items":{"type":"string"}},"numberOfNodes":{"type":"integer"},"numberOfSlotsPerNode":{"type":"integer"},"slotsByNode":{"type":"object","additionalProperties":{"type":"array","items":{"$ref":"#/components/schemas/Slot"}}},"conditions":{"type":"array","items":{"$ref":"#/components/schemas/Condition"}}}},
"SlotTable":{"type":"object","properties":{"name":{"type":"string"},"namespace":{"type":"string"},"resourceVersion":{"type":"string"},"cursor":{"type":"string"},"slots":{"type":"array","items":{"allOf":[{"$ref":"#/components/schemas/Slot"}],"properties":{"phase":{"type":"string","enum":["absent","holding","free","reserved","occupied","draining","error"]},"job":{"$ref":"#/components/schemas/Reference"},"scheduling":{"type":"string"},"since":{"type":"string","format":"date-time"},"cause":{"type":"string"},"remedy":{"type":"string"}}}}}},
"Checkpoint":{"type":"object","properties":{"time":{"type":"string","format":"date-time","description":"When it was written; absent: now"},"seconds":{"type":"number","description":"How long writing it took"},"pod":{"type":"string","description":"Of whom, where the caller is no pod of the job"}}},
"CheckpointTaken":{"type":"object","properties":{"pod":{"type":"string"},"time":{"type":"string","format":"date-time"}}},
"CostBasis":{"type":"object","description":"Cost = restart + rate times the lost time, in thousandths of a core-second","properties":{"since":{"type":"integer"},"rate":{"type":"integer"},"window":{"type":"integer"},"steps":{"type":"integer"},"reported":{"type":"boolean"},"restart":{"type":"integer"}}},
"ScavengerJob":{"type":"object","properties":{"namespace":{"type":"string"},"name":{"type":"string"},"uid":{"type":"string"},"group":{"type":"string"},"state":{"type":"string","enum":["waiting","starting","running","reclaiming"]},"cores":{"type":"integer","description":"Thousandths"},"members":{"type":"integer"},"nodes":{"type":"integer"},"since":{"type":"integer","description":"ms since 1970"},"interrupted":{"type":"integer"},"cost":{"$ref":"#/components/schemas/CostBasis"},"track":{"type":"array","items":{"type":"object","properties":{"from":{"type":"integer"},"to":{"type":"integer"},"basis":{"$ref":"#/components/schemas/CostBasis"},"lost":{"type":"integer"}}}},"waits":{"type":"object","properties":{"turn":{"type":"integer"},"reason":{"type":"string"},"message":{"type":"string"},"short":{"type":"integer"},"resource":{"type":"string"},"until":{"type":"integer"}}},"lost":{"type":"integer","description":"Core-seconds"},"useful":{"type":"integer"},"checkpoint":{"type":"object","properties":{"last":{"type":"integer"},"count":{"type":"integer"},"advised":{"type":"string"}}},"deadline":{"type":"integer"}}},
"VictimChoice":{"type":"object","properties":{"id":{"type":"integer"},"time":{"type":"integer"},"door":{"type":"string"},"for":{"$ref":"#/components/schemas/Reference"},"node":{"type":"string"},"because":{"type":"string"},"cost":{"type":"integer"},"exact":{"type":"boolean"},"nodes":{"type":"integer"},"stockCost":{"type":"integer"},"candidates":{"type":"array","items":{"type":"object","properties":{"namespace":{"type":"string"},"name":{"type":"string"},"node":{"type":"string"},"cores":{"type":"integer"},"checkpoint":{"type":"integer"},"cost":{"type":"integer"},"chosen":{"type":"boolean"},"others":{"type":"integer"}}}}}},
"Scavengers":{"type":"object","properties":{"summary":{"type":"object","properties":{"time":{"type":"integer"},"threshold":{"type":"integer"},"capacity":{"type":"integer"},"ordinary":{"type":"integer"},"scavengers":{"type":"integer"},"free":{"type":"integer"},"history":{"type":"integer"}}},"jobs":{"type":"array","items":{"$ref":"#/components/schemas/ScavengerJob"}},"victims":{"type":"array","items":{"$ref":"#/components/schemas/VictimChoice"}}}},
"ScavengerHistory":{"type":"object","properties":{"from":{"type":"integer"},"to":{"type":"integer"},"step":{"type":"integer"},"ordinary":{"type":"array","items":{"type":"number","nullable":true}},"scavengers":{"type":"array","items":{"type":"number","nullable":true}},"reclaimed":{"type":"array","items":{"type":"number"}},"lost":{"type":"array","items":{"type":"number"}},"causes":{"type":"array","items":{"type":"object","properties":{"step":{"type":"integer"},"reason":{"type":"string"},"jobs":{"type":"integer"},"lost":{"type":"number"}}}},"totals":{"type":"object","properties":{"reclaimed":{"type":"number"},"lost":{"type":"number"},"interrupted":{"type":"integer"},"jobs":{"type":"integer"},"givenBack":{"type":"object","properties":{"p50":{"type":"number"},"p99":{"type":"number"},"times":{"type":"integer"}}}}}}},
"Reference":{"type":"object","properties":{"name":{"type":"string"},"namespace":{"type":"string"}}},
"Quantiles":{"type":"object","nullable":true,"properties":{"p10":{"type":"string","format":"date-time"},"p50":{"type":"string","format":"date-time"},"p90":{"type":"string","format":"date-time"}}},
"WaitReason":{"type":"object","nullable":true,"properties":{"reason":{"type":"string"},"message":{"type":"string"},"remedy":{"type":"string"}}},
"RunningRun":{"type":"object","properties":{"job":{"$ref":"#/components/schemas/Reference"},"scheduling":{"allOf":[{"$ref":"#/components/schemas/Reference"}],"nullable":true},"draft":{"type":"boolean"},"slots":{"type":"array","items":{"type":"integer"}},"since":{"type":"string","format":"date-time"},"finish":{"type":"string","format":"date-time","nullable":true},"end":{"$ref":"#/components/schemas/Quantiles"},"samples":{"type":"integer"},"overdue":{"type":"boolean"}}},
"PlannedRun":{"type":"object","properties":{"job":{"$ref":"#/components/schemas/Reference"},"scheduling":{"$ref":"#/components/schemas/Reference"},"draft":{"type":"boolean"},"nth":{"type":"integer"},"slots":{"type":"array","items":{"type":"integer"}},"begin":{"type":"string","format":"date-time","nullable":true},"finish":{"type":"string","format":"date-time","nullable":true},"start":{"$ref":"#/components/schemas/Quantiles"},"end":{"$ref":"#/components/schemas/Quantiles"},"openEnd":{"type":"boolean"},"share":{"type":"number"},"samples":{"type":"integer"},"after":{"type":"array","items":{"$ref":"#/components/schemas/Reference"}},"waits":{"$ref":"#/components/schemas/WaitReason"}}},
"Timeline":{"type":"object","description":"begin, finish and slots are those of the typical course, in which every run takes the median of its past; start and end are quantiles over all draws","properties":{"testbed":{"$ref":"#/components/schemas/Reference"},"now":{"type":"string","format":"date-time"},"cursor":{"type":"string"},"scheduling":{"$ref":"#/components/schemas/Scheduling"},"order":{"type":"string","enum":["certain","likely"]},"orderShare":{"type":"number"},"draws":{"type":"integer"},"running":{"type":"array","items":{"$ref":"#/components/schemas/RunningRun"}},"planned":{"type":"array","items":{"$ref":"#/components/schemas/PlannedRun"}},"waiting":{"type":"array","description":"What does not start in any course that can be foreseen","items":{"type":"object","properties":{"job":{"allOf":[{"$ref":"#/components/schemas/Reference"}],"nullable":true},"scheduling":{"allOf":[{"$ref":"#/components/schemas/Reference"}],"nullable":true},"draft":{"type":"boolean"},"reason":{"type":"string"},"message":{"type":"string"},"remedy":{"type":"string"}}}},"assumes":{"type":"array","items":{"type":"string"}},"slots":{"type":"array","items":{"type":"object","properties":{"position":{"type":"integer"},"nodeName":{"type":"string"},"spans":{"type":"array","items":{"type":"object","properties":{"kind":{"type":"string","enum":["running","planned"]},"job":{"$ref":"#/components/schemas/Reference"},"scheduling":{"allOf":[{"$ref":"#/components/schemas/Reference"}],"nullable":true},"draft":{"type":"boolean"},"begin":{"type":"string","format":"date-time"},"end":{"type":"string","format":"date-time","nullable":true}}}}}}}}},
"Diagnosis":{"type":"object","properties":{"subject":{"type":"string"},"state":{"type":"string"},"well":{"type":"boolean","description":"Nothing has to be done"},"cause":{"type":"string"},"remedy":{"type":"string"},"because":{"type":"array","description":"From the subject to the cause, a sentence each","items":{"type":"string"}}}},
"TestbedList":{"type":"array","items":{"$ref":"#/components/schemas/Testbed"}},
"Run":{"type":"object","properties":{"index":{"type":"integer"},"job":{"type":"string"},"namespace":{"type":"string"},"run":{"type":"integer"},"start":{"type":"string","format":"date-time"},"stop":{"type":"string","format":"date-time"},"successful":{"type":"boolean"},"scheduling":{"type":"string"},"testbed":{"type":"string"},"granted":{"type":"string","format":"date-time"},"attempts":{"type":"integer"},"slotIds":{"type":"array","items":{"type":"integer"}},"pods":{"type":"array","items":{"type":"object","properties":{"name":{"type":"string"},"node":{"type":"string"},"slot":{"type":"integer"}}}}}},
"OpenRun":{"type":"object","properties":{"run":{"type":"integer"},"testbed":{"type":"string"},"slotIds":{"type":"array","items":{"type":"integer"}},"submitted":{"type":"string","format":"date-time"},"start":{"type":"string","format":"date-time"},"attempt":{"type":"integer"},"replication":{"type":"integer"},"pods":{"type":"array","items":{"type":"object"}}}},
"RunList":{"type":"array","items":{"$ref":"#/components/schemas/Run"}},
"Job":{"type":"object","required":["name","state"],"properties":{"name":{"type":"string"},"namespace":{"type":"string"},"resourceVersion":{"type":"string"},"state":{"type":"string"},"externalScheduler":{"type":"object"},"scheduledEvents":{"$ref":"#/components/schemas/RunList"},"activeScheduling":{"$ref":"#/components/schemas/Reference"},"kind":{"type":"string"},"estimatedSeconds":{"type":"integer"},"slotClass":{"type":"string"},"run":{"$ref":"#/components/schemas/OpenRun"},"conditions":{"type":"array","items":{"$ref":"#/components/schemas/Condition"}}}},
"JobsByName":{"type":"object","additionalProperties":{"$ref":"#/components/schemas/Job"}},
"JobData":{"type":"object","required":["name"],"properties":{"name":{"type":"string"},"externalScheduler":{"type":"object"}}},
"SlotPlan":{"type":"object","required":["mode","jobs"],"properties":{"mode":{"type":"string","enum":["strict","relaxed"]},"jobs":{"type":"array","items":{"type":"object","required":["name","slots"],"properties":{"name":{"type":"string"},"slots":{"type":"array","items":{"type":"integer","minimum":0}}}}}}},
"WantedScheduling":{"type":"object","required":["name","testBed"],"description":"With exactly one of queue and slots","properties":{"name":{"type":"string"},"testBed":{"type":"string"},"queue":{"type":"array","nullable":true,"items":{"type":"string"}},"slots":{"allOf":[{"$ref":"#/components/schemas/SlotPlan"}],"nullable":true},"onFailure":{"type":"string","enum":["Stop","Continue"]},"ttlSecondsAfterFinished":{"type":"integer"}}},
"Scheduling":{"type":"object","required":["name","state","testBed"],"properties":{"name":{"type":"string"},"namespace":{"type":"string"},"resourceVersion":{"type":"string"},"state":{"type":"string"},"testBed":{"type":"string"},"jobStatus":{"type":"array","items":{"type":"object","properties":{"name":{"type":"string"},"state":{"type":"string"}}}},"queue":{"type":"array","nullable":true,"items":{"type":"string"}},"slots":{"allOf":[{"$ref":"#/components/schemas/SlotPlan"}],"nullable":true},"jobStates":{"type":"array","items":{"type":"object","properties":{"name":{"type":"string"},"namespace":{"type":"string"},"state":{"type":"string"},"lastRun":{"type":"integer"},"used":{"type":"integer"},"waitingSince":{"type":"string","format":"date-time"},"grantedTime":{"type":"string","format":"date-time"}}}},"progress":{"type":"object","properties":{"jobs":{"type":"integer"},"completed":{"type":"integer"},"entries":{"type":"integer"},"used":{"type":"integer"}}},"created":{"type":"string","format":"date-time"},"acquiredTime":{"type":"string","format":"date-time"},"completionTime":{"type":"string","format":"date-time"},"conditions":{"type":"array","items":{"$ref":"#/components/schemas/Condition"}}}},
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
