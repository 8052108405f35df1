# SPDX-License-Identifier: Apache-2.0
"""A real kube-apiserver and etcd on loopback, for as long as a `with` block lasts."""
import http.client
import json
import os
import pathlib
import socket
import ssl
import subprocess
import tempfile
import time

HERE = pathlib.Path(__file__).resolve().parent
TOKEN = "golden"
# What alters or refuses objects besides their kind's own rules; the embedded server has these as
# admission steps of their own.
ADMISSION = ("ServiceAccount,DefaultTolerationSeconds,Priority,PodTopologyLabels,LimitRanger,"
             "TaintNodesByCondition,StorageObjectInUseProtection,DefaultStorageClass,"
             "DefaultIngressClass,ResourceQuota,RuntimeClass,PodSecurity,PersistentVolumeClaimResize,"
             "CertificateApproval,CertificateSigning,CertificateSubjectRestriction,ClusterTrustBundleAttest,"
             "MutatingAdmissionPolicy,ValidatingAdmissionPolicy,MutatingAdmissionWebhook,ValidatingAdmissionWebhook")


def free_port():
    with socket.socket() as s:
        s.bind(("127.0.0.1", 0))
        return s.getsockname()[1]


class Plane:
    def __enter__(self):
        real = subprocess.run([HERE / "../real/build", "--where"], check=True, capture_output=True,
                              text=True).stdout.strip()
        self.temporary = tempfile.TemporaryDirectory(prefix="berth-goldens-")
        self.folder = pathlib.Path(self.temporary.name)
        at = lambda name: str(self.folder / name)
        subprocess.run(["openssl", "req", "-x509", "-newkey", "rsa:2048", "-nodes", "-days", "2", "-subj",
                        "/CN=kube-apiserver", "-addext", "subjectAltName=IP:127.0.0.1",
                        "-keyout", at("server.key"), "-out", at("server.crt")], check=True, capture_output=True)
        (self.folder / "tokens.csv").write_text(f"{TOKEN},admin,1,system:masters\n")
        client, peer = (f"http://127.0.0.1:{free_port()}" for _ in range(2))
        self.port = free_port()
        log = open(at("log"), "wb")
        self.children = [subprocess.Popen(
            [real + "/etcd", "--data-dir=" + at("etcd"), "--listen-client-urls=" + client,
             "--advertise-client-urls=" + client, "--listen-peer-urls=" + peer,
             "--initial-advertise-peer-urls=" + peer, "--initial-cluster=default=" + peer,
             "--unsafe-no-fsync", "--log-level=warn"], stdout=log, stderr=log)]
        self.children.append(subprocess.Popen(
            [real + "/kube-apiserver", "--etcd-servers=" + client, "--bind-address=127.0.0.1",
             f"--secure-port={self.port}", "--tls-cert-file=" + at("server.crt"),
             "--tls-private-key-file=" + at("server.key"), "--token-auth-file=" + at("tokens.csv"),
             "--authorization-mode=RBAC", "--service-account-issuer=https://kubernetes.default.svc",
             "--service-account-key-file=" + at("server.crt"),
             "--service-account-signing-key-file=" + at("server.key"),
             "--service-cluster-ip-range=10.0.0.0/24", "--disable-admission-plugins=" + ADMISSION,
             "--shutdown-delay-duration=0s"], stdout=log, stderr=log))
        self.tls = ssl.create_default_context(cafile=at("server.crt"))
        self.connection = None
        for _ in range(300):
            try:
                if self.call("GET", "/readyz")[0] == 200:
                    return self
            except OSError:
                pass
            time.sleep(0.2)
        text = (self.folder / "log").read_text()
        self.__exit__()
        raise SystemExit("the control plane does not start:\n" + text[-3000:])

    def __exit__(self, *_):
        for child in reversed(self.children):
            child.kill()
            child.wait()
        self.temporary.cleanup()

    def call(self, method, path, body=None, accept="application/json", content="application/json"):
        """The reply's code and its body, parsed where it is JSON."""
        if self.connection is None:
            self.connection = http.client.HTTPSConnection("127.0.0.1", self.port, context=self.tls, timeout=60)
        headers = {"Authorization": "Bearer " + TOKEN, "Accept": accept, "Content-Type": content}
        try:
            self.connection.request(method, path, json.dumps(body) if body is not None else None, headers)
            reply = self.connection.getresponse()
            data = reply.read()
        except (OSError, http.client.HTTPException) as e:
            self.connection = None
            raise OSError(str(e)) from e
        if reply.headers.get("Content-Type", "").startswith("application/json"):
            return reply.status, json.loads(data)
        return reply.status, data
