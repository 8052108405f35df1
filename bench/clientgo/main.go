// SPDX-License-Identifier: Apache-2.0

// Decodes a PodList as client-go does and prints the CPU time of it, for comparison with Berth.
//
//	clientgo transcode LIST.json LIST.pb   writes the protobuf form; fails unless LIST.json is what Kubernetes itself would print
//	clientgo decode json|protobuf FILE     prints "<items> <CPU seconds>"
package main

import (
	"bytes"
	"fmt"
	"os"
	"runtime"
	"syscall"

	corev1 "k8s.io/api/core/v1"
	kruntime "k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/serializer/protobuf"
	"k8s.io/client-go/kubernetes/scheme"
)

func main() {
	if err := run(os.Args[1:]); err != nil {
		fmt.Fprintln(os.Stderr, "clientgo:", err)
		os.Exit(1)
	}
}

func run(args []string) error {
	switch {
	case len(args) == 3 && args[0] == "transcode":
		return transcode(args[1], args[2])
	case len(args) == 3 && args[0] == "decode":
		return measure(args[1], args[2])
	}
	return fmt.Errorf("usage: clientgo transcode LIST.json LIST.pb | clientgo decode json|protobuf FILE")
}

// decoder is what a typed client uses for replies of that media type.
func decoder(format string) (kruntime.Decoder, error) {
	media := map[string]string{"json": kruntime.ContentTypeJSON, "protobuf": kruntime.ContentTypeProtobuf}[format]
	codecs := scheme.Codecs.WithoutConversion()
	info, found := kruntime.SerializerInfoForMediaType(codecs.SupportedMediaTypes(), media)
	if !found {
		return nil, fmt.Errorf("unknown format %q", format)
	}
	return codecs.DecoderToVersion(info.Serializer, corev1.SchemeGroupVersion), nil
}

func decode(format string, data []byte) (*corev1.PodList, error) {
	d, err := decoder(format)
	if err != nil {
		return nil, err
	}
	list := &corev1.PodList{}
	if _, _, err := d.Decode(data, nil, list); err != nil {
		return nil, err
	}
	return list, nil
}

func transcode(from, to string) error {
	data, err := os.ReadFile(from)
	if err != nil {
		return err
	}
	list, err := decode("json", data)
	if err != nil {
		return err
	}
	info, _ := kruntime.SerializerInfoForMediaType(scheme.Codecs.SupportedMediaTypes(), kruntime.ContentTypeJSON)
	var text bytes.Buffer
	if err := scheme.Codecs.EncoderForVersion(info.Serializer, corev1.SchemeGroupVersion).Encode(list, &text); err != nil {
		return err
	}
	if !bytes.Equal(text.Bytes(), data) {
		at := 0
		for at < len(data) && at < text.Len() && data[at] == text.Bytes()[at] {
			at++
		}
		return fmt.Errorf("%s: byte %d differs from what Kubernetes prints: %.60q, want %.60q", from, at, data[at:], text.Bytes()[at:])
	}
	pb := protobuf.NewSerializer(scheme.Scheme, scheme.Scheme)
	var wire bytes.Buffer
	if err := scheme.Codecs.EncoderForVersion(pb, corev1.SchemeGroupVersion).Encode(list, &wire); err != nil {
		return err
	}
	return os.WriteFile(to, wire.Bytes(), 0o600)
}

func cpuSeconds() float64 {
	var u syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &u); err != nil {
		panic(err)
	}
	seconds := func(t syscall.Timeval) float64 { return float64(t.Sec) + float64(t.Usec)/1e6 }
	return seconds(u.Utime) + seconds(u.Stime)
}

// measure counts all threads of the process, so the collector's share is in it; GOGC and GOMAXPROCS are as they come.
func measure(format, file string) error {
	data, err := os.ReadFile(file)
	if err != nil {
		return err
	}
	runtime.GC()
	before := cpuSeconds()
	list, err := decode(format, data)
	after := cpuSeconds()
	if err != nil {
		return err
	}
	fmt.Printf("%d %.4f\n", len(list.Items), after-before)
	runtime.KeepAlive(data)
	return nil
}
