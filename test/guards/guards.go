package guards

// Guard is a line of code that a guarantee depends on. A mutation cuts it, and a test must fail then.
type Guard struct {
	Name string
	File string // from the top of the tree
	Code string // the line or lines, which occur once in the file
	Cut  string // their replacement
	Pkg  string // the package of the test that must fail
	Test string // the name of that test
}

// Guards lists the guards, each with the test that fails without it.
var Guards = []Guard{
	{
		Name: "the comparison of the term",
		File: "store/flight.go",
		Code: "fence = append(fence, is.GetCompare())",
		Cut:  "_ = is.GetCompare()",
		Pkg:  "./store", Test: "TestADeposedLeaderWritesNothing",
	},
	{
		Name: "the comparison of the record's revision",
		File: "store/write.go",
		Code: "w.guards = append(w.guards, guard.unchanged(k, rev))",
		Cut:  "_, _ = guard, rev",
		Pkg:  "./store", Test: "TestALateWriteOfTheLeaderHasNoEffect",
	},
	{
		Name: "the comparison of a removed record's revision",
		File: "store/write.go",
		Code: "w.guards = append(w.guards, unchangedKey(k, rev))",
		Cut:  "_ = rev",
		Pkg:  "./store", Test: "TestOutcomeAfterALaterChange",
	},
	{
		Name: "the comparison of the gate's revision",
		File: "store/commit.go",
		Code: "w.gate = gateGuard{s.gateKey, d.Gate}",
		Cut:  "_ = d.Gate",
		Pkg:  "./store", Test: "TestPauseOfAllJobsRefusesStaleDecisions",
	},
	{
		Name: "the comparison of the gate's revision, once for a request",
		File: "store/flight.go",
		Code: "fence = append(fence, gate.compare())",
		Cut:  "_ = gate.compare()",
		Pkg:  "./store", Test: "TestAStaleGateRefusesItsDecisionsAlone",
	},
	{
		Name: "the comparison of the gate's revision, after a request was refused for it",
		File: "store/flight.go",
		Code: "b.apart = true",
		Cut:  "b.apart = true\n\t\tfor _, w := range b.writes {\n\t\t\tw.gate = gateGuard{}\n\t\t}",
		Pkg:  "./store", Test: "TestAStaleGateRefusesItsDecisionsAlone",
	},
	{
		Name: "the comparison of the gate's revision, at the assignment of a waiting run",
		File: "store/commit.go",
		Code: "if r.State == job.Armed || d.Cursor != nil {",
		Cut:  "if d.Cursor != nil {",
		Pkg:  "./store", Test: "TestPauseOfAllJobsRefusesStaleDecisions",
	},
	{
		Name: "the attempt token, at the outcome",
		File: "scheduler/worker/report.go",
		Code: "return record.State == job.Running && record.Token == r.Run.Token && record.Started.Equal(r.Run.Started)",
		Cut:  "return record.State == job.Running && record.Started.Equal(r.Run.Started)",
		Pkg:  "./scheduler/worker", Test: "TestFencedOutcome",
	},
	{
		Name: "the attempt's start, at the outcome",
		File: "scheduler/worker/report.go",
		Code: "return record.State == job.Running && record.Token == r.Run.Token && record.Started.Equal(r.Run.Started)",
		Cut:  "return record.State == job.Running && record.Token == r.Run.Token",
		Pkg:  "./scheduler/worker", Test: "TestFencedOutcome",
	},
	{
		Name: "the attempt token, when a worker reads whether its attempt was given up",
		File: "scheduler/worker/stop.go",
		Code: "case err == nil && record.State == job.Running && record.Token == a.run.Token:",
		Cut:  "case err == nil && record.State == job.Running:",
		Pkg:  "./scheduler/worker", Test: "TestABackSessionEndsWhatALeaderGaveUp",
	},
	{
		Name: "the names of ended attempts in the presence of a new session",
		File: "scheduler/worker/attempt.go",
		Code: "names := slices.Collect(maps.Keys(w.ending))",
		Cut:  "_, names := maps.Keys(w.ending), []string(nil)",
		Pkg:  "./scheduler/worker", Test: "TestAttemptsThatOutliveTheirSession",
	},
	{
		Name: "the parents of a step, at the step's decision",
		File: "scheduler/planner/stepslots.go",
		Code: "guards = append(guards, guard)",
		Cut:  "_ = guard",
		Pkg:  "./scheduler/planner", Test: "TestAStepDependsOnItsParents",
	},
	{
		Name: "the cursor in the run's transaction",
		File: "store/commit.go",
		Code: "\tif d.Cursor != nil {\n\t\tc := *d.Cursor",
		Cut:  "\tif d.Cursor != nil && d.Run == nil {\n\t\tc := *d.Cursor",
		Pkg:  "./store", Test: "TestARunIsCreatedOnlyWithItsCursor",
	},
	{
		Name: "the comparison of the parents' records",
		File: "store/commit.go",
		Code: "w.guards = append(w.guards, unchanged(s.keys.record(g.Kind, g.Name), g.Rev))",
		Cut:  "_ = g",
		Pkg:  "./store", Test: "TestAStepDependsOnTheRecordsOfItsParents",
	},
	{
		Name: "the steps in the transaction of a backfilled slot",
		File: "store/commit.go",
		Code: "for _, step := range d.Behind {",
		Cut:  "for _, step := range d.Behind[:0] {",
		Pkg:  "./store", Test: "TestABackfilledSlotIsCreatedWithItsSteps",
	},
	{
		Name: "the backfill in the transaction of its slot",
		File: "store/commit.go",
		Code: "if d.Backfill != nil {",
		Cut:  "if d.Backfill != nil && d.Run == nil {",
		Pkg:  "./store", Test: "TestABackfilledSlotIsCreatedWithItsBackfill",
	},
	{
		Name: "holders of a limit in transactions of their own",
		File: "store/group.go",
		Code: "clashes := b.clashes(w)",
		Cut:  "clashes := false",
		Pkg:  "./store", Test: "TestHoldersOfALimitHaveDifferentRevisions",
	},
	{
		Name: "the run of a copy, at the copy's creation",
		File: "scheduler/planner/copies.go",
		Code: "d.Guards = append(d.Guards, job.Guard{Kind: job.RecordRun, Name: r.Name(), Rev: r.Rev})",
		Cut:  "_ = r.Rev",
		Pkg:  "./scheduler/planner", Test: "TestASuccessorCreatesTheMissingCopies",
	},
	{
		Name: "the run in the way, at a skip",
		File: "scheduler/planner/overlap.go",
		Code: "d.Guards = append(d.Guards, job.Guard{Kind: job.RecordRun, Name: r.Name(), Rev: r.Rev})",
		Cut:  "_ = d.Guards",
		Pkg:  "./scheduler/planner", Test: "TestASkipDependsOnTheActiveRun",
	},
	{
		Name: "the limits of a run, at its start",
		File: "scheduler/planner/planner.go",
		Code: "d.Guards = append(d.Guards, p.limitGuards(d.Run)...)",
		Cut:  "_ = p.limitGuards",
		Pkg:  "./scheduler/planner", Test: "TestARunDependsOnItsLimits",
	},
	{
		Name: "the journal",
		File: "scheduler/worker/attempt.go",
		Code: "w.journal.add(r)",
		Cut:  "error(nil)",
		Pkg:  "./scheduler/worker", Test: "TestRestart",
	},
	{
		Name: "the local stop deadline of a lease",
		File: "election/lease.go",
		Code: "left := l.Deadline().Sub(now.Mono)",
		Cut:  "left := clockTick",
		Pkg:  "./election", Test: "TestLeaseIsLost",
	},
	{
		Name: "the guarded write that confirms a win",
		File: "election/candidacy.go",
		Code: "won, err := c.confirm(until)",
		Cut:  "won, err := c.key.Rev, error(nil)",
		Pkg:  "./election", Test: "TestAKeyThatVanishesBeforeTheConfirmationIsNoWin",
	},
	{
		Name: "the session that an order was made for",
		File: "scheduler/worker/order.go",
		Code: "if o.Session == s.session.ID() {",
		Cut:  "if true {",
		Pkg:  "./scheduler/worker", Test: "TestSessionLoss",
	},
	{
		Name: "the record of messages, at the start of a run that has its ping",
		File: "scheduler/notify/ping.go",
		Code: "if n.Rev <= p.record.UpTo { // an earlier leader has sent it",
		Cut:  "if false {",
		Pkg:  "./scheduler/notify", Test: "TestNextLeaderPings",
	},
	{
		Name: "the runs whose start has its ping",
		File: "scheduler/notify/ping.go",
		Code: "state == job.PingStart && p.begun[n.Run.ID]",
		Cut:  "false",
		Pkg:  "./scheduler/notify", Test: "TestPings",
	},
	{
		Name: "the time of the last message about a cause",
		File: "scheduler/notify/cause.go",
		Code: "if last, said := s.said[key]; said && at.Sub(last) < to.RepeatEvery() {",
		Cut:  "if false {",
		Pkg:  "./scheduler/notify", Test: "TestOneMessageForEachCause",
	},
	{
		Name: "the template in the key of shared notifiers",
		File: "scheduler/job/share.go",
		Code: "key.WriteString(\"\\x00\" + to.Template)",
		Cut:  "",
		Pkg:  "./scheduler/job", Test: "TestDefinitionsShareNotifiers",
	},
}
