package web

import (
	"net/http"
	"net/url"
	"strconv"
	"strings"
	"time"

	"github.com/rota-scheduler/rota/scheduler/api"
)

// timelineData is the data of the view timeline.
type timelineData struct {
	Chart   gantt
	Spans   []filter // links to other spans of time
	Filters []filter // links that select jobs by state
	Search  string
	State   string
	Span    string
	From    string // of a span that does not follow the time; empty otherwise
	Earlier string
	Later   string
	Present string // link to the span around now; empty if it is shown
	Next    string // link to the next page of jobs; empty if there is none
	First   string // link to the first page of jobs; empty on it
}

// span is a span of time that the time line can show. Its ticks have the same distance, so that the labels do too.
type span struct {
	name, words  string
	length, tick time.Duration
}

var spans = []span{
	{"15m", "15 minutes", 15 * time.Minute, 3 * time.Minute},
	{"1h", "1 hour", time.Hour, 10 * time.Minute},
	{"6h", "6 hours", 6 * time.Hour, time.Hour},
	{"1d", "1 day", 24 * time.Hour, 4 * time.Hour},
	{"7d", "7 days", 7 * 24 * time.Hour, 24 * time.Hour},
}

const defaultSpan = 1

// spanOf returns the span of a name; the default one for an empty name.
func spanOf(name string) (span, error) {
	var names []string
	for _, s := range spans {
		if s.name == name {
			return s, nil
		}
		names = append(names, s.name)
	}
	if name == "" {
		return spans[defaultSpan], nil
	}
	return span{}, &api.Problem{Status: http.StatusUnprocessableEntity, Detail: "The span " + strconv.Quote(name) +
		" is unknown: use one of " + strings.Join(names, ", ") + "."}
}

// around returns a span of which about two thirds have passed at now, from a tick on.
func (s span) around(now time.Time) (from, until time.Time) {
	from = now.UTC().Add(-s.length * 2 / 3).Truncate(s.tick)
	return from, from.Add(s.length)
}

// ganttRows is how many jobs a page of the time line shows. It bounds the size of the page.
const ganttRows = 25

// timeline shows what jobs did and will do in a span of time.
func (s *site) timeline(r *http.Request) (*page, error) {
	q := r.URL.Query()
	d := &timelineData{Search: strings.TrimSpace(q.Get("search")), State: q.Get("state"), From: q.Get("from")}
	shown, err := spanOf(q.Get("span"))
	if err != nil {
		return nil, err
	}
	d.Span = shown.name
	from, until := shown.around(s.ops.Now())
	if d.From != "" {
		at, err := timeInAddress(d.From)
		if err != nil {
			return nil, err
		}
		from = at.Truncate(time.Minute) // a day of the month begins at midnight of its zone
		until = from.Add(shown.length)
	}
	end := q.Get("until") // of a day that does not have 24 hours
	if end != "" {
		if until, err = timeInAddress(end); err != nil {
			return nil, err
		}
	}
	ask := url.Values{
		"from": {from.Format(time.RFC3339)}, "until": {until.Format(time.RFC3339)}, "limit": {strconv.Itoa(ganttRows)},
	}
	keep(ask, q, "search", "state", "continue")
	v, err := get[api.GanttView](s, r, "/v1/gantt?"+ask.Encode())
	if err != nil {
		return nil, err
	}
	d.Chart = ganttOf(&v, shown.tick)
	d.link(q, shown, from, v.Continue)
	return &page{View: "timeline", Title: "Timeline", Watch: "*", Data: d}, nil
}

// timeInAddress reads a time in the address of a view.
func timeInAddress(text string) (time.Time, error) {
	at, err := readTime(text)
	if err != nil {
		return at, &api.Problem{Status: http.StatusUnprocessableEntity, Detail: "The time " + strconv.Quote(text) +
			" cannot be read: write it as 2026-01-31T02:30:00Z."}
	}
	return at, nil
}

// link sets the links to other spans, states and pages.
func (d *timelineData) link(q url.Values, shown span, from time.Time, next string) {
	link := linksTo("/timeline", q, "span", "from", "search", "state")
	for _, other := range spans {
		d.Spans = append(d.Spans, filter{Name: other.words, Link: link("span", other.name), Here: other.name == shown.name})
	}
	d.Filters = append(d.Filters, filter{Name: "all", Link: link("state", ""), Here: d.State == ""})
	for _, state := range api.JobStates() {
		d.Filters = append(d.Filters, filter{Name: looks[state].words, Link: link("state", state), Here: d.State == state})
	}
	half := (shown.length / 2).Truncate(shown.tick) // the ticks keep their times of day
	d.Earlier = link("from", from.Add(-half).Format(time.RFC3339))
	d.Later = link("from", from.Add(half).Format(time.RFC3339))
	if d.From != "" {
		d.Present = link("from", "")
	}
	end := q.Get("until") // other pages of the same jobs show the same time
	if next != "" {
		d.Next = link("continue", next, "until", end)
	}
	if q.Get("continue") != "" {
		d.First = link("until", end)
	}
}
