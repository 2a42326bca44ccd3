package top

import (
	"slices"
	"unicode/utf8"

	"github.com/rota-scheduler/rota/scheduler/api"
)

// key handles one key.
func (s State) key(key string) (State, Effect) {
	if key == "ctrl+c" {
		return s, Effect{Quit: true}
	}
	switch {
	case s.confirm != nil:
		action := s.confirm
		s.confirm = nil
		if key != "y" {
			s.notice = "Nothing was changed."
			return s, Effect{}
		}
		s.busy, s.notice = action, ""
		return s, Effect{Do: action}
	case s.typing:
		return s.typed(key), Effect{}
	case s.help:
		s.help = false
		return s, Effect{}
	}
	s.notice = ""
	switch key {
	case "q":
		return s, Effect{Quit: true}
	case "?":
		s.help, s.early = true, nil
	case "/":
		if s.Query().Kind != OneRun {
			s.typing, s.early = true, nil
		}
	case "esc", "left", "backspace":
		return s.leave()
	case "enter", "right":
		return s.enter()
	case "tab", "shift+tab", "1", "2", "3", "4":
		return s.tab(key)
	case "s", "S":
		s.early = nil
		return s.sorted(key == "S"), Effect{}
	case "r", "c", "t", "p":
		return s.act(key), Effect{}
	default:
		return s.move(key), Effect{}
	}
	return s, Effect{}
}

// typed changes the filter.
func (s State) typed(key string) State {
	switch {
	case key == "enter":
		s.typing = false
	case key == "esc":
		s.typing = false
		return s.with(func(v *screen) { v.filter = "" })
	case key == "backspace":
		return s.with(func(v *screen) {
			_, size := utf8.DecodeLastRuneInString(v.filter)
			v.filter = v.filter[:len(v.filter)-size]
		})
	case key == "space":
		return s.with(func(v *screen) { v.filter += " " })
	case utf8.RuneCountInString(key) == 1:
		return s.with(func(v *screen) { v.filter += key })
	}
	return s
}

// leave goes back: from a filter to the whole list, and from a screen to the one before.
func (s State) leave() (State, Effect) {
	s.early = nil
	switch {
	case s.top().filter != "":
		return s.with(func(v *screen) { v.filter = "" }), Effect{}
	case len(s.screens) > 1:
		s.screens = s.screens[:len(s.screens)-1]
		return s, s.read(false)
	}
	return s, Effect{}
}

// enter opens the selected row: a job or worker shows its runs, a run its attempts and output.
func (s State) enter() (State, Effect) {
	if !s.loaded() {
		return s.later("enter"), Effect{}
	}
	r, ok := s.selected()
	if !ok {
		return s, Effect{}
	}
	var next screen
	switch s.Query().Kind {
	case Jobs:
		next.query = Query{Kind: Runs, Job: r.key}
	case Workers:
		next.query, next.worker = Query{Kind: Runs}, r.key
	case Runs:
		next.query = Query{Kind: OneRun, Run: r.key}
	default:
		return s, Effect{}
	}
	s.screens = append(slices.Clone(s.screens), next)
	return s, s.read(false)
}

// tab shows one of the lists.
func (s State) tab(key string) (State, Effect) {
	now := s.screens[0].query.Kind
	switch key {
	case "tab":
		now = (now + 1) % OneRun
	case "shift+tab":
		now = (now + OneRun - 1) % OneRun
	default:
		now = Kind(key[0] - '1')
	}
	s.screens, s.early = []screen{{query: Query{Kind: now}}}, nil
	return s, s.read(false)
}

// sorted sorts by the next column, or in the other direction.
func (s State) sorted(turn bool) State {
	n := len(s.columns())
	if n == 0 {
		return s
	}
	return s.with(func(v *screen) {
		if turn {
			v.desc = !v.desc
			return
		}
		v.sort, v.desc = (v.sort+1)%n, false
	})
}

// move moves the selection, or scrolls the output.
func (s State) move(key string) State {
	page := max(s.listHeight()-1, 1)
	step, ok := map[string]int{"up": -1, "k": -1, "down": 1, "j": 1, "pgup": -page, "pgdown": page, "home": -1 << 30, "g": -1 << 30,
		"end": 1 << 30, "G": 1 << 30, "space": page}[key]
	if !ok {
		return s
	}
	if !s.loaded() {
		return s.later(key)
	}
	if s.Query().Kind == OneRun {
		last := max(len(s.runLines())-s.listHeight(), 0)
		return s.with(func(v *screen) { v.back = min(max(v.back-step, 0), last) })
	}
	rows := s.rows()
	if len(rows) == 0 {
		return s
	}
	to := rows[min(max(s.index(rows)+step, 0), len(rows)-1)].key
	return s.with(func(v *screen) { v.cursor = to })
}

// later keeps a key of a person who is faster than the cluster, until the list of the shown screen is there.
func (s State) later(key string) State {
	s.early = append(slices.Clone(s.early), key)
	return s
}

// act asks about the change that a key makes to the selected job or run.
func (s State) act(key string) State {
	if s.busy != nil {
		s.notice = "The last change has not ended yet."
		return s
	}
	if !s.loaded() { // a question about an object that was not visible would surprise
		s.notice = "Key " + key + " needs the list, which is still loading."
		return s
	}
	var refusal string
	switch s.Query().Kind {
	case Jobs:
		if v := s.job(); v != nil {
			s.confirm = jobAction(key, v, s.snap.Running[v.Job.Name])
		}
	case Runs, OneRun:
		if r := s.run(); r != nil {
			s.confirm, refusal = runAction(key, r)
		}
	}
	if s.confirm == nil {
		if s.notice = refusal; refusal == "" {
			s.notice = "Key " + key + " does nothing here: press ? for help."
		}
	}
	return s
}

// job returns the selected job, nil if none is.
func (s State) job() *api.JobView {
	r, ok := s.selected()
	for i := range s.snap.Jobs {
		if ok && s.snap.Jobs[i].Job.Name == r.key {
			return &s.snap.Jobs[i]
		}
	}
	return nil
}

// run returns the selected or shown run, nil if none is.
func (s State) run() *api.RunView {
	if s.Query().Kind == OneRun {
		return s.snap.Run
	}
	r, ok := s.selected()
	for i := range s.snap.Runs {
		if ok && s.snap.Runs[i].Ref == r.key {
			return &s.snap.Runs[i]
		}
	}
	return nil
}
