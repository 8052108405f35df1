// SPDX-License-Identifier: Apache-2.0

// Writes protobuf bodies of every built-in kind beside the JSON that Kubernetes' own types make of them, for
// tests/apiserver: one object with every field set, one with every field set to nothing, and one that is bare.
package main

import (
	"bytes"
	"compress/gzip"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"os"
	"reflect"
	"sort"
	"strings"
	"time"

	apiextensions "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/runtime/serializer/protobuf"
	"k8s.io/apimachinery/pkg/util/intstr"
	"k8s.io/client-go/kubernetes/scheme"
)

// The versions that src/kube/schema has tables of.
var versions = []string{
	"v1", "admissionregistration.k8s.io/v1", "apiextensions.k8s.io/v1", "apps/v1", "authentication.k8s.io/v1",
	"authorization.k8s.io/v1", "autoscaling/v1", "autoscaling/v2", "batch/v1", "certificates.k8s.io/v1",
	"coordination.k8s.io/v1", "discovery.k8s.io/v1", "events.k8s.io/v1", "flowcontrol.apiserver.k8s.io/v1",
	"networking.k8s.io/v1", "node.k8s.io/v1", "policy/v1", "rbac.authorization.k8s.io/v1", "resource.k8s.io/v1",
	"scheduling.k8s.io/v1", "storage.k8s.io/v1",
}

// Of the types that every group shares, those that come as a body.
var shared = map[string]bool{"DeleteOptions": true}

type filler struct {
	count int
	zero  bool // everything is there, and empty
	stack map[reflect.Type]int
}

func (f *filler) special(v reflect.Value) bool {
	stamp := time.Date(2026, 1, 2, 3, 4, f.count%60, 123456000, time.UTC)
	switch v.Interface().(type) {
	case metav1.TypeMeta:
	case metav1.Time:
		if !f.zero {
			v.Set(reflect.ValueOf(metav1.NewTime(stamp)))
		}
	case metav1.MicroTime:
		if !f.zero {
			v.Set(reflect.ValueOf(metav1.NewMicroTime(stamp)))
		}
	case metav1.Duration:
		if !f.zero {
			v.Set(reflect.ValueOf(metav1.Duration{Duration: time.Duration(f.count) * 1501 * time.Millisecond}))
		}
	case resource.Quantity:
		if !f.zero {
			v.Set(reflect.ValueOf(resource.MustParse([]string{"1500m", "3Gi", "2", "12e6"}[f.count%4])))
		}
	case intstr.IntOrString:
		if !f.zero {
			v.Set(reflect.ValueOf([]intstr.IntOrString{intstr.FromInt32(-7), intstr.FromString("25%")}[f.count%2]))
		}
	case runtime.RawExtension:
		v.Set(reflect.ValueOf(runtime.RawExtension{Raw: []byte(`{"kind":"X","list":[1,{"b":"ü\n"}]}`)}))
	case apiextensions.JSON:
		v.Set(reflect.ValueOf(apiextensions.JSON{Raw: []byte(`{"some":["json",1.5]}`)}))
	case metav1.FieldsV1:
		v.Set(reflect.ValueOf(metav1.FieldsV1{Raw: []byte(`{"f:metadata":{"f:labels":{".":{}}}}`)}))
	case apiextensions.JSONSchemaPropsOrBool:
		f.either(v, "Allows", "Schema")
	case apiextensions.JSONSchemaPropsOrArray:
		f.either(v, "Schema", "JSONSchemas")
	case apiextensions.JSONSchemaPropsOrStringArray:
		f.either(v, "Schema", "Property")
	default:
		return false
	}
	return true
}

func (f *filler) either(v reflect.Value, names ...string) {
	chosen := v.FieldByName(names[f.count%2])
	f.fill(chosen)
	if chosen.IsZero() { // deep enough
		v.FieldByName("Schema").Set(reflect.ValueOf(&apiextensions.JSONSchemaProps{}))
	}
}

func (f *filler) fill(v reflect.Value) {
	f.count++
	if v.Kind() == reflect.Struct && f.special(v) {
		return
	}
	switch v.Kind() {
	case reflect.String:
		if !f.zero {
			v.SetString([]string{"text", "with \"quotes\"", "ümlaut 漢", "line\nbreak"}[f.count%4] + fmt.Sprint(f.count))
		}
	case reflect.Bool:
		v.SetBool(!f.zero)
	case reflect.Int, reflect.Int32:
		if !f.zero {
			v.SetInt([]int64{1, -1, 2147483647, -2147483648, 300}[f.count%5])
		}
	case reflect.Int64:
		if !f.zero {
			v.SetInt([]int64{1, -1, 9223372036854775807, -9223372036854775808, 1 << 40}[f.count%5])
		}
	case reflect.Float64:
		if !f.zero {
			v.SetFloat([]float64{1, -2.5, 1e-3, 1e21}[f.count%4])
		}
	case reflect.Pointer:
		// A time that is there and zero reads as one that is not: JSON has null for both.
		if stamp := v.Type().Elem().Name(); f.zero && strings.HasSuffix(stamp, "Time") {
			return
		}
		if f.stack[v.Type()] < 2 {
			f.stack[v.Type()]++
			v.Set(reflect.New(v.Type().Elem()))
			f.fill(v.Elem())
			f.stack[v.Type()]--
		}
	case reflect.Slice:
		if v.Type().Elem().Kind() == reflect.Uint8 {
			v.SetBytes([]byte{0, 255, 'a', byte(f.count)})
		} else if f.stack[v.Type()] < 1 {
			f.stack[v.Type()]++
			v.Set(reflect.MakeSlice(v.Type(), 1+f.count%2, 2))
			for i := range v.Len() {
				f.fill(v.Index(i))
			}
			f.stack[v.Type()]--
		}
	case reflect.Map:
		if f.stack[v.Type()] < 1 {
			f.stack[v.Type()]++
			v.Set(reflect.MakeMap(v.Type()))
			for _, name := range []string{"b.example.org/key", "a"} {
				value := reflect.New(v.Type().Elem()).Elem()
				f.fill(value)
				key := reflect.New(v.Type().Key()).Elem()
				key.SetString(name)
				v.SetMapIndex(key, value)
			}
			f.stack[v.Type()]--
		}
	case reflect.Struct:
		if f.stack[v.Type()] == 2 { // JSON schemas hold schemas in many places
			return
		}
		f.stack[v.Type()]++
		defer func() { f.stack[v.Type()]-- }()
		for i := range v.NumField() {
			if v.Type().Field(i).IsExported() {
				f.fill(v.Field(i))
			}
		}
	}
}

type line struct {
	Name     string          `json:"name"`
	Protobuf string          `json:"protobuf"` // in hex
	JSON     json.RawMessage `json:"json"`
}

func check(err error) {
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

func encode(serializer *protobuf.Serializer, kind schema.GroupVersionKind, object runtime.Object) ([]byte, []byte) {
	object.GetObjectKind().SetGroupVersionKind(kind)
	var body bytes.Buffer
	check(serializer.Encode(object, &body))
	back, _, err := serializer.Decode(body.Bytes(), nil, nil)
	check(err)
	back.GetObjectKind().SetGroupVersionKind(kind)
	var text bytes.Buffer
	encoder := json.NewEncoder(&text)
	encoder.SetEscapeHTML(false)
	check(encoder.Encode(back))
	return body.Bytes(), text.Bytes()
}

func main() {
	check(apiextensions.AddToScheme(scheme.Scheme))
	serializer := protobuf.NewSerializer(scheme.Scheme, scheme.Scheme)
	file, err := os.Create(os.Args[1])
	check(err)
	packed := gzip.NewWriter(file)
	out := json.NewEncoder(packed)
	out.SetEscapeHTML(false)
	for _, version := range versions {
		gv, err := schema.ParseGroupVersion(version)
		check(err)
		kinds := []string{}
		for name, kind := range scheme.Scheme.KnownTypes(gv) {
			common := strings.HasSuffix(kind.PkgPath(), "/meta/v1") && !(shared[name] && version == "v1")
			if !common && !strings.HasSuffix(name, "List") && !strings.HasSuffix(name, "Options") || shared[name] && version == "v1" {
				kinds = append(kinds, name)
			}
		}
		sort.Strings(kinds)
		for _, name := range kinds {
			kind := gv.WithKind(name)
			for _, variant := range []string{"full", "zero", "bare"} {
				object, err := scheme.Scheme.New(kind)
				check(err)
				if variant != "bare" {
					f := filler{zero: variant == "zero", stack: map[reflect.Type]int{}}
					f.fill(reflect.ValueOf(object).Elem())
				}
				body, text := encode(serializer, kind, object)
				check(out.Encode(line{version + " " + name + " " + variant, hex.EncodeToString(body), text}))
			}
		}
	}
	check(packed.Close())
	check(file.Close())
}
