# SPDX-License-Identifier: Apache-2.0
"""Sequences of applies and updates by several managers."""
from others import DEPLOYMENT, NODE, SERVICE, kind
from pods import POD

CONFIG = {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "x"}}
LABELS = {"app": "x"}


def of(base, **fields):
    return {k: base[k] for k in ("apiVersion", "kind")} | {"metadata": {"name": "x"}} | fields


def apply(manager, body, force=False, sub=None):
    return {"op": "apply", "manager": manager, "body": body, "force": force, "sub": sub}


def write(op, manager, body, sub=None):
    """op: create, merge, json, strategic; put: the object as it is, changed by a merge patch."""
    return {"op": op, "manager": manager, "body": body, "sub": sub}


FORGET = write("json", "z", [{"op": "replace", "path": "/metadata/managedFields", "value": [{}]}])


def config(labels=None, annotations=None, **data):
    out = of(CONFIG)
    if labels is not None:
        out["metadata"]["labels"] = labels
    if annotations is not None:
        out["metadata"]["annotations"] = annotations
    if data:
        out["data"] = data
    return out


def deployment(spec=None, containers=None, **template):
    pod = {"containers": containers or [{"name": "c", "image": "i"}]} | template
    return of(DEPLOYMENT, spec={"selector": {"matchLabels": LABELS}, "template": {"metadata": {"labels": LABELS}, "spec": pod}} | (spec or {}))


def pod(*containers, **spec):
    return of(POD, spec={"containers": list(containers) or [{"name": "c", "image": "i"}]} | spec)


def service(*ports, **spec):
    return of(SERVICE, spec={"ports": list(ports), "selector": LABELS} | spec)


def node(**spec):
    return of(NODE, spec=spec)


A, B, C = "alice", "bob", "carol"
CASES = {
    # one manager
    "config: create": [apply(A, config(a="1", b="2"))],
    "config: twice": [apply(A, config(a="1")), apply(A, config(a="1"))],
    "config: changed": [apply(A, config(a="1")), apply(A, config(a="2"))],
    "config: field dropped": [apply(A, config(a="1", b="2")), apply(A, config(a="1"))],
    "config: all dropped": [apply(A, config(a="1", b="2")), apply(A, config())],
    "config: labels come and go": [apply(A, config({"x": "y"}, a="1")), apply(A, config({}, a="1")), apply(A, config(a="1"))],
    "config: empty value": [apply(A, config(a="")), apply(A, config(a="", b=""))],
    "config: null value": [apply(A, of(CONFIG, data={"a": None, "b": "c"}))],
    "config: null map": [apply(A, config(a="1")), apply(A, of(CONFIG, data=None))],
    "config: annotations": [apply(A, config(annotations={"a.b/c": "d"})), apply(A, config(annotations={"a.b/e": "f"}))],
    "config: immutable flag": [apply(A, of(CONFIG, immutable=True, data={"a": "b"})), apply(A, of(CONFIG, immutable=True, data={"a": "c"}))],
    # two managers
    "config: disjoint": [apply(A, config(a="1")), apply(B, config(b="2")), apply(A, config(a="3"))],
    "config: shared": [apply(A, config(a="1")), apply(B, config(a="1")), apply(A, config())],
    "config: shared, then both drop": [apply(A, config(a="1")), apply(B, config(a="1")), apply(A, config()), apply(B, config())],
    "config: conflict": [apply(A, config(a="1")), apply(B, config(a="2"))],
    "config: conflict forced": [apply(A, config(a="1", b="1")), apply(B, config(a="2"), force=True), apply(A, config(a="1", b="1"))],
    "config: many conflicts": [apply(A, config({"l": "1"}, a="1", b="1")), apply(C, config(c="1")), apply(B, config({"l": "2"}, a="2", b="2", c="2"))],
    "config: shared conflict": [apply(A, config(a="1")), apply(B, config(a="1")), apply(A, config(a="2"))],
    "config: taken over and back": [apply(A, config(a="1")), apply(B, config(a="2"), force=True), apply(A, config(a="1"), force=True)],
    "config: three managers": [apply(A, config(a="1")), apply(B, config(b="1")), apply(C, config(a="1", b="1", c="1")), apply(A, config()), apply(B, config()), apply(C, config())],
    # updates
    "config: update of an applied field": [apply(A, config(a="1")), write("merge", B, {"data": {"a": "2"}}), apply(A, config(a="1"))],
    "config: update adds": [apply(A, config(a="1")), write("merge", B, {"data": {"b": "2"}}), apply(A, config())],
    "config: update removes": [apply(A, config(a="1", b="2")), write("merge", B, {"data": {"a": None}}), apply(A, config(a="1", b="2"))],
    "config: update removes all": [apply(A, config(a="1")), write("merge", B, {"data": None})],
    "config: update by the applier": [apply(A, config(a="1")), write("merge", A, {"data": {"a": "2"}}), apply(A, config(a="3"))],
    "config: put": [apply(A, config(a="1")), write("put", B, {"data": {"b": "1"}}), write("put", C, {"data": {"b": "2"}})],
    "config: put of the same": [apply(A, config(a="1")), write("put", B, {})],
    "config: json patch": [apply(A, config(a="1")), write("json", B, [{"op": "add", "path": "/data/z", "value": "1"}, {"op": "remove", "path": "/data/a"}])],
    "config: eleven updaters": [apply(A, config(a="0"))] + [write("merge", f"m{i:02}", {"data": {f"k{i:02}": "1"}}) for i in range(12)],
    "config: updater loses all": [apply(A, config(a="0")), write("merge", B, {"data": {"b": "1"}}), write("merge", C, {"data": {"b": "2"}})],
    # before the first apply
    "config: before the first apply": [write("create", A, config(a="1", b="2")), FORGET, apply(B, config(a="1")), apply(B, config())],
    "config: before the first apply, conflict": [write("create", A, config(a="1")), FORGET, apply(B, config(a="2"))],
    "config: before the first apply, forced": [write("create", A, config(a="1")), FORGET, apply(B, config(a="2"), force=True), apply(B, config())],
    "config: forgotten": [apply(A, config(a="1")), FORGET, write("merge", B, {"data": {"a": "2"}}), apply(A, config(a="1"))],
    "config: empty list of managers": [apply(A, config(a="1")), write("json", B, [{"op": "replace", "path": "/metadata/managedFields", "value": []}])],
    # refusals
    "config: unknown field": [apply(A, of(CONFIG, dota={"a": "b"}))],
    "config: wrong type": [apply(A, of(CONFIG, data={"a": 1}))],
    "config: wrong type, list": [apply(A, of(CONFIG, data=["a"]))],
    "config: wrong type, bool": [apply(A, of(CONFIG, immutable="x"))],
    "config: managed fields given": [apply(A, CONFIG | {"metadata": {"name": "x", "managedFields": []}})],
    "config: other kind": [apply(A, of({"apiVersion": "v1", "kind": "Secret"}))],
    "config: other version": [apply(A, of({"apiVersion": "v2", "kind": "ConfigMap"}))],
    "config: bad key": [apply(A, of(CONFIG, data={"a b": "c"}))],
    "config: no kind": [apply(A, {"metadata": {"name": "x"}})],
    # metadata
    "config: finalizers": [apply(A, CONFIG | {"metadata": {"name": "x", "finalizers": ["a.b/c"]}}), apply(B, CONFIG | {"metadata": {"name": "x", "finalizers": ["a.b/d"]}}), apply(A, config()), apply(B, config())],
    "config: owners": [apply(A, CONFIG | {"metadata": {"name": "x", "ownerReferences": [{"apiVersion": "v1", "kind": "Pod", "name": "p", "uid": "u1"}]}}),
                       apply(B, CONFIG | {"metadata": {"name": "x", "ownerReferences": [{"apiVersion": "v1", "kind": "Pod", "name": "q", "uid": "u2"}]}}),
                       apply(A, config())],
    # kubectl's own way
    "config: kubectl takes over": [write("create", "kubectl-client-side-apply", config(annotations={"kubectl.kubernetes.io/last-applied-configuration": '{"apiVersion":"v1","kind":"ConfigMap","metadata":{"name":"x"},"data":{"a":"1"}}\n'}, a="1")), apply("kubectl", config(a="2")), apply("kubectl", config(b="<&>"))],
    "config: kubectl takes over, changed meanwhile": [write("create", "kubectl-client-side-apply", config(annotations={"kubectl.kubernetes.io/last-applied-configuration": '{"apiVersion":"v1","kind":"ConfigMap","metadata":{"name":"x"},"data":{"a":"1"}}\n'}, a="1")), write("merge", B, {"data": {"a": "9"}}), apply("kubectl", config(a="2"))],
    # deployments
    "deployment: create": [apply(A, deployment())],
    "deployment: replicas conflict": [apply(A, deployment({"replicas": 2})), apply(B, of(DEPLOYMENT, spec={"replicas": 3})), apply(B, of(DEPLOYMENT, spec={"replicas": 3}), force=True), apply(A, deployment())],
    "deployment: replicas given up": [apply(A, deployment({"replicas": 2})), apply(A, deployment())],
    "deployment: replicas given up to the autoscaler": [apply(A, deployment({"replicas": 2})), write("merge", "hpa", {"spec": {"replicas": 5}}), apply(A, deployment())],
    "deployment: second container": [apply(A, deployment()), apply(B, of(DEPLOYMENT, spec={"template": {"spec": {"containers": [{"name": "side", "image": "s"}]}}})), apply(A, deployment(containers=[{"name": "c", "image": "j"}])), apply(B, of(DEPLOYMENT))],
    "deployment: containers reordered": [apply(A, deployment(containers=[{"name": "a", "image": "i"}, {"name": "b", "image": "i"}, {"name": "c", "image": "i"}])), apply(A, deployment(containers=[{"name": "c", "image": "i"}, {"name": "a", "image": "i"}]))],
    "deployment: container inserted between": [apply(A, deployment(containers=[{"name": "a", "image": "i"}, {"name": "b", "image": "i"}])), apply(B, of(DEPLOYMENT, spec={"template": {"spec": {"containers": [{"name": "b", "image": "i"}, {"name": "n", "image": "i"}, {"name": "a", "image": "i"}]}}}))],
    "deployment: env": [apply(A, deployment(containers=[{"name": "c", "image": "i", "env": [{"name": "X", "value": "1"}, {"name": "Y", "value": "2"}]}])),
                        apply(B, of(DEPLOYMENT, spec={"template": {"spec": {"containers": [{"name": "c", "env": [{"name": "Z", "value": "3"}, {"name": "X", "value": "1"}]}]}}})),
                        apply(A, deployment(containers=[{"name": "c", "image": "i"}]))],
    "deployment: args are atomic": [apply(A, deployment(containers=[{"name": "c", "image": "i", "args": ["a", "b"]}])), apply(B, of(DEPLOYMENT, spec={"template": {"spec": {"containers": [{"name": "c", "args": ["a"]}]}}}))],
    "deployment: quantities": [apply(A, deployment(containers=[{"name": "c", "image": "i", "resources": {"requests": {"cpu": "1000m", "memory": "1024Mi"}}}])), apply(A, deployment(containers=[{"name": "c", "image": "i", "resources": {"requests": {"cpu": 1, "memory": "1Gi"}}}]))],
    "deployment: selector is atomic": [apply(A, deployment()), apply(B, of(DEPLOYMENT, spec={"selector": {"matchLabels": {"app": "x", "b": "c"}}}))],
    "deployment: status through the main door": [apply(A, deployment() | {"status": {"replicas": 3}})],
    "deployment: status": [apply(A, deployment()), apply(B, of(DEPLOYMENT, status={"replicas": 3, "observedGeneration": 1}), sub="status"), apply(A, deployment({"replicas": 3})), apply(B, of(DEPLOYMENT, status={"replicas": 3}), sub="status")],
    "deployment: status conditions": [apply(A, deployment()), apply(B, of(DEPLOYMENT, status={"conditions": [{"type": "Available", "status": "True", "lastUpdateTime": "2026-01-01T00:00:00Z", "lastTransitionTime": "2026-01-01T00:00:00Z"}]}), sub="status"),
                                       apply(C, of(DEPLOYMENT, status={"conditions": [{"type": "Progressing", "status": "True", "lastUpdateTime": "2026-01-01T00:00:00Z", "lastTransitionTime": "2026-01-01T00:00:00Z"}]}), sub="status"),
                                       apply(B, of(DEPLOYMENT, status={}), sub="status")],
    "deployment: spec through the status door": [apply(A, deployment()), apply(B, of(DEPLOYMENT, spec={"replicas": 9}, status={"replicas": 1}), sub="status")],
    "deployment: status by update": [apply(A, deployment()), write("merge", "dc", {"status": {"replicas": 1, "updatedReplicas": 1}}, sub="status"), apply(B, of(DEPLOYMENT, status={"replicas": 2}), sub="status")],
    "deployment: strategic patch": [apply(A, deployment()), write("strategic", B, {"spec": {"template": {"spec": {"containers": [{"name": "c", "image": "j"}]}}}}), apply(A, deployment())],
    "deployment: before the first apply": [write("create", A, deployment({"replicas": 2})), FORGET, apply(B, of(DEPLOYMENT, spec={"replicas": 2})), apply(B, of(DEPLOYMENT))],
    "deployment: no selector": [apply(A, of(DEPLOYMENT, spec={"replicas": 1}))],
    "deployment: duplicate container": [apply(A, deployment(containers=[{"name": "c", "image": "i"}, {"name": "c", "image": "j"}]))],
    "deployment: container without name": [apply(A, deployment(containers=[{"image": "i"}]))],
    "deployment: null container": [apply(A, deployment(containers=[None]))],
    "deployment: volumes": [apply(A, deployment(volumes=[{"name": "v", "emptyDir": {}}])), apply(B, of(DEPLOYMENT, spec={"template": {"spec": {"volumes": [{"name": "w", "configMap": {"name": "m"}}]}}})), apply(A, deployment())],
    "deployment: node selector is atomic": [apply(A, deployment(nodeSelector={"a": "b"})), apply(B, of(DEPLOYMENT, spec={"template": {"spec": {"nodeSelector": {"c": "d"}}}}))],
    "deployment: pull secrets": [apply(A, deployment(imagePullSecrets=[{"name": "a"}])), apply(B, of(DEPLOYMENT, spec={"template": {"spec": {"imagePullSecrets": [{"name": "b"}]}}})), apply(A, deployment())],
    "deployment: spread": [apply(A, deployment(topologySpreadConstraints=[{"topologyKey": "z", "whenUnsatisfiable": "DoNotSchedule", "maxSkew": 1}])), apply(A, deployment(topologySpreadConstraints=[{"topologyKey": "z", "whenUnsatisfiable": "ScheduleAnyway", "maxSkew": 1}]))],
    "deployment: tolerations are atomic": [apply(A, deployment(tolerations=[{"key": "a", "operator": "Exists"}])), apply(B, of(DEPLOYMENT, spec={"template": {"spec": {"tolerations": [{"key": "b", "operator": "Exists"}]}}}))],
    "deployment: rolling update": [apply(A, deployment({"strategy": {"type": "RollingUpdate", "rollingUpdate": {"maxSurge": "50%"}}})), apply(A, deployment({"strategy": {"rollingUpdate": {"maxSurge": 1}}}))],
    # pods
    "pod: create": [apply(A, pod())],
    "pod: ports": [apply(A, pod({"name": "c", "image": "i", "ports": [{"containerPort": 80}, {"containerPort": 80, "protocol": "UDP"}]})), apply(A, pod({"name": "c", "image": "i", "ports": [{"containerPort": 80}, {"containerPort": 80, "protocol": "UDP"}]}))],
    "pod: image": [apply(A, pod()), apply(A, pod({"name": "c", "image": "j"})), write("merge", B, {"metadata": {"labels": {"a": "b"}}})],
    "pod: status by update": [apply(A, pod()), write("strategic", "kubelet", {"status": {"phase": "Running", "conditions": [{"type": "Ready", "status": "True"}]}}, sub="status"), apply(A, pod())],
    "pod: immutable": [apply(A, pod()), apply(A, pod({"name": "d", "image": "j"}))],
    "pod: security context": [apply(A, pod(securityContext={"runAsUser": 5, "supplementalGroups": [1, 2]})), apply(B, of(POD, metadata={"name": "x", "labels": {"q": "r"}}))],
    # services
    "service: create": [apply(A, service({"port": 80}))],
    "service: second port": [apply(A, service({"port": 80, "name": "a"})), apply(B, of(SERVICE, spec={"ports": [{"port": 81, "name": "b"}]})), apply(A, service({"port": 80, "name": "a"}, {"port": 82, "name": "c"})), apply(B, of(SERVICE))],
    "service: same port, other protocol": [apply(A, service({"port": 53, "name": "t"}, {"port": 53, "name": "u", "protocol": "UDP"})), apply(A, service({"port": 53, "name": "u", "protocol": "UDP"}))],
    "service: selector is atomic": [apply(A, service({"port": 80})), apply(B, of(SERVICE, spec={"selector": {"b": "c"}}))],
    "service: update of the port": [apply(A, service({"port": 80})), write("merge", B, {"spec": {"ports": [{"port": 80, "targetPort": 9}]}}), apply(A, service({"port": 80, "targetPort": 8}))],
    # nodes
    "node: taints": [apply(A, node(taints=[{"key": "a", "effect": "NoSchedule"}])), apply(B, node(taints=[{"key": "b", "effect": "NoSchedule"}])), apply(B, node(taints=[{"key": "b", "effect": "NoSchedule"}]), force=True), apply(A, node())],
    "node: labels": [write("create", "kubelet", of(NODE)), FORGET, apply(A, of(NODE) | {"metadata": {"name": "x", "labels": {"zone": "z"}}}), apply(A, of(NODE))],
    "node: unschedulable": [apply(A, node(unschedulable=True)), write("strategic", B, {"spec": {"unschedulable": False}}), apply(A, node(unschedulable=True))],
    "node: status": [apply(A, node()), write("strategic", "kubelet", {"status": {"capacity": {"cpu": "4"}, "conditions": [{"type": "Ready", "status": "True"}], "addresses": [{"type": "InternalIP", "address": "1.2.3.4"}]}}, sub="status"), apply(B, of(NODE, status={"capacity": {"gpu": "1"}}), sub="status")],
    # others
    "priority class": [apply(A, kind("scheduling.k8s.io/v1", "PriorityClass", value=5)), apply(B, kind("scheduling.k8s.io/v1", "PriorityClass", value=6))],
    "role: rules are atomic": [apply(A, kind("rbac.authorization.k8s.io/v1", "ClusterRole", rules=[{"apiGroups": [""], "resources": ["pods"], "verbs": ["get"]}])), apply(B, kind("rbac.authorization.k8s.io/v1", "ClusterRole", rules=[]))],
    "claim: requests": [apply(A, kind("v1", "PersistentVolumeClaim", spec={"accessModes": ["ReadWriteOnce"], "resources": {"requests": {"storage": "1Gi"}}})), apply(B, kind("v1", "PersistentVolumeClaim", metadata={"name": "x", "annotations": {"a": "b"}}))],
    "secret: string data": [apply(A, kind("v1", "Secret", stringData={"a": "b"})), apply(A, kind("v1", "Secret", data={"a": "Yg=="}))],
    "quota": [apply(A, kind("v1", "ResourceQuota", spec={"hard": {"cpu": "4", "pods": "10"}})), apply(B, kind("v1", "ResourceQuota", spec={"hard": {"memory": "1Gi"}})), apply(A, kind("v1", "ResourceQuota", spec={"hard": {"cpu": "4"}}))],
}


def record(plane, resources, name, steps):
    first = steps[0]["body"]
    base = first if "kind" in first and first["apiVersion"] != "v2" and first["kind"] != "Secret" or name.startswith("secret") else CONFIG
    plural, namespaced = resources[(base["apiVersion"], base["kind"])]
    prefix = "/api/" if "/" not in base["apiVersion"] else "/apis/"
    path = prefix + base["apiVersion"] + ("/namespaces/default/" if namespaced else "/") + plural
    here = path + "/x"
    types = {"apply": "application/apply-patch+yaml", "merge": "application/merge-patch+json",
             "json": "application/json-patch+json", "strategic": "application/strategic-merge-patch+json"}
    done = []
    for step in steps:
        where = here + ("/" + step["sub"] if step.get("sub") else "") + "?fieldManager=" + step["manager"] + ("&force=true" if step.get("force") else "")
        if step["op"] == "create":
            code, reply = plane.call("POST", path + "?fieldManager=" + step["manager"], step["body"])
        elif step["op"] == "put":
            now = plane.call("GET", here)[1]
            code, reply = plane.call("PUT", where, merge(now, step["body"]))
        else:
            code, reply = plane.call("PATCH", where, step["body"], content=types[step["op"]])
        done.append(step | {"code": code, "result": settled(reply)})
    plane.call("PATCH", here, {"metadata": {"finalizers": None}}, content="application/merge-patch+json")
    plane.call("DELETE", here, {"gracePeriodSeconds": 0})
    plane.call("PATCH", here, {"metadata": {"finalizers": None}}, content="application/merge-patch+json")
    return {"name": name, "apiVersion": base["apiVersion"], "kind": base["kind"], "steps": done}


def merge(value, patch):
    if not isinstance(patch, dict):
        return patch
    out = dict(value) if isinstance(value, dict) else {}
    for key, each in patch.items():
        if each is None:
            out.pop(key, None)
        else:
            out[key] = merge(out.get(key), each)
    return out


def settled(reply):
    if reply.get("kind") == "Status":
        return {k: reply.get(k) for k in ("message", "reason", "details") if k in reply}
    metadata = reply["metadata"]
    for entry in metadata.get("managedFields", []):
        entry["time"] = "time" in entry
    metadata["managedFields"] = sorted(metadata.get("managedFields", []), key=lambda e: (e["operation"], e["manager"], e.get("subresource", "")))
    for field in ("uid", "resourceVersion", "creationTimestamp"):
        metadata.pop(field, None)
    if reply["kind"] == "Service":
        for field in ("clusterIP", "clusterIPs"):
            reply["spec"].pop(field, None)
    return reply
