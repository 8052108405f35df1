# SPDX-License-Identifier: Apache-2.0
"""Pods: good ones in many shapes, bad ones one rule at a time."""
from cases import GONE

POD = {"apiVersion": "v1", "kind": "Pod", "metadata": {"name": "p"},
       "spec": {"containers": [{"name": "c", "image": "nginx"}]}}
C = "spec.containers.0."
LONG = "a" * 64
VOLUME = {"spec.volumes": [{"name": "v", "emptyDir": {}}]}


def mounted(**mount):
    return VOLUME | {C + "volumeMounts": [{"name": "v", "mountPath": "/m"} | mount]}


def volume(**source):
    return {"spec.volumes": [{"name": "v"} | source]}


def affinity(kind, when, value):
    return {f"spec.affinity.{kind}.{when}DuringSchedulingIgnoredDuringExecution": value}


def node_terms(*expressions):
    return affinity("nodeAffinity", "required", {"nodeSelectorTerms": [{"matchExpressions": list(expressions)}]})


def pod_term(**term):
    return affinity("podAffinity", "required", [{"topologyKey": "zone", "labelSelector": {"matchLabels": {"a": "b"}}} | term])


def spread(**constraint):
    return {"spec.topologySpreadConstraints": [{"maxSkew": 1, "topologyKey": "zone", "whenUnsatisfiable": "DoNotSchedule",
                                                "labelSelector": {"matchLabels": {"a": "b"}}} | constraint]}


def toleration(**fields):
    return {"spec.tolerations": [fields]}


def resources(requests=None, limits=None):
    out = {}
    if requests is not None:
        out[C + "resources.requests"] = requests
    if limits is not None:
        out[C + "resources.limits"] = limits
    return out


GOOD = {
    "plain": {},
    "two containers": {"spec.containers.1": {"name": "d", "image": "busybox:1.36"}},
    "image with a tag": {C + "image": "nginx:1.27"},
    "image latest": {C + "image": "nginx:latest"},
    "image with a digest": {C + "image": "nginx@sha256:" + "a" * 64},
    "image with tag and digest": {C + "image": "nginx:1@sha256:" + "a" * 64},
    "image from a registry with a port": {C + "image": "localhost:5000/x/y"},
    "image that is no name": {C + "image": "Nginx"},
    "image with a capital host": {C + "image": "Registry.IO/x:latest"},
    "restart never": {"spec.restartPolicy": "Never"},
    "host network": {"spec.hostNetwork": True, C + "ports": [{"containerPort": 80}]},
    "host pid and ipc": {"spec.hostPID": True, "spec.hostIPC": True},
    "limits only": resources(limits={"cpu": "500m", "memory": "1Gi"}),
    "requests only": resources(requests={"cpu": "1500m", "memory": "100000k"}),
    "guaranteed": resources({"cpu": "1", "memory": "1Gi"}, {"cpu": "1000m", "memory": "1024Mi"}),
    "limits fill only what is missing": resources({"cpu": "100m"}, {"cpu": "1", "memory": "1Gi"}),
    "amounts as numbers": resources(requests={"cpu": 1, "memory": 1.5}),
    "amounts too fine": resources(requests={"cpu": "100u", "memory": "1500m"}),
    "extended resource": resources(limits={"example.com/gpu": 2}),
    "huge pages": resources(limits={"hugepages-2Mi": "4Mi", "memory": "1Gi"}),
    "ephemeral storage": resources({"ephemeral-storage": "1Gi"}, {"ephemeral-storage": "2Gi"}),
    "pod level resources": {"spec.resources": {"limits": {"cpu": "2", "memory": "2Gi"}}} | resources({"cpu": "500m"}),
    "pod level requests": {"spec.resources": {"requests": {"cpu": "2"}}},
    "overhead": {"spec.overhead": {"cpu": "10m"}},
    "gated": {"spec.schedulingGates": [{"name": "example.com/wait"}]},
    "empty values go": {"spec.nodeName": "", "spec.nodeSelector": {}, "spec.tolerations": [], C + "args": [], C + "env": None},
    "null values go": {"spec.affinity": None, "spec.priority": None, "metadata.labels": None},
    "unknown fields go": {"spec.foo": 1, C + "bar": {"x": 1}, "zzz": [1]},
    "priority": {"spec.priority": 7, "spec.priorityClassName": "high", "spec.preemptionPolicy": "Never"},
    "a service account by its old name": {"spec.serviceAccount": "robot"},
    "a service account": {"spec.serviceAccountName": "robot"},
    "negative grace": {"spec.terminationGracePeriodSeconds": -3},
    "zero grace": {"spec.terminationGracePeriodSeconds": 0},
    "status is not the client's": {"status": {"phase": "Running"}},
    "generation is not the client's": {"metadata.generation": 7, "metadata.uid": "x", "metadata.creationTimestamp": "2020-01-01T00:00:00Z"},
    "labels and annotations": {"metadata.labels": {"a": "b", "example.com/x": ""}, "metadata.annotations": {"Example.com/Y": "any thing"}},
    "owner": {"metadata.ownerReferences": [{"apiVersion": "apps/v1", "kind": "ReplicaSet", "name": "r", "uid": "u", "controller": True}]},
    "finalizer": {"metadata.finalizers": ["example.com/hold"]},
    "ports": {C + "ports": [{"containerPort": 80, "name": "http"}, {"containerPort": 53, "protocol": "UDP", "hostPort": 53}]},
    "env": {C + "env": [{"name": "A", "value": "1"}, {"name": "B", "valueFrom": {"fieldRef": {"fieldPath": "metadata.name"}}},
                        {"name": "C", "valueFrom": {"resourceFieldRef": {"resource": "limits.cpu"}}},
                        {"name": "D", "valueFrom": {"secretKeyRef": {"name": "s", "key": "k"}}},
                        {"name": "E", "valueFrom": {"configMapKeyRef": {"name": "s", "key": "k", "optional": True}}},
                        {"name": "F", "valueFrom": {"fieldRef": {"fieldPath": "metadata.labels['x']"}}}],
            C + "envFrom": [{"prefix": "P", "configMapRef": {"name": "c"}}, {"secretRef": {"name": "s"}}]},
    "probes": {C + "livenessProbe": {"httpGet": {"port": 80}}, C + "readinessProbe": {"tcpSocket": {"port": "http"}, "periodSeconds": 3},
               C + "startupProbe": {"grpc": {"port": 9}}, C + "lifecycle": {"preStop": {"httpGet": {"port": 80, "path": "/bye"}}, "postStart": {"exec": {"command": ["x"]}}}},
    "sleep hook": {C + "lifecycle": {"preStop": {"sleep": {"seconds": 5}}}},
    "security": {"spec.securityContext": {"runAsUser": 1000, "fsGroup": 2000, "seccompProfile": {"type": "RuntimeDefault"}, "sysctls": [{"name": "net.core.somaxconn", "value": "1"}]},
                 C + "securityContext": {"capabilities": {"add": ["NET_ADMIN"]}, "readOnlyRootFilesystem": True, "allowPrivilegeEscalation": False}},
    "init and sidecar": {"spec.initContainers": [{"name": "i", "image": "x:1"}, {"name": "s", "image": "y:1", "restartPolicy": "Always", "ports": [{"containerPort": 1}]}]},
    "volumes": {"spec.volumes": [{"name": "bare"}, {"name": "e", "emptyDir": {"sizeLimit": "1Gi"}}, {"name": "h", "hostPath": {"path": "/x"}},
                                 {"name": "s", "secret": {"secretName": "s"}}, {"name": "c", "configMap": {"name": "c", "items": [{"key": "a", "path": "b"}]}},
                                 {"name": "d", "downwardAPI": {"items": [{"path": "l", "fieldRef": {"fieldPath": "metadata.labels"}}]}},
                                 {"name": "p", "persistentVolumeClaim": {"claimName": "x"}}, {"name": "n", "nfs": {"server": "a", "path": "/b"}},
                                 {"name": "csi", "csi": {"driver": "x.y"}}, {"name": "img", "image": {"reference": "a:1"}},
                                 {"name": "eph", "ephemeral": {"volumeClaimTemplate": {"spec": {"accessModes": ["ReadWriteOnce"], "resources": {"requests": {"storage": "1Gi"}}}}}}],
                C + "volumeMounts": [{"name": "e", "mountPath": "/e"}, {"name": "s", "mountPath": "/s", "readOnly": True, "subPath": "a"}]},
    "projected volume": {"spec.serviceAccountName": "r", "spec.volumes": [{"name": "v", "projected": {"sources": [{"serviceAccountToken": {"path": "t"}}, {"downwardAPI": {"items": [{"path": "x", "fieldRef": {"fieldPath": "metadata.uid"}}]}}, {"configMap": {"name": "c"}}]}}]},
    "old volume types": {"spec.volumes": [{"name": "i", "iscsi": {"targetPortal": "1.2.3.4", "iqn": "iqn.2001-04.com.example:x", "lun": 0}}, {"name": "r", "rbd": {"monitors": ["a"], "image": "x"}}]},
    "block device": {"spec.volumes": [{"name": "v", "persistentVolumeClaim": {"claimName": "x"}}], C + "volumeDevices": [{"name": "v", "devicePath": "/dev/x"}]},
    "affinity": node_terms({"key": "a", "operator": "In", "values": ["b"]}, {"key": "n", "operator": "Gt", "values": ["3"]})
    | affinity("nodeAffinity", "preferred", [{"weight": 1, "preference": {"matchFields": [{"key": "metadata.name", "operator": "In", "values": ["n"]}]}}])
    | affinity("podAntiAffinity", "preferred", [{"weight": 100, "podAffinityTerm": {"topologyKey": "kubernetes.io/hostname", "namespaceSelector": {}}}]),
    "match label keys": pod_term(matchLabelKeys=["v"], mismatchLabelKeys=["w"]) | {"metadata.labels": {"v": "1", "w": "2"}},
    "spread": spread(minDomains=2, nodeTaintsPolicy="Honor", matchLabelKeys=["v"]) | {"metadata.labels": {"v": "1"}},
    "tolerations": {"spec.tolerations": [{"key": "a", "operator": "Exists"}, {"operator": "Exists"}, {"key": "b", "value": "c", "effect": "NoExecute", "tolerationSeconds": 5}]},
    "dns": {"spec.dnsPolicy": "None", "spec.dnsConfig": {"nameservers": ["1.2.3.4"], "searches": ["a.b", "_x.y.", "."], "options": [{"name": "n"}]}},
    "host aliases": {"spec.hostAliases": [{"ip": "1.2.3.4", "hostnames": ["a"]}]},
    "resource claims": {"spec.resourceClaims": [{"name": "r", "resourceClaimName": "x"}], C + "resources.claims": [{"name": "r"}]},
    "restart rules": {"spec.restartPolicy": "Never", C + "restartPolicy": "Never", C + "restartPolicyRules": [{"action": "Restart", "exitCodes": {"operator": "In", "values": [3]}}]},
    "resize policy": {C + "resizePolicy": [{"resourceName": "cpu", "restartPolicy": "NotRequired"}]},
    "readiness gates": {"spec.readinessGates": [{"conditionType": "example.com/x"}]},
    "os": {"spec.os": {"name": "linux"}},
    "windows": {"spec.os": {"name": "windows"}},
    "runtime class": {"spec.runtimeClassName": "x"},
    "host users": {"spec.hostUsers": False},
    "deadline": {"spec.activeDeadlineSeconds": 5},
    "hostname": {"spec.hostname": "h", "spec.subdomain": "s", "spec.setHostnameAsFQDN": True},
    "deletion cost": {"metadata.annotations": {"controller.kubernetes.io/pod-deletion-cost": "-5"}},
    "share processes": {"spec.shareProcessNamespace": True},
    "bound": {"spec.nodeName": "n1"},
}

BAD = {
    # names and metadata
    "no name": {"metadata.name": GONE},
    "name in capitals": {"metadata.name": "Pod"},
    "name with underscore": {"metadata.name": "a_b"},
    "name with dash at the end": {"metadata.name": "a-"},
    "name too long": {"metadata.name": "a" * 254},
    "bad generate name": {"metadata.name": GONE, "metadata.generateName": "A_"},
    "bad label key": {"metadata.labels": {"-x": "y"}},
    "bad label prefix": {"metadata.labels": {"A_/x": "y"}},
    "label key too long": {"metadata.labels": {LONG: "y"}},
    "bad label value": {"metadata.labels": {"x": "-"}},
    "label value too long": {"metadata.labels": {"x": LONG}},
    "bad annotation key": {"metadata.annotations": {"a b": "y"}},
    "annotations too large": {"metadata.annotations": {"a": "x" * 270000}},
    "owner without name": {"metadata.ownerReferences": [{"apiVersion": "v1", "kind": "X", "uid": "u"}]},
    "owner without version": {"metadata.ownerReferences": [{"kind": "X", "name": "n", "uid": "u"}]},
    "two controllers": {"metadata.ownerReferences": [{"apiVersion": "v1", "kind": "X", "name": "a", "uid": "u", "controller": True}, {"apiVersion": "v1", "kind": "X", "name": "b", "uid": "w", "controller": True}]},
    "owned by an event": {"metadata.ownerReferences": [{"apiVersion": "v1", "kind": "Event", "name": "a", "uid": "u"}]},
    "bad finalizer": {"metadata.finalizers": ["a b"]},
    "finalizer without domain": {"metadata.finalizers": ["mine"]},
    "two ways to delete": {"metadata.finalizers": ["orphan", "foregroundDeletion"]},
    "bad deletion cost": {"metadata.annotations": {"controller.kubernetes.io/pod-deletion-cost": "x"}},
    "padded deletion cost": {"metadata.annotations": {"controller.kubernetes.io/pod-deletion-cost": "+5"}},
    "mirror without node": {"metadata.annotations": {"kubernetes.io/config.mirror": "x"}},
    # containers
    "no containers": {"spec.containers": []},
    "no spec": {"spec": GONE},
    "container without name": {C + "name": GONE},
    "container without image": {C + "image": GONE},
    "container with neither": {"spec.containers": [{}]},
    "container name in capitals": {C + "name": "C"},
    "container name too long": {C + "name": LONG},
    "container name with a dot": {C + "name": "a.b"},
    "image with spaces": {C + "image": " nginx"},
    "two of the same name": {"spec.containers.1": {"name": "c", "image": "x"}},
    "bad pull policy": {C + "imagePullPolicy": "Sometimes"},
    "bad message policy": {C + "terminationMessagePolicy": "X"},
    "port zero": {C + "ports": [{"containerPort": 0}]},
    "port too large": {C + "ports": [{"containerPort": 65536}]},
    "port negative": {C + "ports": [{"containerPort": -1}]},
    "host port too large": {C + "ports": [{"containerPort": 1, "hostPort": 70000}]},
    "port without number": {C + "ports": [{"name": "x"}]},
    "bad port name": {C + "ports": [{"containerPort": 1, "name": "HTTP"}]},
    "port name too long": {C + "ports": [{"containerPort": 1, "name": "abcdefghijklmnop"}]},
    "port name of digits": {C + "ports": [{"containerPort": 1, "name": "80"}]},
    "port name with dashes": {C + "ports": [{"containerPort": 1, "name": "a--b"}]},
    "port name with dash at end": {C + "ports": [{"containerPort": 1, "name": "a-"}]},
    "port name twice": {C + "ports": [{"containerPort": 1, "name": "a"}, {"containerPort": 2, "name": "a"}]},
    "bad protocol": {C + "ports": [{"containerPort": 1, "protocol": "ICMP"}]},
    "host port twice": {C + "ports": [{"containerPort": 1, "hostPort": 5}, {"containerPort": 2, "hostPort": 5}]},
    "host port differs on host network": {"spec.hostNetwork": True, C + "ports": [{"containerPort": 1, "hostPort": 2}]},
    # env
    "env without name": {C + "env": [{"value": "x"}]},
    "env name with =": {C + "env": [{"name": "a=b"}]},
    "env from nothing": {C + "env": [{"name": "a", "valueFrom": {}}]},
    "env from two": {C + "env": [{"name": "a", "valueFrom": {"secretKeyRef": {"name": "s", "key": "k"}, "configMapKeyRef": {"name": "s", "key": "k"}}}]},
    "env with value and source": {C + "env": [{"name": "a", "value": "x", "valueFrom": {"secretKeyRef": {"name": "s", "key": "k"}}}]},
    "env secret without key": {C + "env": [{"name": "a", "valueFrom": {"secretKeyRef": {"name": "s"}}}]},
    "env secret without name": {C + "env": [{"name": "a", "valueFrom": {"secretKeyRef": {"key": "s"}}}]},
    "env secret with bad key": {C + "env": [{"name": "a", "valueFrom": {"secretKeyRef": {"name": "s", "key": "a/b"}}}]},
    "env secret with dots": {C + "env": [{"name": "a", "valueFrom": {"secretKeyRef": {"name": "s", "key": ".."}}}]},
    "env field unknown": {C + "env": [{"name": "a", "valueFrom": {"fieldRef": {"fieldPath": "spec.foo"}}}]},
    "env field not for env": {C + "env": [{"name": "a", "valueFrom": {"fieldRef": {"fieldPath": "metadata.labels"}}}]},
    "env field empty": {C + "env": [{"name": "a", "valueFrom": {"fieldRef": {}}}]},
    "env field of another version": {C + "env": [{"name": "a", "valueFrom": {"fieldRef": {"apiVersion": "v2", "fieldPath": "metadata.name"}}}]},
    "env field with bad subscript": {C + "env": [{"name": "a", "valueFrom": {"fieldRef": {"fieldPath": "metadata.name['x']"}}}]},
    "env label with bad key": {C + "env": [{"name": "a", "valueFrom": {"fieldRef": {"fieldPath": "metadata.labels['a b']"}}}]},
    "env resource unknown": {C + "env": [{"name": "a", "valueFrom": {"resourceFieldRef": {"resource": "limits.gpu"}}}]},
    "env resource empty": {C + "env": [{"name": "a", "valueFrom": {"resourceFieldRef": {}}}]},
    "env cpu divisor": {C + "env": [{"name": "a", "valueFrom": {"resourceFieldRef": {"resource": "limits.cpu", "divisor": "5"}}}]},
    "env memory divisor": {C + "env": [{"name": "a", "valueFrom": {"resourceFieldRef": {"resource": "limits.memory", "divisor": "5"}}}]},
    "env from a file nowhere": {C + "env": [{"name": "a", "valueFrom": {"fileKeyRef": {"volumeName": "v", "path": "p", "key": "k"}}}]},
    "env from nowhere": {C + "envFrom": [{}]},
    "env from two maps": {C + "envFrom": [{"configMapRef": {"name": "a"}, "secretRef": {"name": "b"}}]},
    "env from map without name": {C + "envFrom": [{"configMapRef": {}}]},
    "env from map with bad name": {C + "envFrom": [{"secretRef": {"name": "A_"}}]},
    # probes and hooks
    "probe without handler": {C + "livenessProbe": {"periodSeconds": 1}},
    "probe with two handlers": {C + "livenessProbe": {"exec": {"command": ["a"]}, "tcpSocket": {"port": 1}}},
    "exec without command": {C + "readinessProbe": {"exec": {}}},
    "http without port": {C + "readinessProbe": {"httpGet": {"path": "/"}}},
    "http with bad port": {C + "readinessProbe": {"httpGet": {"port": 99999}}},
    "http with bad port name": {C + "readinessProbe": {"httpGet": {"port": "A"}}},
    "http with bad scheme": {C + "readinessProbe": {"httpGet": {"port": 1, "scheme": "FTP"}}},
    "http with bad header": {C + "readinessProbe": {"httpGet": {"port": 1, "httpHeaders": [{"name": "a b", "value": "c"}]}}},
    "tcp with bad port": {C + "startupProbe": {"tcpSocket": {"port": 0}}},
    "grpc with bad port": {C + "startupProbe": {"grpc": {"port": 0}}},
    "probe negative delay": {C + "livenessProbe": {"tcpSocket": {"port": 1}, "initialDelaySeconds": -1}},
    "probe negative period": {C + "livenessProbe": {"tcpSocket": {"port": 1}, "periodSeconds": -1}},
    "liveness succeeds twice": {C + "livenessProbe": {"tcpSocket": {"port": 1}, "successThreshold": 2}},
    "readiness with grace": {C + "readinessProbe": {"tcpSocket": {"port": 1}, "terminationGracePeriodSeconds": 2}},
    "liveness with no grace": {C + "livenessProbe": {"tcpSocket": {"port": 1}, "terminationGracePeriodSeconds": 0}},
    "hook without handler": {C + "lifecycle": {"preStop": {}}},
    "sleep too long": {C + "lifecycle": {"preStop": {"sleep": {"seconds": 99}}}},
    "sleep negative": {C + "lifecycle": {"preStop": {"sleep": {"seconds": -1}}}},
    # volumes
    "mount of nothing": {C + "volumeMounts": [{"name": "v", "mountPath": "/m"}]},
    "mount without path": mounted(mountPath=""),
    "mount without name": VOLUME | {C + "volumeMounts": [{"mountPath": "/m"}]},
    "mount path twice": VOLUME | {C + "volumeMounts": [{"name": "v", "mountPath": "/m"}, {"name": "v", "mountPath": "/m"}]},
    "sub path absolute": mounted(subPath="/x"),
    "sub path back": mounted(subPath="a/../b"),
    "sub path twice": mounted(subPath="a", subPathExpr="b"),
    "bad propagation": mounted(mountPropagation="X"),
    "propagation without privilege": mounted(mountPropagation="Bidirectional"),
    "bad recursive read only": mounted(recursiveReadOnly="X"),
    "recursive read only of writable": mounted(recursiveReadOnly="Enabled"),
    "volume without name": {"spec.volumes": [{"emptyDir": {}}]},
    "volume name in capitals": {"spec.volumes": [{"name": "V", "emptyDir": {}}]},
    "volume twice": {"spec.volumes": [{"name": "v", "emptyDir": {}}, {"name": "v", "emptyDir": {}}]},
    "volume of two types": volume(emptyDir={}, hostPath={"path": "/x"}),
    "negative size limit": volume(emptyDir={"sizeLimit": "-1"}),
    "host path empty": volume(hostPath={"path": ""}),
    "host path back": volume(hostPath={"path": "/a/../b"}),
    "host path of bad type": volume(hostPath={"path": "/a", "type": "X"}),
    "secret without name": volume(secret={}),
    "secret bad mode": volume(secret={"secretName": "s", "defaultMode": 1000}),
    "secret item without path": volume(secret={"secretName": "s", "items": [{"key": "k"}]}),
    "config map item without key": volume(configMap={"name": "s", "items": [{"path": "k"}]}),
    "config map item back": volume(configMap={"name": "s", "items": [{"key": "a", "path": "../k"}]}),
    "config map item dots": volume(configMap={"name": "s", "items": [{"key": "a", "path": "..k"}]}),
    "config map item absolute": volume(configMap={"name": "s", "items": [{"key": "a", "path": "/k"}]}),
    "config map item mode": volume(configMap={"name": "s", "items": [{"key": "a", "path": "k", "mode": -1}]}),
    "config map without name": volume(configMap={}),
    "claim without name": volume(persistentVolumeClaim={}),
    "nfs relative": volume(nfs={"server": "a", "path": "b"}),
    "nfs empty": volume(nfs={}),
    "downward without ref": volume(downwardAPI={"items": [{"path": "a"}]}),
    "downward with both": volume(downwardAPI={"items": [{"path": "a", "fieldRef": {"fieldPath": "metadata.name"}, "resourceFieldRef": {"containerName": "c", "resource": "limits.cpu"}}]}),
    "downward bad field": volume(downwardAPI={"items": [{"path": "a", "fieldRef": {"fieldPath": "spec.nodeName"}}]}),
    "downward resource without container": volume(downwardAPI={"items": [{"path": "a", "resourceFieldRef": {"resource": "limits.cpu"}}]}),
    "projected token too short": {"spec.serviceAccountName": "r"} | volume(projected={"sources": [{"serviceAccountToken": {"path": "a", "expirationSeconds": 5}}]}),
    "projected token without path": {"spec.serviceAccountName": "r"} | volume(projected={"sources": [{"serviceAccountToken": {}}]}),
    "projected token without account": volume(projected={"sources": [{"serviceAccountToken": {"path": "t"}}]}),
    "projected twice the path": volume(projected={"sources": [{"secret": {"name": "s", "items": [{"key": "a", "path": "p"}]}}, {"configMap": {"name": "c", "items": [{"key": "a", "path": "p"}]}}]}),
    "projected two in one": volume(projected={"sources": [{"secret": {"name": "s"}, "configMap": {"name": "c"}}]}),
    "csi without driver": volume(csi={}),
    "csi bad driver": volume(csi={"driver": "a_b"}),
    "ephemeral without template": volume(ephemeral={}),
    "ephemeral without size": volume(ephemeral={"volumeClaimTemplate": {"spec": {"accessModes": ["ReadWriteOnce"]}}}),
    "ephemeral with name": volume(ephemeral={"volumeClaimTemplate": {"metadata": {"name": "x"}, "spec": {"accessModes": ["ReadWriteOnce"], "resources": {"requests": {"storage": "1"}}}}}),
    "image volume without reference": volume(image={}),
    "device of nothing": {C + "volumeDevices": [{"name": "v", "devicePath": "/d"}]},
    "device of a directory": VOLUME | {C + "volumeDevices": [{"name": "v", "devicePath": "/d"}]},
    "device path back": volume(persistentVolumeClaim={"claimName": "x"}) | {C + "volumeDevices": [{"name": "v", "devicePath": "/a/../b"}]},
    # resources
    "request above limit": resources({"cpu": "2"}, {"cpu": "1"}),
    "negative request": resources({"cpu": "-1"}),
    "negative limit": resources(None, {"memory": "-1"}),
    "unknown resource": resources({"gpu": "1"}),
    "bad resource name": resources({"a b": "1"}),
    "quota resource": resources({"pods": "1"}),
    "fraction of an extended resource": resources(None, {"example.com/gpu": "500m"}),
    "extended resource without limit": resources({"example.com/gpu": "1"}),
    "extended resource unequal": resources({"example.com/gpu": "1"}, {"example.com/gpu": "2"}),
    "huge pages alone": resources(None, {"hugepages-2Mi": "4Mi"}),
    "huge pages indivisible": resources(None, {"hugepages-2Mi": "3Mi", "memory": "1Gi"}),
    "huge pages unequal": resources({"hugepages-2Mi": "2Mi", "memory": "1Gi"}, {"hugepages-2Mi": "4Mi"}),
    "claim unknown": {C + "resources.claims": [{"name": "x"}]},
    "claim twice": {"spec.resourceClaims": [{"name": "x", "resourceClaimName": "y"}], C + "resources.claims": [{"name": "x"}, {"name": "x"}]},
    "claims of nothing": {"spec.resourceClaims": [{"name": "x"}]},
    "claims of both": {"spec.resourceClaims": [{"name": "x", "resourceClaimName": "a", "resourceClaimTemplateName": "b"}]},
    "claims without name": {"spec.resourceClaims": [{"resourceClaimName": "a"}]},
    "claims same name": {"spec.resourceClaims": [{"name": "x", "resourceClaimName": "a"}, {"name": "x", "resourceClaimName": "b"}]},
    "pod level too small": {"spec.resources": {"requests": {"cpu": "100m"}}} | resources({"cpu": "1"}),
    "pod level unknown": {"spec.resources": {"limits": {"example.com/gpu": "1"}}},
    "pod limit below container's": {"spec.resources": {"limits": {"cpu": "1"}}} | resources(None, {"cpu": "2"}),
    "bad overhead": {"spec.overhead": {"gpu": "1"}},
    "bad resize resource": {C + "resizePolicy": [{"resourceName": "gpu", "restartPolicy": "NotRequired"}]},
    "bad resize policy": {C + "resizePolicy": [{"resourceName": "cpu", "restartPolicy": "X"}]},
    "resize twice": {C + "resizePolicy": [{"resourceName": "cpu", "restartPolicy": "NotRequired"}] * 2},
    "resize restarts what never does": {"spec.restartPolicy": "Never", C + "resizePolicy": [{"resourceName": "cpu", "restartPolicy": "RestartContainer"}]},
    # the pod as a whole
    "bad restart policy": {"spec.restartPolicy": "Sometimes"},
    "bad dns policy": {"spec.dnsPolicy": "X"},
    "dns none without config": {"spec.dnsPolicy": "None"},
    "dns none without servers": {"spec.dnsPolicy": "None", "spec.dnsConfig": {"searches": ["a"]}},
    "dns too many servers": {"spec.dnsConfig": {"nameservers": ["1.1.1.1", "1.1.1.2", "1.1.1.3", "1.1.1.4"]}},
    "dns bad server": {"spec.dnsConfig": {"nameservers": ["x"]}},
    "dns server with zeros": {"spec.dnsConfig": {"nameservers": ["1.2.3.04"]}},
    "dns bad search": {"spec.dnsConfig": {"searches": ["A"]}},
    "dns option without name": {"spec.dnsConfig": {"options": [{"value": "x"}]}},
    "bad node selector": {"spec.nodeSelector": {"a b": "c"}},
    "bad node selector value": {"spec.nodeSelector": {"a": "c d"}},
    "bad node name": {"spec.nodeName": "N"},
    "bad service account": {"spec.serviceAccountName": "A_"},
    "deadline zero": {"spec.activeDeadlineSeconds": 0},
    "deadline too long": {"spec.activeDeadlineSeconds": 3000000000},
    "bad hostname": {"spec.hostname": "a.b"},
    "bad subdomain": {"spec.subdomain": "A"},
    "bad hostname override": {"spec.hostnameOverride": "A"},
    "hostname override on host network": {"spec.hostnameOverride": "a", "spec.hostNetwork": True},
    "bad host alias": {"spec.hostAliases": [{"ip": "x", "hostnames": ["a"]}]},
    "bad host alias name": {"spec.hostAliases": [{"ip": "1.2.3.4", "hostnames": ["A"]}]},
    "bad priority class": {"spec.priorityClassName": "A"},
    "bad runtime class": {"spec.runtimeClassName": "A"},
    "empty runtime class": {"spec.runtimeClassName": ""},
    "bad preemption policy": {"spec.preemptionPolicy": "X"},
    "bad os": {"spec.os": {"name": "beos"}},
    "os without name": {"spec.os": {}},
    "windows options on linux": {"spec.os": {"name": "linux"}, "spec.securityContext": {"windowsOptions": {"runAsUserName": "x"}}},
    "bad readiness gate": {"spec.readinessGates": [{"conditionType": "a b"}]},
    "bad scheduling gate": {"spec.schedulingGates": [{"name": "a b"}]},
    "scheduling gate twice": {"spec.schedulingGates": [{"name": "a"}, {"name": "a"}]},
    "gated and bound": {"spec.schedulingGates": [{"name": "a"}], "spec.nodeName": "n"},
    "ephemeral container": {"spec.ephemeralContainers": [{"name": "e", "image": "x"}]},
    "host users and network": {"spec.hostUsers": False, "spec.hostNetwork": True},
    "host users and pid": {"spec.hostUsers": False, "spec.hostPID": True},
    # tolerations
    "toleration bad key": toleration(key="a b"),
    "toleration of all with Equal": toleration(value="x"),
    "toleration Exists with value": toleration(key="a", operator="Exists", value="b"),
    "toleration bad operator": toleration(key="a", operator="X"),
    "toleration greater": toleration(key="a", operator="Gt", value="1"),
    "toleration bad effect": toleration(key="a", effect="X"),
    "toleration bad value": toleration(key="a", value="b c"),
    "toleration seconds without NoExecute": toleration(key="a", effect="NoSchedule", tolerationSeconds=1),
    # affinity
    "node affinity without terms": affinity("nodeAffinity", "required", {"nodeSelectorTerms": []}),
    "node affinity In without values": node_terms({"key": "a", "operator": "In"}),
    "node affinity Exists with values": node_terms({"key": "a", "operator": "Exists", "values": ["b"]}),
    "node affinity Gt with two": node_terms({"key": "a", "operator": "Gt", "values": ["1", "2"]}),
    "node affinity bad operator": node_terms({"key": "a", "operator": "X"}),
    "node affinity bad key": node_terms({"key": "a b", "operator": "Exists"}),
    "node affinity bad value": node_terms({"key": "a", "operator": "In", "values": ["b c"]}),
    "node fields bad key": affinity("nodeAffinity", "required", {"nodeSelectorTerms": [{"matchFields": [{"key": "x", "operator": "In", "values": ["a"]}]}]}),
    "node fields two values": affinity("nodeAffinity", "required", {"nodeSelectorTerms": [{"matchFields": [{"key": "metadata.name", "operator": "In", "values": ["a", "b"]}]}]}),
    "node fields bad operator": affinity("nodeAffinity", "required", {"nodeSelectorTerms": [{"matchFields": [{"key": "metadata.name", "operator": "Exists"}]}]}),
    "node weight zero": affinity("nodeAffinity", "preferred", [{"weight": 0, "preference": {}}]),
    "node weight too large": affinity("nodeAffinity", "preferred", [{"weight": 101, "preference": {}}]),
    "pod affinity without topology": pod_term(topologyKey=""),
    "pod affinity bad topology": pod_term(topologyKey="a b"),
    "pod affinity bad namespace": pod_term(namespaces=["A"]),
    "pod affinity bad selector": pod_term(labelSelector={"matchExpressions": [{"key": "a", "operator": "X"}]}),
    "pod affinity In without values": pod_term(labelSelector={"matchExpressions": [{"key": "a", "operator": "In"}]}),
    "pod affinity Exists with values": pod_term(labelSelector={"matchExpressions": [{"key": "a", "operator": "Exists", "values": ["b"]}]}),
    "pod affinity bad label": pod_term(labelSelector={"matchLabels": {"a b": "c"}}),
    "pod affinity keys without selector": pod_term(labelSelector=None, matchLabelKeys=["a"]),
    "pod affinity keys in both": pod_term(matchLabelKeys=["k"], mismatchLabelKeys=["k"]),
    "pod affinity bad keys": pod_term(matchLabelKeys=["a b"]),
    "pod affinity weight": affinity("podAntiAffinity", "preferred", [{"weight": 0, "podAffinityTerm": {"topologyKey": "a"}}]),
    # spread
    "spread without skew": spread(maxSkew=0),
    "spread without key": spread(topologyKey=""),
    "spread bad action": spread(whenUnsatisfiable="X"),
    "spread twice": {"spec.topologySpreadConstraints": [{"maxSkew": 1, "topologyKey": "z", "whenUnsatisfiable": "DoNotSchedule"}] * 2},
    "spread domains zero": spread(minDomains=0),
    "spread domains with ScheduleAnyway": spread(minDomains=1, whenUnsatisfiable="ScheduleAnyway"),
    "spread bad policy": spread(nodeAffinityPolicy="X"),
    "spread bad taints policy": spread(nodeTaintsPolicy="X"),
    "spread keys without selector": spread(labelSelector=None, matchLabelKeys=["a"]),
    "spread bad selector": spread(labelSelector={"matchExpressions": [{"key": "a", "operator": "X"}]}),
    # init containers
    "init without image": {"spec.initContainers": [{"name": "i"}]},
    "init same name": {"spec.initContainers": [{"name": "c", "image": "x"}]},
    "init with probe": {"spec.initContainers": [{"name": "i", "image": "x", "readinessProbe": {"tcpSocket": {"port": 1}}}]},
    "init with hook": {"spec.initContainers": [{"name": "i", "image": "x", "lifecycle": {"preStop": {"exec": {"command": ["a"]}}}}]},
    "init bad restart": {"spec.initContainers": [{"name": "i", "image": "x", "restartPolicy": "X"}]},
    "container bad restart": {C + "restartPolicy": "X"},
    "restart rules without policy": {C + "restartPolicyRules": [{"action": "Restart", "exitCodes": {"operator": "In", "values": [1]}}]},
    "restart rule bad action": {C + "restartPolicy": "Never", C + "restartPolicyRules": [{"action": "X", "exitCodes": {"operator": "In", "values": [1]}}]},
    "restart rule bad operator": {C + "restartPolicy": "Never", C + "restartPolicyRules": [{"action": "Restart", "exitCodes": {"operator": "X", "values": [1]}}]},
    "restart rule without codes": {C + "restartPolicy": "Never", C + "restartPolicyRules": [{"action": "Restart"}]},
    # security
    "user negative": {"spec.securityContext": {"runAsUser": -1}},
    "group negative": {"spec.securityContext": {"runAsGroup": -1}},
    "fs group negative": {"spec.securityContext": {"fsGroup": -1}},
    "groups negative": {"spec.securityContext": {"supplementalGroups": [1, -1]}},
    "container user negative": {C + "securityContext": {"runAsUser": -1}},
    "share and host pid": {"spec.shareProcessNamespace": True, "spec.hostPID": True},
    "bad sysctl": {"spec.securityContext": {"sysctls": [{"name": "A", "value": "1"}]}},
    "sysctl without name": {"spec.securityContext": {"sysctls": [{"name": "", "value": "1"}]}},
    "sysctl twice": {"spec.securityContext": {"sysctls": [{"name": "a.b", "value": "1"}] * 2}},
    "net sysctl on host network": {"spec.hostNetwork": True, "spec.securityContext": {"sysctls": [{"name": "net.x", "value": "1"}]}},
    "bad fs group policy": {"spec.securityContext": {"fsGroupChangePolicy": "X"}},
    "bad seccomp type": {"spec.securityContext": {"seccompProfile": {"type": "X"}}},
    "seccomp without type": {"spec.securityContext": {"seccompProfile": {}}},
    "seccomp localhost without profile": {C + "securityContext": {"seccompProfile": {"type": "Localhost"}}},
    "seccomp profile back": {C + "securityContext": {"seccompProfile": {"type": "Localhost", "localhostProfile": "../x"}}},
    "bad app armor": {C + "securityContext": {"appArmorProfile": {"type": "X"}}},
    "app armor without profile": {C + "securityContext": {"appArmorProfile": {"type": "Localhost"}}},
    "bad proc mount": {C + "securityContext": {"procMount": "X"}},
    "unmasked on host users": {C + "securityContext": {"procMount": "Unmasked"}},
    "bad groups policy": {"spec.securityContext": {"supplementalGroupsPolicy": "X"}},
    "bad selinux policy": {"spec.securityContext": {"seLinuxChangePolicy": "X"}},
    # decoding
    "containers a string": {"spec.containers": "x"},
    "name a number": {"metadata.name": 7},
    "priority a fraction": {"spec.priority": 1.5},
    "priority too large": {"spec.priority": 99999999999},
    "bad amount": resources({"cpu": "x"}),
    "bad time": {"metadata.creationTimestamp": "yesterday"},
    "label a number": {"metadata.labels": {"a": 1}},
    "host network a string": {"spec.hostNetwork": "yes"},
    "port a string": {C + "ports": [{"containerPort": "http"}]},
    "resource version given": {"metadata.resourceVersion": "3"},
    "another namespace": {"metadata.namespace": "other"},
    # two at once
    "two faults": {"metadata.name": "A", C + "image": GONE},
    "three faults": {C + "name": "", C + "imagePullPolicy": "X", "spec.restartPolicy": "Y"},
}


def running(**container):
    return {"phase": "Running", "podIP": "10.1.2.3", "podIPs": [{"ip": "10.1.2.3"}],
            "conditions": [{"type": "Ready", "status": "True"}, {"type": "Initialized", "status": "True"}],
            "containerStatuses": [{"name": "c", "image": "x", "imageID": "", "ready": True, "restartCount": 0,
                                   "state": {"running": {"startedAt": "2026-01-01T00:00:00Z"}}} | container]}


STATUSES = {
    "running": running(),
    "not ready": running(ready=False),
    "restarted": running(restartCount=3),
    "crash loop": running(ready=False, restartCount=2, state={"waiting": {"reason": "CrashLoopBackOff"}}),
    "completed": running(ready=False, state={"terminated": {"exitCode": 0, "reason": "Completed"}}),
    "error without reason": running(ready=False, state={"terminated": {"exitCode": 3}}),
    "signal": running(ready=False, state={"terminated": {"exitCode": 137, "signal": 9}}),
    "succeeded": {"phase": "Succeeded", "containerStatuses": [{"name": "c", "image": "x", "imageID": "", "ready": False, "restartCount": 0, "state": {"terminated": {"exitCode": 0, "reason": "Completed"}}}]},
    "failed": {"phase": "Failed", "reason": "Evicted", "message": "x"},
    "nominated": {"phase": "Pending", "nominatedNodeName": "n2"},
}

UPDATES = {
    "label": {"metadata.labels": {"x": "y"}},
    "image": {C + "image": "nginx:2"},
    "nothing": {},
    "status through the main door": {"status.phase": "Running"},
    "add a toleration": {"spec.tolerations": [{"key": "a", "operator": "Exists"}]},
    "shorten the deadline": {"spec.activeDeadlineSeconds": 5},
    "drop the uid": {"metadata.uid": GONE},
    "image gone": {C + "image": ""},
    "add a container": {"spec.containers.1": {"name": "d", "image": "x"}},
    "add a gate": {"spec.schedulingGates": [{"name": "a"}]},
    "bad label": {"metadata.labels": {"a b": "c"}},
    "generation": {"metadata.generation": 9},
    "mirror": {"metadata.annotations": {"kubernetes.io/config.mirror": "x"}},
}


def add(corpus):
    corpus.each(POD, {"good pod: " + k: v for k, v in GOOD.items()})
    corpus.each(POD, {"bad pod: " + k: v for k, v in BAD.items()})
    corpus.add(POD, "pod with a generated name", {"metadata.name": GONE, "metadata.generateName": "web-"})
    for name, status in STATUSES.items():
        corpus.add(POD, "pod status: " + name, {"spec.nodeName": "n1"}, status=status)
    gates = {"spec.readinessGates": [{"conditionType": "a/b"}, {"conditionType": "a/c"}], "spec.nodeName": "n1"}
    corpus.add(POD, "pod status: gates", gates, status=running() | {"conditions": [{"type": "a/b", "status": "True"}]})
    init = {"spec.initContainers": [{"name": "i", "image": "x"}, {"name": "s", "image": "x", "restartPolicy": "Always"}], "spec.nodeName": "n1"}
    waiting = {"name": "i", "image": "x", "imageID": "", "ready": False, "restartCount": 0, "state": {"waiting": {"reason": "PodInitializing"}}}
    corpus.add(POD, "pod status: initialising", init, status={"phase": "Pending", "initContainerStatuses": [waiting]})
    corpus.add(POD, "pod status: init failed", init, status={"phase": "Pending", "initContainerStatuses": [waiting | {"state": {"terminated": {"exitCode": 1, "reason": "Error"}}}]})
    corpus.add(POD, "pod status: init image", init, status={"phase": "Pending", "initContainerStatuses": [waiting | {"state": {"waiting": {"reason": "ErrImagePull"}}}]})
    for name, update in UPDATES.items():
        corpus.add(POD, "pod update: " + name, {}, update=update)
    gated = {"spec.schedulingGates": [{"name": "a"}], "spec.nodeSelector": {"x": "y"}}
    for name, update in {"ungate": {"spec.schedulingGates": GONE}, "narrow": {"spec.nodeSelector": {"x": "y", "z": "w"}},
                         "widen": {"spec.nodeSelector": {"z": "w"}}}.items():
        corpus.add(POD, "gated pod update: " + name, gated, update=update)
    corpus.add(POD, "pod update: change a toleration", {"spec.tolerations": [{"key": "a", "operator": "Exists"}]}, update={"spec.tolerations": []})
    corpus.add(POD, "pod update: lengthen the deadline", {"spec.activeDeadlineSeconds": 5}, update={"spec.activeDeadlineSeconds": 50})
    corpus.add(POD, "pod update: drop the deadline", {"spec.activeDeadlineSeconds": 5}, update={"spec.activeDeadlineSeconds": GONE})
