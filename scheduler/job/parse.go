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
	r.Job = s.must(`{"job":`)
	r.ID = s.must(`,"id":`)
	r.Kind = s.kind(`,"kind":`)
	r.Slot = s.mustTime(`,"slot":`)
	r.Due = s.mustTime(`,"due":`)
	r.State = s.state(`,"state":`)
	r.Reason = s.string(`,"reason":`)
	r.Late = s.next(`,"late":true`)
	r.Attempt = int(s.number(`,"attempt":`))
	r.Worker = s.string(`,"worker":`)
	r.Session = s.string(`,"session":`)
	r.Token = s.number(`,"token":`)
	r.Armed = s.time(`,"armed":`)
	r.Ahead = s.next(`,"ahead":true`)
	r.Limits = s.strings(`,"limits":[`)
	r.Started = s.time(`,"started":`)
	r.Bound = s.duration(`,"bound":`)
	r.Finished = s.time(`,"finished":`)
	r.Attempts = s.attempts()
	r.LostMore = int(s.number(`,"lost_more":`))
	r.Exit = s.exit()
	r.Output = s.string(`,"output":`)
	r.After = s.parents()
	r.SlotSkipped = s.next(`,"slot_skipped":true`)
	r.Key = s.string(`,"key":`)
	r.RetryOf = s.string(`,"retry_of":`)
	r.By = s.string(`,"by":`)
	r.Created = s.mustTime(`,"created":`)
	r.Generation = s.number(`,"generation":`)
	r.Term = s.number(`,"term":`)
	r.Op = s.string(`,"op":`)
	s.expect(`}`)
}

func (s *scanner) attempts() (list []Attempt) {
	if !s.next(`,"attempts":[`) {
		return nil
	}
	for more := true; more && !s.bad; more = s.next(`,`) {
		var a Attempt
		a.Number = int(s.mustNumber(`{"number":`))
		a.Worker = s.must(`,"worker":`)
		a.Token = s.mustNumber(`,"token":`)
		a.Started = s.time(`,"started":`)
		a.Finished = s.mustTime(`,"finished":`)
		a.State = s.state(`,"state":`)
		a.Reason = s.string(`,"reason":`)
		a.Exit = s.exit()
		a.GivenUp = s.next(`,"given_up":true`)
		s.expect(`}`)
		list = append(list, a)
	}
	s.expect(`]`)
	return list
}

// ParseJSON is Run.ParseJSON for a cursor.
func (c *Cursor) ParseJSON(b []byte) bool {
	s := scanner{b: b}
	*c = Cursor{Rev: c.Rev}
	c.Job = s.must(`{"job":`)
	c.After = s.mustTime(`,"after":`)
	c.Beyond = s.times(`,"beyond":[`)
	c.Next = s.time(`,"next":`)
	c.Generation = s.mustNumber(`,"generation":`)
	c.Term = s.mustNumber(`,"term":`)
	c.Op = s.string(`,"op":`)
	s.expect(`}`)
	return s.end()
}

// ParseJSON is Run.ParseJSON for an order.
func (o *Order) ParseJSON(b []byte) bool {
	s := scanner{b: b}
	*o = Order{Rev: o.Rev}
	o.ID = s.must(`{"id":`)
	o.Session = s.must(`,"session":`)
	if s.next(`,"jobs":[`) {
		for more := true; more && !s.bad; more = s.next(`,`) {
			o.JobRevs = append(o.JobRevs, s.digits())
		}
		s.expect(`]`)
	}
	if s.next(`,"stop":[`) {
		for more := true; more && !s.bad; more = s.next(`,`) {
			o.Stop = append(o.Stop, string(s.quoted()))
		}
		s.expect(`]`)
	}
	if s.next(`,"runs":[`) {
		for more := true; more && !s.bad; more = s.next(`,`) {
			if o.Runs == nil {
				o.Runs = make([]Run, 0, max(1, len(o.JobRevs)))
			}
			o.Runs = append(o.Runs, Run{})
			s.run(&o.Runs[len(o.Runs)-1])
		}
		s.expect(`]`)
	}
	s.expect(`}`)
	return s.end()
}
