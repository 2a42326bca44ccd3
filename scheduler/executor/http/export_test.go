package httpx

import "time"

// AwaitArrival lets a response take d to be read after the end of its attempt.
func (e *Executor) AwaitArrival(d time.Duration) { e.arrival = d }
