// SPDX-License-Identifier: Apache-2.0

package main

import (
	"go/ast"
	"go/parser"
	"go/token"
	"path/filepath"
	"sort"
	"strconv"
	"strings"
)

// source reads packages of the module cache when they are asked for.
type source struct {
	folders  map[string]string // by module path
	packages map[string]*goPackage
}

type goPackage struct {
	path  string
	group string // of its kinds
	types map[string]*goType
}

type goType struct {
	pkg     *goPackage
	name    string
	imports map[string]string // of its file: name to path
	expr    ast.Expr
	tags    tags
}

// tags are the "+name=value" lines of a comment.
type tags map[string][]string

func (t tags) first(name string) string {
	if len(t[name]) == 0 {
		return ""
	}
	return t[name][0]
}

func newSource(folders map[string]string) *source {
	return &source{folders: folders, packages: map[string]*goPackage{}}
}

func (s *source) load(path string) *goPackage {
	if pkg := s.packages[path]; pkg != nil {
		return pkg
	}
	pkg := &goPackage{path: path, types: map[string]*goType{}}
	s.packages[path] = pkg
	files, _ := filepath.Glob(filepath.Join(s.folder(path), "*.go"))
	sort.Strings(files)
	for _, name := range files {
		base := filepath.Base(name)
		if strings.HasSuffix(base, "_test.go") || strings.HasPrefix(base, "zz_generated") || base == "generated.pb.go" {
			continue
		}
		file, err := parser.ParseFile(token.NewFileSet(), name, nil, parser.ParseComments)
		if err != nil {
			fail("%v", err)
		}
		pkg.addFile(file)
	}
	return pkg
}

func (s *source) folder(path string) string {
	for module, folder := range s.folders {
		if rest, ok := strings.CutPrefix(path, module+"/"); ok {
			return filepath.Join(folder, rest)
		}
	}
	fail("%s is in none of the modules %v", path, modules)
	return ""
}

func (p *goPackage) addFile(file *ast.File) {
	imports := map[string]string{}
	for _, spec := range file.Imports {
		path, _ := strconv.Unquote(spec.Path.Value)
		name := path[strings.LastIndex(path, "/")+1:]
		if spec.Name != nil {
			name = spec.Name.Name
		}
		imports[name] = path
	}
	for _, decl := range file.Decls {
		general, ok := decl.(*ast.GenDecl)
		if !ok {
			continue
		}
		for _, each := range general.Specs {
			if constant, ok := each.(*ast.ValueSpec); ok && constant.Names[0].Name == "GroupName" {
				p.group, _ = strconv.Unquote(constant.Values[0].(*ast.BasicLit).Value)
			}
			spec, ok := each.(*ast.TypeSpec)
			if !ok {
				continue
			}
			doc := spec.Doc
			if doc == nil {
				doc = general.Doc
			}
			p.types[spec.Name.Name] = &goType{pkg: p, name: spec.Name.Name, imports: imports, expr: spec.Type, tags: tagsOf(doc)}
		}
	}
}

func tagsOf(comment *ast.CommentGroup) tags {
	if comment == nil {
		return nil
	}
	found := tags{}
	for _, line := range comment.List {
		text, ok := strings.CutPrefix(strings.TrimSpace(strings.TrimPrefix(line.Text, "//")), "+")
		if !ok {
			continue
		}
		name, value, _ := strings.Cut(text, "=")
		found[name] = append(found[name], strings.TrimSpace(value))
	}
	return found
}

// lookUp gives the type that an identifier in the file of `user` names; nil for the built-in ones.
func (s *source) lookUp(user *goType, expr ast.Expr) *goType {
	switch e := expr.(type) {
	case *ast.Ident:
		return user.pkg.types[e.Name]
	case *ast.SelectorExpr:
		pkg := s.load(user.imports[e.X.(*ast.Ident).Name])
		if found := pkg.types[e.Sel.Name]; found != nil {
			return found
		}
		fail("%s has no type %s", pkg.path, e.Sel.Name)
	}
	return nil
}

// structOf gives the fields of a type and the type in whose file they stand; nil for what is no struct.
func (s *source) structOf(t *goType) (*ast.StructType, *goType) {
	if fields, ok := t.expr.(*ast.StructType); ok {
		return fields, t
	}
	if other := s.lookUp(t, t.expr); other != nil {
		return s.structOf(other)
	}
	return nil, nil
}
