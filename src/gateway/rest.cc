// SPDX-License-Identifier: Apache-2.0
#include "gateway/rest.h"

#include <fmt/format.h>

#include "gateway/dto.h"
#include "gateway/replies.h"
#include "gateway/thesis_dto.h"
#include "json/writer.h"

namespace berth::gateway {
namespace {

Access access(std::string verb, Topic topic, std::string ns, std::string name = "",
              std::string subresource = "") {
  return {.verb = std::move(verb),
          .group = std::string(kGroup),
          .resource = std::string(resource_of(topic)),
          .subresource = std::move(subresource),
          .ns = std::move(ns),
          .name = std::move(name)};
}

Error not_found(Topic topic, std::string_view name) {
  return {
      .reason = Reason::kNotFound,
      .message = fmt::format("{}.{} {} not found", resource_of(topic), kGroup, json::quoted(name))};
}

Error not_ready() {
  return {.reason = Reason::kServiceUnavailable,
          .message = fmt::format("the gateway has not seen the cluster yet: are the kinds of {} "
                                 "installed? kubectl apply -f src/kube/ours/crds installs them",
                                 kGroup),
          .retry_after = 1s};
}

// k8s' own codes where they help; the thesis' client knows nothing but 400.
Error as_thesis(Error error) {
  const int code = http_code_of(error.reason);
  if (error.reason != Reason::kForbidden && code >= 400 && code < 500) {
    error.reason = Reason::kBadRequest;
    error.code = 400;
  }
  return error;
}

std::string shown(Topic topic, const kube::Object& object, bool thesis) {
  return thesis ? thesis_dto(topic, object) : dto(topic, object);
}

std::string list_json(Topic topic, const std::vector<const kube::Object*>& objects, bool thesis) {
  json::Writer out;
  const bool by_name = topic == Topic::kJobs;
  by_name ? out.object() : out.array();
  for (const kube::Object* object : objects) {
    if (by_name) out.member(object->name());
    out.raw(shown(topic, *object, thesis));
  }
  return out.end().take();
}

// For what shows one kind by way of another.
std::vector<Access> rights_to_all(const std::string& ns) {
  std::vector<Access> rights;
  for (const Topic topic : kTopics) rights.push_back(access("list", topic, ns));
  return rights;
}

// k8s 1.36: dryRun is All or nothing.
Result<bool> dry_run_of(const Request& request) {
  const std::string asked = request.asked("dryRun").value_or("");
  if (asked.empty() || asked == "All") return asked == "All";
  return fail(Reason::kBadRequest,
              fmt::format("dryRun: {} is not known; write All", json::quoted(asked)));
}

template <class T>
std::shared_ptr<Done<T>> shared(Done<T> done) {
  return std::make_shared<Done<T>>(std::move(done));
}

}  // namespace

Rest::Rest(Scope& scope, client::Api& api, Feeds& feeds, Auth& auth, Timelines& timelines,
           RestOptions options)
    : scope_(scope),
      api_(api),
      feeds_(feeds),
      auth_(auth),
      timelines_(timelines),
      options_(std::move(options)) {}

std::string Rest::ns_of(const Place& place, const Request& request) const {
  return place.ns.empty() ? request.value("ns") : place.ns;
}

void Rest::mount(Routes& routes) {
  mount(routes, {.prefix = "/external", .ns = options_.ns, .thesis = true});
  mount(routes, {.prefix = "/external/v1", .ns = options_.ns});
  mount(routes, {.prefix = "/external/v1/namespaces/{ns}"});
}

void Rest::mount(Routes& routes, const Place& place) {
  const std::string ns = place.ns.empty() ? "{ns}" : place.ns;
  const char* const schemas[] = {"Testbed", "Job", "Scheduling"};
  for (const Topic topic : kTopics) {
    const std::string path = fmt::format("{}/{}", place.prefix, name_of(topic));
    const std::string schema = schemas[static_cast<std::size_t>(topic)];
    Route list;
    list.path = path;
    list.rights = {access("list", topic, ns)};
    list.handle = [this, place, topic](const Request& request, const kube::User&,
                                       Done<Reply> done) {
      if (!feeds_.synced()) return done(tl::unexpected(not_ready()));
      done(
          json_reply(list_json(topic, feeds_.of(topic).list(ns_of(place, request)), place.thesis)));
    };
    list.doc = {.summary = fmt::format("All {}", name_of(topic)),
                .gives = topic == Topic::kJobs ? "JobsByName" : schema + "List"};
    routes.add(std::move(list));
    Route one;
    one.path = path + "/{name}";
    one.rights = {access("get", topic, ns, "{name}")};
    one.handle = [this, place, topic](const Request& request, const kube::User&, Done<Reply> done) {
      if (!feeds_.synced()) return done(tl::unexpected(not_ready()));
      const std::string name = request.value("name");
      const kube::Object* object = feeds_.of(topic).get({ns_of(place, request), name});
      if (object == nullptr) return done(tl::unexpected(not_found(topic, name)));
      done(json_reply(shown(topic, *object, place.thesis)));
    };
    one.doc = {.summary = fmt::format("One of the {}", name_of(topic)), .gives = schema};
    routes.add(std::move(one));
    Route why;
    why.path = path + "/{name}/explanation";
    why.rights = rights_to_all(ns);
    why.handle = [this, place, topic](const Request& request, const kube::User&, Done<Reply> done) {
      done(timelines_.explain(topic, {ns_of(place, request), request.value("name")}));
    };
    why.doc = {.summary = "What it waits for, and what to do about it", .gives = "Diagnosis"};
    routes.add(std::move(why));
  }
  Route snapshot;
  snapshot.path = place.prefix + "/snapshot";
  snapshot.rights = rights_to_all(ns);
  snapshot.handle = [this, place](const Request& request, const kube::User&, Done<Reply> done) {
    if (!feeds_.synced()) return done(tl::unexpected(not_ready()));
    json::Writer out;
    out.object().member("cursor").string(feeds_.ring().now().text());
    for (const Topic topic : kTopics)
      out.member(name_of(topic))
          .raw(list_json(topic, feeds_.of(topic).list(ns_of(place, request)), place.thesis));
    done(json_reply(out.end().take()));
  };
  snapshot.doc = {.summary = "All there is at one moment, and the cursor that goes on from there",
                  .gives = "Snapshot"};
  routes.add(std::move(snapshot));
  mount_testbeds(routes, place);
  mount_jobs(routes, place);
  mount_schedulings(routes, place);
}

void Rest::mount_testbeds(Routes& routes, const Place& place) {
  const std::string ns = place.ns.empty() ? "{ns}" : place.ns;
  const std::string path = place.prefix + "/testbeds/{name}";
  Route slots;
  slots.path = path + "/slots";
  slots.rights = {access("get", Topic::kTestbeds, ns, "{name}")};
  slots.handle = [this, place](const Request& request, const kube::User&, Done<Reply> done) {
    done(timelines_.slots({ns_of(place, request), request.value("name")}));
  };
  slots.doc = {.summary = "Every slot of a testbed, and why it is not free", .gives = "SlotTable"};
  routes.add(std::move(slots));
  Route why;
  why.path = path + "/slots/{slot}/explanation";
  why.rights = rights_to_all(ns);
  why.handle = [this, place](const Request& request, const kube::User&, Done<Reply> done) {
    done(timelines_.explain_slot({ns_of(place, request), request.value("name")},
                                 request.value("slot")));
  };
  why.doc = {.summary = "Why a slot is not free, and what to do about it", .gives = "Diagnosis"};
  routes.add(std::move(why));
  Route timeline;
  timeline.path = path + "/timeline";
  timeline.rights = {access("get", Topic::kTestbeds, ns, "{name}"),
                     access("list", Topic::kJobs, ns), access("list", Topic::kSchedulings, ns)};
  timeline.handle = [this, place](const Request& request, const kube::User&, Done<Reply> done) {
    timelines_.ask({ns_of(place, request), request.value("name")}, std::move(done));
  };
  timeline.doc = {.summary = "What runs in a testbed's slots until when, and what is to come",
                  .gives = "Timeline"};
  routes.add(std::move(timeline));
}

void Rest::mount_jobs(Routes& routes, const Place& place) {
  const std::string ns = place.ns.empty() ? "{ns}" : place.ns;
  const std::string jobs = place.prefix + "/jobs";
  Route data;
  data.method = "PUT";
  data.path = jobs;
  data.rights_of = [this, place](const Request& request) -> Result<std::vector<Access>> {
    const auto wanted = job_data_from(request.body);
    if (!wanted) return tl::unexpected(wanted.error());
    return std::vector{
        access("update", Topic::kJobs, ns_of(place, request), wanted->name, "externalscheduler")};
  };
  data.handle = [this, place](const Request& request, const kube::User&, Done<Reply> done) {
    const auto wanted = job_data_from(request.body);
    if (!wanted) return done(tl::unexpected(wanted.error()));
    // What was there before and is not said any more goes, so a merge is for nothing at all only.
    const bool none = wanted->external_scheduler == "null";
    const std::string patch =
        none ? std::string(R"({"spec":{"externalScheduler":null}})")
             : fmt::format(R"([{{"op":"add","path":"/spec/externalScheduler","value":{}}}])",
                           wanted->external_scheduler);
    api_.patch(
        kind_of(Topic::kJobs), {ns_of(place, request), wanted->name}, patch,
        none ? kube::PatchType::kMerge : kube::PatchType::kJson,
        scope_.done<kube::Object>(kNoLimit, [done = shared(std::move(done)),
                                             thesis = place.thesis](Result<kube::Object> job) {
          if (job) return (*done)(json_reply(shown(Topic::kJobs, *job, thesis)));
          (*done)(tl::unexpected(job.error().reason == Reason::kNotFound || !thesis
                                     ? job.error()
                                     : as_thesis(job.error())));
        }));
  };
  data.doc = {.summary = "Changes what an external scheduler remembers of a job, and nothing else",
              .takes = "JobData",
              .gives = "Job"};
  routes.add(data);
  data.path = jobs + "/";  // as the thesis' example scheduler has it
  routes.add(std::move(data));

  const auto of_job = [this, place](const Request& request) {
    return feeds_.of(Topic::kJobs).get({ns_of(place, request), request.value("name")});
  };
  Route runs;
  runs.path = jobs + "/{name}/runs";
  runs.rights = {access("get", Topic::kJobs, ns, "{name}")};
  runs.handle = [of_job](const Request& request, const kube::User&, Done<Reply> done) {
    const kube::Object* job = of_job(request);
    if (job == nullptr) return done(tl::unexpected(not_found(Topic::kJobs, request.value("name"))));
    done(json_reply(runs_dto(*job)));
  };
  runs.doc = {.summary = "The history of a job's runs", .gives = "RunList"};
  routes.add(std::move(runs));

  Route run;
  run.path = jobs + "/{name}/runs/{index}";
  run.rights = {access("get", Topic::kJobs, ns, "{name}")};
  run.handle = [of_job](const Request& request, const kube::User&, Done<Reply> done) {
    const kube::Object* job = of_job(request);
    if (job == nullptr) return done(tl::unexpected(not_found(Topic::kJobs, request.value("name"))));
    auto one = run_dto(*job, request.value("index"));
    if (!one) return done(tl::unexpected(one.error()));
    done(json_reply(*std::move(one)));
  };
  run.doc = {.summary = "One run: when and where, enough for a query of metrics", .gives = "Run"};
  routes.add(std::move(run));

  Route reset;
  reset.method = "POST";
  reset.path = jobs + "/{name}/reset";
  reset.rights = {access("update", Topic::kJobs, ns, "{name}", "reset")};
  reset.handle = [this, place](const Request& request, const kube::User& user, Done<Reply> done) {
    json::Writer patch;
    patch.object().member("metadata").object().member("annotations").object();
    patch.member("berth.dev/reset").string("true");
    patch.member("berth.dev/requested-by").string(user.name).end().end().end();
    api_.patch(kind_of(Topic::kJobs), {ns_of(place, request), request.value("name")}, patch.take(),
               kube::PatchType::kMerge,
               scope_.done<kube::Object>(
                   kNoLimit, [done = shared(std::move(done))](Result<kube::Object> job) {
                     if (!job) return (*done)(tl::unexpected(job.error()));
                     (*done)(json_reply(job_dto(*job), 202));
                   }));
  };
  reset.doc = {.summary = "Makes a finished or failed job ready again; its history stays",
               .gives = "Job"};
  routes.add(std::move(reset));
}

std::vector<Access> Rest::submit_rights(const std::string& ns, const std::string& name) const {
  const bool exists = feeds_.of(Topic::kSchedulings).has({ns, name});
  if (exists) return {access("update", Topic::kSchedulings, ns, name)};
  return {access("create", Topic::kSchedulings, ns)};
}

void Rest::put_scheduling(std::string ns, std::string body, const kube::User& user, bool dry_run,
                          Done<kube::Object> done) {
  auto wanted = scheduling_from(body, ns, user.name);
  if (!wanted) return done(tl::unexpected(wanted.error()));
  kube::Options options;
  options.dry_run = dry_run;
  options.field_validation = kube::FieldValidation::kStrict;
  const kube::Key key{std::move(ns), wanted->name};
  const kube::KindId kind = kind_of(Topic::kSchedulings);
  // Whoever was reviewed for creating does not replace, and the other way round.
  if (feeds_.of(Topic::kSchedulings).has(key))
    return api_.patch(kind, key, std::move(wanted->patch), kube::PatchType::kMerge, std::move(done),
                      "", options);
  api_.create(kind, key.ns, std::move(wanted->manifest), std::move(done), options);
}

Submit Rest::submit() {
  return [this](std::string ns, std::string body, const Identity& identity, Done<Ok> done) {
    const auto wanted = scheduling_from(body, ns, identity.user.name);
    if (!wanted) return done(tl::unexpected(wanted.error()));
    auto rights = submit_rights(ns, wanted->name);
    auto answer = shared(std::move(done));
    auth_.may(identity, std::move(rights),
              scope_.done<Ok>(kNoLimit, [this, ns, body, user = identity.user,
                                         answer](const Result<Ok>& allowed) {
                if (!allowed) return (*answer)(allowed);
                put_scheduling(
                    ns, body, user, false,
                    scope_.done<kube::Object>(kNoLimit, [answer](const Result<kube::Object>& made) {
                      if (!made) return (*answer)(tl::unexpected(made.error()));
                      (*answer)(Ok{});
                    }));
              }));
  };
}

void Rest::mount_schedulings(Routes& routes, const Place& place) {
  const std::string ns = place.ns.empty() ? "{ns}" : place.ns;
  const std::string path = place.prefix + "/schedulings";
  Route post;
  post.method = "POST";
  post.path = path;
  post.rights_of = [this, place](const Request& request) -> Result<std::vector<Access>> {
    const std::string own = ns_of(place, request);
    const auto wanted = scheduling_from(request.body, own, "");
    if (!wanted) return tl::unexpected(wanted.error());
    const auto tries = dry_run_of(request);
    if (!tries) return tl::unexpected(tries.error());
    std::vector<Access> rights = submit_rights(own, wanted->name);
    if (*tries) {  // the answer shows what else is on the testbed
      rights.push_back(access("get", Topic::kTestbeds, own, wanted->testbed));
      for (const Topic topic : {Topic::kJobs, Topic::kSchedulings})
        rights.push_back(access("list", topic, own));
    }
    return rights;
  };
  post.handle = [this, place](const Request& request, const kube::User& user, Done<Reply> done) {
    const bool tries = dry_run_of(request).value_or(true);
    put_scheduling(
        ns_of(place, request), request.body, user, tries,
        scope_.done<kube::Object>(kNoLimit, [this, done = shared(std::move(done)), tries,
                                             place](const Result<kube::Object>& made) {
          if (!made)
            return (*done)(tl::unexpected(place.thesis ? as_thesis(made.error()) : made.error()));
          if (tries) return timelines_.ask_with(*made, std::move(*done));
          (*done)(json_reply(shown(Topic::kSchedulings, *made, place.thesis)));
        }));
  };
  post.doc = {.summary = "Creates a scheduling, or replaces the one of that name",
              .takes = "WantedScheduling",
              .gives = "Scheduling",
              .query = {"dryRun: All writes nothing and answers with a Timeline"}};
  routes.add(std::move(post));

  Route erase;
  erase.method = "DELETE";
  erase.path = path + "/{name}";
  erase.rights = {access("delete", Topic::kSchedulings, ns, "{name}")};
  erase.handle = [this, place](const Request& request, const kube::User&, Done<Reply> done) {
    const kube::Key key{ns_of(place, request), request.value("name")};
    const kube::Object* known = feeds_.of(Topic::kSchedulings).get(key);
    std::string before =
        known == nullptr ? std::string("{}") : shown(Topic::kSchedulings, *known, place.thesis);
    const bool says_304 = place.thesis && !options_.strict_status;
    api_.erase(kind_of(Topic::kSchedulings), key,
               scope_.done<Ok>(kNoLimit, [done = shared(std::move(done)), says_304,
                                          before = std::move(before)](const Result<Ok>& gone) {
                 if (gone) return (*done)(json_reply(before));
                 if (says_304 && gone.error().reason == Reason::kNotFound)
                   return (*done)(Reply{.code = 304});
                 (*done)(tl::unexpected(gone.error()));
               }));
  };
  erase.doc = {.summary = "Deletes a scheduling; its jobs are released", .gives = "Scheduling"};
  routes.add(std::move(erase));
}

}  // namespace berth::gateway
