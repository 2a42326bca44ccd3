package job

// Calendar says on which days a job runs. A definition carries the days of the calendar that it names, so that the slots of a job
// follow from its definition alone. Package schedule checks it.
type Calendar struct {
	On       string   `json:"on,omitempty"`       // the job runs on the days of this calendar
	NotOn    string   `json:"not_on,omitempty"`   // the job runs on the other days; exactly one of On and NotOn is set
	Else     string   `json:"else,omitempty"`     // skip | next | previous
	Weekdays []string `json:"weekdays,omitempty"` // such as mon-fri; the days of the calendar, with Dates
	Dates    []string `json:"dates,omitempty"`    // YYYY-MM-DD
	Except   []string `json:"except,omitempty"`   // days that the calendar lacks
}

// Name returns the name of the calendar.
func (c *Calendar) Name() string { return c.On + c.NotOn }

// Resolved reports whether the days of the calendar are known.
func (c *Calendar) Resolved() bool { return len(c.Weekdays)+len(c.Dates)+len(c.Except) > 0 }

// CalendarDays defines a calendar in a job file.
type CalendarDays struct {
	Weekdays []string `json:"weekdays,omitempty"`
	Dates    []string `json:"dates,omitempty"`
	Except   []string `json:"except,omitempty"`
	ICS      string   `json:"ics,omitempty"` // name of a file beside the job file
}
