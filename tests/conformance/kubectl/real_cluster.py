# SPDX-License-Identifier: Apache-2.0
"""A whole Kubernetes from `make real` on loopback: etcd, kube-apiserver with its default admission,
kube-controller-manager, kube-scheduler and kwok in the kubelets' place. Run as a program it stays until
it is interrupted and leaves a kubeconfig; as a module it lasts as long as a `with` block."""
import argparse
import pathlib
import signal
import sys

ROOT = pathlib.Path(__file__).resolve().parents[3]
sys.path.insert(0, str(ROOT / "tools/real"))
from plane import Plane, where  # noqa: E402,F401

# The controllers that have a counterpart in `berth up`.
CONTROLLERS = ("deployment-controller,replicaset-controller,replicationcontroller-controller,statefulset-controller,job-controller,"
               "namespace-controller,serviceaccount-controller,garbage-collector-controller,disruption-controller,"
               "node-lifecycle-controller,taint-eviction-controller,pod-garbage-collector-controller,"
               "ttl-after-finished-controller,resourcequota-controller,persistentvolume-binder-controller,"
               "cronjob-controller,daemonset-controller,root-ca-certificate-publisher-controller,"
               "persistentvolumeclaim-protection-controller,persistentvolume-protection-controller,clusterrole-aggregation-controller")


class RealCluster(Plane):
    def __init__(self, scheduler=True, kwok=True):
        super().__init__("--service-cluster-ip-range=10.0.0.0/16")
        self.scheduler, self.kwok = scheduler, kwok

    def __enter__(self):
        super().__enter__()
        kubeconfig = f"--kubeconfig={self.kubeconfig}"
        self.start("kube-controller-manager", kubeconfig, "--controllers=" + CONTROLLERS, "--leader-elect=false",
                   "--secure-port=0", "--use-service-account-credentials=false", "--root-ca-file=" + self.at("ca.crt"),
                   "--service-account-private-key-file=" + self.at("server.key"), "--kube-api-qps=5000",
                   "--kube-api-burst=5000")
        if self.scheduler:
            self.start("kube-scheduler", kubeconfig, "--leader-elect=false", "--secure-port=0",
                       "--kube-api-qps=5000", "--kube-api-burst=5000")
        if self.kwok:
            self.start("kwok", kubeconfig, "--manage-nodes-with-annotation-selector=kwok.x-k8s.io/node=fake",
                       "--node-lease-duration-seconds=40", "--node-ip=10.255.0.1", "--cidr=10.128.0.0/9",
                       f"--config={ROOT}/tests/e2e/scheduler/kwok.yaml", "-v", "WARN")
        return self


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--kubeconfig-out", required=True)
    parser.add_argument("--no-scheduler", action="store_true")
    options = parser.parse_args()
    signal.signal(signal.SIGTERM, lambda *_: exit(0))
    with RealCluster(scheduler=not options.no_scheduler) as cluster:
        pathlib.Path(options.kubeconfig_out).write_text(cluster.kubeconfig.read_text())
        signal.pause()
