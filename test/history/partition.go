package history

import "slices"

// partition groups calls by their run or job. A call with a key that has no answer, and whose run no answer names, is left out,
// because it does not affect other calls. A retry with a key is among the calls about the old run. It is also among those about
// the new run, which it creates or finds as a submission does.
func partition(calls []Call) map[string][]Call {
	parts := make(map[string][]Call)
	runOf := make(map[submission]string)
	for _, c := range calls {
		if run := c.answered(); c.Key != "" && run != "" {
			runOf[submission{c.Job, c.Key}] = run
		}
	}
	for _, c := range calls {
		what, keyed := c.Run, runOf[submission{c.Job, c.Key}]
		switch {
		case c.Kind.ofJob():
			what = "job " + c.Job
		case c.Kind == CallSubmit && c.Key != "":
			what = keyed
		case c.Kind == CallRetry && c.Key != "" && keyed != "" && (c.Answer == Done || c.Answer == Open):
			again := c
			again.Kind, again.Run = CallSubmit, c.Made
			parts[keyed] = append(parts[keyed], again)
		}
		if what != "" {
			parts[what] = append(parts[what], c)
		}
	}
	for _, part := range parts {
		slices.SortStableFunc(part, func(a, b Call) int { return a.Asked.Compare(b.Asked) })
	}
	return parts
}

// answered returns the run that a submission or a retry created or found; empty if its answer names none.
func (c Call) answered() string {
	switch {
	case c.Answer != Done:
	case c.Kind == CallSubmit:
		return c.Run
	case c.Kind == CallRetry:
		return c.Made
	}
	return ""
}
