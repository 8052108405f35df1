// SPDX-License-Identifier: Apache-2.0

// Schema writes the tables of src/kube/schema from the Go types of the Kubernetes API: what their
// struct tags and comments say about each field.
package main

import (
	"fmt"
	"os"
	"os/exec"
	"strings"
)

// Where the messages come from. Meta is last: it has what the others use, and kinds of its own.
var packages = []string{
	"k8s.io/api/admissionregistration/v1",
	"k8s.io/api/apps/v1",
	"k8s.io/api/authentication/v1",
	"k8s.io/api/authorization/v1",
	"k8s.io/api/autoscaling/v1",
	"k8s.io/api/autoscaling/v2",
	"k8s.io/api/batch/v1",
	"k8s.io/api/certificates/v1",
	"k8s.io/api/coordination/v1",
	"k8s.io/api/core/v1",
	"k8s.io/api/discovery/v1",
	"k8s.io/api/events/v1",
	"k8s.io/api/flowcontrol/v1",
	"k8s.io/api/networking/v1",
	"k8s.io/api/node/v1",
	"k8s.io/api/policy/v1",
	"k8s.io/api/rbac/v1",
	"k8s.io/api/resource/v1",
	"k8s.io/api/scheduling/v1",
	"k8s.io/api/storage/v1",
	"k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1",
	metaV1,
}

var modules = []string{"k8s.io/api", "k8s.io/apiextensions-apiserver", "k8s.io/apimachinery"}

const metaV1 = "k8s.io/apimachinery/pkg/apis/meta/v1"

// The groups of the kinds in meta/v1 that travel as documents of their own.
var metaKinds = map[string]string{
	"APIGroup": "", "APIGroupList": "", "APIResourceList": "", "APIVersions": "", "DeleteOptions": "", "Status": "",
	"PartialObjectMetadata": "meta.k8s.io", "PartialObjectMetadataList": "meta.k8s.io", "Table": "meta.k8s.io",
}

func main() {
	if len(os.Args) != 2 {
		fail("usage: schema FOLDER")
	}
	source := newSource(moduleFolders())
	schema := newSchema(source)
	for _, path := range packages {
		schema.addRoots(path)
	}
	write(os.Args[1], schema)
}

func moduleFolders() map[string]string {
	list := exec.Command("go", append([]string{"list", "-m", "-f", "{{.Path}} {{.Dir}}"}, modules...)...)
	list.Stderr = os.Stderr
	out, err := list.Output()
	if err != nil {
		fail("go list: %v", err)
	}
	folders := map[string]string{}
	for _, line := range strings.Split(strings.TrimSpace(string(out)), "\n") {
		path, folder, _ := strings.Cut(line, " ")
		if folder == "" {
			fail("%s is not in the module cache; run tools/schema/generate, which fetches it", path)
		}
		folders[path] = folder
	}
	return folders
}

func fail(format string, args ...any) {
	fmt.Fprintf(os.Stderr, "schema: "+format+"\n", args...)
	os.Exit(1)
}
