// SPDX-License-Identifier: Apache-2.0

package main

import (
	"go/ast"
	"reflect"
	"sort"
	"strconv"
	"strings"
)

// field is json::Field; its words are the C++ names.
type field struct {
	name        string
	kind        string // FieldType
	shape       string // Shape
	goType      string // of a scalar: what the real decoder calls it
	number      int
	wrappers    []int
	optional    bool
	omitEmpty   bool
	required    bool // a document must have it, says OpenAPI
	strategies  []string
	mergeKey    string
	listType    string
	listMapKeys []string
	message     *message
}

type message struct {
	pkg    *goPackage
	name   string
	root   bool // a document of its own
	atomic bool // owned as a whole by server-side apply
	fields []field
}

type schema struct {
	source   *source
	messages map[string]map[string]*message // by package path and name
}

func newSchema(s *source) *schema {
	return &schema{source: s, messages: map[string]map[string]*message{}}
}

// Types whose JSON form is not that of their fields.
var special = map[string]string{
	"k8s.io/apimachinery/pkg/api/resource.Quantity":   "kQuantity",
	"k8s.io/apimachinery/pkg/util/intstr.IntOrString": "kIntOrString",
	metaV1 + ".Time":                               "kTime",
	metaV1 + ".MicroTime":                          "kMicroTime",
	metaV1 + ".Duration":                           "kDuration",
	metaV1 + ".FieldsV1":                           "kFieldsV1",
	"k8s.io/apimachinery/pkg/runtime.RawExtension": "kAny",
	"k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1.JSON": "kAny",
}

// Structs that write themselves as one of several forms; protobuf has them as they are.
var either = map[string]bool{
	"JSONSchemaPropsOrArray": true, "JSONSchemaPropsOrBool": true, "JSONSchemaPropsOrStringArray": true,
}

var basic = map[string]string{
	"string": "kString", "bool": "kBool", "int": "kInteger", "int32": "kInteger", "int64": "kInteger", "float64": "kNumber",
}

// addRoots adds the documents of a package and all that they hold.
func (s *schema) addRoots(path string) {
	pkg := s.source.load(path)
	names := []string{}
	for name := range pkg.types {
		names = append(names, name)
	}
	sort.Strings(names)
	for _, name := range names {
		fields, _ := s.source.structOf(pkg.types[name])
		if fields == nil || !ast.IsExported(name) {
			continue
		}
		for _, f := range fields.Fields.List {
			if len(f.Names) == 0 && strings.HasSuffix(typeName(f.Type), "TypeMeta") && name != "TypeMeta" {
				s.message(pkg.types[name]).root = true
			}
		}
	}
	if path == metaV1 {
		s.message(pkg.types["WatchEvent"]).root = true
	}
}

func typeName(expr ast.Expr) string {
	switch e := expr.(type) {
	case *ast.Ident:
		return e.Name
	case *ast.SelectorExpr:
		return e.Sel.Name
	}
	return ""
}

func (s *schema) message(t *goType) *message {
	if s.messages[t.pkg.path] == nil {
		s.messages[t.pkg.path] = map[string]*message{}
	}
	if found := s.messages[t.pkg.path][t.name]; found != nil {
		return found
	}
	m := &message{pkg: t.pkg, name: t.name, atomic: t.tags.first("structType") == "atomic" || t.tags.first("mapType") == "atomic"}
	s.messages[t.pkg.path][t.name] = m
	if array, ok := t.expr.(*ast.ArrayType); ok { // a named list: protobuf has no list of lists or map of lists
		m.fields = []field{s.describe(t, array)}
		m.fields[0].name, m.fields[0].number = "items", 1
		return m
	}
	found := map[string]field{}
	s.collect(t, nil, true, found)
	for _, f := range found {
		m.fields = append(m.fields, f)
	}
	sort.Slice(m.fields, func(a, b int) bool { return m.fields[a].name < m.fields[b].name })
	return m
}

// collect adds the fields of a struct and of those embedded in it. `wrappers` are the protobuf numbers
// under which it is embedded; without `numbered`, protobuf does not carry it.
func (s *schema) collect(t *goType, wrappers []int, numbered bool, found map[string]field) {
	fields, home := s.source.structOf(t)
	var embedded []func()
	for _, each := range fields.Fields.List {
		tag := reflect.StructTag("")
		if each.Tag != nil {
			text, _ := strconv.Unquote(each.Tag.Value)
			tag = reflect.StructTag(text)
		}
		parts := strings.Split(tag.Get("json"), ",")
		options := parts[1:]
		number, protobufName := protobufOf(tag)
		if len(each.Names) == 0 && parts[0] == "" {
			inner := s.source.lookUp(home, each.Type)
			embedded = append(embedded, func() { s.collect(inner, within(wrappers, number), numbered && number != 0, found) })
			continue
		}
		name := parts[0]
		if name == "" {
			name = protobufName
		}
		if name == "-" || len(each.Names) > 0 && !each.Names[0].IsExported() {
			continue
		}
		if _, taken := found[name]; taken { // the outer one hides it
			continue
		}
		f := s.describe(home, each.Type)
		f.name = name
		if numbered && f.number != 0 { // a list in a message of its own
			f.wrappers = within(wrappers, number)
		} else if numbered {
			f.number, f.wrappers = number, wrappers
		}
		f.omitEmpty = has(options, "omitzero") || has(options, "omitempty") && !s.plainStruct(home, each.Type)
		if strategy := tag.Get("patchStrategy"); strategy != "" {
			f.strategies = strings.Split(strategy, ",")
		}
		f.mergeKey = tag.Get("patchMergeKey")
		says := tagsOf(each.Doc)
		if listType := says.first("listType"); listType != "" {
			f.listType = listType
		}
		f.listMapKeys = append(f.listMapKeys, says["listMapKey"]...)
		mayMiss := has(options, "omitempty") || has(options, "omitzero") || says["optional"] != nil
		f.required = says["required"] != nil || says["k8s:required"] != nil || !mayMiss
		switch says.first("mapType") + says.first("structType") {
		case "atomic":
			f.listType = "atomic"
		case "granular":
			f.listType = ""
		}
		found[name] = f
	}
	for _, collect := range embedded {
		collect()
	}
}

func within(wrappers []int, number int) []int {
	if len(wrappers) == 2 || number > 255 {
		fail("a struct is embedded deeper than json::Field can say")
	}
	return append(wrappers[:len(wrappers):len(wrappers)], number)
}

func protobufOf(tag reflect.StructTag) (number int, name string) {
	for i, part := range strings.Split(tag.Get("protobuf"), ",") {
		if i == 1 {
			number, _ = strconv.Atoi(part)
		}
		if rest, ok := strings.CutPrefix(part, "name="); ok {
			name = rest
		}
	}
	return
}

func has(words []string, word string) bool {
	for _, each := range words {
		if each == word {
			return true
		}
	}
	return false
}

// plainStruct: encoding/json never takes a struct for empty.
func (s *schema) plainStruct(user *goType, expr ast.Expr) bool {
	t := s.source.lookUp(user, expr)
	if t == nil {
		return false
	}
	fields, _ := s.source.structOf(t)
	return fields != nil
}

// describe gives what a Go type says about a field.
func (s *schema) describe(user *goType, expr ast.Expr) field {
	switch e := expr.(type) {
	case *ast.StarExpr:
		f := s.describe(user, e.X)
		f.optional = true
		return f
	case *ast.ArrayType:
		if typeName(e.Elt) == "byte" {
			return field{kind: "kBytes", shape: "kSingle"}
		}
		f := s.element(user, e.Elt)
		f.shape = "kList"
		return f
	case *ast.MapType:
		f := s.element(user, e.Value)
		f.shape = "kMap"
		return f
	case *ast.InterfaceType:
		return field{kind: "kAny", shape: "kSingle"}
	}
	t := s.source.lookUp(user, expr)
	if t == nil {
		kind := basic[typeName(expr)]
		if kind == "" {
			fail("%s.%s: no idea what %s is in JSON", user.pkg.path, user.name, typeName(expr))
		}
		return field{kind: kind, shape: "kSingle", goType: typeName(expr)}
	}
	if kind := special[t.pkg.path+"."+t.name]; kind != "" {
		return field{kind: kind, shape: "kSingle"}
	}
	if fields, _ := s.source.structOf(t); fields != nil {
		m := s.message(t)
		f := field{kind: "kMessage", shape: "kSingle", message: m}
		if either[t.name] {
			f.kind = "kAny"
		}
		if m.atomic {
			f.listType = "atomic"
		}
		return f
	}
	f := s.describe(t, t.expr)
	if f.goType != "" && f.shape == "kSingle" {
		f.goType = t.pkg.path[strings.LastIndex(t.pkg.path, "/")+1:] + "." + t.name
	}
	if _, isList := t.tags["protobuf.nullable"]; isList && f.shape == "kList" {
		f.number = 1 // the list in a message of its own
	}
	if listType := t.tags.first("listType"); listType != "" {
		f.listType = listType
		f.listMapKeys = t.tags["listMapKey"]
	}
	if t.tags.first("mapType") == "atomic" {
		f.listType = "atomic"
	}
	return f
}

// element describes what a list or a map holds; lists in them are told by protobuf's form alone.
func (s *schema) element(user *goType, expr ast.Expr) field {
	f := s.describe(user, expr)
	if f.shape == "kSingle" {
		return field{kind: f.kind, goType: f.goType, message: f.message}
	}
	t := s.source.lookUp(user, expr)
	if t == nil {
		fail("%s.%s holds a list or a map of lists or maps", user.pkg.path, user.name)
	}
	return field{kind: "kAny", message: s.message(t)}
}
