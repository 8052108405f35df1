# SPDX-License-Identifier: Apache-2.0
"""One conversation with the server: what it answers to what is right, and how it words a refusal."""
import http.client
import json
import re

from plane import TOKEN

UID = "11111111-2222-3333-4444-555555555555"
TIME = "2026-01-01T00:00:00Z"
MERGE, STRATEGIC = "application/merge-patch+json", "application/strategic-merge-patch+json"
JSON, APPLY = "application/json-patch+json", "application/apply-patch+yaml"
N = "/api/v1/namespaces/default/pods"
CONFIGS = "/api/v1/namespaces/default/configmaps"
W = "/apis/apps/v1/namespaces/default/deployments"
BUDGETS = "/apis/policy/v1/namespaces/default/poddisruptionbudgets"
EVENTS = "/namespaces/default/events"


def pod(name, **over):
    return {"apiVersion": "v1", "kind": "Pod", "metadata": {"name": name}, "spec": {"containers": [{"name": "c", "image": "i"}]}} | over


def deployment(name):
    template = {"metadata": {"labels": {"a": "b"}}, "spec": {"containers": [{"name": "c", "image": "i"}]}}
    return {"metadata": {"name": name}, "spec": {"replicas": 2, "selector": {"matchLabels": {"a": "b"}}, "template": template}}


def job(name):
    return {"metadata": {"name": name}, "spec": {"template": {"spec": {"restartPolicy": "Never", "containers": [{"name": "c", "image": "i"}]}}}}

def event(name):
    return {"metadata": {"name": name}, "eventTime": "2026-01-02T00:00:00.000000Z", "reportingController": "c", "reportingInstance": "i", "action": "A",
            "reason": "R", "regarding": {"kind": "Pod", "name": "p", "namespace": "default"}, "note": "m", "type": "Normal"}


# Method, path, body and its media type, in the order in which they are sent.
CASES = [
    ("POST", N, '{"apiVersion":"v1",'),
    ("POST", N, ''),
    ("POST", N, '[1,2]'),
    ("POST", N, '"abc"'),
    ("POST", N, 'null'),
    ("POST", N, '{"spec":{}}'),
    ("POST", N, '{"apiVersion":"v1","kind":"Service","metadata":{"name":"x"}}'),
    ("POST", N, '{"apiVersion":"v2","kind":"Pod","metadata":{"name":"x"}}'),
    ("POST", N, '{"apiVersion":"apps/v1","kind":"Pod","metadata":{"name":"x"}}'),
    ("POST", N, '{"apiVersion":"apps/v1","kind":"Deployment","metadata":{"name":"x"}}'),
    ("POST", N, '{"apiVersion":"v1","kind":"Pod","metadata":{"name":"x"},"spec":{"containers":"a"}}'),
    ("POST", N, '{"apiVersion":"v1","kind":"Pod","metadata":{"name":"x","resourceVersion":"5"},"spec":{"containers":[{"name":"c","image":"i"}]}}'),
    ("POST", N, '{"apiVersion":"v1","kind":"Pod","metadata":{"name":"x","namespace":"other"},"spec":{"containers":[{"name":"c","image":"i"}]}}'),
    ("POST", N + '?fieldValidation=Strict', '{"apiVersion":"v1","kind":"Pod","metadata":{"name":"x","name":"y"},"spec":{"foo":{"a":1,"a":2},"containers":[{"name":"c","image":"i","bar":1}],"containers":[{"name":"c","image":"i","bar":1}]}}'),
    ("POST", N + '?fieldValidation=Bogus', pod('x')),
    ("POST", N + '?dryRun=Bogus', pod('x')),
    ("POST", N, pod('p')),
    ("POST", N, pod('p')),
    ("GET", N + '/none'),
    ("GET", N + '/p?resourceVersion=abc'),
    ("GET", N + '/p?resourceVersion=99999999'),
    ("GET", N + '?labelSelector=a%20b%20c'),
    ("GET", N + '?labelSelector=a=%25'),
    ("GET", N + '?fieldSelector=spec.foo=x'),
    ("GET", N + '?fieldSelector=spec.foo'),
    ("GET", '/apis/apps/v1/deployments?fieldSelector=spec.foo=x'),
    ("GET", W + '?fieldSelector=status.replicas=1'),
    ("GET", N + '?resourceVersion=99999999'),
    ("GET", N + '?limit=abc'),
    ("GET", N + '?limit=-1'),
    ("GET", '/api/v1/foos'),
    ("POST", N + '/p', pod('p')),
    ("DELETE", '/api/v1/namespaces'),
    ("PUT", N, pod('p')),
    ("PATCH", N, '{}', MERGE),
    ("POST", '/api/v1/pods', pod('q')),
    ("PUT", '/api/v1/namespaces/default/bindings', pod('q')),
    ("GET", '/api/v1/namespaces/default/bindings'),
    ("GET", N + '/p/binding'),
    ("GET", N + '/p/nosub'),
    ("PUT", N + '/none', pod('none')),
    ("PUT", N + '/p', pod('q')),
    ("PUT", N + '/p', pod('p',metadata={"name":"p","resourceVersion":"1"})),
    ("PUT", N + '/p', pod('p',metadata={"name":"p","resourceVersion":"abc"})),
    ("PUT", N + '/p', pod('p',metadata={"name":"p","uid":"abc"})),
    ("PUT", N + '/p', pod('p',metadata={"name":"p","namespace":"other"})),
    ("PUT", N + '/p', pod('p',metadata={})),
    ("PUT", N + '/p', {"apiVersion":"v1","kind":"Pod","metadata":{"name":"p"},"spec":{"containers":[{"name":"d","image":"i"}]}}),
    ("PATCH", N + '/p', '{"spec":{"hostNetwork":true}}', MERGE),
    ("PATCH", N + '/p', '{"metadata":', MERGE),
    ("PATCH", N + '/p', '[1]', MERGE),
    ("PATCH", N + '/p', '{"metadata":', STRATEGIC),
    ("PATCH", N + '/p', '[1]', STRATEGIC),
    ("PATCH", N + '/p', '{"metadata":', JSON),
    ("PATCH", N + '/p', '{"a":1}', JSON),
    ("PATCH", N + '/p', '[{"op":"test","path":"/metadata/name","value":"x"}]', JSON),
    ("PATCH", N + '/p', '[{"op":"remove","path":"/metadata/foo"}]', JSON),
    ("PATCH", N + '/p', '[{"op":"bogus","path":"/metadata/foo"}]', JSON),
    ("PATCH", N + '/p', '{"metadata":{"resourceVersion":"1"}}', MERGE),
    ("PATCH", N + '/p', '{"metadata":{"uid":"abc"}}', MERGE),
    ("PATCH", N + '/p', '{"metadata":{"name":"q"}}', MERGE),
    ("PATCH", N + '/p', '{"kind":"Service"}', MERGE),
    ("PATCH", N + '/p', '{"apiVersion":"v2"}', MERGE),
    ("PATCH", N + '/p', '{"spec":{"containers":"x"}}', MERGE),
    ("PATCH", N + '/p', '{"spec":{"containers":"x"}}', STRATEGIC),
    ("PATCH", N + '/p', '{"spec":{"containers":[{"image":"x"}]}}', STRATEGIC),
    ("PATCH", N + '/p?fieldValidation=Strict', '{"spec":{"foo":1,"foo":2}}', MERGE),
    ("PATCH", N + '/p?fieldValidation=Strict', '{"spec":{"foo":1,"foo":2}}', STRATEGIC),
    ("PATCH", N + '/p?fieldValidation=Strict', '[{"op":"add","path":"/spec/foo","value":1,"x":1}]', JSON),
    ("PATCH", N + '/p', '{"spec":{"foo":1,"foo":2}}', MERGE),
    ("PATCH", N + '/none', '{}', MERGE),
    ("PATCH", N + '/p', 'apiVersion: v1\nkind: Pod\n', APPLY),
    ("PATCH", N + '/p?fieldManager=x', 'a: b: c\n', APPLY),
    ("PATCH", N + '/p?fieldManager=x&force=true', '{"apiVersion":"v1","kind":"Service"}', APPLY),
    ("PATCH", N + '/p?force=true', '{}', MERGE),
    ("POST", N + '/p/binding', '{"apiVersion":"v1","kind":"Binding","metadata":{"name":"q"},"target":{"name":"n1"}}'),
    ("POST", N + '/p/binding', '{"apiVersion":"v1","kind":"Binding","metadata":{"name":"p"},"target":{"name":""}}'),
    ("POST", N + '/p/binding', '{"apiVersion":"v1","kind":"Binding","metadata":{"name":"p"},"target":{"kind":"Foo","name":"n"}}'),
    ("POST", N + '/p/binding', '{"apiVersion":"v1","kind":"Binding","metadata":{"name":"p","uid":"x"},"target":{"name":"n1"}}'),
    ("POST", N + '/p/binding', '{"apiVersion":"v1","kind":"Binding","metadata":{"name":"p","resourceVersion":"1"},"target":{"name":"n1"}}'),
    ("POST", N + '/p/binding', '{"apiVersion":"v1","kind":"Binding","metadata":{"name":"p"},"target":{"name":"n1"}}'),
    ("GET", N + '/p'),
    ("POST", N + '/p/binding', '{"apiVersion":"v1","kind":"Binding","metadata":{"name":"p"},"target":{"name":"n1"}}'),
    ("POST", N + '/none/binding', '{"apiVersion":"v1","kind":"Binding","metadata":{"name":"none"},"target":{"name":"n1"}}'),
    ("POST", N + '/p/eviction', '{"apiVersion":"policy/v1","kind":"Eviction","metadata":{"name":"q"}}'),
    ("POST", N + '/p/eviction?dryRun=All', '{"apiVersion":"policy/v1","kind":"Eviction","metadata":{"name":"p"}}'),
    ("POST", N + '/none/eviction', '{"apiVersion":"policy/v1","kind":"Eviction","metadata":{"name":"none"}}'),
    ("POST", N + '/p/eviction', '{"apiVersion":"v1","kind":"Pod","metadata":{"name":"p"}}'),
    ("DELETE", N + '/none'),
    ("DELETE", N + '/p', '{"preconditions":{"uid":"x"}}'),
    ("DELETE", N + '/p', '{"preconditions":{"resourceVersion":"1"}}'),
    ("DELETE", N + '/p', '{"propagationPolicy":"Bogus"}'),
    ("DELETE", N + '/p', '{"orphanDependents":true,"propagationPolicy":"Orphan"}'),
    ("DELETE", N + '/p', '{bad'),
    ("DELETE", N + '/p', '{"kind":"Pod","apiVersion":"v1"}'),
    ("DELETE", N + '/p', '{"dryRun":["X"]}'),
    ("DELETE", N + '/p', '{"gracePeriodSeconds":20}'),
    ("DELETE", N + '/p', '{"gracePeriodSeconds":25}'),
    ("DELETE", N + '/p', '{"gracePeriodSeconds":10}'),
    ("DELETE", N + '/p?gracePeriodSeconds=0'),
    ("POST", CONFIGS, '{"metadata":{"name":"c"},"data":{"a":"b"}}'),
    ("PUT", CONFIGS + '/c', '{"metadata":{"name":"c"},"data":{"a":"c"}}'),
    ("DELETE", CONFIGS + '/c', '{"propagationPolicy":"Foreground"}'),
    ("DELETE", CONFIGS + '/c'),
    ("PATCH", CONFIGS + '/c', '{"metadata":{"finalizers":null}}', MERGE),
    ("GET", CONFIGS + '/c'),
    ("POST", CONFIGS, '{"metadata":{"name":"d","finalizers":["a.b/c"]},"data":{"a":"b"}}'),
    ("DELETE", CONFIGS + '/d'),
    ("POST", CONFIGS, '{"metadata":{"name":"d"},"data":{"a":"b"}}'),
    ("DELETE", CONFIGS + '/d?dryRun=All'),
    ("DELETE", CONFIGS + '?labelSelector=a=b'),
    ("POST", '/api/v1/namespaces', '{"metadata":{"name":"x"}}'),
    ("DELETE", '/api/v1/namespaces/x'),
    ("DELETE", '/api/v1/namespaces/x'),
    ("POST", '/api/v1/namespaces/x/configmaps', '{"metadata":{"name":"d"}}'),
    ("POST", '/api/v1/namespaces/nonesuch/configmaps', '{"metadata":{"name":"d"}}'),
    ("PUT", '/api/v1/namespaces/x/finalize', '{"metadata":{"name":"x"},"spec":{"finalizers":[]}}'),
    ("GET", '/api/v1/namespaces/x'),
    ("POST", W, deployment('w')),
    ("GET", W + '/w/scale'),
    ("PUT", W + '/w/scale', '{"apiVersion":"autoscaling/v1","kind":"Scale","metadata":{"name":"w"},"spec":{"replicas":-1}}'),
    ("PUT", W + '/w/scale', '{"apiVersion":"autoscaling/v1","kind":"Scale","metadata":{"name":"w","resourceVersion":"1"},"spec":{"replicas":3}}'),
    ("PUT", W + '/w/scale', '{"apiVersion":"autoscaling/v1","kind":"Scale","metadata":{"name":"w"},"spec":{"replicas":3}}'),
    ("PATCH", W + '/w/scale', '{"spec":{"replicas":4}}', MERGE),
    ("PATCH", W + '/w/scale', '{"spec":{"replicas":5}}', STRATEGIC),
    ("PATCH", W + '/w/scale', '{"spec":{"foo":5}}', MERGE),
    ("GET", W + '/none/scale'),
    ("PATCH", W + '/w', '{"spec":{"selector":{"matchLabels":{"a":"c"}}}}', MERGE),
    ("POST", '/apis/coordination.k8s.io/v1/namespaces/default/leases', '{"metadata":{"name":"l"},"spec":{"holderIdentity":"a"}}'),
    ("PUT", '/apis/coordination.k8s.io/v1/namespaces/default/leases/l', '{"metadata":{"name":"l"},"spec":{"holderIdentity":"b"}}'),
    ("PUT", '/apis/coordination.k8s.io/v1/namespaces/default/leases/m', '{"metadata":{"name":"m"},"spec":{"holderIdentity":"b"}}'),
    ("POST", '/apis/apps/v1/namespaces/default/controllerrevisions', '{"metadata":{"name":"l"},"revision":1}'),
    ("PUT", BUDGETS + '/none', '{"metadata":{"name":"none"},"spec":{}}'),
    ("POST", BUDGETS, '{"metadata":{"name":"b"},"spec":{"minAvailable":1,"selector":{"matchLabels":{"a":"b"}}}}'),
    ("PUT", BUDGETS + '/b', '{"metadata":{"name":"b"},"spec":{"minAvailable":1,"selector":{"matchLabels":{"a":"b"}}}}'),
    ("POST", N, pod('e',metadata={"name":"e","labels":{"a":"b"}})),
    ("POST", N + '/e/binding', '{"apiVersion":"v1","kind":"Binding","metadata":{"name":"e"},"target":{"name":"n1"}}'),
    ("PATCH", N + '/e/status', '{"status":{"phase":"Running","conditions":[{"type":"Ready","status":"True"}]}}', STRATEGIC),
    ("POST", N + '/e/eviction', '{"apiVersion":"policy/v1","kind":"Eviction","metadata":{"name":"e"}}'),
    ("PATCH", BUDGETS + '/b/status', '{"status":{"observedGeneration":1,"currentHealthy":1,"desiredHealthy":1,"expectedPods":1}}', MERGE),
    ("POST", N + '/e/eviction', '{"apiVersion":"policy/v1","kind":"Eviction","metadata":{"name":"e"}}'),
    ("PATCH", BUDGETS + '/b/status', '{"status":{"disruptionsAllowed":1,"currentHealthy":2}}', MERGE),
    ("POST", N + '/e/eviction', '{"apiVersion":"policy/v1","kind":"Eviction","metadata":{"name":"e"}}'),
    ("GET", N + '/e'),
    ("GET", BUDGETS + '/b'),
    ("POST", '/apis/batch/v1/namespaces/default/jobs', job('j')),
    ("DELETE", '/apis/batch/v1/namespaces/default/jobs/j'),
    ("POST", '/api/v1/namespaces/default/serviceaccounts/default/token', '{"spec":{"audiences":["a"]}}'),
    ("GET", '/api/v1/namespaces/default/pods?watch=true&resourceVersion=abc&timeoutSeconds=1'),
    ("POST", N, pod('',metadata={})),
    ("POST", N, pod('o',metadata={"name":"o","ownerReferences":[{"apiVersion":"v1","kind":"X","name":"x","uid":"u"},{"apiVersion":"v1","kind":"X","name":"x","uid":"u"}]})),
    # Two names of one event.
    ("POST", "/apis/events.k8s.io/v1" + EVENTS, event("n1")),
    ("GET", "/api/v1" + EVENTS + "/n1"),
    ("GET", "/apis/events.k8s.io/v1" + EVENTS + "/n1"),
    ("PATCH", "/apis/events.k8s.io/v1" + EVENTS + "/n1", '{"series":{"count":2,"lastObservedTime":"2026-01-02T00:00:00.000000Z"}}', STRATEGIC),
    ("PATCH", "/apis/events.k8s.io/v1" + EVENTS + "/n1", '{"note":"other"}', MERGE),
    ("PATCH", "/apis/events.k8s.io/v1" + EVENTS + "/n1", '{"series":{"count":1}}', MERGE),
    ("POST", "/apis/events.k8s.io/v1" + EVENTS, '{"metadata":{"name":"n2"}}'),
    ("POST", "/api/v1" + EVENTS, '{"metadata":{"name":"o1"},"involvedObject":{"kind":"Pod","name":"p","namespace":"default"},"reason":"R","message":"m","count":3,"type":"Normal","source":{"component":"c","host":"h"},"firstTimestamp":"2026-01-02T00:00:00Z","lastTimestamp":"2026-01-02T00:00:01Z"}'),
    ("GET", "/apis/events.k8s.io/v1" + EVENTS + "/o1"),
    ("POST", "/api/v1" + EVENTS, '{"metadata":{"name":"o2"},"involvedObject":{"namespace":"other"}}'),
    ("GET", "/apis/events.k8s.io/v1" + EVENTS + "?fieldSelector=regarding.name=p,type=Normal"),
    ("GET", "/apis/events.k8s.io/v1" + EVENTS + "?fieldSelector=involvedObject.name=p"),
    ("GET", "/api/v1" + EVENTS + "?fieldSelector=involvedObject.kind=Pod,reason!=R"),
    ("DELETE", "/apis/events.k8s.io/v1" + EVENTS + "/o1"),
    ("PUT", "/api/v1" + EVENTS + "/made", '{"metadata":{"name":"made"},"involvedObject":{"namespace":"default"}}'),
    # What may be written through which door.
    ("POST", N, pod("s")),
    ("PUT", N + "/s/status", '{"metadata":{"name":"s"},"status":{"phase":"Running","podIP":"1.2.3.4","podIPs":[{"ip":"1.2.3.4"}]}}'),
    ("PUT", N + "/s", pod("s", status={"phase": "Failed"})),
    ("PATCH", N + "/s/status", '{"status":{"phase":"Bogus"}}', MERGE),
    ("PATCH", N + "/s/status", '{"metadata":{"labels":{"a":"b"}},"spec":{"nodeName":"n"}}', MERGE),
    ("PATCH", N + "/s/ephemeralcontainers", '{"spec":{"ephemeralContainers":[{"name":"debug","image":"busybox"}]}}', STRATEGIC),
    ("PATCH", N + "/s/ephemeralcontainers", '{"spec":{"ephemeralContainers":[{"name":"debug","image":"other"}]}}', STRATEGIC),
    ("PATCH", N + "/s/ephemeralcontainers", '{"spec":{"ephemeralContainers":null}}', MERGE),
    ("PATCH", N + "/s/ephemeralcontainers", '{"spec":{"ephemeralContainers":[{"name":"c","image":"x"}]}}', STRATEGIC),
    ("PATCH", N + "/s/resize", '{"spec":{"containers":[{"name":"c","resources":{"requests":{"cpu":"1"}}}]}}', STRATEGIC),
    ("POST", N, pod("r", spec={"containers": [{"name": "c", "image": "i", "resources": {"requests": {"cpu": "1", "memory": "1Gi"}, "limits": {"cpu": "2"}}}]})),
    ("PATCH", N + "/r/resize", '{"spec":{"containers":[{"name":"c","resources":{"requests":{"cpu":"1500m"}}}]}}', STRATEGIC),
    ("PATCH", N + "/r/resize", '{"spec":{"containers":[{"name":"c","resources":{"requests":{"cpu":"3"}}}]}}', STRATEGIC),
    ("PATCH", N + "/r/resize", '{"spec":{"containers":[{"name":"c","resources":{"requests":{"cpu":null}}}]}}', STRATEGIC),
    ("PATCH", N + "/r/resize", '{"spec":{"containers":[{"name":"c","resources":{"requests":{"ephemeral-storage":"1Gi"}}}]}}', STRATEGIC),
    ("PATCH", N + "/r/resize", '{"metadata":{"labels":{"x":"y"}},"spec":{"containers":[{"name":"c","image":"other"}]}}', STRATEGIC),
    ("POST", N, pod("g", spec={"schedulingGates": [{"name": "a.b/c"}], "containers": [{"name": "c", "image": "i"}]})),
    ("POST", N + "/g/binding", '{"metadata":{"name":"g"},"target":{"name":"n1"}}'),
    ("POST", "/api/v1/namespaces/default/bindings", '{"metadata":{"name":"s","labels":{"l":"m"},"annotations":{"x":"y"}},"target":{"kind":"Node","name":"n1"}}'),
    ("GET", N + "/s"),
    ("DELETE", N + "/s", '{"gracePeriodSeconds":-5}'),
    ("POST", N + "/s/binding", '{"metadata":{"name":"s"},"target":{"name":"n1"}}'),
    # Applied.
    ("PATCH", CONFIGS + "/a?fieldManager=m", '{"apiVersion":"v1","kind":"ConfigMap","data":{"a":"b"}}', APPLY),
    ("PATCH", CONFIGS + "/a?fieldManager=m", 'apiVersion: v1\nkind: ConfigMap\nmetadata:\n  name: a\ndata:\n  a: b\n', APPLY),
    ("PATCH", CONFIGS + "/a?fieldManager=m", 'apiVersion: v1\nkind: ConfigMap\nmetadata:\n  name: a\ndata:\n  a: b\n', APPLY),
    ("PATCH", CONFIGS + "/a?fieldManager=n", '{"apiVersion":"v1","kind":"ConfigMap","metadata":{"name":"a"},"data":{"a":"c"}}', APPLY),
    ("PATCH", CONFIGS + "/a?fieldManager=n&force=true", '{"apiVersion":"v1","kind":"ConfigMap","metadata":{"name":"a"},"data":{"a":"c"}}', APPLY),
    ("PATCH", CONFIGS + "/new?fieldManager=n", '{"apiVersion":"v1","kind":"ConfigMap","metadata":{"name":"new","uid":"x"}}', APPLY),
    ("PATCH", CONFIGS + "/a?fieldManager=n", '{"apiVersion":"v1","kind":"ConfigMap","metadata":{"name":"b"}}', APPLY),
    ("PATCH", CONFIGS + "/a?fieldManager=n", "[1]", APPLY),
    # All at once.
    ("POST", CONFIGS, '{"metadata":{"name":"l1","labels":{"k":"v"}}}'),
    ("POST", CONFIGS, '{"metadata":{"name":"l2","labels":{"k":"v"},"finalizers":["a.b/c"]}}'),
    ("DELETE", CONFIGS + "?labelSelector=k%3Dv&dryRun=All"),
    ("DELETE", CONFIGS + "?labelSelector=k%3Dv"),
    ("GET", CONFIGS + "?labelSelector=k%3Dv"),
    ("DELETE", CONFIGS + "?labelSelector=k%3Dv%3D"),
    ("DELETE", CONFIGS + "?fieldSelector=data.x%3Dv"),
    # How owners go.
    ("POST", W, deployment("o1")),
    ("DELETE", W + "/o1", '{"propagationPolicy":"Orphan"}'),
    ("DELETE", W + "/o1", '{"propagationPolicy":"Background"}'),
    ("GET", W + "/o1"),
    ("POST", W, deployment("o2")),
    ("DELETE", W + "/o2", '{"orphanDependents":false}'),
    ("POST", W, deployment("o3")),
    ("DELETE", W + "/o3", '{"propagationPolicy":"Foreground"}'),
    ("DELETE", W + "/o3", '{"orphanDependents":false}'),
    ("PATCH", W + "/o3", '{"metadata":{"finalizers":["new.one/here"]}}', MERGE),
    ("PATCH", W + "/o3/status", '{"metadata":{"finalizers":null},"status":{"replicas":1}}', MERGE),
    ("POST", "/api/v1/namespaces/default/replicationcontrollers", '{"metadata":{"name":"rc"},"spec":{"selector":{"a":"b"},"template":{"metadata":{"labels":{"a":"b"}},"spec":{"containers":[{"name":"c","image":"i"}]}}}}'),
    ("GET", "/api/v1/namespaces/default/replicationcontrollers/rc/scale"),
    ("DELETE", "/api/v1/namespaces/default/replicationcontrollers/rc"),
    ("POST", "/api/v1/namespaces", '{"metadata":{"name":"y"}}'),
    ("DELETE", "/api/v1/namespaces/y", '{"preconditions":{"uid":"x"}}'),
    ("DELETE", "/api/v1/namespaces/y", '{"propagationPolicy":"Foreground"}'),
    ("PATCH", "/api/v1/namespaces/y", '{"spec":{"finalizers":[]}}', MERGE),
    ("DELETE", "/api/v1/namespaces/kube-system"),
    ("POST", "/api/v1/nodes", '{"metadata":{"name":"n1"}}'),
    ("DELETE", "/api/v1/nodes/n1"),
    ("POST", "/apis/storage.k8s.io/v1/storageclasses", '{"metadata":{"name":"sc"},"provisioner":"x"}'),
    ("DELETE", "/apis/storage.k8s.io/v1/storageclasses/sc"),
    # Lists.
    ("GET", CONFIGS + "?limit=1"),
    ("GET", CONFIGS + "?limit=1&continue=abc"),
    ("GET", CONFIGS + "?resourceVersionMatch=Exact"),
    ("GET", CONFIGS + "?resourceVersion=abc"),
    ("GET", CONFIGS + "?resourceVersion=0&resourceVersionMatch=Exact"),
    ("GET", CONFIGS + "?watch=true&sendInitialEvents=true"),
    ("GET", CONFIGS + "?sendInitialEvents=true"),
    ("GET", "/api/v1/pods?fieldSelector=spec.nodeName=n1,status.phase!=Failed"),
    ("GET", "/api/v1/namespaces?fieldSelector=metadata.name=default"),
    ("GET", "/apis/apps/v1/namespaces/default/daemonsets"),
    # What is no JSON.
    ("POST", CONFIGS, '{"metadata":{"name":"x"}} trailing'),
    ("POST", CONFIGS, '{"metadata":{"name":tru}}'),
    ("POST", CONFIGS, '{"metadata":{"name":"a" "b"}}'),
    ("POST", CONFIGS, '{"metadata":[1,2'),
    ("POST", CONFIGS, '{"metadata":{"name":"x\\q"}}'),
    ("POST", CONFIGS, "{'metadata':1}"),
    ("POST", CONFIGS, '{"metadata":{"name":01}}'),
    ("POST", CONFIGS, '{"metadata":{"name":7}}'),
    ("PATCH", CONFIGS + "/l2", '{"data":{"a":1}}', MERGE),
    ("PATCH", CONFIGS + "/l2", '{"data":{"a":1}}', STRATEGIC),
    ("PATCH", CONFIGS + "/l2", "null", MERGE),
    ("PATCH", CONFIGS + "/l2", '{"metadata":null}', MERGE),
]


def record(plane):
    connection = http.client.HTTPSConnection("127.0.0.1", plane.port, context=plane.tls, timeout=60)
    seen = {}
    lines = []
    for method, path, *rest in CASES:
        body = rest[0] if rest else None
        if body is not None and not isinstance(body, str):
            body = json.dumps(body)
        headers = {"Authorization": "Bearer " + TOKEN, "Accept": "application/json", "User-Agent": "probe"}
        content = rest[1] if len(rest) > 1 else "application/json"
        if body is not None:
            headers["Content-Type"] = content
        connection.request(method, path, body, headers)
        reply = connection.getresponse()
        text = re.sub(r"[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}", UID, reply.read().decode())
        text = re.sub(r"\d{4}-(?!01-0)\d\d-\d\dT\d\d:\d\d:\d\d(\.\d+)?Z", TIME, text)
        answer = json.loads(text)
        name = f"{method} {path}"
        seen[name] = seen.get(name, 0) + 1
        line = {"name": f"{name} {seen[name]}", "method": method, "path": path, "code": reply.status, "reply": answer,
                "warnings": [v for k, v in reply.headers.items() if k == "Warning"]}
        if body is not None:
            line |= {"body": body, "content": content}
        lines.append(line)
    return lines
