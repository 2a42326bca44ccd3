package top

import (
	"slices"
	"time"
)

// Kind is what a screen shows.
type Kind int

// The kinds of screens. The first four have a tab.
const (
	Jobs Kind = iota
	Runs
	Workers
	Limits
	OneRun
)

// screen is one screen: a list, or one run.
type screen struct {
	query  Query
	worker string // only its runs; "" stands for all
	cursor string // key of the selected row; "" stands for the first one
	filter string
	sort   int // column
	desc   bool
	back   int // lines of a run's output between the last shown one and the end
}

// State is all that the program shows. It has no clock and does no I/O.
type State struct {
	width, height int
	screens       []screen // the last one is shown; Esc removes it
	typing        bool     // keys extend the filter
	help          bool
	confirm       *Action  // waits for an answer
	busy          *Action  // is being made
	notice        string   // what the last key did
	early         []string // keys that wait for the list of the shown screen
	snap          Snapshot
	trouble       string    // why the snapshot is old; "" if it is not
	since         time.Time // of the trouble
	explain       func(error) string
}

// New returns the first state. explain turns an error into a sentence for the operator.
func New(explain func(error) string) State {
	return State{width: 80, height: 24, screens: []screen{{query: Query{Kind: Jobs}}}, explain: explain}
}

// The messages that Update accepts.
type (
	// Resized reports the size of the terminal.
	Resized struct{ Width, Height int }
	// Key reports a key, by its name in bubbletea.
	Key string
	// Got reports a snapshot. Chained says that the next one is to follow after a pause.
	Got struct {
		Snapshot
		Chained bool
	}
	// Ticked reports the end of the pause.
	Ticked struct{}
	// Done reports the end of a change.
	Done struct {
		Text string // what it did
		Err  error
	}
)

// Effect is what is to be done after an Update. Its zero value is nothing.
type Effect struct {
	Read  *Query
	Chain bool // the snapshot is part of the chain
	Wait  bool // pause, and then Ticked
	Do    *Action
	Quit  bool
}

// Query returns what the shown screen needs.
func (s State) Query() Query { return s.top().query }

func (s State) top() screen { return s.screens[len(s.screens)-1] }

// with returns the state with a changed top screen.
func (s State) with(change func(*screen)) State {
	s.screens = slices.Clone(s.screens)
	change(&s.screens[len(s.screens)-1])
	return s
}

// read returns the effect that reads what the shown screen needs.
func (s State) read(chain bool) Effect {
	q := s.Query()
	return Effect{Read: &q, Chain: chain}
}

// Update returns the state after a message, and what is to be done.
func (s State) Update(msg any) (State, Effect) {
	switch m := msg.(type) {
	case Resized:
		s.width, s.height = max(m.Width, 20), max(m.Height, 8)
	case Ticked:
		return s, s.read(true)
	case Got:
		return s.got(m.Snapshot).replay(m.Chained)
	case Done:
		s.busy, s.notice = nil, m.Text
		if m.Err != nil {
			s.notice = s.explain(m.Err)
		}
		return s, s.read(false)
	case Key:
		return s.key(string(m))
	}
	return s, Effect{}
}

// got takes over a snapshot. After an error, the lists of the last one stay.
func (s State) got(snap Snapshot) State {
	if snap.Err != nil {
		if s.trouble == "" {
			s.since = snap.At
		}
		s.trouble, s.early = s.explain(snap.Err), nil
		return s
	}
	s.trouble = ""
	if snap.Query != s.Query() { // the screen changed meanwhile
		s.snap.Cluster, s.snap.At, s.snap.Server = snap.Cluster, snap.At, snap.Server
		return s
	}
	s.snap = snap
	return s
}

// replay handles the keys that waited for the list of the shown screen. chained says that a snapshot is to follow.
func (s State) replay(chained bool) (State, Effect) {
	e := Effect{Wait: chained}
	if !s.loaded() {
		return s, e
	}
	keys := s.early
	s.early = nil
	for _, key := range keys {
		var of Effect
		if s, of = s.key(key); of.Read != nil {
			e = Effect{Read: of.Read, Chain: chained} // the list of the next screen, which the other keys wait for
		}
	}
	return s, e
}

// loaded reports whether the snapshot is of the shown screen.
func (s State) loaded() bool { return s.snap.Query == s.Query() && !s.snap.At.IsZero() }
