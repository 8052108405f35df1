// SPDX-License-Identifier: Apache-2.0
// berth install: prints what a cluster needs before Berth works in it, tells what of it would
// conflict, and takes away what would be in the way once Berth is gone.
#include "install/install.h"

#include <memory>

#include <fmt/format.h>

#include "cli/command.h"
#include "cli/install_check.h"
#include "cli/job_kinds.h"
#include "cli/removal.h"
#include "kube/names.h"

namespace berth::cli {

Command install() {
  auto options = std::make_shared<install::InstallOptions>();
  auto job_kinds = std::make_shared<std::string>();
  auto removal = std::make_shared<RemovalOptions>();
  auto check = std::make_shared<bool>(false), remove = std::make_shared<bool>(false);
  Command command("install", "Print the manifests of Berth for a cluster");
  command
      .flag("--part", &options->parts,
            "install this: controllers, gateway, extender or scheduler; default: the first two",
            "NAME")
      .flag("--namespace", &options->ns, "where it runs", "NS")
      .flag("--namespaces", &options->namespaces,
            "where the controllers work, with Roles there; default: everywhere", "NS")
      .flag("--external-namespace", &options->external_ns,
            "what calls of the gateway are about that name no namespace; default: the first of "
            "--namespaces, else default",
            "NS")
      .flag("--image", &options->image, "the image that it runs from", "IMAGE")
      .flag("--job-kinds", job_kinds.get(),
            "give the controllers the rights for the kinds of applications in this folder", "DIR")
      .flag("--container-snapshots", &options->container_snapshots,
            "give the controllers the right to nodes/proxy, which snapshots of containers need and "
            "which allows much more; default: no")
      .flag("--executor-scheduler", &options->executors.scheduler,
            "who is to place executors; default: Berth's scheduler where it is installed with the "
            "controllers, else whom their job names",
            "NAME")
      .flag("--slot-resource", &options->executors.slot_resource,
            "executors request berth.dev/slot, and a stock scheduler asks the extender about those "
            "alone")
      .flag("--check", check.get(),
            "instead of printing: say what of it the cluster has, and what would conflict")
      .flag("--remove", remove.get(),
            "instead of printing: take webhooks and finalizers from the cluster; then its objects "
            "can be deleted")
      .flag("--force", &removal->force, "with --remove: although the controllers still run")
      .flag("--kubeconfig", &removal->connect.kubeconfig,
            "with --check and --remove: how to reach the cluster; default: $KUBECONFIG, "
            "~/.kube/config, or the pod's own",
            "FILE")
      .flag("--context", &removal->connect.context, "context of the kubeconfig", "NAME")
      .example("berth install --image registry.example/berth:1 | kubectl apply -f -")
      .example("berth install --part scheduler")
      .example("berth install --part controllers --part extender --slot-resource")
      .example("berth install --check")
      .example("berth install --remove && berth install | kubectl delete -f -")
      .run([options, job_kinds, removal, check, remove](Context& context) -> Result<int> {
        if (*check && *remove)
          return tl::unexpected(usage_error("--check and --remove: give one of them"));
        auto kinds = read_job_kinds(*job_kinds);
        if (!kinds) return tl::unexpected(kinds.error());
        options->job_kinds = *std::move(kinds);
        if (const kube::Complaints wrong = kube::check_dns_label(options->ns); !wrong.empty())
          return tl::unexpected(
              usage_error(fmt::format("--namespace {}: {}", options->ns, wrong.front())));
        if (const kube::Complaints wrong = kube::check_dns_label(options->external_ns);
            !options->external_ns.empty() && !wrong.empty())
          return tl::unexpected(usage_error(
              fmt::format("--external-namespace {}: {}", options->external_ns, wrong.front())));
        for (const std::string& ns : options->namespaces)
          if (const kube::Complaints wrong = kube::check_dns_label(ns); !wrong.empty())
            return tl::unexpected(
                usage_error(fmt::format("--namespaces {}: {}", ns, wrong.front())));
        if (*remove) {
          removal->ns = options->ns;
          return remove_from_cluster(*removal, context);
        }
        const Result<std::string> text = install::manifests(*options);
        if (!text) return tl::unexpected(usage_error("--part: " + text.error().message));
        if (*check) return check_against_cluster(removal->connect, *text, context);
        context.out << *text;
        return kExitOk;
      });
  return command;
}

}  // namespace berth::cli
