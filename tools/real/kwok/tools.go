//go:build tools

// Package kwok names the kwok program for `make real`.
package kwok

import _ "sigs.k8s.io/kwok/cmd/kwok"
