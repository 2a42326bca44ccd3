package history

import (
	"encoding/json"
	"fmt"
	"strings"
)

// footer draws the legend and the first violations. It returns the bottom of the picture.
func (p *picture) footer(y int) int {
	if p.left > 0 {
		y += lineHeight
		p.text(22, y, faint, "", fmt.Sprintf("and %s, %d of them with violations", plural(p.left, "more job"), p.leftBad))
	}
	y = p.legend(y + 30)
	if len(p.v.Violations) == 0 {
		return y + 10
	}
	y += 24
	p.text(22, y, ink, "font-weight:600", "What was not kept")
	for _, v := range p.v.Violations[:min(len(p.v.Violations), maxFindings)] {
		y += lineHeight
		text, _, _ := strings.Cut(v.Text, "\n")
		p.text(22, y, vermillion, "font-weight:600", v.Rule)
		p.text(110, y, ink, "", short(v.What+": "+text, 190))
	}
	if n := len(p.v.Violations) - maxFindings; n > 0 {
		y += lineHeight
		p.text(22, y, faint, "", fmt.Sprintf("and %d more", n))
	}
	return y + 20
}

// plural returns a number with its noun.
func plural(n int, thing string) string {
	if n == 1 {
		return "1 " + thing
	}
	return fmt.Sprintf("%d %ss", n, thing)
}

// legend draws the colours of the grades that occur.
func (p *picture) legend(y int) int {
	x := 22.0
	entry := func(draw func(), width float64, text string) {
		if x+width+wide(text) > pictureWidth-rightMargin {
			x, y = 22, y+lineHeight+4
		}
		draw()
		p.text(x+width+6, y, ink, "", text)
		x += width + wide(text) + 14
	}
	for _, g := range Grades() {
		if p.v.Grades[g] == 0 {
			continue
		}
		text := fmt.Sprintf("%s %d", g, p.v.Grades[g])
		switch {
		case g.Bad():
			entry(func() { p.cross(x+7, float64(y-4), SlotGrade{Grade: g}) }, 14, text)
		case g == Skipped || g == NotJudged || g == Given:
			entry(func() { p.raw(`<circle cx="%.1f" cy="%d" r="3" fill="none" stroke="%s"/>`, x+5, y-4, colourOf(g)) }, 10, text)
		default:
			entry(func() { p.rect(x, y-9, 14, 10, colourOf(g), "") }, 14, text)
		}
	}
	entry(func() { p.rect(x, y-9, 14, 10, "#666666", "") }, 14, "asked for by a client")
	entry(func() {
		p.rect(x, y-4, 20, 4, "#888888", "")
		p.rect(x, y-6, 1.2, 6, ink, "")
	}, 20, "slot and window")
	entry(func() { p.rect(x, y-4, 20, 4, "#CCCCCC", "") }, 20, "need not run")
	entry(func() {
		p.raw(`<rect x="%.1f" y="%d" width="14" height="12" fill="%s" fill-opacity="0.35"/>`, x, y-10, purple)
	}, 14, "fault")
	return y
}

// describeGrade returns the text that shows when a reader points at a slot.
func describeGrade(g SlotGrade) string {
	text := fmt.Sprintf("%s: %v", g.Run, g.Grade)
	if g.Reason != "" {
		text += ", " + g.Reason
	}
	if !g.Due.IsZero() {
		text += ", due to start by " + stamp(g.Due)
	}
	return text
}

// reigns lists the terms with their leaders. A term begins and ends when the recorder sees the change of the oldest key.
func (t *timeline) reigns() (list []term) {
	nodes := make(map[int64]string) // by create revision
	for _, v := range t.Versions {
		if !strings.HasPrefix(v.Key, t.Prefix+"/election/") {
			continue
		}
		var c struct{ Node string }
		if !v.Deleted && json.Unmarshal(v.Value, &c) == nil && c.Node != "" {
			nodes[v.Create] = c.Node
		}
		reigning := t.reigning(v.Rev + 1)
		if n := len(list); n > 0 && list[n-1].rev == reigning {
			continue
		} else if n > 0 && list[n-1].to.IsZero() {
			list[n-1].to = v.Seen
		}
		if reigning != 0 {
			list = append(list, term{rev: reigning, from: v.Seen})
		}
	}
	for i := range list {
		list[i].node = nodes[list[i].rev]
	}
	return list
}
