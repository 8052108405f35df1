// SPDX-License-Identifier: Apache-2.0
#include "apiserver/admission/bootstrap.h"

#include "apiserver/admission/admission_lab.h"

namespace berth::apiserver {
namespace {

TEST(Bootstrap, WritesWhatIsAbsentAndNothingElse) {
  AdmissionLab lab;
  lab.ns("default", R"(,"labels":{"mine":"yes"})");
  const std::vector<std::string> manifests = bootstrap_objects({.client_ca = "PEM"});
  int uids = 0;
  const auto write = [&] {
    write_bootstrap(lab.store, manifests, lab.now,
                    [&] { return fmt::format("00000000-0000-4000-8000-{:012}", ++uids); });
    lab.world.run_until_idle(1h);
  };
  write();
  EXPECT_EQ(uids + 1, static_cast<int>(manifests.size()));
  EXPECT_EQ(lab.store.get(kube::kNamespace, {"", "default"})->label("mine"), "yes");
  EXPECT_EQ(lab.store.get(kube::kNamespace, {"", "kube-node-lease"})->status()["phase"].text(),
            "Active");
  EXPECT_EQ(
      lab.store.get(kube::kPriorityClass, {"", "system-node-critical"})->member("value").integer(),
      2000001000);
  EXPECT_EQ(lab.store.get(kube::kConfigMap, {"kube-system", "extension-apiserver-authentication"})
                ->member("data")["client-ca-file"]
                .text(),
            "PEM");
  const kube::Revision before = lab.store.published();
  write();
  EXPECT_EQ(lab.store.published(), before);
}

TEST(Bootstrap, SaysWhereTheServerIsReachedNowWhateverAnEarlierStartSaid) {
  AdmissionLab lab;
  int uids = 0;
  const auto write = [&](std::uint16_t port) {
    write_own_service(lab.store, "192.0.2.7", port, lab.now,
                      [&] { return fmt::format("00000000-0000-4000-8000-{:012}", ++uids); });
    lab.world.run_until_idle(1h);
    return lab.store.published();
  };
  const kube::Key key{"default", "kubernetes"};
  const kube::Revision first = write(6443);
  EXPECT_EQ(write(6443), first);
  write(8443);
  EXPECT_EQ(uids, 3);
  const kube::Object service = *lab.store.get(kube::kService, key);
  EXPECT_EQ(service.member("spec")["clusterIP"].text(), "10.96.0.1");
  EXPECT_EQ(service.member("spec")["ports"][0]["targetPort"].integer(), 8443);
  EXPECT_EQ(service.uid(), "00000000-0000-4000-8000-000000000001");
  EXPECT_TRUE(service.created().has_value());
  EXPECT_TRUE(service.status()["loadBalancer"].present());
  EXPECT_EQ(
      lab.store.get(kube::kEndpoints, key)->member("subsets")[0]["ports"][0]["port"].integer(),
      8443);
  EXPECT_EQ(lab.store.get(kube::kEndpointSlice, key)->member("ports")[0]["port"].integer(), 8443);
}

TEST(Bootstrap, TheServersOwnAddressIsNobodyElses) {
  AdmissionLab lab;
  const Step step = service_addresses(lab.store, Random(1));
  write_own_service(lab.store, "192.0.2.7", 6443, lab.now,
                    [] { return "00000000-0000-4000-8000-000000000001"; });
  lab.world.run_until_idle(1h);
  const auto thief = lab.create(
      R"({"apiVersion":"v1","kind":"Service","metadata":{"name":"x"},"spec":{"clusterIP":"10.96.0.1","ports":[{"port":80}]}})");
  EXPECT_FALSE(step->mutate(*thief->call));
}

}  // namespace
}  // namespace berth::apiserver
