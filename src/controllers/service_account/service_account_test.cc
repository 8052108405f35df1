// SPDX-License-Identifier: Apache-2.0
#include <gmock/gmock.h>

#include "controllers/registry.h"
#include "runtime/objects_for_test.h"

namespace berth::controllers {
namespace {

void ns(runtime::Objects& objects, const char* phase) {
  objects.add(kube::kNamespace,
              fmt::format(R"({{"metadata":{{"name":"a"}},"status":{{"phase":"{}"}}}})", phase));
}

TEST(ServiceAccount, IsMadeInActiveNamespacesThatHaveNone) {
  const auto controllers = *make_controllers({"serviceaccount-controller"});
  runtime::Objects objects(*controllers[0]);
  EXPECT_EQ(objects.reconcile({"", "a"}).text(), "");
  ns(objects, "Terminating");
  EXPECT_EQ(objects.reconcile({"", "a"}).text(), "");
  ns(objects, "Active");
  EXPECT_EQ(objects.reconcile({"", "a"}).text(), "create serviceaccounts a/default\n");
  objects.add(kube::kServiceAccount, R"({"metadata":{"name":"default","namespace":"a"}})");
  EXPECT_EQ(objects.reconcile({"", "a"}).text(), "");
}

TEST(ServiceAccount, IsNotInsistedOnWhereTheNamespaceEnds) {
  const auto controllers = *make_controllers({"serviceaccount-controller"});
  runtime::Objects objects(*controllers[0]);
  ns(objects, "Active");
  objects.memory.failed = runtime::FailedAction{
      runtime::CreateAction{}, Error{.reason = Reason::kForbidden,
                                     .message = "no",
                                     .causes = {{"NamespaceTerminating", "", ""}}}};
  EXPECT_EQ(objects.reconcile({"", "a"}).text(), "");
}

TEST(RootCaPublisher, KeepsTheCertificateAndNothingElseInEveryNamespace) {
  const auto controllers =
      *make_controllers({"root-ca-certificate-publisher-controller"}, {.root_ca = "PEM\n"});
  runtime::Objects objects(*controllers[0]);
  ns(objects, "Active");
  EXPECT_EQ(objects.reconcile({"", "a"}).text(), "create configmaps a/kube-root-ca.crt\n");
  objects.add(
      kube::kConfigMap,
      R"({"metadata":{"name":"kube-root-ca.crt","namespace":"a","annotations":{"kubernetes.io/description":"x"}},"data":{"ca.crt":"PEM\n"}})");
  EXPECT_EQ(objects.reconcile({"", "a"}).text(), "") << "any description will do";
  objects.add(
      kube::kConfigMap,
      R"({"metadata":{"name":"kube-root-ca.crt","namespace":"a"},"data":{"ca.crt":"old","x":"y"}})");
  EXPECT_THAT(objects.reconcile({"", "a"}).text(),
              testing::HasSubstr(R"("data":{"x":null,"ca.crt":"PEM\n"})"));
}

TEST(RootCaPublisher, PublishesNothingWhereItWasToldNothing) {
  const auto controllers = *make_controllers({"root-ca-certificate-publisher-controller"});
  runtime::Objects objects(*controllers[0]);
  ns(objects, "Active");
  EXPECT_EQ(objects.reconcile({"", "a"}).text(), "");
}

}  // namespace
}  // namespace berth::controllers
