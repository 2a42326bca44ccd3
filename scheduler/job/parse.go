package job

// ParseJSON reads a record as AppendJSON writes it into r, with the same result as encoding/json. It returns false if
// the record has another form, because another program wrote it, or has rare parts. Then r is undefined, and
// encoding/json must decode the record.
func (r *Run) ParseJSON(b []byte) bool {
	s := scanner{b: b}
	s.run(r)
	return s.end()
}

func (s *scanner) run(r *Run) {
	*r = Run{Rev: r.Rev}
	s.mustText(`{"job":`, &r.Job)
	s.mustText(`,"id":`, &r.ID)
	r.Kind = s.kind(`,"kind":`)
	r.Slot = s.mustTime(`,"slot":`)
	r.Due = s.mustTime(`,"due":`)
	r.State = s.state(`,"state":`)
	s.text(`,"reason":`, &r.Reason)
	r.Late = s.next(`,"late":true`)
	r.Attempt = int(s.number(`,"attempt":`))
	s.text(`,"worker":`, &r.Worker)
	s.text(`,"session":`, &r.Session)
	r.Token = s.number(`,"token":`)
	r.Armed = s.time(`,"armed":`)
	r.Ahead = s.next(`,"ahead":true`)
	r.Limits = s.strings(`,"limits":[`)
	r.Started = s.time(`,"started":`)
	r.Bound = s.duration(`,"bound":`)
	r.Finished = s.time(`,"finished":`)
	s.attempts(r)
	r.LostMore = int(s.number(`,"lost_more":`))
	r.Exit = s.exit()
	r.Output = s.string(`,"output":`)
	r.After = s.parents()
	r.SlotSkipped = s.next(`,"slot_skipped":true`)
	r.Followed = s.next(`,"followed":true`)
	s.text(`,"key":`, &r.Key)
	s.text(`,"retry_of":`, &r.RetryOf)
	s.text(`,"by":`, &r.By)
	r.Created = s.mustTime(`,"created":`)
	r.Generation = s.number(`,"generation":`)
	r.Term = s.number(`,"term":`)
	s.text(`,"op":`, &r.Op)
	s.expect(`}`)
	s.copyTexts()
}

func (s *scanner) attempts(r *Run) {
	if !s.next(`,"attempts":[`) {
		return
	}
	s.copyTexts() // the last attempt usually has the worker and the reason of the run
	for more := true; more && !s.bad; more = s.next(`,`) {
		var a Attempt
		a.Number = int(s.mustNumber(`{"number":`))
		s.expect(`,"worker":`)
		a.Worker = s.same(r.Worker)
		a.Token = s.mustNumber(`,"token":`)
		a.Started = s.time(`,"started":`)
		a.Finished = s.mustTime(`,"finished":`)
		a.State = s.state(`,"state":`)
		if s.next(`,"reason":`) {
			a.Reason = s.same(r.Reason)
		}
		a.Exit = s.exit()
		a.GivenUp = s.next(`,"given_up":true`)
		s.expect(`}`)
		r.Attempts = append(r.Attempts, a)
	}
	s.expect(`]`)
}

// ParseJSON is Run.ParseJSON for a cursor.
func (c *Cursor) ParseJSON(b []byte) bool {
	s := scanner{b: b}
	*c = Cursor{Rev: c.Rev}
	s.mustText(`{"job":`, &c.Job)
	c.After = s.mustTime(`,"after":`)
	c.Beyond = s.times(`,"beyond":[`)
	c.Next = s.time(`,"next":`)
	c.Generation = s.mustNumber(`,"generation":`)
	c.Term = s.mustNumber(`,"term":`)
	s.text(`,"op":`, &c.Op)
	s.expect(`}`)
	s.copyTexts()
	return s.end()
}

// ParseJSON is Run.ParseJSON for an order.
func (o *Order) ParseJSON(b []byte) bool {
	s := scanner{b: b}
	*o = Order{Rev: o.Rev}
	o.ID = s.must(`{"id":`)
	o.Session = s.must(`,"session":`)
	for range s.list(`,"jobs":[`, `]`) {
		o.JobRevs = append(o.JobRevs, s.digits())
	}
	o.Stop = s.strings(`,"stop":[`)
	for range s.list(`,"runs":[`, `]`) {
		if o.Runs == nil {
			o.Runs = make([]Run, 0, max(1, len(o.JobRevs)))
		}
		o.Runs = append(o.Runs, Run{})
		s.run(&o.Runs[len(o.Runs)-1])
	}
	s.expect(`}`)
	return s.end()
}
