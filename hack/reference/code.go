// SPDX-License-Identifier: Apache-2.0

package main

import (
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"path"
	"path/filepath"
	"slices"
	"strings"
)

// code has the parsed source, without tests and generated files.
type code struct {
	// folders have the files of each package, by its path in the repository.
	folders map[string][]*ast.File
	// constants and flags are in the order of the folders.
	constants []constant
	flags     []flag
}

// constant is a constant with a string value. The group is the first sentence of the comment of its block.
type constant struct{ folder, group, name, value, doc string }

// flag is a flag of a program or a command.
type flag struct{ folder, name, byDefault, usage string }

// read reads folders of a repository with all their subfolders.
func read(root string, folders ...string) (*code, error) {
	c := &code{folders: map[string][]*ast.File{}}
	var order []string
	for _, folder := range folders {
		err := filepath.WalkDir(filepath.Join(root, folder), func(file string, _ fs.DirEntry, err error) error {
			if err != nil || filepath.Ext(file) != ".go" || strings.HasSuffix(file, "_test.go") || strings.HasPrefix(filepath.Base(file), "zz_") {
				return err
			}
			in, err := filepath.Rel(root, filepath.Dir(file))
			if err != nil || strings.HasPrefix(filepath.ToSlash(in), "pkg/client") {
				return err
			}
			parsed, err := parser.ParseFile(token.NewFileSet(), file, nil, parser.ParseComments|parser.SkipObjectResolution)
			in = filepath.ToSlash(in)
			if c.folders[in] == nil {
				order = append(order, in)
			}
			c.folders[in] = append(c.folders[in], parsed)
			return err
		})
		if err != nil {
			return nil, err
		}
	}
	for _, folder := range order {
		c.readConstants(folder)
		c.readFlags(folder)
	}
	return c, nil
}

func (c *code) readConstants(folder string) {
	for _, file := range c.folders[folder] {
		for _, declared := range file.Decls {
			block, is := declared.(*ast.GenDecl)
			if !is || block.Tok != token.CONST {
				continue
			}
			for _, spec := range block.Specs {
				spec := spec.(*ast.ValueSpec)
				for i, value := range spec.Values {
					if literal, is := value.(*ast.BasicLit); is && literal.Kind == token.STRING {
						found := constant{folder, sentence(block.Doc.Text()), spec.Names[i].Name, c.text(folder, value), spec.Doc.Text()}
						if !block.Lparen.IsValid() {
							found.group, found.doc = "", block.Doc.Text()
						}
						c.constants = append(c.constants, found)
					}
				}
			}
		}
	}
}

// readFlags finds calls such as flags.StringVar(&o.config, "config", o.config, "configuration file").
func (c *code) readFlags(folder string) {
	for _, file := range c.folders[folder] {
		ast.Inspect(file, func(node ast.Node) bool {
			call, is := node.(*ast.CallExpr)
			if !is || len(call.Args) < 4 {
				return true
			}
			method, is := call.Fun.(*ast.SelectorExpr)
			if !is || !strings.HasSuffix(strings.TrimSuffix(method.Sel.Name, "P"), "Var") {
				return true
			}
			f := flag{folder, "--" + c.text(folder, call.Args[1]), "", c.text(folder, call.Args[len(call.Args)-1])}
			if short := c.text(folder, call.Args[2]); strings.HasSuffix(method.Sel.Name, "P") {
				f.name = "-" + short + "`, `" + f.name
			}
			if method.Sel.Name != "VarP" { // a value has its own default
				f.byDefault = c.text(folder, call.Args[len(call.Args)-2])
			}
			c.flags = append(c.flags, f)
			return true
		})
	}
}

// text returns the value of an expression, as far as it is known without types.
func (c *code) text(folder string, e ast.Expr) string {
	switch e := e.(type) {
	case *ast.BasicLit:
		return strings.Trim(e.Value, "\"`")
	case *ast.BinaryExpr:
		return c.text(folder, e.X) + c.text(folder, e.Y)
	case *ast.CompositeLit: // a list
		var all []string
		for _, element := range e.Elts {
			all = append(all, c.text(folder, element))
		}
		return strings.Join(all, ", ")
	case *ast.CallExpr: // strings.Join, append, or a conversion
		var all []string
		for _, argument := range e.Args {
			if text := c.text(folder, argument); strings.Trim(text, ", ") != "" {
				all = append(all, text)
			}
		}
		return strings.Join(all, ", ")
	case *ast.Ident:
		if e.Name == "true" || e.Name == "false" {
			return e.Name
		}
		return c.named(folder, e.Name)
	case *ast.SelectorExpr:
		of, _ := e.X.(*ast.Ident)
		if of != nil && of.Name == "time" {
			return "1" + strings.ToLower(e.Sel.Name[:1])
		}
		for other := range c.folders {
			if of != nil && path.Base(other) == of.Name && c.named(other, e.Sel.Name) != "" {
				return c.named(other, e.Sel.Name)
			}
		}
		return c.named(folder, e.Sel.Name)
	default:
		return ""
	}
}

// named returns the value of a constant, a variable, or a field that is set in a composite literal.
func (c *code) named(folder, name string) (text string) {
	for _, file := range c.folders[folder] {
		ast.Inspect(file, func(node ast.Node) bool {
			switch n := node.(type) {
			case *ast.ValueSpec:
				if i := slices.IndexFunc(n.Names, func(declared *ast.Ident) bool { return declared.Name == name }); i >= 0 && i < len(n.Values) && text == "" {
					text = c.text(folder, n.Values[i])
				}
			case *ast.KeyValueExpr:
				if key, is := n.Key.(*ast.Ident); is && key.Name == name && text == "" {
					text = c.text(folder, n.Value)
				}
			}
			return text == ""
		})
	}
	return text
}

// sentence returns the first sentence of a comment without its full stop, in one line.
func sentence(doc string) string {
	doc, _, _ = strings.Cut(strings.Join(strings.Fields(doc), " ")+" ", ". ")
	return strings.TrimSpace(doc)
}
