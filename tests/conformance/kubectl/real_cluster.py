# SPDX-License-Identifier: Apache-2.0
"""A whole Kubernetes from `make real` on loopback: etcd, kube-apiserver with its default admission,
kube-controller-manager, kube-scheduler and kwok in the kubelets' place. Run as a program it stays until
it is interrupted and leaves a kubeconfig; as a module it lasts as long as a `with` block."""
import argparse
import os
import pathlib
import signal
import socket
import ssl
import subprocess
import tempfile
import time
import urllib.request

HERE = pathlib.Path(__file__).resolve().parent
ROOT = HERE.parents[2]
# The controllers that have a counterpart in `berth up`.
CONTROLLERS = ("deployment-controller,replicaset-controller,statefulset-controller,job-controller,"
               "namespace-controller,serviceaccount-controller,garbage-collector-controller,disruption-controller,"
               "node-lifecycle-controller,taint-eviction-controller,pod-garbage-collector-controller,"
               "ttl-after-finished-controller,resourcequota-controller,persistentvolume-binder-controller,"
               "root-ca-certificate-publisher-controller,persistentvolumeclaim-protection-controller,"
               "persistentvolume-protection-controller,clusterrole-aggregation-controller")


def free_port():
    with socket.socket() as s:
        s.bind(("127.0.0.1", 0))
        return s.getsockname()[1]


def where():
    given = os.environ.get("BERTH_REAL_BIN")
    return given or subprocess.run([ROOT / "tools/real/build", "--where"], check=True, capture_output=True,
                                   text=True).stdout.strip()


class RealCluster:
    def __init__(self, scheduler=True, kwok=True):
        self.scheduler, self.kwok = scheduler, kwok

    def __enter__(self):
        real = where()
        if not os.path.exists(real + "/kube-apiserver"):
            raise SystemExit(f"{real}/kube-apiserver is not there: `make real` builds it")
        self.temporary = tempfile.TemporaryDirectory(prefix="berth-conformance-")
        self.folder = pathlib.Path(self.temporary.name)
        at = lambda name: str(self.folder / name)
        openssl = lambda *args: subprocess.run(["openssl", *args], check=True, capture_output=True)
        openssl("req", "-x509", "-newkey", "rsa:2048", "-nodes", "-days", "2", "-subj", "/CN=real",
                "-keyout", at("ca.key"), "-out", at("ca.crt"))
        openssl("req", "-newkey", "rsa:2048", "-nodes", "-subj", "/CN=kube-apiserver", "-keyout", at("server.key"),
                "-out", at("server.csr"))
        openssl("req", "-newkey", "rsa:2048", "-nodes", "-subj", "/O=system:masters/CN=kubernetes-admin", "-keyout",
                at("admin.key"), "-out", at("admin.csr"))
        openssl("x509", "-req", "-in", at("admin.csr"), "-CA", at("ca.crt"), "-CAkey", at("ca.key"), "-CAcreateserial",
                "-days", "2", "-out", at("admin.crt"))
        (self.folder / "san").write_text("subjectAltName=IP:127.0.0.1,DNS:localhost\n")
        openssl("x509", "-req", "-in", at("server.csr"), "-CA", at("ca.crt"), "-CAkey", at("ca.key"), "-CAcreateserial",
                "-days", "2", "-extfile", at("san"), "-out", at("server.crt"))
        (self.folder / "tokens.csv").write_text("conformance,admin,1,system:masters\n")
        etcd, peer = (f"http://127.0.0.1:{free_port()}" for _ in range(2))
        self.port = free_port()
        self.kubeconfig = self.folder / "kubeconfig"
        self.kubeconfig.write_text(f"""apiVersion: v1
kind: Config
current-context: berth
clusters: [{{name: berth, cluster: {{server: "https://127.0.0.1:{self.port}", certificate-authority: "{at('ca.crt')}"}}}}]
users: [{{name: admin, user: {{client-certificate: "{at('admin.crt')}", client-key: "{at('admin.key')}"}}}}]
contexts: [{{name: berth, context: {{cluster: berth, user: admin}}}}]
""")
        self.children = []
        self.start(real, "etcd", "--data-dir=" + at("etcd"), "--listen-client-urls=" + etcd,
                   "--advertise-client-urls=" + etcd, "--listen-peer-urls=" + peer,
                   "--initial-advertise-peer-urls=" + peer, "--initial-cluster=default=" + peer, "--unsafe-no-fsync",
                   "--log-level=warn")
        self.start(real, "kube-apiserver", "--etcd-servers=" + etcd, "--bind-address=127.0.0.1",
                   f"--secure-port={self.port}", "--tls-cert-file=" + at("server.crt"),
                   "--tls-private-key-file=" + at("server.key"), "--client-ca-file=" + at("ca.crt"),
                   "--token-auth-file=" + at("tokens.csv"), "--authorization-mode=RBAC",
                   "--service-account-issuer=https://kubernetes.default.svc",
                   "--service-account-key-file=" + at("server.crt"),
                   "--service-account-signing-key-file=" + at("server.key"),
                   "--service-cluster-ip-range=10.0.0.0/16", "--shutdown-delay-duration=0s")
        self.wait_ready()
        kubeconfig = f"--kubeconfig={self.kubeconfig}"
        self.start(real, "kube-controller-manager", kubeconfig, "--controllers=" + CONTROLLERS, "--leader-elect=false",
                   "--secure-port=0", "--use-service-account-credentials=false", "--root-ca-file=" + at("ca.crt"),
                   "--service-account-private-key-file=" + at("server.key"), "--kube-api-qps=5000",
                   "--kube-api-burst=5000")
        if self.scheduler:
            self.start(real, "kube-scheduler", kubeconfig, "--leader-elect=false", "--secure-port=0",
                       "--kube-api-qps=5000", "--kube-api-burst=5000")
        if self.kwok:
            self.start(real, "kwok", kubeconfig, "--manage-nodes-with-annotation-selector=kwok.x-k8s.io/node=fake",
                       "--node-lease-duration-seconds=40", "--node-ip=10.255.0.1", "--cidr=10.128.0.0/9",
                       f"--config={ROOT}/tests/e2e/scheduler/kwok.yaml",
                       "-v", "WARN")
        return self

    def start(self, real, name, *args):
        log = open(self.folder / (name + ".log"), "wb")
        self.children.append(subprocess.Popen([f"{real}/{name}", *args], stdout=log, stderr=log))

    def wait_ready(self):
        tls = ssl.create_default_context(cafile=str(self.folder / "ca.crt"))
        for _ in range(300):
            try:
                request = urllib.request.Request(f"https://127.0.0.1:{self.port}/readyz",
                                                 headers={"Authorization": "Bearer conformance"})
                if urllib.request.urlopen(request, context=tls, timeout=5).status == 200:
                    return
            except OSError:
                time.sleep(0.2)
        text = (self.folder / "kube-apiserver.log").read_text()
        self.__exit__()
        raise SystemExit("the control plane does not start:\n" + text[-3000:])

    def __exit__(self, *_):
        for child in reversed(self.children):
            child.kill()
            child.wait()
        self.temporary.cleanup()


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--kubeconfig-out", required=True)
    parser.add_argument("--no-scheduler", action="store_true")
    options = parser.parse_args()
    signal.signal(signal.SIGTERM, lambda *_: exit(0))
    with RealCluster(scheduler=not options.no_scheduler) as cluster:
        pathlib.Path(options.kubeconfig_out).write_text(cluster.kubeconfig.read_text())
        signal.pause()
