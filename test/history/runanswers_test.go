package history

import "github.com/rota-scheduler/rota/scheduler/job"

// runAnswers are calls that submit, read, cancel and retry a run.
var runAnswers = []answerCase{
	{"retried after its end", true, []Call{
		said(0, CallSubmit, 1, 2, Done, creates(5)),
		callRetry(1, 3, 4, Early),
		callRetry(0, 5, 6, Done),
		said(1, CallRun, 7, 8, Done, shows(job.Failed, 9)),
		callRetry(0, 9, 10, Done),
		callRetry(0, 11, 12, Open),
	}},
	{"retried before its end", false, []Call{
		said(0, CallSubmit, 1, 2, Done, creates(5)),
		callRetry(0, 3, 4, Done),
		said(1, CallRun, 5, 6, Done, shows(job.Running, 9)),
	}},
	{"not retried, although it had ended", false, []Call{
		said(0, CallSubmit, 1, 2, Done, creates(5)),
		said(1, CallRun, 3, 4, Done, shows(job.Succeeded, 9)),
		callRetry(0, 5, 6, Early),
	}},
	{"retried, although the run does not exist", false, []Call{
		callRetry(0, 1, 2, Done),
		said(0, CallSubmit, 3, 4, Done, creates(5)),
	}},
	{"retried with a key, which finds the new run later", true, []Call{
		said(1, CallRun, 1, 2, Done, shows(job.Failed, 4)),
		callAgain(0, 3, 4, creates(5)),
		readAgain(0, 5, 6, Done, shows(job.Running, 7)),
		callAgain(1, 7, 8, shows(job.Succeeded, 9)),
	}},
	{"retried with a key at once", true, []Call{
		callAgain(0, 1, 4, shows(job.Pending, 5)),
		callAgain(1, 2, 5, creates(5)),
	}},
	{"retried with a key without an answer, and found", true, []Call{
		callAgain(0, 1, 2, nil),
		readAgain(1, 3, 4, Absent, nil),
		callAgain(1, 5, 6, shows(job.Pending, 5)),
	}},
	{"retried with a key: created twice", false, []Call{
		callAgain(0, 1, 4, creates(5)),
		callAgain(1, 2, 5, creates(5)),
	}},
	{"retried with a key: found before it was created", false, []Call{
		callAgain(0, 1, 2, shows(job.Pending, 5)),
		callAgain(1, 3, 4, creates(5)),
	}},
	{"retried with a key: found without any creation", false, []Call{
		callAgain(0, 1, 2, shows(job.Pending, 5)),
		callAgain(1, 3, 4, shows(job.Pending, 5)),
	}},
	{"retried with a key: an older record is shown", false, []Call{
		callAgain(0, 1, 2, creates(5)),
		readAgain(0, 3, 4, Done, shows(job.Running, 7)),
		callAgain(1, 5, 6, shows(job.Pending, 5)),
	}},
	{"retried with a key, and lost", false, []Call{
		callAgain(0, 1, 2, creates(5)),
		readAgain(1, 3, 4, Absent, nil),
	}},
	{"retried with a key before its end", false, []Call{
		callAgain(0, 3, 4, creates(5)),
		said(1, CallRun, 5, 6, Done, shows(job.Running, 9)),
	}},
	{"a run's life", true, []Call{
		said(0, CallSubmit, 1, 2, Done, creates(5)),
		said(0, CallRun, 3, 4, Done, shows(job.Pending, 5)),
		said(1, CallRun, 5, 6, Done, shows(job.Running, 7)),
		said(0, CallRun, 7, 8, Done, shows(job.Succeeded, 9)),
		said(1, CallSubmit, 9, 10, Done, shows(job.Succeeded, 9)),
	}},
	{"a stale read", false, []Call{
		said(0, CallSubmit, 1, 2, Done, creates(5)),
		said(0, CallRun, 3, 4, Done, shows(job.Running, 7)),
		said(1, CallRun, 5, 6, Done, shows(job.Pending, 5)),
	}},
	{"no stale read, because the calls overlap", true, []Call{
		said(0, CallSubmit, 1, 2, Done, creates(5)),
		said(0, CallRun, 3, 6, Done, shows(job.Running, 7)),
		said(1, CallRun, 5, 7, Done, shows(job.Pending, 5)),
	}},
	{"a lost submission", false, []Call{
		said(0, CallSubmit, 1, 2, Done, creates(5)),
		said(1, CallRun, 3, 4, Absent, nil),
	}},
	{"created twice", false, []Call{
		said(0, CallSubmit, 1, 2, Done, creates(5)),
		said(1, CallSubmit, 3, 4, Done, creates(6)),
	}},
	{"found before it was created", false, []Call{
		said(1, CallSubmit, 1, 2, Done, shows(job.Pending, 5)),
		said(0, CallSubmit, 3, 4, Done, creates(5)),
	}},
	{"one of two concurrent submissions creates it", true, []Call{
		said(0, CallSubmit, 1, 4, Done, creates(5)),
		said(1, CallSubmit, 2, 3, Done, shows(job.Pending, 5)),
	}},
	{"an open submission took effect", true, []Call{
		said(0, CallSubmit, 1, 2, Open, nil),
		said(0, CallSubmit, 3, 4, Done, shows(job.Pending, 5)),
	}},
	{"an open submission did not take effect", true, []Call{
		said(0, CallSubmit, 1, 2, Open, nil),
		said(0, CallSubmit, 3, 4, Done, creates(5)),
	}},
	{"an open submission takes effect late", true, []Call{
		said(0, CallSubmit, 1, 2, Open, nil),
		said(1, CallRun, 3, 4, Absent, nil),
		said(1, CallSubmit, 5, 6, Done, shows(job.Pending, 5)),
	}},
	{"a rejected submission took effect", false, []Call{
		said(0, CallSubmit, 1, 2, Refused, nil),
		said(0, CallSubmit, 3, 4, Done, shows(job.Pending, 5)),
	}},
	{"an end is undone", false, []Call{
		said(0, CallSubmit, 1, 2, Done, creates(5)),
		said(0, CallRun, 3, 4, Done, shows(job.Failed, 7)),
		said(0, CallRun, 5, 6, Done, shows(job.Succeeded, 8)),
	}},
	{"canceled", true, []Call{
		said(0, CallSubmit, 1, 2, Done, creates(5)),
		said(0, CallCancel, 3, 4, Done, canceled(job.Canceled, 6)),
		said(1, CallRun, 5, 6, Done, canceled(job.Canceled, 6)),
		said(1, CallCancel, 7, 8, Ended, nil),
	}},
	{"canceled while it runs, but it succeeds", true, []Call{
		said(0, CallSubmit, 1, 2, Done, creates(5)),
		said(0, CallCancel, 3, 4, Done, canceled(job.Running, 8)),
		said(1, CallCancel, 4, 5, Done, canceled(job.Running, 8)),
		said(1, CallRun, 5, 6, Done, canceled(job.Succeeded, 9)),
	}},
	{"a lost cancel", false, []Call{
		said(0, CallSubmit, 1, 2, Done, creates(5)),
		said(0, CallCancel, 3, 4, Done, canceled(job.Running, 8)),
		said(1, CallRun, 5, 6, Done, shows(job.Running, 9)),
	}},
	{"an open cancel that took effect", true, []Call{
		said(0, CallSubmit, 1, 2, Done, creates(5)),
		said(0, CallCancel, 3, 4, Open, nil),
		said(1, CallRun, 5, 6, Done, shows(job.Running, 8)),
		said(1, CallRun, 7, 8, Done, canceled(job.Canceled, 9)),
	}},
	{"canceled without a call", false, []Call{
		said(0, CallSubmit, 1, 2, Done, creates(5)),
		said(1, CallRun, 5, 6, Done, canceled(job.Canceled, 9)),
		said(1, CallCancel, 7, 8, Ended, nil),
	}},
	{"a cancel that was rejected as too late, but was not", false, []Call{
		said(0, CallSubmit, 1, 2, Done, creates(5)),
		said(0, CallCancel, 3, 4, Ended, nil),
		said(1, CallRun, 5, 6, Done, shows(job.Running, 9)),
	}},
	{"a slot's run without a submission", true, []Call{
		said(0, CallRun, 1, 2, Absent, nil),
		said(0, CallRun, 3, 4, Done, shows(job.Running, 9)),
		said(0, CallCancel, 5, 6, Done, canceled(job.Running, 10)),
	}},
	{"a slot's run, and a stale read", false, []Call{
		said(0, CallRun, 3, 4, Done, shows(job.Running, 9)),
		said(0, CallRun, 5, 6, Done, shows(job.Armed, 8)),
	}},
}
