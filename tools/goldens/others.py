# SPDX-License-Identifier: Apache-2.0
"""All kinds but pods."""
from cases import GONE
from pods import POD

TEMPLATE = {"metadata": {"labels": {"app": "x"}}, "spec": POD["spec"]}
SELECTOR = {"matchLabels": {"app": "x"}}
T = "spec.template.spec."


def kind(api_version, name, **fields):
    return {"apiVersion": api_version, "kind": name, "metadata": {"name": "x"}} | fields


DEPLOYMENT = kind("apps/v1", "Deployment", spec={"selector": SELECTOR, "template": TEMPLATE})
REPLICA_SET = kind("apps/v1", "ReplicaSet", spec={"selector": SELECTOR, "template": TEMPLATE})
STATEFUL_SET = kind("apps/v1", "StatefulSet", spec={"selector": SELECTOR, "template": TEMPLATE, "serviceName": "s"})
DAEMON_SET = kind("apps/v1", "DaemonSet", spec={"selector": SELECTOR, "template": TEMPLATE})
JOB = kind("batch/v1", "Job", spec={"template": {"spec": POD["spec"] | {"restartPolicy": "Never"}}})
CRON_JOB = kind("batch/v1", "CronJob", spec={"schedule": "*/5 * * * *", "jobTemplate": {"spec": JOB["spec"]}})
PDB = kind("policy/v1", "PodDisruptionBudget", spec={"minAvailable": 1, "selector": SELECTOR})
NODE = kind("v1", "Node")
PV = kind("v1", "PersistentVolume", spec={"capacity": {"storage": "1Gi"}, "accessModes": ["ReadWriteOnce"], "hostPath": {"path": "/x"}})
PVC = kind("v1", "PersistentVolumeClaim", spec={"accessModes": ["ReadWriteOnce"], "resources": {"requests": {"storage": "1Gi"}}})
CLASS = kind("scheduling.k8s.io/v1", "PriorityClass", value=5)
SERVICE = kind("v1", "Service", spec={"ports": [{"port": 80}]})
NAMESPACE = kind("v1", "Namespace")
RC = kind("v1", "ReplicationController", spec={"template": TEMPLATE})


def workload(corpus, base, word):
    corpus.each(base, {
        f"good {word}: plain": {},
        f"good {word}: limits stay limits": {T + "containers.0.resources.limits": {"cpu": "1"}},
        f"good {word}: status is not the client's": {"status": {"replicas": 3}},
        f"bad {word}: no selector": {"spec.selector": GONE},
        f"bad {word}: empty selector": {"spec.selector": {}},
        f"bad {word}: selector differs": {"spec.selector": {"matchLabels": {"app": "y"}}},
        f"bad {word}: bad selector": {"spec.selector": {"matchExpressions": [{"key": "a", "operator": "X"}]}},
        f"bad {word}: no template": {"spec.template": GONE},
        f"bad {word}: restart never": {T + "restartPolicy": "Never"},
        f"bad {word}: bad restart": {T + "restartPolicy": "X"},
        f"bad {word}: deadline": {T + "activeDeadlineSeconds": 5},
        f"bad {word}: no image": {T + "containers.0.image": GONE},
        f"bad {word}: bad label": {"spec.template.metadata.labels": {"app": "x", "a b": "c"}},
        f"bad {word}: bad name": {"metadata.name": "A"},
        f"bad {word}: min ready": {"spec.minReadySeconds": -1},
        f"bad {word}: ephemeral containers": {T + "ephemeralContainers": [{"name": "e", "image": "x"}]},
    })
    corpus.add(base, f"{word} update: selector", update={"spec.selector": {"matchLabels": {"app": "x", "b": "c"}}, "spec.template.metadata.labels": {"app": "x", "b": "c"}})
    corpus.add(base, f"{word} update: image", update={T + "containers.0.image": "y"})
    corpus.add(base, f"{word} update: annotation", update={"metadata.annotations.a": "b"})
    corpus.add(base, f"{word} update: nothing", update={})


def add(corpus):
    for base, word in ((DEPLOYMENT, "deployment"), (REPLICA_SET, "replica set"), (STATEFUL_SET, "stateful set"), (DAEMON_SET, "daemon set")):
        workload(corpus, base, word)
    for base, word in ((DEPLOYMENT, "deployment"), (REPLICA_SET, "replica set"), (STATEFUL_SET, "stateful set")):
        corpus.add(base, f"good {word}: replicas", {"spec.replicas": 0})
        corpus.add(base, f"bad {word}: replicas", {"spec.replicas": -1})
        corpus.add(base, f"{word} update: replicas", update={"spec.replicas": 5})
        corpus.add(base, f"{word} status", {"spec.replicas": 3}, status={"replicas": 3, "readyReplicas": 2, "updatedReplicas": 1, "availableReplicas": 2} if word == "deployment" else {"replicas": 3, "readyReplicas": 2})
    corpus.each(DEPLOYMENT, {
        "good deployment: recreate": {"spec.strategy": {"type": "Recreate"}},
        "good deployment: rolling": {"spec.strategy": {"rollingUpdate": {"maxSurge": 1, "maxUnavailable": 0}}},
        "bad deployment: recreate with rolling": {"spec.strategy": {"type": "Recreate", "rollingUpdate": {"maxSurge": 1}}},
        "bad deployment: strategy": {"spec.strategy": {"type": "X"}},
        "bad deployment: no room": {"spec.strategy": {"rollingUpdate": {"maxSurge": 0, "maxUnavailable": 0}}},
        "bad deployment: percent": {"spec.strategy": {"rollingUpdate": {"maxSurge": "x"}}},
        "bad deployment: more than all": {"spec.strategy": {"rollingUpdate": {"maxUnavailable": "101%"}}},
        "bad deployment: negative": {"spec.strategy": {"rollingUpdate": {"maxUnavailable": -1}}},
        "bad deployment: history": {"spec.revisionHistoryLimit": -1},
        "bad deployment: progress": {"spec.progressDeadlineSeconds": 5, "spec.minReadySeconds": 9},
        "bad deployment: progress negative": {"spec.progressDeadlineSeconds": -5},
    })
    corpus.each(STATEFUL_SET, {
        "good stateful set: claims": {"spec.volumeClaimTemplates": [{"metadata": {"name": "d"}, "spec": PVC["spec"]}], T + "containers.0.volumeMounts": [{"name": "d", "mountPath": "/d"}]},
        "good stateful set: on delete": {"spec.updateStrategy": {"type": "OnDelete"}},
        "good stateful set: partition": {"spec.updateStrategy": {"type": "RollingUpdate", "rollingUpdate": {"partition": 2}}},
        "good stateful set: parallel": {"spec.podManagementPolicy": "Parallel", "spec.ordinals": {"start": 3}},
        "bad stateful set: management": {"spec.podManagementPolicy": "X"},
        "bad stateful set: strategy": {"spec.updateStrategy": {"type": "X"}},
        "bad stateful set: on delete with rolling": {"spec.updateStrategy": {"type": "OnDelete", "rollingUpdate": {"partition": 1}}},
        "bad stateful set: partition": {"spec.updateStrategy": {"type": "RollingUpdate", "rollingUpdate": {"partition": -1}}},
        "bad stateful set: retention": {"spec.persistentVolumeClaimRetentionPolicy": {"whenDeleted": "X"}},
        "bad stateful set: ordinals": {"spec.ordinals": {"start": -1}},
        "bad stateful set: service": {"spec.serviceName": "A"},
        "bad stateful set: claim": {"spec.volumeClaimTemplates": [{"metadata": {"name": "d"}, "spec": {}}]},
    })
    corpus.add(STATEFUL_SET, "stateful set update: service", update={"spec.serviceName": "t"})
    corpus.each(DAEMON_SET, {
        "good daemon set: on delete": {"spec.updateStrategy": {"type": "OnDelete"}},
        "good daemon set: surge": {"spec.updateStrategy": {"rollingUpdate": {"maxSurge": 1, "maxUnavailable": 0}}},
        "bad daemon set: strategy": {"spec.updateStrategy": {"type": "X"}},
        "bad daemon set: both": {"spec.updateStrategy": {"rollingUpdate": {"maxSurge": 1, "maxUnavailable": 1}}},
        "bad daemon set: neither": {"spec.updateStrategy": {"rollingUpdate": {"maxSurge": 0, "maxUnavailable": 0}}},
        "bad daemon set: surge": {"spec.updateStrategy": {"rollingUpdate": {"maxSurge": "200%", "maxUnavailable": 0}}},
    })
    corpus.add(DAEMON_SET, "daemon set status", {T + "nodeSelector": {"a": "b"}}, status={"desiredNumberScheduled": 3, "currentNumberScheduled": 2, "numberReady": 1, "updatedNumberScheduled": 2, "numberAvailable": 1, "numberMisscheduled": 0})

    indexed = {"spec.completionMode": "Indexed", "spec.completions": 3}
    failure = lambda **rule: {"spec.podFailurePolicy": {"rules": [{"action": "FailJob"} | rule]}}
    success = lambda **rule: indexed | {"spec.successPolicy": {"rules": [rule]}}
    corpus.each(JOB, {
        "good job: plain": {}, "good job: on failure": {T + "restartPolicy": "OnFailure"}, "good job: parallel": {"spec.parallelism": 3},
        "good job: completions": {"spec.completions": 5}, "good job: indexed": indexed, "good job: suspended": {"spec.suspend": True},
        "good job: labels": {"spec.template.metadata": {"labels": {"a": "b"}}}, "good job: own labels": {"metadata.labels": {"c": "d"}, "spec.template.metadata": {"labels": {"a": "b"}}},
        "good job: per index": indexed | {"spec.backoffLimitPerIndex": 1, "spec.maxFailedIndexes": 2},
        "good job: failure policy": failure(onExitCodes={"operator": "In", "values": [1, 2]}),
        "good job: failure conditions": failure(action="Ignore", onPodConditions=[{"type": "DisruptionTarget"}]),
        "good job: success policy": success(succeededIndexes="0-1", succeededCount=1),
        "good job: manual selector": {"spec.manualSelector": True, "spec.selector": SELECTOR, "spec.template.metadata": {"labels": {"app": "x"}}},
        "good job: ttl": {"spec.ttlSecondsAfterFinished": 0, "spec.activeDeadlineSeconds": 9},
        "good job: managed by": {"spec.managedBy": "example.com/me"},
        "bad job: restart always": {T + "restartPolicy": "Always"}, "bad job: no restart policy": {T + "restartPolicy": GONE}, "bad job: restart": {T + "restartPolicy": "X"},
        "bad job: parallelism": {"spec.parallelism": -1}, "bad job: completions": {"spec.completions": -1}, "bad job: backoff": {"spec.backoffLimit": -1},
        "bad job: ttl": {"spec.ttlSecondsAfterFinished": -1}, "bad job: deadline": {"spec.activeDeadlineSeconds": -1},
        "bad job: mode": {"spec.completionMode": "X"}, "bad job: indexed without completions": {"spec.completionMode": "Indexed", "spec.parallelism": 2}, "good job: indexed by default": {"spec.completionMode": "Indexed"},
        "bad job: too parallel": indexed | {"spec.parallelism": 200000}, "bad job: per index not indexed": {"spec.backoffLimitPerIndex": 1},
        "bad job: max failed alone": indexed | {"spec.maxFailedIndexes": 1}, "bad job: max failed above": indexed | {"spec.backoffLimitPerIndex": 1, "spec.maxFailedIndexes": 9},
        "bad job: failure without action": {"spec.podFailurePolicy": {"rules": [{"onExitCodes": {"operator": "In", "values": [1]}}]}},
        "bad job: failure action": failure(action="X", onExitCodes={"operator": "In", "values": [1]}),
        "bad job: fail index": failure(action="FailIndex", onExitCodes={"operator": "In", "values": [1]}),
        "bad job: failure of nothing": failure(), "bad job: failure of both": failure(onExitCodes={"operator": "In", "values": [1]}, onPodConditions=[{"type": "X"}]),
        "bad job: exit operator": failure(onExitCodes={"operator": "X", "values": [1]}), "bad job: exit zero": failure(onExitCodes={"operator": "In", "values": [0]}),
        "bad job: exit twice": failure(onExitCodes={"operator": "In", "values": [1, 1]}), "bad job: exit order": failure(onExitCodes={"operator": "In", "values": [2, 1]}),
        "bad job: exit none": failure(onExitCodes={"operator": "In", "values": []}), "bad job: exit container": failure(onExitCodes={"operator": "In", "values": [1], "containerName": "z"}),
        "bad job: condition status": failure(onPodConditions=[{"type": "X", "status": "Y"}]), "bad job: condition type": failure(onPodConditions=[{"type": "a b"}]),
        "bad job: failure policy restarts": failure(onExitCodes={"operator": "In", "values": [1]}) | {T + "restartPolicy": "OnFailure"},
        "bad job: replacement": {"spec.podReplacementPolicy": "X"}, "bad job: replacement with failure": failure(onExitCodes={"operator": "In", "values": [1]}) | {"spec.podReplacementPolicy": "TerminatingOrFailed"},
        "bad job: success not indexed": {"spec.successPolicy": {"rules": [{"succeededCount": 1}]}}, "bad job: success of nothing": success(),
        "bad job: success without rules": indexed | {"spec.successPolicy": {"rules": []}}, "bad job: success too many": success(succeededCount=9),
        "bad job: success indexes": success(succeededIndexes="x"), "bad job: success index large": success(succeededIndexes="7"), "bad job: success order": success(succeededIndexes="2,1"),
        "bad job: success more than named": success(succeededIndexes="0", succeededCount=2),
        "bad job: selector": {"spec.selector": SELECTOR}, "bad job: manual without selector": {"spec.manualSelector": True},
        "bad job: manager": {"spec.managedBy": "x"}, "bad job: no image": {T + "containers.0.image": GONE}, "bad job: long indexed name": indexed | {"metadata.name": "a" * 63},
    })
    for name, update in {"parallelism": {"spec.parallelism": 4}, "completions": {"spec.completions": 4}, "template": {T + "containers.0.image": "y"},
                         "suspend": {"spec.suspend": True}, "backoff": {"spec.backoffLimit": 1}, "mode": {"spec.completionMode": "Indexed", "spec.completions": 1}}.items():
        corpus.add(JOB, "job update: " + name, update=update)
    corpus.add(JOB, "suspended job update: node selector", {"spec.suspend": True}, update={T + "nodeSelector": {"a": "b"}})
    corpus.add(JOB, "indexed job update: elastic", indexed | {"spec.parallelism": 3}, update={"spec.completions": 5, "spec.parallelism": 5})
    corpus.add(JOB, "job status: complete", status={"startTime": "2026-01-01T00:00:00Z", "completionTime": "2026-01-01T00:03:05Z", "succeeded": 1, "conditions": [{"type": "SuccessCriteriaMet", "status": "True"}, {"type": "Complete", "status": "True"}]})
    corpus.add(JOB, "job status: suspended", {"spec.suspend": True, "spec.parallelism": 2}, status={"conditions": [{"type": "Suspended", "status": "True"}]})
    corpus.each(CRON_JOB, {
        "good cron job: plain": {}, "good cron job: daily": {"spec.schedule": "@daily"}, "good cron job: zone": {"spec.timeZone": "Europe/Berlin"}, "good cron job: every": {"spec.schedule": "@every 5m"},
        "good cron job: names": {"spec.schedule": "0 4 * JAN-MAR mon,Fri"},
        "bad cron job: none": {"spec.schedule": ""}, "bad cron job: four": {"spec.schedule": "* * * *"}, "bad cron job: minute": {"spec.schedule": "60 * * * *"}, "bad cron job: word": {"spec.schedule": "@never"},
        "bad cron job: letters": {"spec.schedule": "a * * * *"}, "bad cron job: backwards": {"spec.schedule": "5-1 * * * *"}, "bad cron job: step": {"spec.schedule": "*/0 * * * *"}, "bad cron job: zone in schedule": {"spec.schedule": "TZ=UTC * * * * *"},
        "bad cron job: zone": {"spec.timeZone": ""}, "bad cron job: local": {"spec.timeZone": "Local"}, "bad cron job: policy": {"spec.concurrencyPolicy": "X"},
        "bad cron job: deadline": {"spec.startingDeadlineSeconds": -1}, "bad cron job: history": {"spec.successfulJobsHistoryLimit": -1}, "bad cron job: long name": {"metadata.name": "a" * 53},
        "bad cron job: selector": {"spec.jobTemplate.spec.selector": SELECTOR}, "bad cron job: restart": {"spec.jobTemplate.spec.template.spec.restartPolicy": "Always"},
    })
    corpus.each(PDB, {
        "good budget: plain": {}, "good budget: percent": {"spec.minAvailable": "50%"}, "good budget: max": {"spec.minAvailable": GONE, "spec.maxUnavailable": 1},
        "good budget: empty": {"spec": {}}, "good budget: policy": {"spec.unhealthyPodEvictionPolicy": "AlwaysAllow"}, "good budget: status": {"status": {"disruptionsAllowed": 4}},
        "bad budget: both": {"spec.maxUnavailable": 1}, "bad budget: negative": {"spec.minAvailable": -1}, "bad budget: percent": {"spec.minAvailable": "x"}, "bad budget: above": {"spec.minAvailable": "101%"},
        "bad budget: policy": {"spec.unhealthyPodEvictionPolicy": "X"}, "bad budget: selector": {"spec.selector": {"matchExpressions": [{"key": "a", "operator": "In"}]}}, "good budget: any name": {"metadata.name": "A"}, "bad budget: name": {"metadata.name": "a%b"},
    })
    corpus.add(PDB, "budget update: min", update={"spec.minAvailable": 2})
    corpus.add(PDB, "budget status", status={"disruptionsAllowed": 2, "currentHealthy": 3, "desiredHealthy": 1, "expectedPods": 3, "observedGeneration": 1})
    capacity = {"status": {"capacity": {"cpu": "4", "memory": "8Gi", "pods": "110"}}}
    corpus.each(NODE, {
        "good node: plain": {}, "good node: capacity": capacity, "good node: taint": {"spec.taints": [{"key": "a", "value": "b", "effect": "NoSchedule"}]}, "good node: cordoned": {"spec.unschedulable": True},
        "good node: cidr": {"spec.podCIDR": "10.1.0.0/24"}, "good node: roles": {"metadata.labels": {"node-role.kubernetes.io/worker": "", "node-role.kubernetes.io/control-plane": "", "kubernetes.io/role": "z"}},
        "good node: ready": {"status": {"conditions": [{"type": "Ready", "status": "True"}], "nodeInfo": {"kubeletVersion": "v1.36.0", "osImage": "linux", "kernelVersion": "6.1", "architecture": "amd64", "containerRuntimeVersion": "c"}, "addresses": [{"type": "InternalIP", "address": "10.0.0.9"}]}},
        "good node: not ready": {"status": {"conditions": [{"type": "Ready", "status": "Unknown"}]}},
        "bad node: name": {"metadata.name": "A"}, "bad node: taint key": {"spec.taints": [{"key": "a b", "effect": "NoSchedule"}]}, "bad node: taint effect": {"spec.taints": [{"key": "a", "effect": "X"}]},
        "bad node: taint without effect": {"spec.taints": [{"key": "a"}]}, "bad node: taint value": {"spec.taints": [{"key": "a", "value": "b c", "effect": "NoSchedule"}]}, "bad node: taint twice": {"spec.taints": [{"key": "a", "effect": "NoSchedule"}] * 2},
        "bad node: negative capacity": {"status": {"capacity": {"cpu": "-1"}}}, "bad node: fraction of a pod": {"status": {"capacity": {"pods": "1500m"}}}, "good node: namespace": {"metadata.namespace": "default"},
    })
    corpus.add(NODE, "node update: taint", update={"spec.taints": [{"key": "a", "effect": "NoExecute"}]})
    corpus.add(NODE, "node update: provider", {"spec.providerID": "a"}, update={"spec.providerID": "b"})
    corpus.add(NODE, "node update: cidr", {"spec.podCIDR": "10.1.0.0/24"}, update={"spec.podCIDR": "10.2.0.0/24", "spec.podCIDRs": ["10.2.0.0/24"]})
    corpus.each(PV, {
        "good volume: plain": {}, "good volume: nfs": {"spec.hostPath": GONE, "spec.nfs": {"server": "a", "path": "/b"}}, "good volume: csi": {"spec.hostPath": GONE, "spec.csi": {"driver": "x.y", "volumeHandle": "h"}},
        "good volume: local": {"spec.hostPath": GONE, "spec.local": {"path": "/x"}, "spec.nodeAffinity": {"required": {"nodeSelectorTerms": [{"matchExpressions": [{"key": "a", "operator": "Exists"}]}]}}},
        "good volume: class": {"spec.storageClassName": "fast", "spec.persistentVolumeReclaimPolicy": "Delete", "spec.volumeMode": "Block"}, "good volume: modes": {"spec.accessModes": ["ReadWriteMany", "ReadOnlyMany"]},
        "bad volume: no mode": {"spec.accessModes": []}, "bad volume: mode": {"spec.accessModes": ["X"]}, "bad volume: alone and shared": {"spec.accessModes": ["ReadWriteOncePod", "ReadWriteOnce"]},
        "bad volume: no capacity": {"spec.capacity": GONE}, "bad volume: other capacity": {"spec.capacity": {"cpu": "1"}}, "bad volume: negative": {"spec.capacity": {"storage": "-1"}}, "bad volume: zero": {"spec.capacity": {"storage": "0"}},
        "bad volume: policy": {"spec.persistentVolumeReclaimPolicy": "X"}, "bad volume: two": {"spec.nfs": {"server": "a", "path": "/b"}}, "bad volume: none": {"spec.hostPath": GONE}, "bad volume: path back": {"spec.hostPath.path": "/a/../b"},
        "bad volume: local anywhere": {"spec.hostPath": GONE, "spec.local": {"path": "/x"}}, "bad volume: class": {"spec.storageClassName": "A"}, "bad volume: volume mode": {"spec.volumeMode": "X"},
    })
    corpus.add(PV, "volume update: source", update={"spec.hostPath.path": "/y"})
    corpus.add(PV, "volume update: policy", update={"spec.persistentVolumeReclaimPolicy": "Delete"})
    corpus.add(PV, "volume update: mode", update={"spec.volumeMode": "Block"})
    corpus.each(PVC, {
        "good claim: plain": {}, "good claim: class": {"spec.storageClassName": "fast"}, "good claim: no class": {"spec.storageClassName": ""}, "good claim: block": {"spec.volumeMode": "Block"},
        "good claim: from a claim": {"spec.dataSource": {"kind": "PersistentVolumeClaim", "name": "z"}}, "good claim: selector": {"spec.selector": SELECTOR}, "good claim: named": {"spec.volumeName": "v"},
        "bad claim: no mode": {"spec.accessModes": GONE}, "bad claim: mode": {"spec.accessModes": ["X"]}, "bad claim: no size": {"spec.resources": GONE}, "bad claim: negative": {"spec.resources.requests.storage": "-1"}, "bad claim: zero": {"spec.resources.requests.storage": "0"},
        "bad claim: class": {"spec.storageClassName": "A"}, "bad claim: volume mode": {"spec.volumeMode": "X"}, "good claim: source is dropped": {"spec.dataSource": {"kind": "X", "name": "z"}}, "bad claim: source without name": {"spec.dataSource": {"kind": "PersistentVolumeClaim", "name": ""}},
        "bad claim: selector": {"spec.selector": {"matchLabels": {"a b": "c"}}}, "bad claim: alone and shared": {"spec.accessModes": ["ReadWriteOncePod", "ReadWriteOnce"]},
    })
    corpus.add(PVC, "claim update: size", update={"spec.resources.requests.storage": "2Gi"})
    corpus.add(PVC, "claim update: volume", update={"spec.volumeName": "v"})
    corpus.add(PVC, "claim update: smaller", update={"spec.resources.requests.storage": "1Mi"})
    corpus.add(PVC, "claim status: bound", {"spec.volumeName": "v"}, status={"phase": "Bound", "capacity": {"storage": "1Gi"}, "accessModes": ["ReadWriteOnce"]})
    corpus.each(CLASS, {
        "good class: plain": {}, "good class: negative": {"value": -5}, "good class: default": {"description": "d", "preemptionPolicy": "Never"},
        "bad class: too high": {"value": 1000000001}, "bad class: system": {"metadata.name": "system-x"}, "bad class: system value": {"metadata.name": "system-node-critical-2", "value": 5},
        "bad class: policy": {"preemptionPolicy": "X"}, "bad class: name": {"metadata.name": "A"}, "bad class: value a string": {"value": "5"},
    })
    corpus.add(CLASS, "class update: value", update={"value": 6})
    corpus.add(CLASS, "class update: policy", update={"preemptionPolicy": "Never"})
    corpus.add(CLASS, "class update: description", update={"description": "x"})
    corpus.each(SERVICE, {
        "good service: plain": {}, "good service: headless": {"spec.clusterIP": "None"}, "good service: node port": {"spec.type": "NodePort"}, "good service: balancer": {"spec.type": "LoadBalancer", "spec.sessionAffinity": "ClientIP"},
        "good service: external name": {"spec": {"type": "ExternalName", "externalName": "a.b"}}, "good service: external ip": {"spec.externalIPs": ["1.2.3.4"]}, "good service: target": {"spec.ports": [{"port": 80, "targetPort": "http"}], "spec.selector": {"a": "b"}},
        "good service: two ports": {"spec.ports": [{"port": 80, "name": "a"}, {"port": 80, "name": "b", "protocol": "UDP"}]},
        "bad service: no ports": {"spec.ports": []}, "bad service: port zero": {"spec.ports": [{"port": 0}]}, "bad service: port large": {"spec.ports": [{"port": 70000}]}, "bad service: nameless ports": {"spec.ports": [{"port": 1}, {"port": 2}]},
        "bad service: same name": {"spec.ports": [{"port": 1, "name": "a"}, {"port": 2, "name": "a"}]}, "bad service: same port": {"spec.ports": [{"port": 1, "name": "a"}, {"port": 1, "name": "b"}]}, "bad service: protocol": {"spec.ports": [{"port": 1, "protocol": "X"}]},
        "bad service: type": {"spec.type": "X"}, "bad service: affinity": {"spec.sessionAffinity": "X"}, "bad service: external name": {"spec": {"type": "ExternalName"}}, "bad service: external name form": {"spec": {"type": "ExternalName", "externalName": "A_"}},
        "bad service: headless balancer": {"spec.type": "LoadBalancer", "spec.clusterIP": "None"}, "bad service: selector": {"spec.selector": {"a b": "c"}}, "bad service: node port of cluster ip": {"spec.ports": [{"port": 1, "nodePort": 30100}]},
        "bad service: traffic": {"spec.externalTrafficPolicy": "Local"}, "bad service: internal traffic": {"spec.internalTrafficPolicy": "X"}, "bad service: source ranges": {"spec.loadBalancerSourceRanges": ["1.2.3.0/24"]},
        "bad service: cluster ip": {"spec.clusterIP": "x"}, "bad service: external ip": {"spec.externalIPs": ["x"]}, "bad service: name": {"metadata.name": "a.b"}, "bad service: distribution": {"spec.trafficDistribution": "X"}, "bad service: target": {"spec.ports": [{"port": 1, "targetPort": "A"}]},
        "bad service: timeout": {"spec.sessionAffinity": "ClientIP", "spec.sessionAffinityConfig": {"clientIP": {"timeoutSeconds": 0}}},
    })
    corpus.each(NAMESPACE, {"good namespace: plain": {}, "good namespace: labels": {"metadata.labels": {"a": "b"}}, "good namespace: finalizer": {"spec.finalizers": ["example.com/x"]},
                            "bad namespace: name": {"metadata.name": "a.b"}, "bad namespace: finalizer": {"spec.finalizers": ["mine"]}})
    corpus.add(NAMESPACE, "namespace update: finalizers", update={"spec.finalizers": []})
    corpus.each(RC, {"good controller: plain": {}, "good controller: labels": {"metadata.labels": {"z": "z"}, "spec.replicas": 2}, "bad controller: replicas": {"spec.replicas": -1}, "bad controller: no template": {"spec.template": GONE}, "bad controller: selector": {"spec.selector": {"a": "b"}}})
    config = kind("v1", "ConfigMap", data={"a": "b"})
    corpus.each(config, {"good config: plain": {}, "good config: empty": {"data": GONE}, "good config: binary": {"binaryData": {"x": "aGk="}}, "bad config: key": {"data": {"a b": "c"}}, "bad config: dots": {"data": {"..": "c"}}, "bad config: both": {"binaryData": {"a": "aGk="}}})
    corpus.add(config, "config update: data", update={"data.c": "d"})
    corpus.add(config, "immutable config update: data", {"immutable": True}, update={"data.c": "d"})
    secret = kind("v1", "Secret", data={"a": "aGk="})
    corpus.each(secret, {"good secret: plain": {}, "good secret: text": {"stringData": {"b": "hello"}}, "good secret: tls": {"type": "kubernetes.io/tls", "data": {"tls.crt": "", "tls.key": ""}}, "bad secret: tls": {"type": "kubernetes.io/tls"}, "bad secret: key": {"data": {"a b": ""}},
                         "bad secret: ssh": {"type": "kubernetes.io/ssh-auth"}, "bad secret: basic": {"type": "kubernetes.io/basic-auth"}, "bad secret: token": {"type": "kubernetes.io/service-account-token"}, "bad secret: docker": {"type": "kubernetes.io/dockerconfigjson"}})
    corpus.add(secret, "secret update: type", update={"type": "x"})
    corpus.each(kind("v1", "ServiceAccount"), {"good account: plain": {}, "good account: secrets": {"secrets": [{"name": "s"}]}, "bad account: name": {"metadata.name": "A"}})
    quota = kind("v1", "ResourceQuota", spec={"hard": {"cpu": "4", "pods": "10", "limits.memory": "1Gi"}})
    corpus.each(quota, {"good quota: plain": {}, "bad quota: name": {"spec.hard": {"foo": "1"}}, "bad quota: negative": {"spec.hard": {"cpu": "-1"}}, "bad quota: fraction": {"spec.hard": {"pods": "500m"}}})
    corpus.add(quota, "quota status", status={"hard": {"cpu": "4", "pods": "10", "limits.memory": "1Gi"}, "used": {"cpu": "1", "limits.memory": "1Mi"}})
    limits = lambda **item: {"spec": {"limits": [item]}}
    corpus.each(kind("v1", "LimitRange", spec={"limits": [{"type": "Container", "max": {"cpu": "2"}, "min": {"cpu": "100m"}}]}), {"good limits: plain": {}, "good limits: default": limits(type="Container", default={"cpu": "1"}), "good limits: pod": limits(type="Pod", max={"cpu": "1"}),
                "bad limits: min above max": limits(type="Container", min={"cpu": "2"}, max={"cpu": "1"}), "bad limits: pod default": limits(type="Pod", default={"cpu": "1"})})
    corpus.each(kind("v1", "PodTemplate", template=TEMPLATE), {"good template: plain": {}, "bad template: image": {"template.spec.containers.0.image": GONE}})
    corpus.each(kind("v1", "Endpoints", subsets=[{"addresses": [{"ip": "10.1.1.1"}, {"ip": "10.1.1.2"}], "ports": [{"port": 80}, {"port": 81, "name": "b"}]}]), {"good endpoints: plain": {"subsets.0.ports.0.name": "a"}})
    event = kind("v1", "Event", involvedObject={"kind": "Pod", "namespace": "default", "name": "p"}, reason="R", message=" m ", type="Normal", source={"component": "c", "host": "h"}, firstTimestamp="2026-01-01T00:00:00Z", lastTimestamp="2026-01-01T00:00:00Z", count=3)
    corpus.each(event, {"good event: plain": {}, "bad event: namespace": {"involvedObject.namespace": "other"}})
    corpus.each(kind("events.k8s.io/v1", "Event", regarding={"kind": "Pod", "namespace": "default", "name": "p"}, reason="R", note="n", type="Normal", action="A", reportingController="a.b/c", reportingInstance="i", eventTime="2026-01-01T00:00:00.000001Z"), {"good new event: plain": {}})
    corpus.each(kind("apps/v1", "ControllerRevision", revision=3, data={"a": 1}), {"good revision: plain": {}, "good revision: owned": {"metadata.ownerReferences": [{"apiVersion": "apps/v1", "kind": "StatefulSet", "name": "s", "uid": "u", "controller": True}]}})
    corpus.each(kind("storage.k8s.io/v1", "StorageClass", provisioner="x.y"), {"good storage class: plain": {}, "good storage class: default": {"metadata.annotations": {"storageclass.kubernetes.io/is-default-class": "true"}, "allowVolumeExpansion": True}, "bad storage class: provisioner": {"provisioner": ""}, "bad storage class: mode": {"volumeBindingMode": "X"}, "bad storage class: policy": {"reclaimPolicy": "X"}})
    corpus.each(kind("storage.k8s.io/v1", "CSIDriver", spec={}), {"good driver: plain": {}, "good driver: tokens": {"spec.tokenRequests": [{"audience": "a"}], "spec.volumeLifecycleModes": ["Ephemeral"]}})
    corpus.each(kind("storage.k8s.io/v1", "CSINode", spec={"drivers": [{"name": "a.b", "nodeID": "n", "topologyKeys": ["z"]}]}), {"good csi node: plain": {}})
    corpus.each(kind("storage.k8s.io/v1", "CSIStorageCapacity", storageClassName="c"), {"good capacity: plain": {}, "good capacity: some": {"capacity": "5Gi"}})
    corpus.each(kind("storage.k8s.io/v1", "VolumeAttachment", spec={"attacher": "a.b", "nodeName": "n", "source": {"persistentVolumeName": "v"}}), {"good attachment: plain": {}})
    corpus.each(kind("storage.k8s.io/v1", "VolumeAttributesClass", driverName="a.b", parameters={"a": "b"}), {"good attributes: plain": {}})
    corpus.each(kind("coordination.k8s.io/v1", "Lease", spec={"holderIdentity": "me", "leaseDurationSeconds": 15, "renewTime": "2026-01-01T00:00:00.500000Z"}), {"good lease: plain": {}, "good lease: empty": {"spec": {}}, "bad lease: duration": {"spec.leaseDurationSeconds": 0}, "bad lease: transitions": {"spec.leaseTransitions": -1}})
    corpus.each(kind("discovery.k8s.io/v1", "EndpointSlice", addressType="IPv4", endpoints=[{"addresses": ["10.1.1.1"]}], ports=[{"port": 80}, {"name": "b"}]), {"good slice: plain": {"ports.0.name": "a"}})
    rule = {"apiGroups": [""], "resources": ["pods"], "verbs": ["get"]}
    for name in ("Role", "ClusterRole"):
        corpus.each(kind("rbac.authorization.k8s.io/v1", name, rules=[rule]), {f"good {name}: plain": {}, f"good {name}: colon": {"metadata.name": "a:b"}, f"bad {name}: no verbs": {"rules": [{"apiGroups": [""], "resources": ["pods"], "verbs": []}]}, f"bad {name}: name": {"metadata.name": "a%b"}})
    ref = {"apiGroup": "rbac.authorization.k8s.io", "kind": "ClusterRole", "name": "view"}
    for name in ("RoleBinding", "ClusterRoleBinding"):
        corpus.each(kind("rbac.authorization.k8s.io/v1", name, roleRef=ref, subjects=[{"kind": "User", "name": "u"}, {"kind": "Group", "name": "g"}, {"kind": "ServiceAccount", "name": "s", "namespace": "n"}]), {f"good {name}: plain": {}})
    hook = {"name": "a.b.c", "clientConfig": {"url": "https://x.y/z"}, "sideEffects": "None", "admissionReviewVersions": ["v1"], "rules": [{"operations": ["CREATE"], "apiGroups": [""], "apiVersions": ["v1"], "resources": ["pods"]}]}
    for name in ("MutatingWebhookConfiguration", "ValidatingWebhookConfiguration"):
        corpus.each(kind("admissionregistration.k8s.io/v1", name, webhooks=[hook]), {f"good {name}: plain": {}, f"good {name}: service": {"webhooks.0.clientConfig": {"service": {"namespace": "n", "name": "s"}}}})
    corpus.each(kind("autoscaling/v2", "HorizontalPodAutoscaler", spec={"maxReplicas": 3, "scaleTargetRef": {"kind": "Deployment", "name": "d", "apiVersion": "apps/v1"}}), {"good scaler: plain": {}})
    corpus.each(kind("node.k8s.io/v1", "RuntimeClass", handler="h"), {"good runtime class: plain": {}})
    corpus.each(kind("networking.k8s.io/v1", "IngressClass", spec={"controller": "a.b/c"}), {"good ingress class: plain": {}, "good ingress class: default": {"metadata.annotations": {"ingressclass.kubernetes.io/is-default-class": "true"}, "spec.parameters": {"apiGroup": "g.h", "kind": "K", "name": "n"}}})
    corpus.each(kind("networking.k8s.io/v1", "Ingress", spec={"rules": [{"host": "a.b", "http": {"paths": [{"path": "/", "pathType": "Prefix", "backend": {"service": {"name": "s", "port": {"number": 80}}}}]}}]}), {"good ingress: plain": {}, "good ingress: tls": {"spec.tls": [{"hosts": ["a.b"]}], "spec.ingressClassName": "c"}})
    corpus.each(kind("networking.k8s.io/v1", "NetworkPolicy", spec={"podSelector": {}}), {"good policy: plain": {}, "good policy: egress": {"spec.egress": [{"ports": [{"port": 53}]}], "spec.podSelector": SELECTOR}})
    corpus.each(kind("resource.k8s.io/v1", "DeviceClass", spec={}), {"good device class: plain": {}})
    request = {"devices": {"requests": [{"name": "r", "exactly": {"deviceClassName": "c"}}]}}
    corpus.each(kind("resource.k8s.io/v1", "ResourceClaim", spec=request), {"good resource claim: plain": {}})
    corpus.each(kind("resource.k8s.io/v1", "ResourceClaimTemplate", spec={"spec": request}), {"good resource claim template: plain": {}})
    corpus.each(kind("resource.k8s.io/v1", "ResourceSlice", spec={"driver": "a.b", "nodeName": "n", "pool": {"name": "p", "resourceSliceCount": 1}, "devices": [{"name": "d"}]}), {"good resource slice: plain": {}})
    corpus.each(kind("flowcontrol.apiserver.k8s.io/v1", "PriorityLevelConfiguration", spec={"type": "Limited", "limited": {"limitResponse": {"type": "Queue", "queuing": {}}}}), {"good level: plain": {}})
    corpus.each(kind("flowcontrol.apiserver.k8s.io/v1", "FlowSchema", spec={"priorityLevelConfiguration": {"name": "global-default"}}), {"good flow: plain": {}})
    schema = {"openAPIV3Schema": {"type": "object", "x-kubernetes-preserve-unknown-fields": True}}
    corpus.each({"apiVersion": "apiextensions.k8s.io/v1", "kind": "CustomResourceDefinition", "metadata": {"name": "foos.example.com"}, "spec": {"group": "example.com", "names": {"plural": "foos", "kind": "Foo"}, "scope": "Namespaced", "versions": [{"name": "v1", "served": True, "storage": True, "schema": schema}]}},
                {"good definition: plain": {}})
