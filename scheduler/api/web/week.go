package web

import (
	"fmt"
	"math"
	"net/http"
	"slices"
	"strings"
	"time"

	"github.com/rota-scheduler/rota/scheduler/api"
)

// weekData is the data of the view week: how many runs begin in each minute of the coming week.
type weekData struct {
	Days    []heatDay
	Levels  []heatLevel
	Busiest []heatMinute
	Total   int
	Load    api.LoadView
}

// heatDay is one day of UTC. Each row of its map is an hour, and each column a minute.
type heatDay struct {
	Date  time.Time
	Paths []stripPath
	Hours []heatHour
	Total int
	Top   heatMinute
}

// heatHour is one hour of a day.
type heatHour struct {
	Hour  int
	Sum   int
	Title string
	Link  string
	In    bool // the week has the hour, or a part of it
}

// heatMinute is one minute, and how many runs begin in it.
type heatMinute struct {
	At    time.Time
	Count int
	Link  string
}

// heatLevel explains a color of the map.
type heatLevel struct{ Class, Words string }

// heatSteps is how many colors the map has.
const heatSteps = 5

// busiest is how many minutes the view lists.
const busiest = 10

// week shows how many runs begin in each minute of the coming week.
func (s *site) week(r *http.Request) (*page, error) {
	v, err := get[api.LoadView](s, r, "/v1/load")
	if err != nil {
		return nil, err
	}
	return &page{View: "week", Title: "Coming week", Data: weekOf(&v)}, nil
}

// weekOf draws the map.
func weekOf(v *api.LoadView) *weekData {
	d := &weekData{Load: *v}
	limits := heatLimits(v.Minutes)
	for i, low := range limits {
		l := heatLevel{Class: heatClass(i, limits), Words: fmt.Sprintf("%d or more", low)}
		if i+1 < len(limits) {
			l.Words = fmt.Sprintf("%d to %d", low, limits[i+1]-1)
			if low == limits[i+1]-1 {
				l.Words = fmt.Sprint(low)
			}
		}
		d.Levels = append(d.Levels, l)
	}
	begin := v.From.Truncate(24 * time.Hour)
	end := v.From.Add(time.Duration(len(v.Minutes)) * time.Minute)
	for at := begin; at.Before(end); at = at.AddDate(0, 0, 1) {
		day := heatDayOf(v, at, limits)
		d.Total += day.Total
		d.Days = append(d.Days, day)
	}
	d.Busiest = busyMinutes(v, busiest)
	return d
}

// heatClass returns the class of a level. The lowest has the weakest color and the highest the strongest, so that few levels differ
// as much as possible.
func heatClass(level int, limits []int) string {
	return fmt.Sprintf("h%d", heatSteps-(len(limits)-1-level)*(heatSteps-1)/max(1, len(limits)-1))
}

// heatLimits returns the lowest count of each color. From color to color, counts grow by the same factor, from the lowest count
// to the highest. So both a herd at midnight and small differences are visible.
func heatLimits(minutes []int) (limits []int) {
	low, high := 0, 0
	for _, n := range minutes {
		if n > 0 && (low == 0 || n < low) {
			low = n
		}
		high = max(high, n)
	}
	for i := range heatSteps {
		limit := int(math.Ceil(float64(low)*math.Pow(float64(high)/float64(max(1, low)), float64(i)/heatSteps) - 1e-9))
		if limit > 0 && (len(limits) == 0 || limit > limits[len(limits)-1]) {
			limits = append(limits, limit)
		}
	}
	return limits
}

// heatDayOf draws one day. Minutes of one color that follow each other are one line.
func heatDayOf(v *api.LoadView, date time.Time, limits []int) heatDay {
	d := heatDay{Date: date}
	paths := make([]strings.Builder, len(limits))
	first := int(date.Sub(v.From) / time.Minute) // may be negative
	count := func(minute int) int {
		if i := first + minute; i >= 0 && i < len(v.Minutes) {
			return v.Minutes[i]
		}
		return 0
	}
	for hour := range 24 {
		h := heatHour{Hour: hour, In: first+hour*60+59 >= 0 && first+hour*60 < len(v.Minutes)}
		top, topMinute := 0, 0
		for minute := 0; minute < 60; {
			n := count(hour*60 + minute)
			level := levelOf(n, limits)
			start := minute
			for minute < 60 && levelOf(count(hour*60+minute), limits) == level {
				k := count(hour*60 + minute)
				h.Sum += k
				if k > top {
					top, topMinute = k, minute
				}
				minute++
			}
			if level >= 0 {
				fmt.Fprintf(&paths[level], "M%d %dh%d", start, hour, minute-start)
			}
		}
		at := date.Add(time.Duration(hour) * time.Hour)
		if top > d.Top.Count {
			d.Top = heatMinuteAt(at.Add(time.Duration(topMinute)*time.Minute), top)
		}
		h.Title = fmt.Sprintf("%s: %s", at.Format("Mon 15:04 UTC"), verb(h.Sum, "run begins", "runs begin"))
		if h.Sum > 1 {
			h.Title += fmt.Sprintf(", at most %d in a minute", top)
		}
		h.Link = "/timeline?span=1h&from=" + at.Format(time.RFC3339)
		d.Total += h.Sum
		d.Hours = append(d.Hours, h)
	}
	for i := range paths {
		if paths[i].Len() > 0 {
			d.Paths = append(d.Paths, stripPath{heatClass(i, limits), paths[i].String()})
		}
	}
	return d
}

// levelOf returns the color of a count; -1 for none.
func levelOf(n int, limits []int) int {
	level := -1
	for i, low := range limits {
		if n >= low {
			level = i
		}
	}
	return level
}

func heatMinuteAt(at time.Time, n int) heatMinute {
	return heatMinute{At: at, Count: n, Link: "/timeline?span=15m&from=" + at.Add(-6*time.Minute).Format(time.RFC3339)}
}

// busyMinutes returns the n minutes with the most begins, the busiest first.
func busyMinutes(v *api.LoadView, n int) (list []heatMinute) {
	var top []int // indexes, sorted by their counts
	for i, k := range v.Minutes {
		if k == 0 || len(top) == n && k <= v.Minutes[top[n-1]] {
			continue
		}
		place, _ := slices.BinarySearchFunc(top, k, func(at, k int) int {
			if v.Minutes[at] >= k {
				return -1
			}
			return 1
		})
		top = slices.Insert(top, place, i)
		top = top[:min(n, len(top))]
	}
	for _, i := range top {
		list = append(list, heatMinuteAt(v.From.Add(time.Duration(i)*time.Minute), v.Minutes[i]))
	}
	return list
}
