package job

// TLSOptional returns the processes that also accept connections without TLS. Each has the names of the settings that allow it.
func TLSOptional(replicas []*Replica, workers []*Worker) map[string][]string {
	open := make(map[string][]string)
	for _, w := range workers {
		if len(w.TLSOptional) > 0 {
			open[w.Name] = w.TLSOptional
		}
	}
	for _, r := range replicas { // the worker of a replica has the same list
		if len(r.TLSOptional) > 0 {
			open[r.Name] = r.TLSOptional
		}
	}
	return open
}
