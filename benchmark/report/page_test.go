package report_test

import (
	"encoding/xml"
	"errors"
	"io"
	"math"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/pyropedb/pyrope/benchmark/report"
)

func TestPage(t *testing.T) {
	name := filepath.Join(t.TempDir(), "out.html")
	err := report.WritePage(name, report.Page{
		Title: "GET <script>", Header: []string{"threads", "ops/sec"}, Rows: [][]string{{"1", "10.5"}, {"2", "20"}},
		Charts: []report.Chart{{Title: "Throughput", Unit: "ops/sec", Categories: []string{"1", "2", "4"}, Series: []report.Series{
			{Name: "batch 16", Values: []float64{0, 1234, 900}}, {Name: "batch 1", Values: []float64{5, math.NaN(), 7}},
		}}},
	})
	if err != nil {
		t.Fatal(err)
	}
	text, err := os.ReadFile(name)
	if err != nil {
		t.Fatal(err)
	}
	page := string(text)
	for _, want := range []string{
		"GET &lt;script&gt;", "<td>10.5</td>", ">batch 1<", "<title>1234</title>",
		">2000</text>",                  // the end of the axis above 1234
		`d="M90.0 250.0 L325.0 108.1 L`, // 0 at the left border, 1234 of 2000 in the middle
		`M560.0`,                        // after a gap a line begins anew
	} {
		if !strings.Contains(page, want) {
			t.Errorf("the page lacks %q:\n%s", want, page)
		}
	}
	for _, other := range []string{"http:", "https:", "src=", "href="} {
		if strings.Contains(page, other) {
			t.Errorf("the page needs something else: it has %q", other)
		}
	}
	drawing := page[strings.Index(page, "<svg"):strings.Index(page, "</svg>")] + "</svg>"
	for d := xml.NewDecoder(strings.NewReader(drawing)); ; {
		if _, err := d.Token(); errors.Is(err, io.EOF) {
			break
		} else if err != nil {
			t.Fatalf("the drawing is no XML: %v\n%s", err, drawing)
		}
	}
}

func TestPageWithoutAName(t *testing.T) {
	if err := report.WritePage("", report.Page{}); err != nil {
		t.Error(err)
	}
	if err := report.WritePage(filepath.Join(t.TempDir(), "no", "such"), report.Page{}); err == nil {
		t.Error("a page in a directory that is not there was written")
	}
}
