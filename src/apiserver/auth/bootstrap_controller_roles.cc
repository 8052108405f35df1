// SPDX-License-Identifier: Apache-2.0
// The roles of kube-apiserver 1.36 for the controllers of kube-controller-manager, by their service
// accounts.
#include "apiserver/auth/bootstrap_rbac.h"

namespace berth::apiserver {

const std::string_view kBootstrapControllerRoles = R"(
role system:controller:attachdetach-controller
  list,watch core persistentvolumeclaims,persistentvolumes
  read core nodes
  patch,update core nodes/status
  list,watch core pods
  create,patch,update core,events.k8s.io events
  create,delete,get,list,watch storage.k8s.io volumeattachments
  read storage.k8s.io csidrivers
  read storage.k8s.io csinodes
  to ServiceAccount:kube-system/attachdetach-controller
role system:controller:certificate-controller
  delete,get,list,watch certificates.k8s.io certificatesigningrequests
  update certificates.k8s.io certificatesigningrequests/approval,certificatesigningrequests/status
  approve certificates.k8s.io signers kubernetes.io/kube-apiserver-client-kubelet
  sign certificates.k8s.io signers kubernetes.io/kube-apiserver-client,
    kubernetes.io/kube-apiserver-client-kubelet,kubernetes.io/kubelet-serving,
    kubernetes.io/legacy-unknown
  create authorization.k8s.io subjectaccessreviews
  create,patch,update core,events.k8s.io events
  to ServiceAccount:kube-system/certificate-controller
role system:controller:clusterrole-aggregation-controller
  escalate,get,list,patch,update,watch rbac.authorization.k8s.io clusterroles
  to ServiceAccount:kube-system/clusterrole-aggregation-controller
role system:controller:cronjob-controller
  get,list,update,watch batch cronjobs
  create,delete,get,list,patch,update,watch batch jobs
  update batch cronjobs/status
  update batch cronjobs/finalizers
  delete,list,watch core pods
  create,patch,update core,events.k8s.io events
  to ServiceAccount:kube-system/cronjob-controller
role system:controller:daemon-set-controller
  read apps,extensions daemonsets
  update apps,extensions daemonsets/status
  update apps,extensions daemonsets/finalizers
  list,watch core nodes
  create,delete,list,patch,watch core pods
  create core pods/binding
  create,delete,get,list,patch,update,watch apps controllerrevisions
  create,patch,update core,events.k8s.io events
  to ServiceAccount:kube-system/daemon-set-controller
role system:controller:deployment-controller
  get,list,update,watch apps,extensions deployments
  update apps,extensions deployments/status
  update apps,extensions deployments/finalizers
  create,delete,get,list,patch,update,watch apps,extensions replicasets
  get,list,update,watch core pods
  create,patch,update core,events.k8s.io events
  to ServiceAccount:kube-system/deployment-controller
role system:controller:device-taint-eviction-controller
  delete,get,list,watch core pods
  patch,update core pods/status
  read resource.k8s.io resourceclaims
  read resource.k8s.io resourceslices
  read resource.k8s.io deviceclasses
  create,patch,update core,events.k8s.io events
  to ServiceAccount:kube-system/device-taint-eviction-controller
role system:controller:disruption-controller
  read apps,extensions deployments
  read apps,extensions replicasets
  read core replicationcontrollers
  read policy poddisruptionbudgets
  read apps statefulsets
  update policy poddisruptionbudgets/status
  patch,update core pods/status
  get * */scale
  create,patch,update core,events.k8s.io events
  to ServiceAccount:kube-system/disruption-controller
role system:controller:endpoint-controller
  read core pods,services
  create,delete,get,list,update,watch core endpoints
  create core endpoints/restricted
  create,patch,update core,events.k8s.io events
  to ServiceAccount:kube-system/endpoint-controller
role system:controller:endpointslice-controller
  read core nodes,pods,services
  update core services/finalizers
  create,delete,get,list,update,watch discovery.k8s.io endpointslices
  create,patch,update core,events.k8s.io events
  to ServiceAccount:kube-system/endpointslice-controller
role system:controller:endpointslicemirroring-controller
  read core endpoints,services
  update core services/finalizers
  update core endpoints/finalizers
  create,delete,get,list,update,watch discovery.k8s.io endpointslices
  create,patch,update core,events.k8s.io events
  to ServiceAccount:kube-system/endpointslicemirroring-controller
role system:controller:ephemeral-volume-controller
  read core pods
  update core pods/finalizers
  create,get,list,watch core persistentvolumeclaims
  create,patch,update core,events.k8s.io events
  to ServiceAccount:kube-system/ephemeral-volume-controller
role system:controller:expand-controller
  get,list,patch,update,watch core persistentvolumes
  patch,update core persistentvolumeclaims/status
  read core persistentvolumeclaims
  create,patch,update core,events.k8s.io events
  to ServiceAccount:kube-system/expand-controller
role system:controller:generic-garbage-collector
  delete,get,list,patch,update,watch * *
  create,patch,update core,events.k8s.io events
  to ServiceAccount:kube-system/generic-garbage-collector
role system:controller:horizontal-pod-autoscaler
  read autoscaling horizontalpodautoscalers
  update autoscaling horizontalpodautoscalers/status
  get,update * */scale
  list,watch core pods
  list,watch metrics.k8s.io pods
  read custom.metrics.k8s.io *
  read external.metrics.k8s.io *
  create,patch,update core,events.k8s.io events
  to ServiceAccount:kube-system/horizontal-pod-autoscaler
role system:controller:job-controller
  get,list,patch,update,watch batch jobs
  update batch jobs/status
  update batch jobs/finalizers
  create,delete,list,patch,watch core pods
  create,patch,update core,events.k8s.io events
  to ServiceAccount:kube-system/job-controller
role system:controller:legacy-service-account-token-cleaner
  get core configmaps kube-apiserver-legacy-service-account-token-tracking
  delete,patch core secrets
  to ServiceAccount:kube-system/legacy-service-account-token-cleaner
role system:controller:namespace-controller
  delete,get,list,watch core namespaces
  update core namespaces/finalize,namespaces/status
  delete,deletecollection,get,list,watch * *
  to ServiceAccount:kube-system/namespace-controller
role system:controller:node-controller
  delete,get,list,patch,update,watch core nodes
  patch,update core nodes/status
  patch,update core pods/status
  delete,get,list,watch core pods
  create,patch,update core,events.k8s.io events
  to ServiceAccount:kube-system/node-controller
role system:controller:persistent-volume-binder
  create,delete,get,list,update,watch core persistentvolumes
  update core persistentvolumes/status
  get,list,update,watch core persistentvolumeclaims
  update core persistentvolumeclaims/status
  create,delete,get,list,watch core pods
  read storage.k8s.io storageclasses
  list,watch core nodes
  create,patch,update core,events.k8s.io events
  watch core events
  to ServiceAccount:kube-system/persistent-volume-binder
role system:controller:pod-garbage-collector
  delete,list,watch core pods
  read core nodes
  patch core pods/status
  to ServiceAccount:kube-system/pod-garbage-collector
role system:controller:pv-protection-controller
  get,list,update,watch core persistentvolumes
  create,patch,update core,events.k8s.io events
  to ServiceAccount:kube-system/pv-protection-controller
role system:controller:pvc-protection-controller
  get,list,update,watch core persistentvolumeclaims
  update core persistentvolumeclaims/status
  read core pods
  create,patch,update core,events.k8s.io events
  to ServiceAccount:kube-system/pvc-protection-controller
role system:controller:replicaset-controller
  get,list,update,watch apps,extensions replicasets
  update apps,extensions replicasets/status
  update apps,extensions replicasets/finalizers
  create,delete,list,patch,watch core pods
  create,patch,update core,events.k8s.io events
  to ServiceAccount:kube-system/replicaset-controller
role system:controller:replication-controller
  get,list,update,watch core replicationcontrollers
  update core replicationcontrollers/status
  update core replicationcontrollers/finalizers
  create,delete,list,patch,watch core pods
  create,patch,update core,events.k8s.io events
  to ServiceAccount:kube-system/replication-controller
role system:controller:resource-claim-controller
  read core pods
  update core pods/finalizers
  create,delete,get,list,watch resource.k8s.io resourceclaims
  patch,update resource.k8s.io resourceclaims,resourceclaims/status
  patch,update core pods/status
  create,patch,update core,events.k8s.io events
  patch,update resource.k8s.io resourceclaims/binding
  to ServiceAccount:kube-system/resource-claim-controller
role system:controller:resourcequota-controller
  list,watch * *
  update core resourcequotas/status
  create,patch,update core,events.k8s.io events
  to ServiceAccount:kube-system/resourcequota-controller
role system:controller:root-ca-cert-publisher
  create,update core configmaps
  create,patch,update core,events.k8s.io events
  to ServiceAccount:kube-system/root-ca-cert-publisher
role system:controller:route-controller
  list,watch core nodes
  patch core nodes/status
  create,patch,update core,events.k8s.io events
  to ServiceAccount:kube-system/route-controller
role system:controller:selinux-warning-controller
  create,patch,update core,events.k8s.io events
  read core persistentvolumes
  read core persistentvolumeclaims
  read core pods
  read storage.k8s.io csidrivers
  to ServiceAccount:kube-system/selinux-warning-controller
role system:controller:service-account-controller
  create core serviceaccounts
  create,patch,update core,events.k8s.io events
  to ServiceAccount:kube-system/service-account-controller
role system:controller:service-cidrs-controller
  get,list,patch,update,watch networking.k8s.io servicecidrs
  patch,update networking.k8s.io servicecidrs/finalizers
  patch,update networking.k8s.io servicecidrs/status
  read networking.k8s.io ipaddresses
  create,patch,update core,events.k8s.io events
  to ServiceAccount:kube-system/service-cidrs-controller
role system:controller:service-controller
  read core services
  patch,update core services/status
  list,watch core nodes
  create,patch,update core,events.k8s.io events
  to ServiceAccount:kube-system/service-controller
role system:controller:statefulset-controller
  list,watch core pods
  read apps statefulsets
  update apps statefulsets/status
  update apps statefulsets/finalizers
  create,delete,get,patch,update core pods
  create,delete,get,list,patch,update,watch apps controllerrevisions
  create,get,list,watch core persistentvolumeclaims
  delete,update core persistentvolumeclaims
  update core pods/finalizers
  create,patch,update core,events.k8s.io events
  to ServiceAccount:kube-system/statefulset-controller
role system:controller:ttl-after-finished-controller
  delete,get,list,watch batch jobs
  create,patch,update core,events.k8s.io events
  to ServiceAccount:kube-system/ttl-after-finished-controller
role system:controller:ttl-controller
  list,patch,update,watch core nodes
  create,patch,update core,events.k8s.io events
  to ServiceAccount:kube-system/ttl-controller
role system:controller:validatingadmissionpolicy-status-controller
  read admissionregistration.k8s.io validatingadmissionpolicies
  get,patch,update admissionregistration.k8s.io validatingadmissionpolicies/status
  create,patch,update core,events.k8s.io events
  to ServiceAccount:kube-system/validatingadmissionpolicy-status-controller
role system:controller:volumeattributesclass-protection-controller
  read core persistentvolumeclaims
  read core persistentvolumes
  get,list,update,watch storage.k8s.io volumeattributesclasses
  create,patch,update core,events.k8s.io events
  to ServiceAccount:kube-system/volumeattributesclass-protection-controller
)";

}  // namespace berth::apiserver
