package history

import "github.com/rota-scheduler/rota/scheduler/job"

// said returns a call about the run order/k, with the times of request and answer in seconds.
func said(client int, kind CallKind, asked, answered float64, answer Answer, change func(*Call)) Call {
	c := Call{Client: client, Kind: kind, Job: "order", Run: "order/k", Asked: sec(asked), Answered: sec(answered), Answer: answer}
	if kind == CallSubmit {
		c.Key = "k"
		if answer != Done {
			c.Run = ""
		}
	}
	if change != nil {
		change(&c)
	}
	return c
}

func shows(state job.State, rev int64) func(*Call) {
	return func(c *Call) { c.State, c.Rev = state, rev }
}

func creates(rev int64) func(*Call) {
	return func(c *Call) { c.Created, c.State, c.Rev = true, job.Pending, rev }
}

func canceled(state job.State, rev int64) func(*Call) {
	return func(c *Call) { c.Cancel, c.State, c.Rev = true, state, rev }
}

// callPause is a call that pauses the job named order for a reason. shown is the reason that the answer reports.
func callPause(client int, asked, answered float64, reason, shown string, rev int64, answer Answer) Call {
	return said(client, CallPause, asked, answered, answer, func(c *Call) { c.Run, c.Pause, c.Paused, c.Rev = "", reason, shown, rev })
}

// callResume is an answered call that resumes the job order, and shows the pause that its answer reports.
func callResume(client int, asked, answered float64, shown string, rev int64) Call {
	return said(client, CallResume, asked, answered, Done, func(c *Call) { c.Run, c.Paused, c.Rev = "", shown, rev })
}

// callPut is a call that puts a definition of the job order.
func callPut(client int, asked, answered float64, text string, answer Answer, change func(*Call)) Call {
	return said(client, CallPut, asked, answered, answer, func(c *Call) {
		c.Run, c.Text = "", text
		if answer == Done {
			c.Shown = text
		}
		change(c)
	})
}

// atRev sets the revision that the answer reports.
func atRev(rev int64) func(*Call) { return func(c *Call) { c.Rev = rev } }

// createdAt makes the answer report a new record, and sets its revision.
func createdAt(rev int64) func(*Call) { return func(c *Call) { c.Rev, c.Created = rev, true } }

// ifAbsent makes the call require that no record exists. rev is the revision in the answer; 0 if the call is rejected.
func ifAbsent(rev int64) func(*Call) {
	return func(c *Call) { c.Rev, c.New, c.Created = rev, true, rev > 0 }
}

// ifRev makes the call require the revision rev. then is the revision in the answer.
func ifRev(rev, then int64) func(*Call) { return func(c *Call) { c.If, c.Rev = rev, then } }

// callDelete is a call that removes the job order. The call requires that the job has revision only; 0: any revision.
func callDelete(client int, asked, answered float64, answer Answer, only int64) Call {
	return said(client, CallDelete, asked, answered, answer, func(c *Call) { c.Run, c.If = "", only })
}

// showing returns c with the definition that its answer reports.
func showing(c Call, text string) Call { c.Shown = text; return c }

// callRetry is a call that retries the run order/k as the run order/again.
func callRetry(client int, asked, answered float64, answer Answer) Call {
	return said(client, CallRetry, asked, answered, answer, func(c *Call) { c.Made = "order/again" })
}

// callAgain is callRetry with a key. change sets what the answer shows of the run order/again; nil: it is not answered.
func callAgain(client int, asked, answered float64, change func(*Call)) Call {
	return said(client, CallRetry, asked, answered, Done, func(c *Call) {
		if c.Key, c.Made = "a", "order/again"; change == nil {
			c.Answer, c.Made = Open, ""
			return
		}
		change(c)
	})
}

// readAgain is a call that reads the run order/again.
func readAgain(client int, asked, answered float64, answer Answer, change func(*Call)) Call {
	c := said(client, CallRun, asked, answered, answer, change)
	c.Run = "order/again"
	return c
}
