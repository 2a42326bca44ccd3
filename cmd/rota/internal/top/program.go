package top

import (
	"context"
	"errors"
	"io"
	"time"

	tea "charm.land/bubbletea/v2"
	"github.com/charmbracelet/colorprofile"
)

// The time between two reads of a list.
const (
	leastPause = time.Second
	mostPause  = 10 * time.Second
)

// PauseAfter returns the time between a read of a list with so many rows and the next one. A replica should not compute a
// list of thousands of jobs each second for each person who watches.
func PauseAfter(rows int) time.Duration {
	return min(max(time.Duration(rows)*time.Millisecond/2, leastPause), mostPause)
}

// Config configures Run.
type Config struct {
	Source  Source
	In      io.Reader
	Out     io.Writer
	Environ []string
	Plain   bool               // without colors
	Explain func(error) string // turns an error into a sentence for the operator
	Now     func() time.Time
	NewKey  func() string // makes an idempotency key
}

// Run shows the cluster until the person quits or ctx ends. It returns after everything that it started has ended.
func Run(ctx context.Context, cfg Config) error {
	options := []tea.ProgramOption{
		tea.WithContext(ctx), tea.WithInput(cfg.In), tea.WithOutput(cfg.Out), tea.WithEnvironment(cfg.Environ),
		tea.WithoutSignalHandler(),
	}
	if cfg.Plain {
		options = append(options, tea.WithColorProfile(colorprofile.ASCII))
	}
	inner, cancel := context.WithCancel(ctx)
	defer cancel()
	_, err := tea.NewProgram(program{cfg, inner, New(cfg.Explain)}, options...).Run()
	if ctx.Err() != nil && errors.Is(err, tea.ErrProgramKilled) {
		return context.Cause(ctx)
	}
	return err
}

// program connects a State to bubbletea.
type program struct {
	cfg   Config
	ctx   context.Context // of the commands that bubbletea runs; Run ends it
	state State
}

// Init implements tea.Model.
func (p program) Init() tea.Cmd { return p.perform(p.state.read(true)) }

// Update implements tea.Model.
func (p program) Update(msg tea.Msg) (tea.Model, tea.Cmd) {
	switch m := msg.(type) {
	case tea.KeyPressMsg:
		msg = Key(m.String())
	case tea.WindowSizeMsg:
		msg = Resized{m.Width, m.Height}
	}
	var effect Effect
	p.state, effect = p.state.Update(msg)
	return p, p.perform(effect)
}

// View implements tea.Model.
func (p program) View() tea.View {
	v := tea.NewView(p.state.View())
	v.AltScreen = true
	v.WindowTitle = "rota top"
	return v
}

// perform returns the command for an effect, nil for nothing.
func (p program) perform(e Effect) tea.Cmd {
	switch {
	case e.Quit:
		return tea.Quit
	case e.Wait:
		return tea.Tick(PauseAfter(len(p.state.snap.Jobs)), func(time.Time) tea.Msg { return Ticked{} })
	case e.Read != nil:
		return func() tea.Msg { return Got{Read(p.ctx, p.cfg.Source, *e.Read, p.cfg.Now), e.Chain} }
	case e.Do != nil:
		return func() tea.Msg {
			text, err := Do(p.ctx, p.cfg.Source, *e.Do, p.cfg.NewKey())
			return Done{text, err}
		}
	}
	return nil
}
