// The API types that `make schema` reads. They are read as source and never compiled: do not tidy.
module berth.dev/tools/schema

go 1.26.0

require (
	k8s.io/api v0.36.4
	k8s.io/apiextensions-apiserver v0.36.4
	k8s.io/apimachinery v0.36.4
)
