package worker

// lack notes that an attempt could not begin, since the machine lacks something: nothing new is taken until a trial has succeeded,
// which the next look at the disk is for, in a second or so.
func (w *Worker) lack(err error) {
	w.mu.Lock()
	changed := w.lacks == nil
	w.lacks = err
	w.mu.Unlock()
	if changed {
		w.log.Error("nothing new is taken, since an attempt could not begin", "err", err)
	}
	w.doubt() // so that leaders are told
}

// tryStart looks whether what was lacking is there again.
func (w *Worker) tryStart() {
	w.mu.Lock()
	lacked := w.lacks != nil
	w.mu.Unlock()
	if !lacked {
		return
	}
	var err error
	if w.cfg.Trial != nil {
		err = w.cfg.Trial()
	}
	w.mu.Lock()
	w.lacks = err
	w.mu.Unlock()
	if err == nil {
		w.log.Info("attempts can begin again, and the worker takes them")
	}
}

// refusal is why held runs are handed back, "" if they are not.
func (w *Worker) refusal() refusal {
	w.mu.Lock()
	defer w.mu.Unlock()
	switch {
	case w.disk != nil:
		return errNoDisk
	case w.lacks != nil:
		return errLacks
	}
	return ""
}
