// SPDX-License-Identifier: Apache-2.0
// Every pod runs as a service account that exists, and gets its token into the file system.
#include <fmt/format.h>

#include "apiserver/admission/pod_walk.h"
#include "apiserver/admission/refusal.h"
#include "apiserver/admission/steps.h"

namespace berth::apiserver {

namespace {

constexpr std::string_view kMirror = "kubernetes.io/config.mirror";
constexpr std::string_view kEnforceSecrets = "kubernetes.io/enforce-mountable-secrets";
constexpr std::string_view kTokenPath = "/var/run/secrets/kubernetes.io/serviceaccount";
constexpr std::string_view kVolumePrefix = "kube-api-access-";
constexpr std::string_view kTokenSources =
    R"([{"serviceAccountToken":{"expirationSeconds":3607,"path":"token"}},)"
    R"({"configMap":{"name":"kube-root-ca.crt","items":[{"key":"ca.crt","path":"ca.crt"}]}},)"
    R"({"downwardAPI":{"items":[{"path":"namespace","fieldRef":{"apiVersion":"v1",)"
    R"("fieldPath":"metadata.namespace"}}]}}])";

bool named_in(json::Slice references, std::string_view name) {
  for (const json::Slice each : references.elements())
    if (each["name"].equals(name)) return true;
  return false;
}

bool is_true(std::string_view text) {  // as Go's ParseBool
  return text == "1" || text == "t" || text == "T" || text == "true" || text == "TRUE" ||
         text == "True";
}

class ServiceAccount final : public AdmissionStep {
 public:
  ServiceAccount(const Store& store, Random random) : store_(store), random_(random) {}
  std::string_view name() const override { return "ServiceAccount"; }

  Result<Ok> mutate(AdmissionCall& call) override {
    if (!call.is(kube::kPod) || call.edit == nullptr || call.operation != Operation::kCreate)
      return Ok{};
    if (is_mirror(call)) return check_mirror(call);
    json::Dict* spec = dict_in(call.edit->body(), "spec");
    if (spec == nullptr) return Ok{};
    if (Peek(*spec)["serviceAccountName"].text().empty()) {
      (*spec)["serviceAccountName"] = "default";
      (*spec)["serviceAccount"] = "default";  // the old name of the field
    }
    const std::string account{Peek(*spec)["serviceAccountName"].text()};
    const kube::Object* found = find(call.request.ns, account);
    if (found == nullptr) return missing(call, account);
    if (wants_token(*spec, *found)) mount_token(*spec);
    add_pull_secrets(*spec, *found);
    return limit_secrets(call, *found);
  }

  Result<Ok> validate(AdmissionCall& call) override {
    if (call.edit == nullptr) return Ok{};
    const bool ephemeral =
        call.is(kube::kPod, "ephemeralcontainers") && call.operation == Operation::kUpdate;
    const bool created = call.is(kube::kPod) && call.operation == Operation::kCreate;
    if (!ephemeral && !created) return Ok{};
    if (created && is_mirror(call)) return check_mirror(call);
    const std::string account(spec_of(call)["serviceAccountName"].text());
    if (account.empty())
      return tl::unexpected(refusal(call, fmt::format("no service account specified for pod {}/{}",
                                                      call.request.ns, call.name)));
    const kube::Object* found = find(call.request.ns, account);
    if (found == nullptr) return missing(call, account);
    return ephemeral ? limit_ephemeral(call, *found) : limit_secrets(call, *found);
  }

 private:
  const kube::Object* find(std::string_view ns, std::string_view account) const {
    return store_.get(kube::kServiceAccount, {ns, account}, View::kTip);
  }

  static Result<Ok> missing(AdmissionCall& call, std::string_view account) {
    // k8s 1.36: only the default account is waited for; a controller makes it.
    call.worth_waiting = account == "default";
    return tl::unexpected(refusal(
        call, fmt::format("error looking up service account {}/{}: serviceaccount {} not found",
                          call.request.ns, account, json::quoted(account))));
  }

  static bool is_mirror(AdmissionCall& call) {
    return Peek(call.edit->metadata())["annotations"].members().contains(bj(kMirror));
  }
  static Result<Ok> check_mirror(AdmissionCall& call) {
    const Peek spec = spec_of(call);
    if (!spec["serviceAccountName"].text().empty())
      return tl::unexpected(refusal(call, "a mirror pod may not reference service accounts"));
    if (names_secrets(spec))
      return tl::unexpected(refusal(call, "a mirror pod may not reference secrets"));
    for (const json::Value& volume : spec["volumes"].elements())
      for (const json::Value& source : Peek(volume)["projected"]["sources"].elements())
        if (Peek(source)["serviceAccountToken"])
          return tl::unexpected(
              refusal(call, "a mirror pod may not use ServiceAccountToken volume projections"));
    return Ok{};
  }

  static bool wants_token(const json::Dict& spec, const kube::Object& account) {
    if (const Peek says = Peek(spec)["automountServiceAccountToken"]) return says.boolean();
    return account.member("automountServiceAccountToken").boolean(true);
  }

  void mount_token(json::Dict& spec) {
    std::string volume;
    for (const json::Value& each : Peek(spec)["volumes"].elements())
      if (volume.empty() && Peek(each)["name"].text().starts_with(kVolumePrefix))
        volume = Peek(each)["name"].text();
    const bool there = !volume.empty();
    if (!there) volume = std::string(kVolumePrefix) + name_suffix(random_);

    bool needed = false;
    for (const std::string_view list : {"initContainers", "containers"})
      each_dict(spec, list, [&](json::Dict& container) {
        for (const json::Value& mount : Peek(container)["volumeMounts"].elements())
          if (Peek(mount)["mountPath"].is(kTokenPath)) return;
        json::Value& mounts = container["volumeMounts"];
        if (!mounts.is_array()) mounts.emplace_array();
        json::Dict mount(spec.storage());
        mount["name"] = bj(volume);
        mount["readOnly"] = true;
        mount["mountPath"] = bj(kTokenPath);
        mounts.get_array().push_back(std::move(mount));
        needed = true;
      });
    if (there || !needed) return;
    json::Value& volumes = spec["volumes"];
    if (!volumes.is_array()) volumes.emplace_array();
    json::Dict added(spec.storage());
    added["name"] = bj(volume);
    json::Dict& projected = make_dict(added, "projected");
    json::Arena scratch;
    projected["sources"] = json::parse_good(kTokenSources, scratch);
    projected["defaultMode"] = 420;
    volumes.get_array().push_back(std::move(added));
  }

  static void add_pull_secrets(json::Dict& spec, const kube::Object& account) {
    const json::Slice secrets = account.member("imagePullSecrets");
    if (Peek(spec)["imagePullSecrets"].size() > 0 || secrets.size() == 0) return;
    json::List& list = spec["imagePullSecrets"].emplace_array();
    for (const json::Slice each : secrets.elements()) {
      json::Dict reference(spec.storage());
      reference["name"] = bj(each["name"].text());
      list.push_back(std::move(reference));
    }
  }

  // Where an account is marked so, its pods may only use the secrets that it names.
  static Result<Ok> limit_container(AdmissionCall& call, Peek container, std::string_view prefix,
                                    const kube::Object& account, bool bare) {
    const auto denied = [&](std::string_view text) -> Result<Ok> {
      // k8s 1.36: for ephemeral containers this is not turned into Forbidden.
      if (bare) return fail(Reason::kInternalError, std::string(text));
      return tl::unexpected(refusal(call, text));
    };
    const auto allowed = [&](Peek name) {
      return named_in(account.member("secrets"), name.text());
    };
    for (const json::Value& env : container["env"].elements()) {
      const Peek secret = Peek(env)["valueFrom"]["secretKeyRef"];
      if (secret && !allowed(secret["name"]))
        return denied(fmt::format(
            "{}container {} with envVar {} referencing secret.secretName=\"{}\" is not allowed "
            "because service account {} does not reference that secret",
            prefix, container["name"].text(), Peek(env)["name"].text(), secret["name"].text(),
            account.name()));
    }
    for (const json::Value& from : container["envFrom"].elements()) {
      const Peek secret = Peek(from)["secretRef"];
      if (secret && !allowed(secret["name"]))
        return denied(
            fmt::format("{}container {} with envFrom referencing secret.secretName=\"{}\" is not "
                        "allowed because service account {} does not reference that secret",
                        prefix, container["name"].text(), secret["name"].text(), account.name()));
    }
    return Ok{};
  }

  static Result<Ok> limit_secrets(AdmissionCall& call, const kube::Object& account) {
    if (!is_true(account.annotation(kEnforceSecrets))) return Ok{};
    const Peek spec = spec_of(call);
    for (const json::Value& volume : spec["volumes"].elements()) {
      const Peek secret = Peek(volume)["secret"];
      if (secret && !named_in(account.member("secrets"), secret["secretName"].text()))
        return tl::unexpected(refusal(
            call, fmt::format("volume with secret.secretName=\"{}\" is not allowed because service "
                              "account {} does not reference that secret",
                              secret["secretName"].text(), account.name())));
    }
    for (const json::Value& each : spec["initContainers"].elements())
      if (auto ok = limit_container(call, each, "init ", account, false); !ok) return ok;
    for (const json::Value& each : spec["containers"].elements())
      if (auto ok = limit_container(call, each, "", account, false); !ok) return ok;
    const Peek pulls = spec["imagePullSecrets"];
    for (std::size_t i = 0; i < pulls.size(); ++i)
      if (!named_in(account.member("imagePullSecrets"), pulls[i]["name"].text()))
        return tl::unexpected(refusal(
            call, fmt::format("imagePullSecrets[{}].name=\"{}\" is not allowed because service "
                              "account {} does not reference that imagePullSecret",
                              i, pulls[i]["name"].text(), account.name())));
    return Ok{};
  }

  static Result<Ok> limit_ephemeral(AdmissionCall& call, const kube::Object& account) {
    if (!is_true(account.annotation(kEnforceSecrets))) return Ok{};
    for (const json::Value& each : spec_of(call)["ephemeralContainers"].elements())
      if (auto ok = limit_container(call, each, "ephemeral ", account, true); !ok) return ok;
    return Ok{};
  }

  const Store& store_;
  Random random_;
};

}  // namespace

Step service_account(const Store& store, Random random) {
  return std::make_unique<ServiceAccount>(store, random);
}

}  // namespace berth::apiserver
