# SPDX-License-Identifier: Apache-2.0
"""CustomResourceDefinitions, good and bad, and objects of the kinds that one of them makes."""
import copy
import json
import time

from applies import FORGET, apply, settled, write
from applies import record as record_sequence
from cases import GONE, changed

OBJECT = {"type": "object"}
TEXT = {"type": "string"}
NUMBER = {"type": "integer"}


def definition(plural="foos", kind="Foo", group="example.com", schema=None, **spec):
    version = {"name": "v1", "served": True, "storage": True, "schema": {"openAPIV3Schema": schema or {"type": "object", "properties": {"spec": OBJECT}}}}
    return {"apiVersion": "apiextensions.k8s.io/v1", "kind": "CustomResourceDefinition", "metadata": {"name": f"{plural}.{group}"},
            "spec": {"group": group, "names": {"plural": plural, "kind": kind}, "scope": "Namespaced", "versions": [version]} | spec}


def spec_of(**properties):
    return {"type": "object", "properties": {"spec": {"type": "object", "properties": properties}}}


def root(**words):
    return definition(schema={"type": "object", "properties": {"spec": OBJECT}} | words)


def one(field, **more):
    return definition(schema=spec_of(x=field, **more))


V = "spec.versions.0."
NESTED = {"type": "object", "properties": {"a": TEXT}}
DEFINITIONS = {
    "good: plain": definition(),
    "good: cluster": definition(scope="Cluster"),
    "good: names": definition(names={"plural": "foos", "kind": "Foo", "singular": "foo", "listKind": "Foos", "shortNames": ["fo"], "categories": ["all"]}),
    "good: no schema but kept": root(**{"x-kubernetes-preserve-unknown-fields": True}),
    "good: default": one({"type": "string", "default": "a"}),
    "good: deep default": one({"type": "object", "default": {"a": "b"}, "properties": {"a": TEXT}}),
    "good: int or string": one({"x-kubernetes-int-or-string": True}),
    "good: int or string said twice": one({"x-kubernetes-int-or-string": True, "anyOf": [{"type": "integer"}, {"type": "string"}]}),
    "good: map list": one({"type": "array", "x-kubernetes-list-type": "map", "x-kubernetes-list-map-keys": ["name"], "items": {"type": "object", "required": ["name"], "properties": {"name": TEXT}}}),
    "good: set": one({"type": "array", "x-kubernetes-list-type": "set", "items": TEXT}),
    "good: embedded": one({"type": "object", "x-kubernetes-embedded-resource": True, "x-kubernetes-preserve-unknown-fields": True}),
    "good: status and scale": changed(definition(), {V + "subresources": {"status": {}, "scale": {"specReplicasPath": ".spec.replicas", "statusReplicasPath": ".status.replicas", "labelSelectorPath": ".status.selector"}}}),
    "good: columns": changed(definition(), {V + "additionalPrinterColumns": [{"name": "X", "type": "string", "jsonPath": ".spec.x"}]}),
    "good: selectable": changed(one(TEXT), {V + "selectableFields": [{"jsonPath": ".spec.x"}]}),
    "good: two versions": changed(definition(), {"spec.versions.1": {"name": "v2", "served": True, "storage": False, "schema": {"openAPIV3Schema": {"type": "object"}}}}),
    "good: deprecated": changed(definition(), {V + "deprecated": True, V + "deprecationWarning": "do not"}),
    "good: any of": one({"type": "string", "anyOf": [{"minLength": 3}, {"maxLength": 1}]}),
    "good: pattern": one({"type": "string", "pattern": "^a+$"}),
    "good: unknown format": one({"type": "string", "format": "foo"}),
    "good: approved": changed(definition(group="a.k8s.io"), {"metadata.annotations": {"api-approved.kubernetes.io": "https://x.y/z"}}),
    "good: unapproved": changed(definition(group="a.k8s.io"), {"metadata.annotations": {"api-approved.kubernetes.io": "unapproved, because"}}),
    "good: metadata name": root(properties={"metadata": {"type": "object", "properties": {"name": {"type": "string", "maxLength": 5}}}}),
    "good: schema unknown word": root(foo="bar"),
    "good: items unknown word": one({"type": "array", "items": {"type": "string", "foo": 1}}),
    "bad: name": changed(definition(), {"metadata.name": "x.example.com"}),
    "bad: group without dot": definition(group="example"),
    "bad: group": definition(group="Example.com"),
    "bad: no group": changed(definition(), {"spec.group": ""}),
    "bad: scope": definition(scope="X"),
    "bad: no scope": definition(scope=""),
    "bad: no kind": definition(kind=""),
    "bad: kind": definition(kind="F_o"),
    "bad: plural": definition(plural="Foos"),
    "bad: list kind is kind": definition(names={"plural": "foos", "kind": "Foo", "listKind": "Foo"}),
    "bad: short name": definition(names={"plural": "foos", "kind": "Foo", "shortNames": ["F"]}),
    "bad: category": definition(names={"plural": "foos", "kind": "Foo", "categories": ["A"]}),
    "bad: version name": changed(definition(), {V + "name": "V1"}),
    "bad: no storage": changed(definition(), {V + "storage": False}),
    "bad: two of a name": changed(definition(), {"spec.versions.1": {"name": "v1", "served": True, "storage": False, "schema": {"openAPIV3Schema": {"type": "object", "properties": {"spec": OBJECT}}}}}),
    "bad: no schema": changed(definition(), {V + "schema": GONE}),
    "bad: no versions": definition(versions=[]),
    "bad: protected group": definition(group="a.k8s.io"),
    "bad: protected group, approval": changed(definition(group="a.k8s.io"), {"metadata.annotations": {"api-approved.kubernetes.io": "x"}}),
    "bad: preserve": definition(preserveUnknownFields=True),
    "bad: root type": root(type="string"),
    "bad: no root type": definition(schema={"properties": {"spec": OBJECT}}),
    "bad: no type": one({}),
    "bad: type": one({"type": "foo"}),
    "bad: array without items": one({"type": "array"}),
    "bad: items without type": one({"type": "array", "items": {}}),
    "bad: items list": one({"type": "array", "items": [TEXT]}),
    "bad: root additional": root(additionalProperties=True),
    "bad: both properties": one({"type": "object", "properties": {"a": TEXT}, "additionalProperties": TEXT}),
    "bad: unique items": one({"type": "array", "items": TEXT, "uniqueItems": True}),
    "bad: ref": one({"$ref": "#/x"}),
    "bad: definitions": one({"type": "object", "definitions": {"a": TEXT}}),
    "bad: dependencies": one({"type": "object", "dependencies": {"a": ["b"]}}),
    "bad: pattern properties": one({"type": "object", "patternProperties": {"a": TEXT}}),
    "bad: id": one({"type": "object", "id": "x"}),
    "bad: preserve false": one({"type": "object", "x-kubernetes-preserve-unknown-fields": False}),
    "bad: type in any of": one({"type": "string", "anyOf": [{"type": "string"}]}),
    "bad: default in one of": one({"type": "string", "oneOf": [{"default": "a"}]}),
    "bad: words in all of": one({"type": "string", "allOf": [{"title": "t", "description": "d", "nullable": True, "x-kubernetes-int-or-string": True}]}),
    "bad: unspecified field": definition(schema=spec_of(x=NESTED | {"anyOf": [{"required": ["b"], "properties": {"b": {"minLength": 1}}}]})),
    "bad: metadata in all of": root(allOf=[{"properties": {"metadata": {}}}]),
    "bad: metadata": root(properties={"metadata": {"type": "object", "properties": {"labels": OBJECT}}}),
    "bad: metadata type": root(properties={"metadata": {"type": "string"}}),
    "bad: kind type": root(properties={"kind": NUMBER}),
    "bad: pattern": one({"type": "string", "pattern": "("}),
    "bad: pattern class": one({"type": "string", "pattern": "[a"}),
    "bad: pattern repeat": one({"type": "string", "pattern": "*"}),
    "bad: pattern perl": one({"type": "string", "pattern": "(?=a)"}),
    "bad: nullable root": root(nullable=True),
    "bad: default type": one({"type": "string", "default": 1}),
    "bad: default unknown": one({"type": "object", "default": {"b": 1}, "properties": {"a": TEXT}}),
    "bad: default too long": one({"type": "string", "default": "abc", "maxLength": 2}),
    "bad: default in metadata": root(properties={"metadata": {"type": "object", "default": {}}}),
    "bad: list type": one({"type": "array", "items": TEXT, "x-kubernetes-list-type": "foo"}),
    "bad: list type of object": one({"type": "object", "x-kubernetes-list-type": "set"}),
    "bad: list keys without type": one({"type": "array", "items": NESTED, "x-kubernetes-list-map-keys": ["a"]}),
    "bad: map list without keys": one({"type": "array", "items": NESTED, "x-kubernetes-list-type": "map"}),
    "bad: map list of texts": one({"type": "array", "items": TEXT, "x-kubernetes-list-type": "map", "x-kubernetes-list-map-keys": ["a"]}),
    "bad: map list with optional key": one({"type": "array", "items": NESTED, "x-kubernetes-list-type": "map", "x-kubernetes-list-map-keys": ["a"]}),
    "bad: map list with unknown key": one({"type": "array", "items": NESTED | {"required": ["a"]}, "x-kubernetes-list-type": "map", "x-kubernetes-list-map-keys": ["b"]}),
    "bad: set of objects": one({"type": "array", "items": NESTED, "x-kubernetes-list-type": "set"}),
    "bad: nullable items of set": one({"type": "array", "items": TEXT | {"nullable": True}, "x-kubernetes-list-type": "set"}),
    "bad: map type": one({"type": "object", "x-kubernetes-map-type": "foo"}),
    "bad: map type of text": one({"type": "string", "x-kubernetes-map-type": "atomic"}),
    "bad: embedded text": one({"type": "string", "x-kubernetes-embedded-resource": True}),
    "bad: embedded empty": one({"type": "object", "x-kubernetes-embedded-resource": True}),
    "bad: int or string kept": one({"x-kubernetes-int-or-string": True, "x-kubernetes-preserve-unknown-fields": True}),
    "bad: column": changed(definition(), {V + "additionalPrinterColumns": [{"name": "", "type": "foo", "jsonPath": "x", "format": "y"}]}),
    "bad: column empty": changed(definition(), {V + "additionalPrinterColumns": [{"name": "a", "type": "", "jsonPath": ""}]}),
    "bad: scale": changed(definition(), {V + "subresources": {"scale": {"specReplicasPath": ".a.b", "statusReplicasPath": "", "labelSelectorPath": ".x"}}}),
    "bad: selectable": changed(one(TEXT, y=OBJECT), {V + "selectableFields": [{"jsonPath": ".spec.y"}, {"jsonPath": ".spec.x"}, {"jsonPath": ".spec.x"}]}),
    "bad: deprecation": changed(definition(), {V + "deprecationWarning": "do not"}),
    "bad: conversion": definition(conversion={"strategy": "X"}),
    "bad: schemas of two versions": changed(one({}), {"spec.versions.1": {"name": "v2", "served": True, "storage": False, "schema": {"openAPIV3Schema": {"type": "object", "properties": {"spec": {}}}}}}),
    "bad: decoding": changed(definition(), {V + "schema.openAPIV3Schema.type": 5}),
    "bad: decoding below items": one({"type": "array", "items": {"type": 5}}),
}

RICH = definition("widgets", "Widget", schema={"type": "object", "required": ["spec"], "properties": {
    "spec": {"type": "object", "required": ["size"], "properties": {
        "size": {"type": "integer", "minimum": 1, "maximum": 10},
        "ratio": {"type": "number", "exclusiveMinimum": True, "minimum": 0, "multipleOf": 0.5},
        "color": {"type": "string", "enum": ["red", "blue"], "default": "red"},
        "name": {"type": "string", "minLength": 2, "maxLength": 5, "pattern": "^[a-z]+$"},
        "count": {"type": "integer", "format": "int32", "multipleOf": 2},
        "big": {"type": "integer", "format": "int64"},
        "flag": {"type": "boolean"},
        "when": {"type": "string", "format": "date-time"},
        "port": {"x-kubernetes-int-or-string": True},
        "maybe": {"type": "string", "nullable": True},
        "free": {"type": "object", "x-kubernetes-preserve-unknown-fields": True, "properties": {"known": {"type": "object", "properties": {"a": TEXT}}}},
        "labels": {"type": "object", "additionalProperties": TEXT, "maxProperties": 2, "minProperties": 1},
        "tags": {"type": "array", "items": TEXT, "x-kubernetes-list-type": "set", "maxItems": 3},
        "parts": {"type": "array", "x-kubernetes-list-type": "map", "x-kubernetes-list-map-keys": ["id", "zone"], "minItems": 1,
                  "items": {"type": "object", "required": ["id"], "properties": {"id": TEXT, "zone": {"type": "string", "default": "z"}, "weight": {"type": "integer", "default": 1}}}},
        "list": {"type": "array", "items": {"type": "object", "properties": {"a": TEXT, "b": {"type": "integer", "default": 3}}}},
        "whole": {"type": "object", "x-kubernetes-map-type": "atomic", "properties": {"a": TEXT, "b": TEXT}},
        "inner": {"type": "object", "default": {}, "properties": {"x": {"type": "integer", "default": 7}, "y": TEXT}},
        "template": {"type": "object", "x-kubernetes-embedded-resource": True, "x-kubernetes-preserve-unknown-fields": True},
        "choice": {"type": "object", "properties": {"a": TEXT, "b": TEXT}, "oneOf": [{"required": ["a"]}, {"required": ["b"]}]},
        "anything": {"type": "string", "anyOf": [{"minLength": 3}, {"pattern": "^x"}]},
        "all": {"type": "integer", "allOf": [{"minimum": 2}, {"maximum": 4}]},
        "negated": {"type": "string", "not": {"enum": ["bad"]}},
        "mail": {"type": "string", "format": "email"}, "uri": {"type": "string", "format": "uri"}, "ip": {"type": "string", "format": "ipv4"}, "id": {"type": "string", "format": "uuid"}, "day": {"type": "string", "format": "date"},
        "span": {"type": "string", "format": "duration"}, "net": {"type": "string", "format": "cidr"}, "host": {"type": "string", "format": "hostname"}, "bytes": {"type": "string", "format": "byte"}, "odd": {"type": "string", "format": "foo"}, "six": {"type": "string", "format": "ipv6"}, "mac": {"type": "string", "format": "mac"}, "short": {"type": "string", "format": "k8s-short-name"}, "hex": {"type": "string", "format": "hexcolor"},
    }},
    "status": {"type": "object", "properties": {"phase": {"type": "string", "default": "New"}, "ready": NUMBER, "replicas": NUMBER, "selector": TEXT,
                                                 "conditions": {"type": "array", "x-kubernetes-list-type": "map", "x-kubernetes-list-map-keys": ["type"], "items": {"type": "object", "required": ["type"], "properties": {"type": TEXT, "status": TEXT}}}}},
}})
RICH["spec"]["names"] |= {"shortNames": ["wd"], "categories": ["all"]}
RICH["spec"]["versions"][0] |= {
    "subresources": {"status": {}, "scale": {"specReplicasPath": ".spec.size", "statusReplicasPath": ".status.replicas", "labelSelectorPath": ".status.selector"}},
    "selectableFields": [{"jsonPath": ".spec.color"}],
    "additionalPrinterColumns": [
        {"name": "Size", "type": "integer", "jsonPath": ".spec.size"}, {"name": "Ratio", "type": "number", "jsonPath": ".spec.ratio", "priority": 1},
        {"name": "Flag", "type": "boolean", "jsonPath": ".spec.flag"}, {"name": "When", "type": "date", "jsonPath": ".spec.when"},
        {"name": "Part", "type": "string", "jsonPath": ".spec.parts[?(@.id==\"a\")].weight"}, {"name": "First", "type": "string", "jsonPath": ".spec.tags[0]"},
        {"name": "Last", "type": "string", "jsonPath": ".spec.tags[-1:]"}, {"name": "All", "type": "string", "jsonPath": ".spec.parts[*].id"}, {"name": "Labels", "type": "string", "jsonPath": ".spec.labels"},
        {"name": "Dotted", "type": "string", "jsonPath": ".metadata.labels['a\\.b/c']"}, {"name": "Wrong", "type": "integer", "jsonPath": ".spec.color"}, {"name": "Age", "type": "date", "jsonPath": ".metadata.creationTimestamp"}]}


def widget(**spec):
    return {"apiVersion": "example.com/v1", "kind": "Widget", "metadata": {"name": "x"}, "spec": {"size": 3} | spec}


WIDGETS = {
    "good: plain": widget(),
    "good: much": widget(ratio=1.5, name="abc", count=4, flag=True, when="2026-01-01T00:00:00Z", port="http", labels={"a": "b"}, tags=["p", "q"], parts=[{"id": "a"}, {"id": "a", "zone": "y", "weight": 9}], list=[{"a": "x"}, {"b": 1}], whole={"a": "1"}),
    "good: port number": widget(port=80), "good: null": widget(maybe=None), "good: null taken out": widget(name=None), "good: null filled": widget(color=None),
    "good: unknown goes": widget(foo=1, inner={"z": 1, "y": "q"}), "good: unknown kept": widget(free={"a": 1, "known": {"a": "x", "b": "y"}}),
    "good: unknown at the top": widget() | {"other": 1}, "good: status is not the client's": widget() | {"status": {"phase": "X"}},
    "good: float that is whole": widget(size=3.0), "good: integer for number": widget(ratio=2),
    "good: embedded": widget(template={"apiVersion": "v1", "kind": "Pod", "metadata": {"name": "p", "foo": "bar"}, "spec": {"x": 1}}),
    "good: metadata unknown": changed(widget(), {"metadata.foo": "bar"}), "good: labels": changed(widget(), {"metadata.labels": {"a.b/c": "d"}}),
    "good: formats": widget(mail="a@b.c", uri="http://x/y", ip="1.2.3.4", id="11111111-2222-3333-4444-555555555555", day="2026-02-28", span="3h", net="10.0.0.0/8", host="a.b.com", bytes="aGk=", odd="!!", six="::1", mac="00:11:22:33:44:55", short="a-b", hex="#fff"),
    "good: other spans": widget(span="2 days"), "good: choice": widget(choice={"a": "1"}), "good: any": widget(anything="xy"), "good: all": widget(all=3), "good: negated": widget(negated="fine"),
    "bad: no size": changed(widget(), {"spec.size": GONE}), "bad: no spec": changed(widget(), {"spec": GONE}), "bad: size type": widget(size="3"), "bad: size fraction": widget(size=3.5), "bad: size null": widget(size=None), "bad: too small": widget(size=0), "bad: too large": widget(size=11), "bad: negative": widget(size=-1),
    "bad: ratio": widget(ratio=0), "bad: ratio step": widget(ratio=0.7), "bad: color": widget(color="green"), "bad: color type": widget(color=1), "bad: short name": widget(name="a"), "bad: long name": widget(name="abcdef"), "bad: name pattern": widget(name="ABC"),
    "bad: count range": widget(count=3000000000), "bad: count step": widget(count=3), "bad: flag": widget(flag="yes"), "bad: when": widget(when="yesterday"), "bad: port": widget(port=True), "bad: port fraction": widget(port=1.5),
    "bad: labels type": widget(labels={"a": 1}), "bad: labels many": widget(labels={"a": "1", "b": "2", "c": "3"}), "bad: labels few": widget(labels={}), "bad: tags many": widget(tags=["a", "b", "c", "d"]), "bad: tags twice": widget(tags=["a", "b", "a"]), "bad: tags type": widget(tags="a"), "bad: tags element": widget(tags=[1]),
    "bad: parts twice": widget(parts=[{"id": "a"}, {"id": "a", "zone": "z"}]), "bad: parts few": widget(parts=[]), "bad: parts id": widget(parts=[{"zone": "a"}]), "bad: parts type": widget(parts=["a"]), "bad: list element": widget(list=[{"a": 1}]),
    "bad: spec type": changed(widget(), {"spec": "x"}), "bad: spec list": changed(widget(), {"spec": []}), "bad: choice none": widget(choice={}), "bad: choice both": widget(choice={"a": "1", "b": "2"}), "bad: any": widget(anything="ab"), "bad: all": widget(all=5), "bad: negated": widget(negated="bad"),
    "bad: embedded without kind": widget(template={"apiVersion": "v1"}), "bad: embedded kind": widget(template={"apiVersion": "v1", "kind": "P_d"}), "bad: embedded kind type": widget(template={"apiVersion": "v1", "kind": 1}), "bad: embedded metadata": widget(template={"apiVersion": "v1", "kind": "Pod", "metadata": {"name": "p", "labels": {"a b": "c"}}}), "bad: embedded labels type": widget(template={"apiVersion": "v1", "kind": "Pod", "metadata": {"labels": 5}}),
    "bad: metadata name": changed(widget(), {"metadata.name": "A_"}), "bad: metadata labels": changed(widget(), {"metadata.labels": {"a b": "c"}}), "bad: metadata type": changed(widget(), {"metadata.labels": {"a": 1}}), "bad: kind": changed(widget(), {"kind": "Gadget"}), "bad: several": widget(size=0, color="x", name="A", flag=1),
    "bad: mail": widget(mail="x"), "bad: uri": widget(uri="x y"), "bad: ip": widget(ip="1.2.3"), "bad: id": widget(id="x"), "bad: day": widget(day="2026-02-30"), "bad: span": widget(span="x"), "bad: net": widget(net="10.0.0.0/33"), "bad: host": widget(host="a_b"), "bad: bytes": widget(bytes="a"), "bad: six": widget(six="1.2.3.4"), "bad: mac": widget(mac="x"), "bad: short": widget(short="A"), "bad: hex": widget(hex="xyz"),
}
UPDATES = {
    "spec": {"spec": {"size": 4}}, "nothing": {}, "metadata only": {"metadata": {"labels": {"a": "b"}}}, "status through the main door": {"status": {"phase": "X"}}, "bad size": {"spec": {"size": 12}}, "name changed": {"metadata": {"name": "y"}}, "parts": {"spec": {"parts": [{"id": "a", "weight": 3}]}},
}
STATUSES = {
    "phase": {"status": {"phase": "Running", "ready": 2}}, "spec through the status door": {"spec": {"size": 9}, "status": {"ready": 1}}, "labels through the status door": {"metadata": {"labels": {"a": "b"}}, "status": {"ready": 1}}, "bad ready": {"status": {"ready": "x"}}, "unknown": {"status": {"foo": 1}}, "conditions": {"status": {"conditions": [{"type": "A", "status": "True"}, {"type": "A", "status": "False"}]}}, "negative replicas": {"status": {"replicas": -1}},
}
A, B = "alice", "bob"
SEQUENCES = {
    "widget: create": [apply(A, widget())],
    "widget: twice": [apply(A, widget()), apply(A, widget())],
    "widget: disjoint": [apply(A, widget()), apply(B, {"apiVersion": "example.com/v1", "kind": "Widget", "metadata": {"name": "x"}, "spec": {"name": "abc"}}), apply(A, widget(size=4))],
    "widget: conflict": [apply(A, widget()), apply(B, widget(size=4)), apply(B, widget(size=4), force=True), apply(A, changed(widget(), {"spec": {}}))],
    "widget: default given up": [apply(A, widget(color="blue")), apply(A, widget())],
    "widget: set": [apply(A, widget(tags=["a", "b"])), apply(B, changed(widget(), {"spec": {"tags": ["b", "c"]}})), apply(A, widget(tags=["a"])), apply(A, widget())],
    "widget: parts": [apply(A, widget(parts=[{"id": "a", "weight": 2}])), apply(B, changed(widget(), {"spec": {"parts": [{"id": "b"}, {"id": "a", "zone": "y"}]}})), apply(A, widget(parts=[{"id": "a"}]))],
    "widget: parts conflict": [apply(A, widget(parts=[{"id": "a", "weight": 2}])), apply(B, changed(widget(), {"spec": {"parts": [{"id": "a", "weight": 3}]}}))],
    "widget: whole": [apply(A, widget(whole={"a": "1"})), apply(B, changed(widget(), {"spec": {"whole": {"b": "2"}}}))],
    "widget: list is atomic": [apply(A, widget(list=[{"a": "1"}])), apply(B, changed(widget(), {"spec": {"list": [{"a": "2"}]}}))],
    "widget: labels": [apply(A, widget(labels={"a": "1"})), apply(B, changed(widget(), {"spec": {"labels": {"b": "2"}}})), apply(A, widget())],
    "widget: free": [apply(A, widget(free={"p": {"q": 1, "r": [1, 2]}})), apply(B, changed(widget(), {"spec": {"free": {"p": {"s": 2}}}})), apply(B, changed(widget(), {"spec": {"free": {"p": {"r": [1]}}}})), apply(A, widget())],
    "widget: status": [apply(A, widget()), apply(B, {"apiVersion": "example.com/v1", "kind": "Widget", "metadata": {"name": "x"}, "status": {"phase": "Up", "conditions": [{"type": "A", "status": "True"}]}}, sub="status"), apply(A, widget(size=5)), apply(B, {"apiVersion": "example.com/v1", "kind": "Widget", "metadata": {"name": "x"}, "status": {"phase": "Up"}}, sub="status")],
    "widget: unknown field": [apply(A, widget(foo=1))],
    "widget: update": [apply(A, widget()), write("merge", B, {"spec": {"size": 5, "name": "abc"}}), apply(A, widget())],
    "widget: put": [apply(A, widget(name="abc")), write("put", B, {"spec": {"size": 6}})],
    "widget: before the first apply": [write("create", A, widget(name="abc")), FORGET, apply(B, widget(name="abd")), apply(B, widget(name="abd"), force=True), apply(B, changed(widget(), {"spec": {}}))],
    "widget: template": [apply(A, widget(template={"apiVersion": "v1", "kind": "Pod", "metadata": {"labels": {"a": "b"}}})), apply(B, changed(widget(), {"spec": {"template": {"metadata": {"labels": {"c": "d"}}}}}))],
    "widget: port": [apply(A, widget(port=80)), apply(B, changed(widget(), {"spec": {"port": "http"}}))],
}


def status_of(reply):
    return {k: reply.get(k) for k in ("message", "reason", "details") if k in reply}


def kept(reply):
    if reply.get("kind") == "Status":
        return status_of(reply)
    reply = copy.deepcopy(reply)
    for field in ("uid", "resourceVersion", "creationTimestamp", "managedFields"):
        reply["metadata"].pop(field, None)
    return reply


CRDS = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions"
HERE = "/apis/example.com/v1/namespaces/default/widgets"


def record(plane):
    lines = []
    for name, manifest in DEFINITIONS.items():
        code, reply = plane.call("POST", CRDS + "?dryRun=All", manifest)
        lines.append({"what": "definition", "name": name, "manifest": manifest, "code": code, "result": kept(reply)})
    code, reply = plane.call("POST", CRDS, RICH)
    assert code == 201, reply
    while True:
        reply = plane.call("GET", CRDS + "/widgets.example.com")[1]
        if any(c["type"] == "Established" and c["status"] == "True" for c in reply["status"].get("conditions", [])):
            break
        time.sleep(0.2)
    for condition in reply["status"]["conditions"]:
        condition.pop("lastTransitionTime")
    lines.append({"what": "served", "name": "widgets", "manifest": RICH, "result": kept(reply), "discovery": plane.call("GET", "/apis/example.com/v1")[1]})
    time.sleep(3)
    table = "application/json;as=Table;v=v1;g=meta.k8s.io"
    for name, manifest in WIDGETS.items():
        code, reply = plane.call("POST", HERE, manifest)
        line = {"what": "object", "name": name, "manifest": manifest, "code": code, "result": kept(reply)}
        if code == 201:
            shown = plane.call("GET", HERE + "/x", accept=table)[1]
            line["columns"] = [[c["name"], c["type"], c["format"], c["priority"]] for c in shown["columnDefinitions"]]
            line["cells"] = shown["rows"][0]["cells"]
            plane.call("DELETE", HERE + "/x")
        lines.append(line)
    from applies import merge
    for door, cases in (("", UPDATES), ("/status", STATUSES)):
        for name, change in cases.items():
            made = plane.call("POST", HERE, widget(parts=[{"id": "a"}]))[1]
            code, reply = plane.call("PUT", HERE + "/x" + door, merge(made, change))
            lines.append({"what": "status" if door else "update", "name": name, "manifest": widget(parts=[{"id": "a"}]), "change": change, "code": code, "result": kept(reply)})
            plane.call("DELETE", HERE + "/x")
    resources = {("example.com/v1", "Widget"): ("widgets", True)}
    lines += [{"what": "sequence"} | record_sequence(plane, resources, name, steps) for name, steps in SEQUENCES.items()]
    plane.call("DELETE", CRDS + "/widgets.example.com")
    return lines
