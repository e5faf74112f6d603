package report

import (
	"fmt"
	"html/template"
	"io"
	"math"
	"strconv"
)

// Page is a report in one HTML file that needs no other: charts and a table.
type Page struct {
	Title  string
	Charts []Chart
	Header []string
	Rows   [][]string
}

// Chart is lines over categories, from 0 upwards.
type Chart struct {
	Title, Unit string
	Categories  []string // along the horizontal axis
	Series      []Series
}

// Series is one line: a value for each category; NaN leaves a gap.
type Series struct {
	Name   string
	Values []float64
}

// WritePage writes a page to a file, if it has a name.
func WritePage(name string, p Page) error {
	return writeFile(name, func(w io.Writer) error { return pageTemplate.Execute(w, p) })
}

// The plot's place within a chart, in pixels.
const (
	chartWidth, chartHeight = 720, 300
	plotLeft, plotRight     = 90, 560
	plotTop, plotBottom     = 20, 250
	gridLines               = 5
)

var lineColors = []string{"#1b6ca8", "#c8553d", "#3a7d44", "#8e5aa8", "#b8860b", "#444444", "#0f8b8d", "#d1495b"}

// mark is a text or a point of a chart.
type mark struct {
	X, Y float64
	Text string
}

// curve is a line of a chart as it is drawn.
type curve struct {
	Name, Color string
	Path        string
	Points      []mark
	LegendY     float64
}

// top is the end of the vertical axis: the first of 1, 2, 2.5, 5 and 10 times a power of ten that no value exceeds.
func (c Chart) top() float64 {
	highest := 0.0
	for _, s := range c.Series {
		for _, v := range s.Values {
			if v > highest {
				highest = v
			}
		}
	}
	if highest == 0 {
		return 1
	}
	power := math.Pow(10, math.Floor(math.Log10(highest)))
	for _, step := range []float64{1, 2, 2.5, 5} {
		if highest <= step*power {
			return step * power
		}
	}
	return 10 * power
}

func (c Chart) x(index int) float64 {
	if len(c.Categories) < 2 {
		return (plotLeft + plotRight) / 2
	}
	return plotLeft + float64(index)*(plotRight-plotLeft)/float64(len(c.Categories)-1)
}

func (c Chart) y(value float64) float64 { return plotBottom - value/c.top()*(plotBottom-plotTop) }

// Grid are the lines across the plot with their values.
func (c Chart) Grid() []mark {
	var marks []mark
	for i := range gridLines + 1 {
		value := c.top() * float64(i) / gridLines
		marks = append(marks, mark{plotLeft, c.y(value), strconv.FormatFloat(value, 'g', 6, 64)})
	}
	return marks
}

// Labels are the categories below the plot.
func (c Chart) Labels() []mark {
	var marks []mark
	for i, text := range c.Categories {
		marks = append(marks, mark{c.x(i), plotBottom + 18, text})
	}
	return marks
}

// Curves are the series.
func (c Chart) Curves() []curve {
	var curves []curve
	for i, s := range c.Series {
		line := curve{Name: s.Name, Color: lineColors[i%len(lineColors)], LegendY: float64(plotTop + 10 + 18*i)}
		pen := "M"
		for j, value := range s.Values {
			if math.IsNaN(value) {
				pen = "M"
				continue
			}
			line.Path += fmt.Sprintf("%s%.1f %.1f ", pen, c.x(j), c.y(value))
			line.Points = append(line.Points, mark{c.x(j), c.y(value), strconv.FormatFloat(value, 'f', -1, 64)})
			pen = "L"
		}
		curves = append(curves, line)
	}
	return curves
}

// Width and Height are of the drawing.
func (Chart) Width() int  { return chartWidth }
func (Chart) Height() int { return chartHeight }

var pageTemplate = template.Must(template.New("page").Parse(`<!DOCTYPE html>
<html lang="en"><head><meta charset="utf-8"><title>{{.Title}}</title>
<style>body{font:14px sans-serif;margin:2em}table{border-collapse:collapse}td,th{border:1px solid #ccc;padding:3px 8px;text-align:right}
svg{display:block;margin:1em 0}svg text{font:12px sans-serif}</style></head><body>
<h1>{{.Title}}</h1>
{{range .Charts}}<h2>{{.Title}}</h2>
<svg viewBox="0 0 {{.Width}} {{.Height}}" width="{{.Width}}" height="{{.Height}}" role="img" aria-label="{{.Title}}">
<text x="4" y="14">{{.Unit}}</text>
{{range .Grid}}<line x1="90" x2="560" y1="{{.Y}}" y2="{{.Y}}" stroke="#ddd"/><text x="84" y="{{.Y}}" text-anchor="end" dominant-baseline="middle">{{.Text}}</text>
{{end}}{{range .Labels}}<text x="{{.X}}" y="{{.Y}}" text-anchor="middle">{{.Text}}</text>
{{end}}{{range .Curves}}<path d="{{.Path}}" fill="none" stroke="{{.Color}}" stroke-width="2"/><text x="575" y="{{.LegendY}}" fill="{{.Color}}">{{.Name}}</text>
{{$color := .Color}}{{range .Points}}<circle cx="{{.X}}" cy="{{.Y}}" r="3" fill="{{$color}}"><title>{{.Text}}</title></circle>
{{end}}{{end}}</svg>
{{end}}<table><tr>{{range .Header}}<th>{{.}}</th>{{end}}</tr>
{{range .Rows}}<tr>{{range .}}<td>{{.}}</td>{{end}}</tr>
{{end}}</table></body></html>
`))
