//go:build tools

// Package upstream names the test program that `upstream/build` builds, so that go.sum covers it.
package upstream

import _ "k8s.io/kubernetes/test/e2e"
