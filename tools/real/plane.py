# SPDX-License-Identifier: Apache-2.0
"""A real kube-apiserver and etcd from `make real` on loopback, for as long as a `with` block lasts."""
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
TOKEN = "golden"  # of an administrator


def free_port():
    with socket.socket() as s:
        s.bind(("127.0.0.1", 0))
        return s.getsockname()[1]


def where():
    """The folder of the programs."""
    given = os.environ.get("BERTH_REAL_BIN")
    return given or subprocess.run([HERE / "build", "--where"], check=True, capture_output=True,
                                   text=True).stdout.strip()


class Plane:
    def __init__(self, *api_server_flags):
        self.api_server_flags = api_server_flags

    def __enter__(self):
        self.real = where()
        if not os.path.exists(self.real + "/kube-apiserver"):
            raise SystemExit(f"{self.real}/kube-apiserver is not there: `make real` builds it")
        self.temporary = tempfile.TemporaryDirectory(prefix="berth-plane-")
        self.folder = pathlib.Path(self.temporary.name)
        self.children = []
        self.connection = None
        self.write_identities()
        self.port = free_port()
        self.write_kubeconfig()
        client, peer = (f"http://127.0.0.1:{free_port()}" for _ in range(2))
        at = self.at
        self.start("etcd", "--data-dir=" + at("etcd"), "--listen-client-urls=" + client,
                   "--advertise-client-urls=" + client, "--listen-peer-urls=" + peer,
                   "--initial-advertise-peer-urls=" + peer, "--initial-cluster=default=" + peer, "--unsafe-no-fsync",
                   "--log-level=warn")
        self.start("kube-apiserver", "--etcd-servers=" + client, "--bind-address=127.0.0.1",
                   f"--secure-port={self.port}", "--tls-cert-file=" + at("server.crt"),
                   "--tls-private-key-file=" + at("server.key"), "--client-ca-file=" + at("ca.crt"),
                   "--token-auth-file=" + at("tokens.csv"), "--authorization-mode=RBAC",
                   "--service-account-issuer=https://kubernetes.default.svc",
                   "--service-account-key-file=" + at("server.crt"),
                   "--service-account-signing-key-file=" + at("server.key"),
                   "--shutdown-delay-duration=0s", *self.api_server_flags)
        self.tls = ssl.create_default_context(cafile=at("ca.crt"))
        self.wait_ready()
        return self

    def __exit__(self, *_):
        for child in reversed(self.children):
            child.kill()
            child.wait()
        self.temporary.cleanup()

    def at(self, name):
        return str(self.folder / name)

    def write_identities(self):
        at = self.at

        def openssl(*args):
            subprocess.run(["openssl", *args], check=True, capture_output=True)

        def sign(name, subject, *more):
            openssl("req", "-newkey", "rsa:2048", "-nodes", "-subj", subject, "-keyout", at(name + ".key"), "-out",
                    at(name + ".csr"))
            openssl("x509", "-req", "-in", at(name + ".csr"), "-CA", at("ca.crt"), "-CAkey", at("ca.key"),
                    "-CAcreateserial", "-days", "2", "-out", at(name + ".crt"), *more)

        openssl("req", "-x509", "-newkey", "rsa:2048", "-nodes", "-days", "2", "-subj", "/CN=real",
                "-keyout", at("ca.key"), "-out", at("ca.crt"))
        (self.folder / "san").write_text("subjectAltName=IP:127.0.0.1,DNS:localhost\n")
        sign("server", "/CN=kube-apiserver", "-extfile", at("san"))
        sign("admin", "/O=system:masters/CN=kubernetes-admin")
        (self.folder / "tokens.csv").write_text(f"{TOKEN},admin,1,system:masters\n")

    def write_kubeconfig(self):
        at = self.at
        self.kubeconfig = self.folder / "kubeconfig"
        self.kubeconfig.write_text(f"""apiVersion: v1
kind: Config
current-context: berth
clusters: [{{name: berth, cluster: {{server: "https://127.0.0.1:{self.port}", certificate-authority: "{at('ca.crt')}"}}}}]
users: [{{name: admin, user: {{client-certificate: "{at('admin.crt')}", client-key: "{at('admin.key')}"}}}}]
contexts: [{{name: berth, context: {{cluster: berth, user: admin}}}}]
""")

    def start(self, name, *args):
        log = open(self.folder / (name + ".log"), "wb")
        self.children.append(subprocess.Popen([f"{self.real}/{name}", *args], stdout=log, stderr=log))

    def wait_ready(self):
        for _ in range(300):
            try:
                if self.call("GET", "/readyz")[0] == 200:
                    return
            except OSError:
                pass
            time.sleep(0.2)
        text = (self.folder / "kube-apiserver.log").read_text()
        self.__exit__()
        raise SystemExit("the control plane does not start:\n" + text[-3000:])

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
