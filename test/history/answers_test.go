package history

// answerCase is a list of calls, and whether some order of them explains all answers.
type answerCase struct {
	name  string
	ok    bool
	calls []Call
}

// definitionAnswers are calls that put and remove a definition.
var definitionAnswers = []answerCase{
	{"a job's life", true, []Call{
		callPut(0, 1, 2, "a", Done, ifAbsent(5)),
		callPut(1, 3, 4, "b", Unmet, ifAbsent(0)),
		callPut(1, 5, 6, "c", Done, ifRev(5, 6)),
		callPut(0, 7, 8, "d", Unmet, ifRev(5, 0)),
		callPut(0, 9, 10, "e", Done, atRev(7)),
		showing(callPause(1, 11, 12, "x", "x", 8, Done), "e"),
		callPut(0, 13, 14, "f", Done, func(c *Call) { c.If, c.Rev, c.Paused = 8, 9, "x" }),
		callDelete(1, 15, 16, Unmet, 8),
		callDelete(1, 17, 18, Done, 9),
		callDelete(0, 19, 20, Absent, 0),
		said(0, CallPause, 21, 22, Absent, func(c *Call) { c.Run = "" }),
		callPut(1, 23, 24, "g", Unmet, ifRev(9, 0)),
		callPut(1, 25, 26, "h", Done, createdAt(11)),
		showing(callResume(0, 27, 28, "", 11), "h"),
	}},
	{"a lost put", false, []Call{
		callPut(0, 1, 2, "a", Done, createdAt(5)),
		callPut(1, 3, 4, "b", Done, atRev(6)),
		showing(callResume(0, 5, 6, "", 6), "a"),
	}},
	{"a put that was answered but did not take effect", false, []Call{
		callPut(0, 1, 2, "a", Done, createdAt(5)),
		callPut(1, 3, 4, "b", Done, createdAt(6)),
	}},
	{"two clients create one job", false, []Call{
		callPut(0, 1, 4, "a", Done, ifAbsent(5)),
		callPut(1, 2, 3, "b", Done, ifAbsent(6)),
	}},
	{"two clients change one revision", false, []Call{
		callPut(0, 1, 2, "a", Done, createdAt(5)),
		callPut(0, 3, 5, "b", Done, ifRev(5, 6)),
		callPut(1, 4, 6, "c", Done, ifRev(5, 7)),
	}},
	{"one of two clients changes one revision", true, []Call{
		callPut(0, 1, 2, "a", Done, createdAt(5)),
		callPut(0, 3, 5, "b", Unmet, ifRev(5, 0)),
		callPut(1, 4, 6, "c", Done, ifRev(5, 7)),
	}},
	{"none of two clients changes one revision", false, []Call{
		callPut(0, 1, 2, "a", Done, createdAt(5)),
		callPut(0, 3, 5, "b", Unmet, ifRev(5, 0)),
		callPut(1, 4, 6, "c", Unmet, ifRev(5, 0)),
	}},
	{"a revision that goes back", false, []Call{
		callPut(0, 1, 2, "a", Done, createdAt(5)),
		callPut(0, 3, 5, "b", Done, atRev(4)),
	}},
	{"a rejected put that took effect", false, []Call{
		callPut(0, 1, 2, "a", Done, createdAt(5)),
		callPut(1, 3, 4, "b", Unmet, ifRev(4, 0)),
		showing(callResume(0, 5, 6, "", 6), "b"),
	}},
	{"an open put took effect", true, []Call{
		callPut(0, 1, 2, "a", Open, ifAbsent(0)),
		callPut(1, 3, 4, "b", Unmet, ifAbsent(0)),
		showing(callResume(0, 5, 6, "", 6), "a"),
		callPut(1, 7, 8, "c", Done, ifRev(6, 7)),
	}},
	{"an open put did not take effect", true, []Call{
		callPut(0, 1, 2, "a", Open, ifAbsent(0)),
		callPut(1, 3, 4, "b", Done, ifAbsent(5)),
		showing(callResume(0, 5, 6, "", 5), "b"),
	}},
	{"an open put takes effect late", true, []Call{
		callPut(0, 1, 2, "a", Done, createdAt(5)),
		callPut(1, 3, 4, "b", Open, atRev(0)),
		callPut(0, 5, 6, "c", Done, atRev(6)),
		showing(callResume(0, 7, 8, "", 7), "b"),
	}},
	{"an open put takes effect at a forbidden revision", false, []Call{
		callPut(0, 1, 2, "a", Done, createdAt(5)),
		callPut(1, 3, 4, "b", Open, ifRev(5, 0)),
		callPut(0, 5, 6, "c", Done, ifRev(5, 6)),
		showing(callResume(0, 7, 8, "", 7), "b"),
	}},
	{"a lost removal", false, []Call{
		callPut(0, 1, 2, "a", Done, createdAt(5)),
		callDelete(0, 3, 4, Done, 0),
		callPut(1, 5, 6, "b", Done, atRev(6)),
	}},
	{"a successful removal of a missing job", false, []Call{
		callPut(0, 1, 2, "a", Done, createdAt(5)),
		callDelete(0, 3, 4, Absent, 0),
	}},
	{"removed once, with two successes", false, []Call{
		callPut(0, 1, 2, "a", Done, createdAt(5)),
		callDelete(0, 3, 6, Done, 5),
		callDelete(1, 4, 5, Done, 0),
	}},
	{"removed without a call", false, []Call{
		callPut(0, 1, 2, "a", Done, createdAt(5)),
		callPut(1, 3, 4, "b", Done, createdAt(6)),
	}},
	{"an open removal takes effect", true, []Call{
		callPut(0, 1, 2, "a", Done, createdAt(5)),
		callDelete(0, 3, 4, Open, 0),
		callPut(1, 5, 6, "b", Done, atRev(6)),
		callDelete(1, 7, 8, Absent, 0),
	}},
	{"an open removal with a failed precondition has no effect", false, []Call{
		callPut(0, 1, 2, "a", Done, createdAt(5)),
		callDelete(0, 3, 4, Open, 4),
		callDelete(1, 7, 8, Absent, 0),
	}},
	{"a removal ends the pause", false, []Call{
		callPut(0, 1, 2, "a", Done, createdAt(5)),
		showing(callPause(1, 3, 4, "x", "x", 6, Done), "a"),
		callDelete(0, 5, 6, Done, 6),
		callPut(1, 7, 8, "b", Done, func(c *Call) { c.Created, c.Rev, c.Paused = true, 8, "x" }),
	}},
}

// pauseAnswers are calls that pause and resume.
var pauseAnswers = []answerCase{
	{"paused and resumed", true, []Call{
		callPause(0, 1, 2, "x", "x", 5, Done),
		callPause(1, 3, 4, "y", "x", 5, Done),
		callResume(1, 5, 6, "", 6),
		callResume(0, 7, 8, "", 6),
		callPause(1, 9, 10, "z", "z", 7, Done),
	}},
	{"a lost pause", false, []Call{
		callPause(0, 1, 2, "x", "x", 5, Done),
		callPause(1, 3, 4, "y", "y", 6, Done),
	}},
	{"an open pause takes effect after a resume", true, []Call{
		callPause(0, 1, 2, "x", "", 0, Open),
		callResume(1, 3, 4, "", 5),
		callPause(1, 5, 6, "y", "x", 6, Done),
	}},
	{"a pause without a call", false, []Call{
		callPause(1, 5, 6, "y", "x", 6, Done),
	}},
}
