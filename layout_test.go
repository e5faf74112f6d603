// Package pyrope_test holds the house rules that no linter knows: which layer may import which,
// how big files and functions may be, that every package says what it is. It reads the source with
// go/parser alone, so it needs no network and no build.
package pyrope_test

import (
	"bytes"
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"testing"
)

const (
	modulePath       = "github.com/pyropedb/pyrope"
	maxFileLines     = 1000
	maxTestFileLines = 1500
	maxFunctionLines = 70
)

// longFunctions lists the functions that may exceed maxFunctionLines, as "file:function" with the
// reason. The list only shrinks: an entry whose function is gone or short again fails the test.
var longFunctions = map[string]string{}

// layers orders the top directories; imports run from a higher number to a lower or an equal one.
// cmd and benchmark stand side by side: neither imports the other.
var layers = map[string]int{"device": 1, "tsavorite": 2, "server": 3, "benchmark": 4, "cmd": 4}

// mustNotImport adds what the layers alone do not say: within the server, the protocol knows
// nothing of Pyrope, the network knows bytes and no commands, commands know no sockets.
var mustNotImport = []struct{ from, to string }{
	{"server/resp", modulePath},
	{"server/network", modulePath + "/server/command"},
	{"server/network", modulePath + "/tsavorite"},
	{"server/command", modulePath + "/server/network"},
	{"server/command", "net"},
	{"tsavorite", modulePath + "/benchmark"},
}

// Unsafe arithmetic is for mapped memory, kernel rings and raw system calls.
var unsafeAllowed = []string{"tsavorite/internal", "device", "server/network"}

var forbiddenNames = map[string]bool{
	"base": true, "common": true, "helper": true, "helpers": true, "lib": true, "misc": true,
	"shared": true, "types": true, "util": true, "utils": true,
}

// sourceFile is one parsed Go file of the repository.
type sourceFile struct {
	path      string // slash-separated, relative to the root
	directory string
	test      bool
	lines     int
	syntax    *ast.File
	positions *token.FileSet
}

func (f *sourceFile) line(p token.Pos) int { return f.positions.Position(p).Line }

// sources parses every Go file below the root.
func sources(t *testing.T) []*sourceFile {
	t.Helper()
	var files []*sourceFile
	err := filepath.WalkDir(".", func(name string, entry fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		base := entry.Name()
		if entry.IsDir() {
			if name != "." && (strings.HasPrefix(base, ".") || base == "bin" || base == "node_modules" || base == "testdata") {
				return filepath.SkipDir
			}
			return nil
		}
		if !strings.HasSuffix(base, ".go") {
			return nil
		}
		text, err := os.ReadFile(name)
		if err != nil {
			return err
		}
		positions := token.NewFileSet()
		syntax, err := parser.ParseFile(positions, name, text, parser.ParseComments)
		if err != nil {
			return err
		}
		slashed := filepath.ToSlash(name)
		files = append(files, &sourceFile{
			path: slashed, directory: path.Dir(slashed), test: strings.HasSuffix(base, "_test.go"),
			lines: bytes.Count(text, []byte("\n")), syntax: syntax, positions: positions,
		})
		return nil
	})
	if err != nil {
		t.Fatalf("cannot read the source: %v", err)
	}
	return files
}

// within says whether a slash-separated path is directory or lies below it.
func within(name, directory string) bool {
	return name == directory || strings.HasPrefix(name, directory+"/")
}

// importProblem says why a file in directory may not import imported; "" if it may.
func importProblem(directory, imported string, test bool) string {
	for _, rule := range mustNotImport {
		if !test && within(directory, rule.from) && (imported == rule.to || rule.to != "net" && within(imported, rule.to)) {
			return fmt.Sprintf("%s must not import %s", rule.from, imported)
		}
	}
	if !within(imported, modulePath) {
		return ""
	}
	target := strings.TrimPrefix(strings.TrimPrefix(imported, modulePath), "/")
	from, _, _ := strings.Cut(directory, "/")
	to, _, _ := strings.Cut(target, "/")
	switch {
	case directory == ".":
		return ""
	case layers[from] == 0:
		return fmt.Sprintf("directory %s belongs to no layer; the layers are %v", from, layers)
	case layers[to] == 0:
		return fmt.Sprintf("%s belongs to no layer; the layers are %v", imported, layers)
	case layers[to] > layers[from]:
		return fmt.Sprintf("%s imports upward: %s", from, imported)
	case layers[to] == layers[from] && from != to:
		return fmt.Sprintf("%s imports its neighbour %s", from, imported)
	case from == "tsavorite" && within(directory, "tsavorite/internal") && !within(target, "tsavorite/internal") && to == "tsavorite" && !test:
		return fmt.Sprintf("the engine's internals import its API: %s", imported)
	}
	return ""
}

func TestImportsRunDownward(t *testing.T) {
	for _, file := range sources(t) {
		for _, spec := range file.syntax.Imports {
			imported, err := strconv.Unquote(spec.Path.Value)
			if err != nil {
				t.Fatalf("%s: %v", file.path, err)
			}
			if problem := importProblem(file.directory, imported, file.test); problem != "" {
				t.Errorf("%s:%d: %s", file.path, file.line(spec.Pos()), problem)
			}
			if imported == "unsafe" && !file.test && !withinAny(file.directory, unsafeAllowed) {
				t.Errorf("%s:%d: unsafe is for %s", file.path, file.line(spec.Pos()), strings.Join(unsafeAllowed, ", "))
			}
		}
	}
}

func withinAny(name string, directories []string) bool {
	for _, directory := range directories {
		if within(name, directory) {
			return true
		}
	}
	return false
}

// The rules themselves are tested: a check that never fires protects nothing.
func TestImportRules(t *testing.T) {
	check := func(directory, imported string, allowed bool) {
		t.Helper()
		if problem := importProblem(directory, imported, false); (problem == "") != allowed {
			t.Errorf("%s importing %s: problem %q, allowed should be %v", directory, imported, problem, allowed)
		}
	}
	check("cmd/pyrope-server", modulePath+"/server", true)
	check("cmd/pyrope-server", modulePath+"/benchmark/load", false)
	check("benchmark/kv-bench", modulePath+"/tsavorite", true)
	check("benchmark/kv-bench", modulePath+"/cmd/pyrope-server", false)
	check("server/command", modulePath+"/tsavorite", true)
	check("server/command", "net/netip", true)
	check("server/command", "net", false)
	check("server/resp", modulePath+"/server/network", false)
	check("server/network", modulePath+"/server/command", false)
	check("tsavorite", modulePath+"/server", false)
	check("tsavorite/internal/hlog", modulePath+"/tsavorite", false)
	check("tsavorite/internal/hlog", modulePath+"/tsavorite/internal/epoch", true)
	check("device/file", modulePath+"/device", true)
	check("device/file", modulePath+"/tsavorite/internal/epoch", false)
	check("newcomer", modulePath+"/device", false)
	check("device", "strings", true)
}

func TestPackagesIntroduceThemselves(t *testing.T) {
	documented := map[string]bool{}
	packages := map[string]string{}
	for _, file := range sources(t) {
		name := file.syntax.Name.Name
		if forbiddenNames[strings.TrimSuffix(name, "_test")] {
			t.Errorf("%s: package %s: the name says nothing; name it after its noun", file.path, name)
		}
		if file.test && file.directory != "." {
			continue
		}
		packages[file.directory] = name
		if file.syntax.Doc != nil {
			text := file.syntax.Doc.Text()
			if name == "main" || strings.HasPrefix(text, "Package "+name) {
				documented[file.directory] = true
			}
		}
	}
	for directory, name := range packages {
		if !documented[directory] {
			t.Errorf("%s: package %s has no comment that begins %q", directory, name, "Package "+name)
		}
	}
}

func TestFilesAndFunctionsStaySmall(t *testing.T) {
	long := map[string]int{}
	for _, file := range sources(t) {
		limit := maxFileLines
		if file.test {
			limit = maxTestFileLines
		}
		if file.lines > limit {
			t.Errorf("%s has %d lines; the limit is %d: split it by concept", file.path, file.lines, limit)
		}
		if file.test {
			continue
		}
		for _, declaration := range file.syntax.Decls {
			function, ok := declaration.(*ast.FuncDecl)
			if !ok {
				continue
			}
			lines := file.line(function.End()) - file.line(function.Pos()) + 1
			if lines <= maxFunctionLines {
				continue
			}
			name := file.path + ":" + function.Name.Name
			long[name] = lines
			if _, allowed := longFunctions[name]; !allowed {
				t.Errorf("%s has %d lines; the limit is %d", name, lines, maxFunctionLines)
			}
		}
	}
	for name := range longFunctions {
		if long[name] == 0 {
			t.Errorf("%s is no longer over %d lines: take it off longFunctions", name, maxFunctionLines)
		}
	}
}

// todoWithIssue is what a TODO must look like: TODO(#12): what is to be done.
var (
	todoMark      = regexp.MustCompile(`\b(TODO|FIXME|XXX)\b`)
	todoWithIssue = regexp.MustCompile(`\b(TODO|FIXME|XXX)\(#[0-9]+\): \S`)
)

func TestTodosCarryAnIssue(t *testing.T) {
	for _, file := range sources(t) {
		if file.path == "layout_test.go" {
			continue
		}
		for _, group := range file.syntax.Comments {
			for _, comment := range group.List {
				if todoMark.MatchString(comment.Text) && !todoWithIssue.MatchString(comment.Text) {
					t.Errorf("%s:%d: a TODO carries its issue, as in TODO(#12): %s", file.path, file.line(comment.Pos()), comment.Text)
				}
			}
		}
	}
}

// TestNoPrinting keeps libraries silent: they return values or log through slog.
func TestNoPrinting(t *testing.T) {
	for _, file := range sources(t) {
		if file.test || within(file.directory, "cmd") || within(file.directory, "benchmark") {
			continue
		}
		ast.Inspect(file.syntax, func(node ast.Node) bool {
			call, ok := node.(*ast.CallExpr)
			if !ok {
				return true
			}
			if name := printer(call.Fun); name != "" {
				t.Errorf("%s:%d: %s outside cmd and benchmark", file.path, file.line(call.Pos()), name)
			}
			return true
		})
	}
}

// printer names the printing function that an expression refers to; "" if it is none.
func printer(function ast.Expr) string {
	switch f := function.(type) {
	case *ast.Ident:
		if (f.Name == "print" || f.Name == "println") && f.Obj == nil {
			return f.Name
		}
	case *ast.SelectorExpr:
		from, ok := f.X.(*ast.Ident)
		if ok && from.Name == "fmt" && strings.HasPrefix(f.Sel.Name, "Print") {
			return "fmt." + f.Sel.Name
		}
	}
	return ""
}

// TestImportGroups asks for two groups of imports: the standard library, then everything else.
func TestImportGroups(t *testing.T) {
	for _, file := range sources(t) {
		for _, declaration := range file.syntax.Decls {
			group, ok := declaration.(*ast.GenDecl)
			if !ok || group.Tok != token.IMPORT {
				continue
			}
			outside := false
			previous := 0
			breaks := 0
			for _, spec := range group.Specs {
				imported := spec.(*ast.ImportSpec)
				line := file.line(imported.Pos())
				if imported.Doc != nil {
					line = file.line(imported.Doc.Pos())
				}
				if previous != 0 && line > previous+1 {
					breaks++
				}
				previous = file.line(imported.End())
				first, _, _ := strings.Cut(strings.Trim(imported.Path.Value, `"`), "/")
				if strings.Contains(first, ".") {
					outside = true
				} else if outside {
					t.Errorf("%s:%d: %s comes after other modules' packages", file.path, line, imported.Path.Value)
				}
			}
			if breaks > 1 || breaks == 1 && !outside {
				t.Errorf("%s: imports stand in %d groups; two are wanted: the standard library, then everything else", file.path, breaks+1)
			}
		}
	}
}

// TestNamedTestsExist holds the list of tests in the compatibility page to what there is.
func TestNamedTestsExist(t *testing.T) {
	exist := map[string]bool{}
	for _, file := range sources(t) {
		for _, declaration := range file.syntax.Decls {
			if function, ok := declaration.(*ast.FuncDecl); ok && file.test {
				exist[function.Name.Name] = true
			}
		}
	}
	page := path.Join("docs", "compatibility.md")
	text, err := os.ReadFile(page)
	if err != nil {
		t.Fatal(err)
	}
	names := regexp.MustCompile(`\bTest[A-Z]\w*`).FindAllString(string(text), -1)
	if len(names) < 50 {
		t.Errorf("%s names %d tests", page, len(names))
	}
	for _, name := range names {
		if !exist[name] {
			t.Errorf("%s names %s, which does not exist", page, name)
		}
	}
}
